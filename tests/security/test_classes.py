"""Each setting has a class, and an untrusted workspace can only tighten."""

import json
from pathlib import Path

import pytest

from conftest import Workspace, load_config
from metier import Catalog
from metier.cli import run
from metier.config import Config
from metier.config.settings import CAPABILITIES, CLASSES, SETTINGS, class_of, entries
from metier.errors import ConfigError

CARD = (
    "---\nid: {id}\nname: {id}\ndescription: About {id}.\ntriggers:\n  keywords: [deploy]\n"
    "  confidenceThreshold: 0.1\n---\n{text}\n"
)


def test_every_setting_has_a_class_and_one_without_is_a_power() -> None:
    plain = {key for key in SETTINGS if key != "capabilities"}
    cards = {f"capabilities.{key}" for key in CAPABILITIES}
    assert plain | cards == set(CLASSES)
    assert class_of("something.new") == "power"
    assert class_of("capabilities.somethingNew") == "power"
    assert class_of("tools.anything") == "power"


def test_the_powers_of_the_issue_are_powers() -> None:
    powers = ("tools", "mcp", "models", "probes", "mounts", "tokenizer", "capabilities.sources")
    assert {class_of(key) for key in powers} == {"power"}


def test_each_entry_of_a_table_is_a_power_of_its_own() -> None:
    values = {"tools": {"allow": ["x"], "x": {"argv": ["a"]}}, "capabilities": {"max_tokens": 5}}
    found = [key for key, _ in entries(values)]
    assert found == ["tools.allow", "tools.x", "capabilities.maxTokens"]


class Endpoint:
    """A workspace and a home, with settings in both."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "workspace", folder / "home"
        self.root.mkdir()
        (self.home / ".config/metier").mkdir(parents=True)

    def own(self, text: str) -> None:
        (self.root / "metier.toml").write_text(text)

    def user(self, text: str) -> None:
        (self.home / ".config/metier/metier.toml").write_text(text)

    def load(self, *, is_trusted: bool = False) -> Config:
        environ = {"HOME": str(self.home)}
        return load_config(str(self.root), environ=environ, is_trusted=is_trusted)


@pytest.fixture
def place(tmp_path: Path) -> Endpoint:
    return Endpoint(tmp_path)


@pytest.mark.parametrize(
    ("users", "own", "field", "wanted"),
    [
        ('mode = "monitor"', 'mode = "on"', "mode", "monitor"),
        ('mode = "on"', 'mode = "off"', "mode", "off"),
        ("maxTokens = 100", "maxTokens = 5000", "max_tokens", 100),
        ("maxTokens = 100", "maxTokens = 50", "max_tokens", 50),
        ("confidenceThreshold = 0.5", "confidenceThreshold = 0.0", "confidence_threshold", 0.5),
        ("confidenceThreshold = 0.5", "confidenceThreshold = 0.9", "confidence_threshold", 0.9),
        ("enabled = false", "enabled = true", "enabled", False),
        ("enabled = true", "enabled = false", "enabled", False),
        ('exclude = ["a"]', 'exclude = ["b"]', "exclude", ("a", "b")),
        ("", "maxTokens = 5000", "max_tokens", 1500),
    ],
)
def test_of_two_values_the_stricter_one_holds_for_the_untrusted(
    users: str, own: str, field: str, wanted: object, place: Endpoint
) -> None:
    place.user(f"[capabilities]\n{users}\n")
    place.own(f"[capabilities]\n{own}\n")
    config = place.load()
    assert getattr(config.own_capabilities, field) == wanted
    alone = place.load()
    assert alone.capabilities == place.load()._replace().capabilities
    place.own("")
    assert place.load().capabilities == config.capabilities


@pytest.mark.parametrize(
    ("users", "own", "wanted"),
    [("20", "5", 20), ("20", "30", 30), ("", "5", 10), ("", "11.5", 11.5)],
)
def test_an_untrusted_workspace_can_only_raise_the_cut_of_abilities(
    users: str, own: str, wanted: float, place: Endpoint
) -> None:
    place.user(f"[abilities]\nminSignal = {users}\n" if users else "")
    place.own(f"[abilities]\nminSignal = {own}\n")
    assert place.load().ability_signal == wanted
    assert place.load(is_trusted=True).ability_signal == float(own)
    assert place.load().ignored == ()


def test_no_power_of_an_untrusted_workspace_reaches_the_settings(place: Endpoint) -> None:
    place.own(
        'host-folders = false\ntokenizer = "x"\ndisabled = ["mine"]\n'
        'mounts = [{ path = "/srv" }]\n[folders]\nagents = ["a", "/srv", "../up", "~/x"]\n'
        '[tools.x]\nargv = ["x"]\n[mcp.x]\ncommand = "x"\n[models]\ndefault = "x:y"\n'
        '[probes.x]\nargv = ["x"]\n[capabilities]\nforceInclude = ["x"]\nskillThreshold = 0\n'
    )
    config = place.load()
    plain = Config()
    for name in ("host_folders", "tokenizer", "disabled", "mounts", "tools", "servers", "models",
                 "probes", "capabilities"):  # fmt: skip
        assert getattr(config, name) == getattr(plain, name), name
    assert config.agents == ("a",)
    assert config.own_disabled == ("mine",)
    assert set(config.ignored) == {
        "host-folders", "tokenizer", "mounts.srv", "folders.agents", "tools.x", "mcp.x",
        "models.default", "probes.x", "capabilities.forceInclude", "capabilities.skillThreshold",
    }  # fmt: skip


WRONG = """
mounts = ["../x"]
tokenizer = "x"
[tools.x]
argv = "ls -l"
[mcp.s]
command = "a"
url = "https://x"
[encoder]
kind = "onx"
[models.lab]
base-url = "ftp://x"
[probes.x]
argv = ["a"]
"""


def test_ignored_powers_that_are_wrong_are_told_and_refused_by_trust(place: Endpoint) -> None:
    place.own(WRONG)
    config = place.load()
    assert "tools.x" in config.ignored
    assert [one.split("'")[1] for one in config.ignored_wrong] == [
        "mounts", "tools.x.argv", "mcp.s", "encoder.kind", "models.lab.base-url",
    ]  # fmt: skip
    with pytest.raises(ConfigError):
        place.load(is_trusted=True)


def test_trusted_settings_count_as_they_are(place: Endpoint) -> None:
    place.user('[capabilities]\nmode = "monitor"\n[tools.mine]\nargv = ["m"]\n')
    place.own('host-folders = false\n[capabilities]\nmode = "on"\n[tools.x]\nargv = ["x"]\n')
    config = place.load(is_trusted=True)
    assert (config.host_folders, config.capabilities.mode) == (False, "on")
    owners = {one.name: one.is_users for one in config.tools.commands}
    assert owners == {"x": False, "mine": True}
    assert config.ignored == ()


@pytest.mark.parametrize("setting", ['[state]\nfolder = "/x"', 'safe-directories = ["/"]'])
def test_settings_for_the_user_alone_are_an_error_in_a_workspace(
    setting: str, place: Endpoint
) -> None:
    place.user(f"{setting}\n")
    place.load()
    place.own(f"{setting}\n")
    with pytest.raises(ConfigError, match="is used only in your own settings"):
        place.load(is_trusted=True)


def test_folders_of_the_users_own_are_read_in_every_workspace(place: Endpoint) -> None:
    place.user('[folders]\nabilities = ["~/abilities", "more"]\ncards = ["/srv/cards"]\n')
    place.own('[folders]\nabilities = ["here"]\n')
    config = place.load()
    assert config.abilities == ("here",)
    assert config.cards == ("docs/capabilities",)
    assert [kind for kind, _ in config.user_folders] == ["ability", "card"]


def test_an_untrusted_workspace_tightens_its_own_cards_only(
    workspace: Workspace, empty_home: Path
) -> None:
    cards = empty_home / "cards"
    cards.mkdir()
    (cards / "mine.md").write_text(CARD.format(id="mine", text="The user's card."))
    folder = empty_home / ".config/metier"
    folder.mkdir(parents=True)
    (folder / "metier.toml").write_text('[folders]\ncards = ["~/cards"]\n')
    workspace.write("docs/capabilities/theirs.md", CARD.format(id="theirs", text="A stranger's."))

    def chosen() -> list[str]:
        with Catalog.open(workspace.root) as catalog:
            catalog.refresh()
            made = catalog.inject("deploy it", min_signal=90)
            return sorted(one.item.id for one in made.injected_cards)

    assert chosen() == ["mine", "theirs"]
    for setting in ('mode = "off"', "enabled = false", "maxTokens = 1", 'exclude = ["theirs"]',
                    "confidenceThreshold = 1.0", 'mode = "monitor"'):  # fmt: skip
        workspace.write("metier.toml", f"[capabilities]\n{setting}\n")
        assert chosen() == ["mine"], setting
    workspace.write("metier.toml", '[capabilities]\nexclude = ["mine"]\n')
    assert chosen() == ["mine", "theirs"]


def test_a_workspace_turns_off_other_rules_for_its_own_documents_only(
    workspace: Workspace,
    empty_home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(workspace.root)
    broken = "---\nname: Bad_Name\ndescription: Does it. Use it.\n---\nDo.\n"
    mine = empty_home / ".claude/skills/mine"
    mine.mkdir(parents=True)
    (mine / "SKILL.md").write_text(broken)
    workspace.write("skills/theirs/SKILL.md", broken.replace("Bad_", "Worse_"))

    def found() -> set[tuple[str, str]]:
        run(["lint", "--user", "--format", "json"])
        issues = json.loads(capsys.readouterr().out)
        return {(one["code"], one["path"].split("/")[-2]) for one in issues}

    assert {("SK302", "mine"), ("SK302", "theirs")} <= found()
    workspace.write("metier.toml", '[lint]\nignore = ["SK"]\n')
    assert ("SK302", "mine") in found()
    assert ("SK302", "theirs") not in found()

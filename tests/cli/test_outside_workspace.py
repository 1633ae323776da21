"""Outside a workspace: no `.git` and no `metier.toml` at or above, and no root that was named."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.cli import run
from metier.cli.mcp import opened
from metier.cli.session import Session
from metier.hook.journal import Journal
from metier.serving.catalog_thread import trust_stamp
from metier.storage.places import state_home, user_room
from metier.storage.workspace import MARKS, find_workspace, is_workspace

AGENT = "agentId: {name}\ndescription: Answers questions.\n"
Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_mark_above: None) -> Workspace:
    """The current folder, around which there is no workspace."""
    folder = tmp_path / "anywhere" / "below"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return Workspace(folder)


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Said:
    def of(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return (code, *capfd.readouterr())

    return of


def user_skill(home: Path, name: str) -> None:
    Workspace(home).skill(name, folder=f".claude/skills/{name}")


def names(catalog: Catalog) -> list[str]:
    return [row.name for row in catalog.skills()]


def files_below(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def rooms() -> list[str]:
    """The workspaces that have state."""
    folder = Path(state_home(), "workspaces")
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_above_makes_a_workspace_and_so_does_a_root_that_is_named(
    outside: Workspace, mark: str
) -> None:
    assert not is_workspace()
    assert is_workspace(str(outside.root))
    (outside.root.parent / mark).mkdir()
    assert is_workspace()
    assert find_workspace() == str(outside.root.parent.resolve())


def test_only_skill_folders_are_read_and_the_users_own(
    outside: Workspace, empty_home: Path
) -> None:
    user_skill(empty_home, "mine")
    for folder in ("skills", ".claude/skills", ".agents/skills", ".github/skills"):
        name = folder.strip(".").replace("/", "-")
        outside.skill(name, folder=f"{folder}/{name}")
    outside.skill("elsewhere", folder="projects/elsewhere")
    outside.skill("here", folder=".")
    outside.write("abilities/a.md", "---\nabilityId: a\n---\nText.\n")
    outside.write("agents/b.yaml", AGENT.format(name="b"))
    with Catalog.open() as catalog:
        catalog.refresh()
        expected = ["agents-skills", "claude-skills", "github-skills", "mine", "skills"]
        assert names(catalog) == expected
        origins = {row.name: row.origin for row in catalog.skills()}
        assert set(origins.values()) == {"user", "untrusted"}
        assert origins["mine"] == "user"
        assert catalog.documents("ability") == []
        assert catalog.documents("agent") == []
        assert catalog.agency.require("standard")
        assert not catalog.trust.is_trusted


def test_a_root_that_is_named_is_a_workspace(outside: Workspace) -> None:
    outside.skill("elsewhere", folder="projects/elsewhere")
    with Catalog.open(outside.root) as catalog:
        catalog.refresh()
        assert names(catalog) == ["elsewhere"]
        assert catalog.is_kept


def test_what_lies_below_is_not_walked(outside: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    outside.skill("one")
    outside.write("deep/er/file.txt", "")
    looked: list[str] = []
    scandir = os.scandir

    def noted(path: Any = ".") -> Any:
        looked.append(os.fspath(path) if not isinstance(path, int) else "")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noted)
    with Catalog.open() as catalog:
        catalog.refresh()
        assert names(catalog) == ["one"]
    assert not any("deep" in one for one in looked)
    assert str(outside.root) not in looked


def test_links_that_lead_out_of_the_folder_are_not_followed(
    outside: Workspace, tmp_path: Path
) -> None:
    other = Workspace(tmp_path / "other")
    other.skill("stranger")
    (outside.root / "skills").symlink_to(other.root / "skills")
    with Catalog.open() as catalog:
        catalog.refresh()
        assert names(catalog) == []


def test_in_the_home_folder_the_hosts_folders_are_the_users(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch, outside: Workspace
) -> None:
    monkeypatch.chdir(empty_home)
    user_skill(empty_home, "mine")
    Workspace(empty_home).skill("loose")
    Workspace(empty_home).skill("project", folder="projects/project")
    with Catalog.open() as catalog:
        catalog.refresh()
        assert {row.name: row.origin for row in catalog.skills()} == {
            "loose": "untrusted",
            "mine": "user",
        }


def test_the_root_of_the_file_system_is_no_workspace(
    outside: Workspace, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside.skill("one")
    monkeypatch.chdir("/")
    code, out, _ = said("list", "--json")
    assert (code, json.loads(out)) == (0, [])
    assert rooms() == []


COMMANDS = (
    ("list",),
    ("refresh",),
    ("list", "--capability", "x"),
    ("resolve", "-r", "x"),
    ("select", "a task"),
    ("inject", "--task", "a task"),
    ("lint",),
    ("doctor",),
    ("hook", "stats"),
    ("reports", "list"),
    ("runs", "list"),
    ("run", "standard", "hello", "--model", "offline"),
    ("refresh", "--background"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_writes_there_or_keeps_state_for_it(
    outside: Workspace, said: Said, command: tuple[str, ...]
) -> None:
    outside.skill("one", extra="capabilities: [x]")
    outside.write("pyproject.toml", "[tool.metier]\nno-such-setting = true\n")
    before = files_below(outside.root)
    code, _, err = said(*command)
    assert code in (0, 1), err
    assert "INTERNAL" not in err
    assert "no-such-setting" not in err
    assert files_below(outside.root) == before
    assert rooms() == []


def test_people_are_told_how_to_make_a_workspace_on_standard_error(
    outside: Workspace, said: Said
) -> None:
    outside.skill("one")
    _, out, err = said("list", "--json")
    assert err == (
        "note: this is not a workspace: only skill folders are read, and nothing is stored;"
        " to make this folder a workspace: metier init\n"
    )
    assert [one["name"] for one in json.loads(out)] == ["one"]
    assert said("list", "-q")[2] == ""


def test_init_makes_it_a_workspace(outside: Workspace, said: Said) -> None:
    outside.skill("deep", folder="projects/deep")
    assert said("init")[0] == 0
    assert is_workspace()
    code, out, err = said("list", "--json")
    assert (code, [one["name"] for one in json.loads(out)]) == (0, ["deep"])
    assert "no workspace" not in err
    assert len(rooms()) == 1


@pytest.mark.parametrize(
    "command",
    [
        ("trust",),
        ("trust", "--show"),
        ("trust", "--revoke"),
        ("state", "adopt"),
        ("hook", "install", "claude-code"),
        ("mcp", "install", "claude-code"),
        ("list", "--trust-once"),
    ],
    ids=" ".join,
)
def test_what_is_about_a_workspace_says_that_there_is_none(
    outside: Workspace, said: Said, command: tuple[str, ...]
) -> None:
    code, out, err = said(*command)
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "error: there is no workspace here (USAGE)",
        f"  {outside.root.resolve()}",
        "hint: metier init makes this folder a workspace; --root names another",
    ]
    assert files_below(outside.root) == []


def test_a_hook_can_be_installed_for_the_user(
    outside: Workspace, empty_home: Path, said: Said
) -> None:
    assert said("hook", "install", "claude-code", "--user")[0] == 0
    assert (empty_home / ".claude" / "settings.json").exists()
    assert files_below(outside.root) == []
    assert rooms() == []


def test_the_users_own_agents_and_standard_run_without_trust(
    outside: Workspace, empty_home: Path, said: Said
) -> None:
    own = Workspace(empty_home / "my-agents")
    own.write("helper.yaml", AGENT.format(name="helper"))
    settings = f"[folders]\nagents = ['{own.root}']\n"
    Workspace(empty_home).write(".config/metier/metier.toml", settings)
    for agent in ("standard", "helper"):
        code, _, err = said("run", agent, "hello", "--model", "offline")
        assert code == 0, err
    assert rooms() == []


def test_history_is_ephemeral(outside: Workspace) -> None:
    outside.skill("one", extra="capabilities: [x]")
    with Catalog.open() as catalog:
        catalog.refresh()
        assert catalog.record_outcome("one", success=True).state == "ephemeral"
        assert catalog.keep_report(catalog.resolve(["x"])) == ""
    assert not (outside.root / ".dci").exists()


def test_the_doctor_says_that_there_is_no_workspace(outside: Workspace, said: Said) -> None:
    code, out, _ = said("doctor")
    assert code == 0
    assert f"none around {outside.root.resolve()}" in out
    assert "metier init makes this folder a workspace" in out
    assert "nothing is stored" in out


def test_the_mcp_server_serves_what_is_there_from_memory(
    outside: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    outside.skill("one")
    outside.skill("elsewhere", folder="projects/elsewhere")
    with opened(Session(for_host=True), allow_run=True) as catalog:
        assert names(catalog) == ["one"]
        assert trust_stamp(catalog) == trust_stamp(catalog)
        assert not catalog.is_kept
    assert capfd.readouterr().err == ""
    assert rooms() == []


def test_a_hook_asked_from_there_keeps_its_decisions_with_the_user(outside: Workspace) -> None:
    journal = Journal()
    journal.enter(str(outside.root))
    journal.note("test", "anything")
    assert not journal.may_speak
    assert journal.catalog.path == user_room().path
    assert rooms() == []


@pytest.fixture
def home_below(outside: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folders below the current one, as in a container."""
    home = outside.root / "some" / "home"
    for variable, folder in (
        ("HOME", home),
        ("XDG_CONFIG_HOME", home / ".config"),
        ("XDG_STATE_HOME", home / ".state"),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.delenv("METIER_STATE_DIR", raising=False)
    return home


def test_a_home_below_the_current_folder_counts(home_below: Path, said: Said) -> None:
    user_skill(home_below, "mine")
    code, out, errors = said("list")
    assert (code, "mine" in out) == (0, True)
    assert "is ignored" not in errors
    _, out, _ = said("doctor")
    assert "is ignored" not in out


def test_a_hook_asked_from_above_the_home_uses_that_home(
    home_below: Path, outside: Workspace
) -> None:
    journal = Journal()
    journal.enter(str(outside.root))
    assert journal.workspace == ""
    assert journal.catalog.path == user_room().path
    assert journal.catalog.path.startswith(str(home_below))


@pytest.mark.parametrize("mark", MARKS)
def test_a_workspace_brings_no_home_of_its_own(
    home_below: Path, outside: Workspace, mark: str
) -> None:
    (outside.root / mark).touch()
    ignored = Session().ignored_folders()
    assert f"HOME is ignored: {home_below} is inside a workspace" in ignored
    journal = Journal()
    journal.enter(str(outside.root))
    assert not journal.catalog.path.startswith(str(home_below))

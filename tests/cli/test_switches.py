"""`metier disable` and `metier enable`: each host's own switch, and back to what was there."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.printed import run_here
from cli.run_workspace import follows
from cli.typed import answered
from conftest import Workspace
from metier.catalog import Catalog
from metier.hosts.loading import DoesNotLoad
from metier.hosts.model import Written
from metier.install.switch_edits import SwitchedSkill, is_off, switched_off, switched_on


class Case(NamedTuple):
    host: str
    folder: str
    file: str
    """Below the home folder if it begins with `~/`."""
    before: str | None
    """None: there is no such file."""
    holds: str
    """What the file has afterwards."""


CASES = [
    Case("claude-code", ".claude/skills", ".claude/settings.json", None, '"alpha": "off"'),
    Case(
        "claude-code", ".claude/skills", ".claude/settings.json",
        '{"model":"x",\n "skillOverrides": {"beta": "off", "alpha":"name-only"}}',
        '"alpha":"off"',
    ),
    Case(
        "codex", ".agents/skills", "~/.codex/config.toml",
        '# mine\nmodel = "x" # why\n\n[skills]\nmax_context_tokens = 5\n', "enabled = false",
    ),
    Case("codex", ".agents/skills", "~/.codex/config.toml", None, "[[skills.config]]"),
    Case("gemini", ".gemini/skills", ".gemini/settings.json", '{ }\n', '"alpha"'),
    Case(
        "gemini", ".gemini/skills", ".gemini/settings.json",
        '{"skills": {"disabled": ["beta"]}}', '["beta", "alpha"]',
    ),
    Case(
        "openclaw", ".agents/skills", "~/.openclaw/openclaw.json",
        '{"skills": {"entries": {"alpha": {"apiKey": "k", "enabled": true}}}}',
        '{"apiKey": "k", "enabled": false}',
    ),
    Case(
        "opencode", ".agents/skills", "opencode.json",
        '{\n\t"permission": {"skill": "allow"}\n}\n', '{"*": "allow", "alpha": "deny"}',
    ),
    Case("opencode", ".agents/skills", "opencode.json", '{"permission": {}}', '"alpha": "deny"'),
]  # fmt: skip
NAMES = [f"{one.host}-{number}" for number, one in enumerate(CASES)]


def path_of(case: Case, workspace: Workspace, home: Path) -> Path:
    is_home = case.file.startswith("~/")
    return home / case.file[2:] if is_home else workspace.root / case.file


def set_up(case: Case, workspace: Workspace, home: Path) -> Path:
    for name in ("alpha", "beta", "gamma"):
        workspace.skill(name, f"Rotate the {name} keys", folder=f"{case.folder}/{name}")
    file = path_of(case, workspace, home)
    if case.before is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(case.before)
    return file


def switched_by(workspace: Workspace, host: str, name: str = "alpha") -> bool:
    """Whether metier's own readers say that the host does not load it because of a switch."""
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        (skill,) = (one for one in catalog.host_view(host).skills if one.row.name == name)
        return isinstance(skill.outcome, DoesNotLoad) and skill.outcome.reason == "off"


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_skill_is_off_for_its_host_and_enable_restores_every_character(
    case: Case, workspace: Workspace, empty_home: Path
) -> None:
    file = set_up(case, workspace, empty_home)
    done = run_here(workspace.root, "disable", "alpha", "--host", case.host)
    assert done.returncode == 0, done.stderr
    assert case.holds in file.read_text()
    assert case.holds in done.stdout
    assert switched_by(workspace, case.host)
    assert not switched_by(workspace, case.host, "gamma")
    listed = run_here(workspace.root, "which", "rotate the alpha keys", "--host", case.host)
    assert "switched off" in listed.stdout or "alpha" not in listed.stdout.split("gamma")[0]
    again = run_here(workspace.root, "disable", "alpha", "--host", case.host)
    assert (again.returncode, again.stdout) == (0, "")
    assert "is already off in" in again.stderr
    as_json = run_here(workspace.root, "disable", "alpha", "--host", case.host, "--json")
    assert json.loads(as_json.stdout) == []
    back = run_here(workspace.root, "enable", "alpha", "--host", case.host)
    assert back.returncode == 0, back.stderr
    assert (file.read_text() if file.exists() else None) == case.before
    assert not switched_by(workspace, case.host)


@pytest.mark.parametrize("first", ["alpha", "beta"])
@pytest.mark.parametrize("case", [one for one in CASES if one.before in (None, "{ }\n")])
def test_two_skills_can_be_enabled_in_any_order(
    case: Case, first: str, workspace: Workspace, empty_home: Path
) -> None:
    file = set_up(case, workspace, empty_home)
    for name in ("alpha", "beta"):
        assert run_here(workspace.root, "disable", name, "--host", case.host).returncode == 0
    for name in sorted(("alpha", "beta"), key=lambda name: name != first):
        assert run_here(workspace.root, "enable", name, "--host", case.host).returncode == 0
    after = file.read_text() if file.exists() else None
    assert after == case.before


def two_folders_of_one_name(workspace: Workspace, parent: str) -> None:
    for folder, what in (("figma", "Read designs"), ("figma-1", "Export components")):
        workspace.skill("figma", what, folder=f"{parent}/{folder}")


@pytest.mark.parametrize("called", ["figma", "figma-1"])
def test_a_skill_is_switched_by_what_the_host_calls_it(
    called: str, workspace: Workspace, empty_home: Path
) -> None:
    two_folders_of_one_name(workspace, ".claude/skills")
    file = workspace.root / ".claude" / "settings.json"
    done = run_here(workspace.root, "disable", called, "--host", "claude-code")
    assert done.returncode == 0, done.stderr
    assert json.loads(file.read_text()) == {"skillOverrides": {called: "off"}}
    again = run_here(workspace.root, "disable", called, "--host", "claude-code")
    assert "is already off in Claude Code" in again.stderr
    assert run_here(workspace.root, "enable", called).returncode == 0
    assert not file.exists()


def test_a_name_that_means_several_skills_in_a_host_is_refused_with_their_folders(
    workspace: Workspace, empty_home: Path
) -> None:
    two_folders_of_one_name(workspace, ".agents/skills")
    refused = run_here(workspace.root, "disable", "figma", "--host", "codex")
    assert refused.returncode == 2
    assert "'figma' is the name of 2 skills in Codex CLI" in refused.stderr
    assert ".agents/skills/figma, .agents/skills/figma-1" in refused.stderr
    config = empty_home / ".codex" / "config.toml"
    assert not config.exists()
    for folder in (".agents/skills/figma-1", ".agents/skills/figma"):
        assert run_here(workspace.root, "disable", folder, "--host", "codex").returncode == 0
    assert run_here(workspace.root, "enable", ".agents/skills/figma-1").returncode == 0
    assert config.read_text().count("enabled = false") == 1


def test_a_skill_without_front_matter_is_switched_by_its_folder(
    workspace: Workspace, empty_home: Path
) -> None:
    workspace.write(".claude/skills/bare/SKILL.md", "Restart crashed pods.\n")
    done = run_here(workspace.root, "disable", "bare", "--host", "claude-code")
    assert done.returncode == 0, done.stderr
    file = workspace.root / ".claude" / "settings.json"
    assert json.loads(file.read_text()) == {"skillOverrides": {"bare": "off"}}


@pytest.mark.parametrize("order", [("alpha", "beta", "gamma"), ("gamma", "alpha", "beta")])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_several_skills_are_switched_with_one_diff_and_back(
    case: Case, order: tuple[str, ...], workspace: Workspace, empty_home: Path
) -> None:
    file = set_up(case, workspace, empty_home)
    done = run_here(workspace.root, "disable", *order, "--host", case.host)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("+++ ") == done.stderr.count("wrote ") == 1
    assert all(switched_by(workspace, case.host, name) for name in order)
    back = run_here(workspace.root, "enable", "alpha", "gamma", "beta", "--host", case.host)
    assert back.returncode == 0, back.stderr
    assert not any(switched_by(workspace, case.host, name) for name in order)
    if case.before is None or "beta" not in case.before:  # beta was off before
        assert (file.read_text() if file.exists() else None) == case.before


def test_some_of_several_skills_are_enabled(workspace: Workspace, empty_home: Path) -> None:
    file = set_up(CASES[0], workspace, empty_home)
    for name in ("gamma", "alpha", "beta"):
        assert run_here(workspace.root, "disable", name, "--host", "claude-code").returncode == 0
    assert run_here(workspace.root, "enable", "alpha", "gamma").returncode == 0
    assert json.loads(file.read_text()) == {"skillOverrides": {"beta": "off"}}
    assert run_here(workspace.root, "enable", "alpha", "beta").returncode == 0
    assert not file.exists()


def test_one_unknown_skill_among_several_writes_nothing(
    workspace: Workspace, empty_home: Path
) -> None:
    file = set_up(CASES[0], workspace, empty_home)
    refused = run_here(workspace.root, "disable", "alpha", "delta", "--host", "claude-code")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "delta" in refused.stderr
    assert not file.exists()


def test_skills_with_one_switch_are_written_once(workspace: Workspace, empty_home: Path) -> None:
    two_folders_of_one_name(workspace, ".gemini/skills")
    folders = [f".gemini/skills/{one}" for one in ("figma", "figma-1")]
    done = run_here(workspace.root, "disable", *folders, "figma", "--host", "gemini")
    assert done.returncode == 0, done.stderr
    text = (workspace.root / ".gemini" / "settings.json").read_text()
    assert json.loads(text) == {"skills": {"disabled": ["figma"]}}


def test_what_the_user_changed_meanwhile_stays(workspace: Workspace, empty_home: Path) -> None:
    file = set_up(CASES[0], workspace, empty_home)
    run_here(workspace.root, "disable", "alpha", "--host", "claude-code")
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "model": "opus"}))
    run_here(workspace.root, "enable", "alpha", "--host", "claude-code")
    assert json.loads(file.read_text()) == {"model": "opus"}


def test_a_switch_that_was_written_by_hand_is_removed(
    workspace: Workspace, empty_home: Path
) -> None:
    case = CASES[5]._replace(before='{"skills": {"disabled": ["alpha", "beta"]}}')
    file = set_up(case, workspace, empty_home)
    assert run_here(workspace.root, "enable", "alpha", "--host", "gemini").returncode == 0
    assert file.read_text() == '{"skills": {"disabled": ["beta"]}}'


def test_a_dry_run_writes_nothing_and_shows_the_diff(
    workspace: Workspace, empty_home: Path
) -> None:
    file = set_up(CASES[1], workspace, empty_home)
    done = run_here(workspace.root, "disable", "alpha", "--host", "claude-code", "--dry-run")
    assert '+ "skillOverrides": {"beta": "off", "alpha":"off"}}' in done.stdout
    assert file.read_text() == CASES[1].before
    found = run_here(
        workspace.root, "disable", "alpha", "--host", "claude-code", "--dry-run", "--json"
    )
    (plan,) = json.loads(found.stdout)
    follows("skill-switches", [plan])
    assert (plan["host"], plan["switch"], plan["action"]) == (
        "claude-code", "skillOverrides", "change",
    )  # fmt: skip


def test_user_and_project_say_whose_settings(workspace: Workspace, empty_home: Path) -> None:
    set_up(CASES[0], workspace, empty_home)
    own = empty_home / ".claude" / "settings.json"
    run_here(workspace.root, "disable", "alpha", "--host", "claude-code", "--user")
    assert own.exists()
    assert not (workspace.root / ".claude" / "settings.json").exists()
    run_here(workspace.root, "enable", "alpha")
    assert not own.exists()
    refused = run_here(workspace.root, "disable", "alpha", "--host", "openclaw", "--project")
    assert refused.returncode == 2


def test_without_a_host_every_host_here_that_loads_it_is_written(
    workspace: Workspace, empty_home: Path
) -> None:
    workspace.skill("alpha", "Rotate the keys", folder=".agents/skills/alpha")
    for folder in (".codex", ".gemini"):
        (empty_home / folder).mkdir()
    done = run_here(workspace.root, "disable", "alpha", "--yes")
    assert done.returncode == 0, done.stderr
    assert switched_by(workspace, "codex")
    assert switched_by(workspace, "gemini")
    assert not switched_by(workspace, "opencode")
    assert run_here(workspace.root, "enable", "alpha").returncode == 0
    assert not switched_by(workspace, "codex")
    assert not switched_by(workspace, "gemini")


@pytest.mark.parametrize("host", ["copilot", "cursor"])
def test_a_host_with_front_matter_only_says_what_to_write(
    host: str, workspace: Workspace, empty_home: Path
) -> None:
    file = workspace.skill("alpha", "Rotate the keys", folder=".agents/skills/alpha")
    before = Path(file).read_text()
    refused = run_here(workspace.root, "disable", "alpha", "--host", host)
    assert refused.returncode == 2
    assert "has no setting that switches a skill off" in refused.stderr
    assert "write 'disable-model-invocation: true' into the front matter of" in refused.stderr
    assert Path(file).read_text() == before


def test_an_unknown_skill_gets_a_suggestion(workspace: Workspace) -> None:
    workspace.skill("alpha", "Rotate the keys", folder=".claude/skills/alpha")
    refused = run_here(workspace.root, "disable", "alhpa")
    assert refused.returncode == 2
    assert "alpha" in refused.stderr


def test_a_stronger_setting_is_named_and_nothing_is_written(
    workspace: Workspace, empty_home: Path
) -> None:
    file = set_up(CASES[0], workspace, empty_home)
    local = workspace.write(".claude/settings.local.json", '{"skillOverrides": {"alpha": "on"}}')
    refused = run_here(workspace.root, "disable", "alpha", "--host", "claude-code")
    assert refused.returncode == 2
    assert "would stay on" in refused.stderr
    assert str(local) in refused.stderr
    assert not file.exists()


def test_a_link_out_of_the_workspace_is_refused(
    workspace: Workspace, tmp_path: Path, empty_home: Path
) -> None:
    set_up(CASES[0], workspace, empty_home)
    target = tmp_path / "elsewhere.json"
    target.write_text("{}")
    (workspace.root / ".claude" / "settings.json").symlink_to(target)
    refused = run_here(workspace.root, "disable", "alpha", "--host", "claude-code")
    assert refused.returncode == 2
    assert "leads out of the workspace" in refused.stderr
    assert target.read_text() == "{}"


@pytest.mark.parametrize("text", ['{"a": 1, // why\n}', "[1]", '{"skillOverrides": []}', '"x"'])
def test_settings_that_cannot_be_edited_stay_as_they_are(
    text: str, workspace: Workspace, empty_home: Path
) -> None:
    file = set_up(CASES[0]._replace(before=text), workspace, empty_home)
    refused = run_here(workspace.root, "disable", "alpha", "--host", "claude-code")
    assert refused.returncode == 2, refused.stderr
    assert "cannot be changed" in refused.stderr
    assert "by hand" in refused.stderr
    assert file.read_text() == text


def test_no_settings_are_made_beside_those_with_comments_that_the_host_reads_too(
    workspace: Workspace, empty_home: Path
) -> None:
    case = next(one for one in CASES if one.host == "opencode")
    file = set_up(case._replace(before=None), workspace, empty_home)
    workspace.write("opencode.jsonc", '{"permission": "ask"} // all of it\n')
    refused = run_here(workspace.root, "disable", "alpha", "--host", "opencode")
    assert (refused.returncode, file.exists()) == (2, False)
    assert "opencode.jsonc" in refused.stderr
    assert "add this by hand: permission.skill, alpha = deny" in refused.stderr


def test_settings_that_cannot_be_edited_do_not_hinder_taking_back_what_is_elsewhere(
    workspace: Workspace, empty_home: Path
) -> None:
    case = CASES[0]._replace(before='{"a": 1, // why\n}', file="~/.claude/settings.json")
    set_up(case._replace(file=".claude/settings.json"), workspace, empty_home)
    user = path_of(case, workspace, empty_home)
    host = ("alpha", "--host", "claude-code")
    assert run_here(workspace.root, "disable", *host, "--user").returncode == 0
    assert '"alpha": "off"' in user.read_text()
    back = run_here(workspace.root, "enable", *host)
    assert (back.returncode, user.exists()) == (0, False), back.stderr


def test_a_skill_of_a_plugin_and_its_whole_plugin(workspace: Workspace, empty_home: Path) -> None:
    cache = empty_home / ".claude/plugins/cache/market/tools/1.0"
    (cache / ".claude-plugin").mkdir(parents=True)
    (cache / ".claude-plugin/plugin.json").write_text('{"name": "tools"}')
    (cache / "skills/alpha").mkdir(parents=True)
    text = "---\nname: alpha\ndescription: Rotate keys\n---\n"
    (cache / "skills/alpha/SKILL.md").write_text(text)
    installed = {"version": 2, "plugins": {"tools@market": [{"installPath": str(cache)}]}}
    (cache.parents[3] / "installed_plugins.json").write_text(json.dumps(installed))
    own = empty_home / ".claude" / "settings.json"
    done = run_here(workspace.root, "disable", "tools:alpha", "--host", "claude-code")
    assert done.returncode == 0, done.stderr
    assert json.loads(own.read_text()) == {"skillOverrides": {"tools:alpha": "off"}}
    assert run_here(workspace.root, "enable", "tools:alpha").returncode == 0
    done = run_here(workspace.root, "disable", "tools:alpha", "--plugin", "--host", "claude-code")
    assert done.returncode == 0, done.stderr
    assert json.loads(own.read_text()) == {"enabledPlugins": {"tools@market": False}}
    assert run_here(workspace.root, "enable", "tools:alpha").returncode == 0
    assert not own.exists()


@pytest.mark.slow
def test_on_a_terminal_nothing_is_written_before_the_answer(
    workspace: Workspace, empty_home: Path
) -> None:
    file = set_up(CASES[0], workspace, empty_home)
    home = {"HOME": str(empty_home)}
    refused = answered(workspace.root, "n\n", "disable", "alpha", "--host", "claude-code", **home)
    assert (refused.code, file.exists()) == (1, False)
    agreed = answered(workspace.root, "y\n", "disable", "alpha", "--host", "claude-code", **home)
    assert (agreed.code, file.exists()) == (0, True)


# Edits

WRITTEN = [
    Written(("skillOverrides",), "map", "folder", "off"),
    Written(("skills", "disabled"), "list", "name"),
    Written(("skills", "entries"), "map", "name", inner=("enabled",)),
    Written(("permission", "skill"), "map", "name", "deny", default="*"),
]
NAME = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1)
PLAIN = st.dictionaries(NAME, st.one_of(st.integers(), NAME, st.lists(NAME)), max_size=3)


@given(st.sampled_from(WRITTEN), NAME, PLAIN, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_off_then_on_gives_the_same_settings(
    written: Written, name: str, others: dict[str, object], indent: int | None, is_there: bool
) -> None:
    around: dict[str, object] = {key: one for key, one in others.items() if key != written.keys[0]}
    if is_there:
        inside: object = ["other"] if written.form == "list" else {}
        for key in reversed(written.keys):
            inside = {key: inside}
        around |= dict(inside) if isinstance(inside, dict) else {}
    text = json.dumps(around, indent=indent, ensure_ascii=False)
    place = SwitchedSkill(written, name)
    if is_off(text, place):
        return
    off, taken = switched_off(text, place)
    assert is_off(off, place)
    on = switched_on(off, place, taken)
    assert not is_off(on, place)
    assert json.loads(on) == around

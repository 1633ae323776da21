"""Folders in the settings may be patterns: `folders.agents = ["teams/*/agents"]`."""

import json
from pathlib import Path

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.cli import run
from metier.config import read_settings
from metier.errors import ConfigError
from metier.flow.boundary import power_set, read_boundary
from metier.flow.hook_refresh import depended_on

AGENT = "agentId: {id}\ndescription: Works for {id}.\ntools: [search]\n"
ABILITY = "---\nabilityId: {id}\n---\nWrite {id}.\n"
CARD = (
    "---\nid: {id}\nname: {id}\ndescription: About {id}.\npriority: 1\n"
    "triggers: {{keywords: [{id}], confidenceThreshold: 0.2}}\n---\n" + "It tells all. " * 20 + "\n"
)


@pytest.fixture
def teams(workspace: Workspace) -> Workspace:
    for team in ("blue", "red"):
        workspace.write(f"teams/{team}/agents/{team}.yaml", AGENT.format(id=team))
        workspace.write(f"teams/{team}/abilities/{team}.md", ABILITY.format(id=team))
        workspace.write(f"teams/{team}/cards/{team}.md", CARD.format(id=team))
    workspace.write("teams/notes.md", "No folder.")
    return workspace


def settings(place: Workspace, text: str) -> None:
    place.write("metier.toml", text)
    place.trust()


def opened(place: Workspace) -> Catalog:
    catalog = Catalog.open(place.root)
    catalog.refresh()
    return catalog


@pytest.mark.parametrize(
    ("kind", "key"), [("agent", "agents"), ("ability", "abilities"), ("card", "cards")]
)
@pytest.mark.parametrize("pattern", ["teams/*/{key}", "teams/[br]*/{key}", "**/{key}"])
def test_a_pattern_stands_for_all_folders_that_match(
    teams: Workspace, kind: str, key: str, pattern: str
) -> None:
    settings(teams, f'folders.{key} = ["{pattern.format(key=key)}"]\n')
    with opened(teams) as catalog:
        assert catalog.names(kind) == ["blue", "red"]  # type: ignore[arg-type]  # one of the kinds
        assert catalog.issues() == []


def test_a_folder_of_that_very_name_is_no_pattern(teams: Workspace) -> None:
    teams.write("[team]/one.yaml", AGENT.format(id="one"))
    settings(teams, 'folders.agents = ["[team]"]\n')
    with opened(teams) as catalog:
        assert catalog.names("agent") == ["one"]


def test_a_folder_that_comes_to_match_is_seen(teams: Workspace) -> None:
    settings(teams, 'folders.agents = ["teams/*/agents"]\n')
    with opened(teams) as catalog:
        teams.write("teams/green/agents/green.yaml", AGENT.format(id="green"))
        catalog.refresh()
        assert catalog.names("agent") == ["blue", "green", "red"]


def test_agents_of_a_pattern_are_part_of_what_is_trusted(teams: Workspace) -> None:
    settings(teams, 'folders.agents = ["teams/*/agents"]\n')
    before = power_set(read_settings(str(teams.root)))
    assert sorted(before.agents) == ["teams/blue/agents/blue.yaml", "teams/red/agents/red.yaml"]
    teams.write("teams/green/agents/green.yaml", AGENT.format(id="green"))
    assert power_set(read_settings(str(teams.root))).digest != before.digest
    assert not read_boundary(str(teams.root)).trust.is_trusted


def test_hooks_depend_on_every_folder_that_may_bring_a_match(teams: Workspace) -> None:
    settings(teams, 'folders.agents = ["teams/*/agents"]\n')
    watched = depended_on(read_boundary(str(teams.root)))
    names = {str(Path(one).relative_to(teams.root)) for one in watched if str(teams.root) in one}
    assert {"teams", "teams/blue", "teams/blue/agents", "teams/red"} <= names


def test_a_mount_may_be_a_pattern(teams: Workspace, tmp_path: Path) -> None:
    for team in ("one", "two"):
        Workspace(tmp_path / "shared" / team).skill(team, folder=f"skills/{team}")
    settings(teams, 'mounts = [{ path = "../shared/*/skills" }]\n')
    with opened(teams) as catalog:
        assert [row.id for row in catalog.skills()] == [
            "one::shared/one/skills/one",
            "two::shared/two/skills/two",
        ]


def test_a_mount_without_a_folder_to_call_it_after_needs_a_label(workspace: Workspace) -> None:
    workspace.write("metier.toml", 'mounts = [{ path = "../team-*" }]\n')
    with pytest.raises(ConfigError, match="label"):
        read_settings(str(workspace.root)).config(is_trusted=True)


def test_a_folder_of_the_user_may_be_a_pattern(teams: Workspace, empty_home: Path) -> None:
    Workspace(empty_home).write("work/a/agents/mine.yaml", AGENT.format(id="mine"))
    Workspace(empty_home).write(
        ".config/metier/metier.toml", 'folders.agents = ["~/work/*/agents"]'
    )
    with opened(teams) as catalog:
        assert catalog.names("agent") == ["mine"]


PATTERNS = """
mounts = [{ path = "../nobody-*", label = "team" }]

[folders]
agents = ["agents", "teams/*/agnets"]
cards = ["teams/?/cards"]
"""


@pytest.fixture
def mistaken(teams: Workspace) -> Workspace:
    settings(teams, PATTERNS)
    return teams


def test_a_pattern_without_a_match_is_reported(mistaken: Workspace) -> None:
    with opened(mistaken) as catalog:
        told = [(one.code, one.line, one.message) for one in catalog.issues()]
    assert told == [
        ("IO207", 2, "no folder matches '../nobody-*' (mounts)"),
        ("IO207", 5, "no folder matches 'teams/*/agnets' (folders.agents)"),
        ("IO207", 6, "no folder matches 'teams/?/cards' (folders.cards)"),
    ]


NAMES = """
[folders]
agents = ["agents", "missing", "teams/*"]
abilities = [""]
cards = ['teams/notes.md']
"""


def test_a_folder_that_is_not_there_is_reported(teams: Workspace) -> None:
    settings(teams, NAMES)
    with opened(teams) as catalog:
        told = [(one.code, one.line, one.message) for one in catalog.issues()]
        assert catalog.documents("ability") == []
    assert told == [
        ("IO207", 3, "there is no folder 'missing' (folders.agents)"),
        ("IO207", 4, "the name of a folder is empty (folders.abilities)"),
        ("IO207", 5, "there is no folder 'teams/notes.md' (folders.cards)"),
    ]


@pytest.mark.parametrize(
    ("kind", "warning"),
    [
        ("agents", "there is no folder 'missing' (folders.agents)"),
        ("abilities", "the name of a folder is empty (folders.abilities)"),
    ],
)
def test_list_warns_of_it(
    teams: Workspace,
    kind: str,
    warning: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings(teams, NAMES)
    monkeypatch.chdir(teams.root)
    assert run(["list", kind]) == 0
    warnings = [one for one in capsys.readouterr().err.splitlines() if "warning" in one]
    assert warnings == [f"warning: {warning} (IO207)"]


def test_a_folder_that_the_user_wants_in_every_workspace_may_be_missing(
    teams: Workspace, empty_home: Path
) -> None:
    text = 'folders.agents = ["my-agents", "~/gone"]'
    Workspace(empty_home).write(".config/metier/metier.toml", text)
    with opened(teams) as catalog:
        (issue,) = catalog.issues()
    assert issue.path == str(empty_home / ".config/metier/metier.toml")
    assert issue.message == f"there is no folder '{empty_home}/gone' (folders.agents)"


def test_the_command_line_reports_it(
    mistaken: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(mistaken.root)
    assert run(["lint", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {one["path"] for one in found} == {"metier.toml"}
    assert run(["refresh"]) == 0
    assert "no folder matches 'teams/*/agnets'" in capsys.readouterr().out
    run(["doctor"])
    assert "no folder matches 'teams/*/agnets'" in capsys.readouterr().out


def test_a_named_file_in_a_matching_folder_has_its_kind(
    teams: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(teams, 'folders.cards = ["teams/*/cards"]\n')
    monkeypatch.chdir(teams.root)
    assert run(["lint", "teams/blue/cards/blue.md"]) == 0
    assert "1 file checked" in capsys.readouterr().err
    assert run(["lint", "."]) == 0
    assert "2 files checked" in capsys.readouterr().err


def test_lint_and_doctor_report_a_folder_that_is_not_there(
    teams: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(teams, NAMES)
    monkeypatch.chdir(teams.root)
    for command in ("lint", "doctor"):
        run([command])
        out = capsys.readouterr().out
        assert "there is no folder 'missing' (folders.agents)" in out
        assert "the name of a folder is empty (folders.abilities)" in out


def test_a_mount_that_is_not_there_is_named_with_the_line_of_the_settings(
    teams: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(teams, '\nmounts = [{ path = "../nowhere", label = "a" }]\n')
    monkeypatch.chdir(teams.root)
    assert run(["lint"]) == 1
    (told, _hint) = capsys.readouterr().out.splitlines()
    assert told == "metier.toml:2:1: IO207 there is no folder '../nowhere' (mounts)"
    for command in ("doctor", "refresh"):
        run([command])
        assert "there is no folder '../nowhere' (mounts)" in capsys.readouterr().out


def test_a_team_with_a_pattern_is_reported_even_if_it_matches(
    teams: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(teams, '[teams."teams/*"]\n')
    monkeypatch.chdir(teams.root)
    assert run(["lint", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["code"], found["message"]) == ("IO207", "there is no folder 'teams/*' (teams)")
    assert found["hint"] == 'a team has one folder, without wildcards: [teams."FOLDER"]'

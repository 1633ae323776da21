"""What a host makes of a skill: it loads as a name, or not, with the reason."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.hosts.known import HOSTS
from metier.hosts.loading import DoesNotLoad, Loads, Location, droppers, loads, owners, readers
from metier.hosts.model import UNKNOWN

SKILL = {"name": "named", "description": "Does a thing."}
OFF = {"skillOverrides": "off"}
WITH_SKILLS = [name for name, host in HOSTS.items() if host.loading is not None]


def judged(
    host: str,
    path: str,
    data: Mapping[str, Any] = SKILL,
    switched: Mapping[str, str] | None = None,
) -> object:
    """The name, or the reason why it does not load."""
    outcome = loads(HOSTS[host], Location(path), data, switched)
    return outcome.name if isinstance(outcome, Loads) else outcome.reason


def refused(host: str, path: str, data: Mapping[str, Any] = SKILL) -> DoesNotLoad:
    outcome = loads(HOSTS[host], Location(path), data)
    assert isinstance(outcome, DoesNotLoad)
    return outcome


def loaded(
    host: str,
    path: str,
    data: Mapping[str, Any] = SKILL,
    switched: Mapping[str, str] | None = None,
) -> Loads:
    outcome = loads(HOSTS[host], Location(path), data, switched)
    assert isinstance(outcome, Loads)
    return outcome


@pytest.mark.parametrize("host", WITH_SKILLS)
def test_every_host_loads_a_skill_in_each_of_its_folders(host: str) -> None:
    loading = HOSTS[host].loading
    assert loading is not None
    for folder in (*loading.project, *loading.user):
        name = "of-folder" if loading.name == "folder" else "named"
        assert loaded(host, f"{folder}/of-folder/SKILL.md") == Loads(name)


@pytest.mark.parametrize(
    ("host", "outcome"),
    [
        ("claude-code", "too-deep"),
        ("codex", "other-folder"),
        ("gemini", "other-folder"),
        ("copilot", "named"),
        ("cursor", "named"),
        ("opencode", "named"),
        ("openclaw", "other-folder"),
        ("vscode", "other-folder"),
    ],
)
def test_a_skill_in_a_group_below_claudes_folder(host: str, outcome: str) -> None:
    assert judged(host, ".claude/skills/group/a/SKILL.md") == outcome


@pytest.mark.parametrize(
    ("host", "levels", "outcome"),
    [
        ("codex", 6, "named"),
        ("codex", 7, "too-deep"),
        ("gemini", 1, "named"),
        ("gemini", 2, "too-deep"),
        ("cursor", 20, "named"),
        ("opencode", 20, "named"),
        ("openclaw", 6, "named"),
        ("openclaw", 7, "too-deep"),
    ],
)
def test_how_deep_a_skill_may_be_in_the_shared_folder(host: str, levels: int, outcome: str) -> None:
    assert judged(host, f".agents/skills/{'x/' * levels}SKILL.md") == outcome


def test_the_hint_says_where_a_skill_that_is_too_deep_belongs() -> None:
    found = refused("claude-code", ".claude/skills/group/deeper/a/SKILL.md")
    assert found.message == "2 levels too deep for Claude Code"
    assert found.hint == "move it to .claude/skills/a/SKILL.md"
    found = refused("claude-code", "~/.claude/skills/group/a/SKILL.md")
    assert found.message == "1 level too deep for Claude Code"
    assert found.hint == "move it to ~/.claude/skills/a/SKILL.md"
    found = refused("claude-code", "apps/web/.claude/skills/group/a/SKILL.md")
    assert found.hint == "move it to apps/web/.claude/skills/a/SKILL.md"


def test_a_folder_that_is_not_read_comes_with_those_that_are() -> None:
    found = refused("gemini", ".claude/skills/a/SKILL.md")
    assert found.message == "Gemini CLI does not read this folder"
    assert found.hint.startswith("it reads .agents/skills, .gemini/skills: link or copy ")
    found = refused("gemini", "~/.claude/skills/a/SKILL.md")
    assert found.hint.startswith("it reads ~/.agents/skills, ~/.gemini/skills: link or copy ")


@pytest.mark.parametrize(
    ("host", "outcome"),
    [("claude-code", "a"), ("cursor", "named"), ("opencode", "not-here"), ("copilot", "not-here")],
)
def test_a_skill_folder_below_the_workspace(host: str, outcome: str) -> None:
    assert judged(host, "apps/web/.claude/skills/a/SKILL.md") == outcome


def test_a_folder_called_skills_counts_only_at_the_root_of_the_workspace() -> None:
    assert judged("openclaw", "skills/a/SKILL.md") == "named"
    assert judged("openclaw", "apps/skills/a/SKILL.md") == "other-folder"


def test_the_folders_of_the_machine() -> None:
    assert judged("codex", "/etc/codex/skills/a/SKILL.md") == "named"
    assert judged("codex", "/opt/etc/codex/skills/a/SKILL.md") == "other-folder"
    assert judged("claude-code", "/etc/codex/skills/a/SKILL.md") == "other-folder"


@pytest.mark.parametrize(
    ("host", "outcome"),
    [
        ("claude-code", Loads("pack:a")),
        ("codex", Loads("pack:named")),
        ("gemini", Loads("named")),
    ],
)
def test_a_skill_of_a_plugin(host: str, outcome: Loads) -> None:
    assert loads(HOSTS[host], Location("skills/a/SKILL.md", "pack"), SKILL) == outcome


def test_a_host_without_plugins_loads_none_of_their_skills() -> None:
    found = loads(HOSTS["opencode"], Location("skills/a/SKILL.md", "pack"), SKILL)
    assert isinstance(found, DoesNotLoad)


@pytest.mark.parametrize(
    ("host", "outcome"),
    [("codex", "a"), ("gemini", "no-name"), ("opencode", "no-name"), ("openclaw", "a")],
)
def test_a_skill_without_a_name(host: str, outcome: str) -> None:
    data = {"description": "Does a thing."}
    assert judged(host, ".agents/skills/a/SKILL.md", data) == outcome


@pytest.mark.parametrize("data", [{"name": "n"}, {"name": "n", "description": " "}])
def test_a_skill_without_a_description(data: Mapping[str, str]) -> None:
    path = ".agents/skills/a/SKILL.md"
    assert judged("codex", path, data) == "no-description"
    assert judged("gemini", path, data) == "no-description"
    assert judged("claude-code", ".claude/skills/a/SKILL.md", data) == "a"
    assert loaded("opencode", path, data).hidden_by == "the missing description"
    assert [host.name for host in droppers()] == ["codex", "gemini"]


@pytest.mark.parametrize("host", WITH_SKILLS)
def test_the_switch_in_front_matter_hides_a_skill_where_it_is_honoured(host: str) -> None:
    loading = HOSTS[host].loading
    assert loading is not None
    data = {**SKILL, "disable-model-invocation": True}
    found = loaded(host, f"{loading.project[0]}/a/SKILL.md", data)
    ignores = host in ("codex", "gemini", "opencode")
    assert found.hidden_by == ("" if ignores else "disable-model-invocation")


def test_the_switches_of_settings_and_of_files_beside_a_skill() -> None:
    path = ".claude/skills/a/SKILL.md"
    assert judged("claude-code", path, SKILL, {"skillOverrides": "off"}) == "off"
    assert (
        loaded("claude-code", path, SKILL, {"skillOverrides": "name-only"}).hidden_by
        == "skillOverrides"
    )
    assert loaded("claude-code", path, SKILL, {"skillOverrides": "on"}).hidden_by == ""
    shared = ".agents/skills/a/SKILL.md"
    key = "policy.allow_implicit_invocation"
    assert loaded("codex", shared, SKILL, {key: "false"}).hidden_by == key
    assert loaded("codex", shared, SKILL, {key: "true"}).hidden_by == ""
    assert judged("gemini", shared, SKILL, {"skills.disabled": "listed"}) == "off"


def test_off_is_stronger_than_hidden() -> None:
    data = {**SKILL, "disable-model-invocation": True}
    assert judged("claude-code", ".claude/skills/a/SKILL.md", data, OFF) == "off"


def test_a_skill_that_only_the_model_starts_is_not_hidden() -> None:
    data = {**SKILL, "user-invocable": False}
    assert loaded("claude-code", ".claude/skills/a/SKILL.md", data).hidden_by == ""


def test_what_is_not_known_of_a_host_is_a_doubt_and_no_answer() -> None:
    copilot = HOSTS["copilot"]
    assert copilot.loading is not None
    vague = copilot.loading._replace(depth=UNKNOWN, bare=UNKNOWN, nested=UNKNOWN)
    doubts = {
        ".github/skills/a/SKILL.md": "",
        ".github/skills/group/a/SKILL.md": "how deep a skill may be",
        ".github/skills/SKILL.md": "whether a skill needs its own folder",
        "apps/.github/skills/a/SKILL.md": "whether skill folders below the working folder are read",
    }
    for path, doubt in doubts.items():
        outcome = loads(copilot._replace(loading=vague), Location(path), SKILL)
        assert isinstance(outcome, Loads)
        assert outcome.doubt == doubt


def test_a_folder_of_one_host_is_also_read_by_those_that_borrow_it() -> None:
    path = "/home/me/.claude/skills/a/SKILL.md"
    names = [host.name for host in readers(path)]
    assert names == ["claude-code", "copilot", "cursor", "opencode"]
    assert [host.name for host in owners(path)] == ["claude-code"]


@given(
    host=st.sampled_from(WITH_SKILLS),
    path=st.lists(st.sampled_from([".claude", ".agents", "skills", "~", "a", ".", ""])).map(
        "/".join
    ),
    data=st.dictionaries(
        st.sampled_from(["name", "description", "disable-model-invocation", "user-invocable"]),
        st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()),
    ),
    plugin=st.sampled_from(["", "pack"]),
)
def test_any_path_and_front_matter_gets_an_answer(
    host: str, path: str, data: Mapping[str, Any], plugin: str
) -> None:
    outcome = loads(HOSTS[host], Location(f"{path}/SKILL.md", plugin), data)
    if isinstance(outcome, DoesNotLoad):
        assert outcome.message
        assert outcome.hint

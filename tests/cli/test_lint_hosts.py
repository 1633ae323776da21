"""`metier lint --host`, and what findings and their pages say of hosts."""

import json
from collections.abc import Callable

import pytest

from cli.printed import Printed
from conftest import Workspace
from metier.cli import run

Metier = Callable[..., Printed]
NAMELESS = "---\ndescription: Draws a chart from a table of numbers.\n---\nDraw.\n"
LONG = f"---\nname: long\ndescription: {'Draws a chart. ' * 80}\n---\nDraw.\n"
ROUTED = "---\nname: long\ndescription: {}\nwhen_to_use: {}\n---\nDraw.\n"


@pytest.fixture
def metier(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Metier:
    """Run a command in the workspace."""

    def call(*arguments: str) -> Printed:
        monkeypatch.chdir(workspace.root)
        return Printed(run([*arguments]), *capsys.readouterr())

    return call


def codes(metier: Metier, *arguments: str) -> list[str]:
    found = json.loads(metier("lint", "--json", *arguments).out)
    return [issue["code"] for issue in found]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("gemini", ["SK301"]),
        ("opencode", ["SK301"]),
        ("codex", []),
        ("cursor", []),
        ("claude.ai", []),
    ],
)
def test_only_findings_that_matter_to_the_host_are_kept(
    workspace: Workspace, metier: Metier, host: str, expected: list[str]
) -> None:
    workspace.write("skills/charts/SKILL.md", NAMELESS)
    assert codes(metier, "--host", host) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("codex", ["SK305"]), ("copilot", ["SK305"]), ("gemini", []), ("claude-code", [])],
)
def test_a_long_description_is_judged_by_the_limit_of_the_host(
    workspace: Workspace, metier: Metier, host: str, expected: list[str]
) -> None:
    workspace.write("skills/long/SKILL.md", LONG)
    assert codes(metier, "--host", host) == expected


def test_description_and_when_to_use_together_matter_to_the_host_that_joins_them(
    workspace: Workspace, metier: Metier
) -> None:
    text = ROUTED.format("Draws. " * 140, "When. " * 120)
    workspace.write("skills/long/SKILL.md", text)
    assert codes(metier, "--host", "claude-code") == ["SK305"]
    assert codes(metier, "--host", "codex") == []


def test_a_description_that_is_too_long_by_itself_is_one_finding(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.write("skills/long/SKILL.md", ROUTED.format("Draws. " * 300, "When. " * 10))
    assert codes(metier) == ["SK305"]


@pytest.mark.parametrize(
    ("name", "host", "expected"),
    [
        ("Charts_1", "copilot", []),
        ("Charts!", "copilot", ["SK302"]),
        ("Charts!", "codex", []),
        ("c" * 65, "codex", ["SK302"]),
        ("Charts_1", "claude.ai", ["SK302"]),
    ],
)
def test_a_name_is_judged_by_the_rule_of_the_host(
    workspace: Workspace, metier: Metier, name: str, host: str, expected: list[str]
) -> None:
    text = NAMELESS.replace("---\n", f"---\nname: {name}\n", 1)
    workspace.write(f"skills/{name}/SKILL.md", text)
    assert codes(metier, "--host", host) == expected


def test_a_skill_in_a_folder_that_the_host_does_not_read_does_not_matter(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.write(".claude/skills/charts/SKILL.md", NAMELESS)
    assert codes(metier, "--host", "gemini") == []
    assert codes(metier, "--host", "opencode") == ["SK301"]


def test_an_unknown_host_is_refused_with_those_that_are_known(metier: Metier) -> None:
    result = metier("lint", "--host", "clippy")
    assert result.code == 2
    assert "codex" in result.err


def test_text_names_the_hosts_unless_it_matters_to_all(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.write("skills/charts/SKILL.md", NAMELESS.replace("Draw.\n", ""))
    lines = metier("lint").out.splitlines()
    (named,) = [line for line in lines if "SK301" in line]
    assert named.endswith("[gemini, opencode]")
    (empty,) = [line for line in lines if "SK312" in line]
    assert empty.endswith("no instructions")


def test_json_and_sarif_say_what_each_host_does(workspace: Workspace, metier: Metier) -> None:
    workspace.write("skills/charts/SKILL.md", NAMELESS)
    (issue,) = json.loads(metier("lint", "--json").out)
    assert issue["hosts"]["gemini"] == "drop the skill"
    (sarif,) = json.loads(metier("lint", "--format", "sarif").out)["runs"]
    assert sarif["results"][0]["properties"]["hosts"] == issue["hosts"]
    assert sarif["tool"]["driver"]["rules"][0]["properties"]["hosts"] == issue["hosts"]


def test_a_page_says_what_each_host_does_and_where_that_was_read(metier: Metier) -> None:
    shown = metier("explain", "SK323").out
    assert "claude-code: replaces it" in shown
    assert "claude-code/issues/78759" in shown
    data = json.loads(metier("explain", "SK323", "--json").out)
    assert list(data["hosts"]) == ["claude-code"]
    assert data["source"].endswith("2026-11-18.")


def test_plugin_files_around_skills_are_checked(workspace: Workspace, metier: Metier) -> None:
    workspace.skill("charts")
    file = ".claude-plugin/plugin.json"
    workspace.write(file, json.dumps({"name": "x", "skills": "./skill"}))
    (issue,) = json.loads(metier("lint", "--json").out)
    assert (issue["code"], issue["path"]) == ("PL002", file)
    (named,) = json.loads(metier("lint", "--json", "skills", ".").out)
    assert named["path"] == file

"""What each command prints, on which stream, and how it exits."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.printed import Printed, looked_at
from conftest import Workspace
from metier.cli import COMMANDS, run
from metier.cli.demo import _closing

pytestmark = pytest.mark.slow

ABILITY = """---
displayName: Zebra crossing
category: coding
tags: [python]
priority: 60
version: 1.0.0
description: How Python code looks here.
---
Write it plainly.
"""
CARD = """---
id: data-desk
name: Data desk
description: Figures from the reporting database.
triggers:
  keywords: [sql, report, figures]
  sessionTypes: [main]
  confidenceThreshold: 0.15
priority: 8
estimatedTokens: 15
version: 1.0.0
---
Questions that can be answered with numbers go to the reporting database.
"""
SOURCE = "[[capabilities.sources]]\ntype = 'database'\nlocation = 'no.db'\n"
AGENT = "agentId: writer\ndisplayName: Writer\nversion: 1.0.0\ndescription: Writes texts.\n"


Metier = Callable[..., Printed]


@pytest.fixture
def metier(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Metier:
    """Run a command in the workspace, which its user has looked at."""
    monkeypatch.chdir(workspace.root)

    def call(*arguments: str) -> Printed:
        looked_at(workspace.root)
        code = run([*arguments, "--root", str(workspace.root)])
        return Printed(code, *capsys.readouterr())

    return call


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    """Two skills that search, one of them twice; an ability, a card, an agent."""
    workspace.skill("brave", extra="capabilities: [web-search]", body="Search the web.")
    workspace.skill("searx", extra="capabilities: [web-search, page-fetch]")
    workspace.skill("searx", folder="vendor/searx", description="Another one. Use it never.")
    workspace.write("abilities/zebra.md", ABILITY)
    workspace.write("abilities/apple.md", ABILITY.replace("Zebra crossing", "Zoo"))
    workspace.write("docs/capabilities/data-desk.md", CARD)
    workspace.write("agents/writer.yaml", AGENT)
    return workspace


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("list", "cards"),
        ("show", "skill", "brave"),
        ("list", "--capability", "web-search"),
    ],
)
def test_a_reading_command_builds_a_missing_catalog_and_says_so_once(
    filled: Workspace, metier: Metier, command: tuple[str, ...]
) -> None:
    first, second = metier(*command), metier(*command)
    root = os.path.realpath(filled.root)
    assert first.err == f"building the catalog of {root}\n"
    assert second.err == ""
    assert first.out == second.out != ""
    assert first.code == second.code == 0


def test_no_refresh_builds_a_missing_catalog_but_leaves_one_as_it_is(
    filled: Workspace, metier: Metier
) -> None:
    assert "building the catalog of " in metier("list", "--no-refresh").err
    filled.skill("newcomer")
    assert "newcomer" not in metier("list", "--no-refresh").out
    assert "newcomer" in metier("list").out


def test_refresh_counts_what_is_there_and_what_changed(filled: Workspace, metier: Metier) -> None:
    first = metier("refresh")
    assert first.out.splitlines() == [
        "3 skills, 2 abilities, 1 card, 1 agent, 1 of them shadowed by another of the same name",
        "7 new, 0 changed, 0 removed, 0 unchanged",
    ]
    assert first.err.startswith("built ")
    filled.write("skills/empty/SKILL.md", "")
    (filled.root / "agents/writer.yaml").unlink()
    second = metier("refresh")
    assert second.out.splitlines()[1] == "1 new, 0 changed, 1 removed, 6 unchanged"
    assert second.out.splitlines()[2] == "1 excluded: metier lint says which and why"
    assert second.err.startswith("refreshed ")
    assert (first.code, second.code) == (0, 0)


def test_refresh_as_json_names_every_exclusion_and_finding(
    filled: Workspace, metier: Metier
) -> None:
    filled.write("skills/empty/SKILL.md", "")
    refreshed = metier("refresh", "--json")
    assert refreshed.err == ""
    assert refreshed.data["discovered"] == 8
    assert refreshed.data["included"] == {"skill": 3, "ability": 2, "card": 1, "agent": 1}
    assert refreshed.data["exclusions"] == [
        {"path": "skills/empty/SKILL.md", "reason": "unparseable", "detail": "the file is empty"}
    ]
    assert "FM114" in {issue["code"] for issue in refreshed.data["issues"]}


def test_list_prints_name_path_and_description_with_tabs_between(
    filled: Workspace, metier: Metier
) -> None:
    rows = [line.split("\t") for line in metier("list").out.splitlines()]
    description = "Does one thing well. Use it when that thing is needed."
    assert rows == [
        ["brave", "skills/brave/SKILL.md", description],
        ["searx", "skills/searx/SKILL.md", description],
    ]


def test_list_adds_shadowed_skills_on_request(filled: Workspace, metier: Metier) -> None:
    shadowed = metier("list", "--shadowed").out.splitlines()[2]
    assert shadowed.startswith("searx\tvendor/searx/SKILL.md\t")
    assert shadowed.endswith("\tshadowed")


def test_a_description_of_several_lines_stays_on_one(workspace: Workspace, metier: Metier) -> None:
    workspace.skill("long", "|\n  One\tline.\n  And another.")
    assert metier("list").out == "long\tskills/long/SKILL.md\tOne line. And another.\n"


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        pytest.param("abilities", ["apple", "zebra"]),
        ("cards", ["data-desk"]),
        ("agents", ["writer"]),
        ("skills", ["brave", "searx"]),
    ],
)
def test_list_sorts_every_kind_by_what_stands_in_the_first_column(
    filled: Workspace, metier: Metier, kind: str, names: list[str]
) -> None:
    assert [line.split("\t")[0] for line in metier("list", kind).out.splitlines()] == names


def test_list_as_json_gives_whole_rows(filled: Workspace, metier: Metier) -> None:
    listed = metier("list", "--json")
    assert [row["id"] for row in listed.data] == ["brave::skills/brave", "searx::skills/searx"]
    assert listed.data[1]["capabilities"] == ["web-search", "page-fetch"]
    assert listed.data[0].keys() >= {"kind", "name", "description", "path", "source", "state"}


def test_list_filters_by_text_and_by_capability(filled: Workspace, metier: Metier) -> None:
    assert metier("list", "--search", "BRAV").out.startswith("brave\t")
    assert metier("list", "--capability", "page-fetch").out.startswith("searx\t")
    nothing = metier("list", "--search", "zzz")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.startswith("no skill")


def test_show_prints_facts_findings_and_the_text(filled: Workspace, metier: Metier) -> None:
    facts, _, body = metier("show", "skill", "brave").out.partition("\n\n")
    assert facts.splitlines()[:2] == ["id: brave::skills/brave", "name: brave"]
    assert "provides: web-search" in facts.splitlines()
    assert body == "Search the web.\n"


@pytest.mark.parametrize(
    ("kind", "plural", "wanted"),
    [
        ("skill", "skills", "brave"),
        ("ability", "abilities", "zebra"),
        ("card", "cards", "data-desk"),
        ("agent", "agents", "writer"),
    ],
)
def test_list_and_show_take_a_kind_as_one_and_as_many(
    filled: Workspace, metier: Metier, kind: str, plural: str, wanted: str
) -> None:
    metier("refresh")
    assert metier("show", plural, wanted) == metier("show", kind, wanted)
    assert metier("show", plural, wanted).out.startswith(f"id: {wanted}")
    assert metier("list", kind) == metier("list", plural)


def test_show_names_the_twins_and_reaches_them_by_id(filled: Workspace, metier: Metier) -> None:
    assert "also: searx::vendor/searx" in metier("show", "skill", "searx").out.splitlines()
    hidden = metier("show", "skill", "searx::vendor/searx").out
    assert "shadowed by: skills/searx/SKILL.md" in hidden.splitlines()
    assert "finding: XF901" in hidden


def test_show_as_json_adds_body_findings_and_twins_to_the_row(
    filled: Workspace, metier: Metier
) -> None:
    shown = metier("show", "skill", "searx", "--json").data
    assert shown["body"] == "Do it."
    assert shown["findings"] == []
    assert shown["others"] == ["searx::vendor/searx"]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("ability", "zebra"),
        pytest.param("card", "data-desk"),
        ("agent", "writer"),
    ],
)
def test_show_says_nothing_twice(filled: Workspace, metier: Metier, kind: str, wanted: str) -> None:
    facts = metier("show", kind, wanted).out.partition("\n\n")[0].splitlines()
    keys = [line.split(": ")[0] for line in facts]
    assert len(set(keys)) == len(keys)
    assert f"id: {wanted}" in facts


def test_list_names_the_providers_of_a_capability(filled: Workspace, metier: Metier) -> None:
    lines = metier("list", "--capability", "web-search").out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["brave", "searx"]
    listed = metier("list", "--capability", "web-search", "--json").data
    assert [one["name"] for one in listed] == ["brave", "searx"]


def test_a_capability_that_nobody_provides_is_no_failure(filled: Workspace, metier: Metier) -> None:
    metier("refresh")
    nobody = metier("list", "--capability", "telepathy")
    assert nobody == Printed(0, "", "no skills match\n")


def test_a_moved_command_names_the_new_one(filled: Workspace, metier: Metier) -> None:
    moved = metier("providers", "web-search")
    assert (moved.code, moved.out) == (2, "")
    assert moved.err.startswith("error: 'metier providers' is now 'metier list --capability'")


def test_a_limit_shortens_a_list_and_says_so(filled: Workspace, metier: Metier) -> None:
    all_lines = metier("list").out.splitlines()
    limited = metier("list", "--limit", "1")
    assert limited.out.splitlines() == all_lines[:1]
    assert limited.err == "1 of 2 skills: --limit 2 shows all\n"
    assert len(metier("list", "--limit", "1", "--json").data) == 1


def test_doctor_finds_a_sound_workspace_sound(filled: Workspace, metier: Metier) -> None:
    checked = metier("doctor")
    assert checked.code == 0
    assert checked.err == ""
    assert "3 skills, 2 abilities" in checked.out
    checks = metier("doctor", "--json").data
    assert {check["name"] for check in checks} >= {"metier", "settings", "catalog", "findings"}
    assert {check["verdict"] for check in checks} <= {"ok", "warning"}


def test_doctor_counts_one_as_one(filled: Workspace, metier: Metier) -> None:
    filled.write("skills/empty/SKILL.md", "")
    checked = metier("doctor").out
    assert "1 card, 1 agent\n" in checked
    assert "1 error, " in checked
    assert "metier lint --user shows them; it also compares files" in " ".join(checked.split())


def test_refresh_and_doctor_tell_a_source_of_cards_that_fails(
    filled: Workspace, metier: Metier
) -> None:
    assert "SRC901" not in metier("refresh").out + metier("doctor").out
    filled.write("metier.toml", SOURCE)
    why = "cannot be read as a database of cards: No such file or directory"
    assert metier("refresh").out.endswith(f"\nwarning: source no.db: {why} (SRC901)\n")
    assert metier("refresh", "-q").out == ""
    lines = metier("doctor").out.splitlines()
    (line,) = (line for line in lines if "SRC901" in line)
    assert line.split(maxsplit=2) == ["warning", "SRC901", f"no.db: {why}"]


def test_doctor_looks_at_the_runs_where_there_are_any(filled: Workspace, metier: Metier) -> None:
    assert "\nok      runs " not in metier("doctor").out
    metier("run", "writer", "write it")
    checked = metier("doctor")
    assert (checked.code, ", 1 run\n" in checked.out) == (0, True)
    file = filled.state / "runs.db"
    sound = file.read_bytes()
    file.write_bytes(sound[:4096] + b"\xff" * (len(sound) - 4096))
    damaged = metier("doctor")
    assert damaged.code == 1
    (line,) = [one for one in damaged.out.splitlines() if one.startswith("error")]
    assert "runs.db" in line


def test_doctor_names_what_is_left_out_and_why(filled: Workspace, metier: Metier) -> None:
    filled.write("skills/empty/SKILL.md", "")
    checked = metier("doctor")
    assert "skills/empty/SKILL.md (unparseable: the file is empty)" in checked.out
    assert "hint: metier lint says which and why" in checked.out
    assert checked.code == 0


def test_doctor_names_some_of_much_that_is_left_out_and_says_where_the_rest_is(
    workspace: Workspace, metier: Metier
) -> None:
    for number in range(12):
        workspace.write(f"skills/empty-{number}/SKILL.md", "")
    checked = metier("doctor").out
    assert checked.count("(unparseable: the file is empty)") == 10
    assert "and 2 more: metier lint says which and why" in checked


def test_init_writes_settings_once_and_nothing_else_into_the_workspace(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("one")
    workspace.write(".gitignore", "build/")
    first = metier("init")
    settings = (workspace.root / "metier.toml").read_text()
    assert first.err.splitlines()[0].endswith(": wrote metier.toml")
    workspace.write("metier.toml", settings + "\n# mine\n")
    second = metier("init", "--json")
    assert second.data["made"] == []
    assert (workspace.root / "metier.toml").read_text().endswith("# mine\n")
    assert (workspace.root / ".gitignore").read_text() == "build/"
    made = {path.name for path in workspace.root.iterdir()}
    assert made == {".git", ".gitignore", "metier.toml", "skills"}
    assert (workspace.state / "metier.db").is_file()


def test_every_line_of_the_settings_that_init_writes_can_be_uncommented(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("one")
    metier("init")
    file = workspace.root / "metier.toml"
    first, _, rest = file.read_text().partition("\n")
    assert first.startswith("# ")
    file.write_text(rest.replace("\n# ", "\n"))
    assert metier("list").code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("list", "--capability", "x"),
        ("show", "skill", "brave"),
        ("refresh",),
        ("init",),
        ("lint",),
    ],
)
def test_quiet_prints_data_only(
    filled: Workspace, metier: Metier, command: tuple[str, ...]
) -> None:
    assert metier(*command, "--quiet").err == ""


class Demo(NamedTuple):
    """What the demo printed, and where it had room for temporary files."""

    finished: subprocess.CompletedProcess[str]
    folder: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo in a process of its own, for a user who has a skill."""
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("demo")
    Workspace(home).skill("private-matter", folder=".claude/skills/private-matter")
    finished = subprocess.run(
        [sys.executable, "-m", "metier", "demo", "--fast"],
        env={**os.environ, "TMPDIR": str(folder), "HOME": str(home)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Demo(finished, folder)


def test_demo_runs_the_commands_that_it_shows_and_leaves_nothing_behind(demo: Demo) -> None:
    shown = demo.finished
    assert shown.returncode == 0
    for command in (
        "refresh",
        "list skills",
        "list --capability web-search",
        "lint",
        "explain FM104",
    ):
        assert f"$ metier {command}\n" in shown.stdout
    assert "31 new, 0 changed, 0 removed, 0 unchanged" in shown.stdout
    lists = shown.stdout.partition("$ metier list --capability web-search\n")[2].splitlines()
    names = [line.split("\t")[0] for line in lists[:3]]
    assert names == ["brave-search", "do-everything", "searx-search"]
    errors = [line for line in shown.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == 1, errors
    assert errors[0].startswith("error: 'save_draft': exit code 1")
    assert "tag: compensated" in shown.stderr
    assert "providers release-notes::skills/release-notes; report " in shown.stdout
    assert "$ python ask.py\n['searx-search::skills/searx-search']\n" in shown.stdout
    assert list(demo.folder.iterdir()) == []


def test_demo_says_what_the_browser_needs_where_it_is_missing(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "in your browser: metier web\n" in demo.finished.stdout
    monkeypatch.setattr("metier.cli.demo.find_spec", lambda _name: None)
    assert "(first install metier with its extra 'web'" in _closing()


def test_demo_shows_the_example_and_nothing_of_the_user(demo: Demo) -> None:
    shown = demo.finished.stdout
    assert "incident-review" in shown
    assert "private-matter" not in shown


def test_the_agent_that_is_built_in_is_named_and_has_no_file(
    workspace: Workspace, metier: Metier
) -> None:
    listed = metier("list", "agents")
    assert (listed.out, "'standard' is built in" in listed.err) == ("", True)
    shown = metier("show", "agent", "standard")
    assert (shown.code, "is built in and has no file" in shown.err) == (2, True)
    text = "agentId: standard\ndescription: Ours.\nsystemPrompt: Work.\n"
    workspace.write("agents/standard.yaml", text)
    assert "built in" not in metier("list", "agents").err
    assert "Ours." in metier("show", "agent", "standard").out


def test_a_disabled_standard_agent_is_told_wherever_findings_are(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.write(
        "agents/standard.yaml", "agentId: standard\ndescription: Mine.\nenabled: false\n"
    )
    listed = metier("list", "agents")
    assert listed.out == "standard\tagents/standard.yaml\tMine.\tdisabled\n"
    assert "'standard' is built in" in listed.err
    assert "AG708" in metier("lint").out
    assert "AG708" in metier("refresh", "--json").out
    assert "0 errors, 1 warning" in metier("doctor").out


def test_every_command_of_the_list_exists() -> None:
    for name in COMMANDS:
        assert run([name, "--help"]) == 0


def test_what_is_excluded_in_the_users_folders_is_said_to_need_user(
    workspace: Workspace, empty_home: Path, metier: Metier
) -> None:
    workspace.skill("here")
    workspace.write("skills/empty/SKILL.md", "")
    assert "1 excluded: metier lint says which and why" in metier("refresh").out
    assert "more in the folders of your hosts" not in metier("lint").err
    Workspace(empty_home).write(".claude/skills/blank/SKILL.md", "")
    assert "2 excluded: metier lint --user says which and why" in metier("refresh").out
    assert "hint: metier lint --user says which and why" in metier("doctor").out


def test_lint_counts_what_it_left_out_in_the_users_folders(
    workspace: Workspace, empty_home: Path, metier: Metier
) -> None:
    workspace.skill("here")
    Workspace(empty_home).skill("there", folder=".claude/skills/there")
    note = "1 more in the folders of your hosts: metier lint --user\n"
    assert note not in metier("lint").err  # there is no catalog yet
    metier("refresh")
    assert metier("lint").err.endswith(note)
    assert note not in metier("lint", "--user").err
    assert note not in metier("lint", "skills").err


@pytest.mark.parametrize(
    ("front", "hint"),
    [
        ("name: a\ndescripton: Draws charts from tables.", "write 'description' instead of 'descr"),
        ("name: a\n  description: Draws a chart.", "remove the spaces before the key"),
        ("name: a\ndescription: |\n    Draws\n  tables", "indent all lines of a value equally"),
        ("name: a\ndescription: Draws a \x01 chart", "hint: remove it"),
    ],
)
def test_a_hint_of_lint_fits_the_mistake(
    workspace: Workspace, metier: Metier, front: str, hint: str
) -> None:
    workspace.write("skills/a/SKILL.md", f"---\n{front}\n---\nDraw it.\n")
    assert hint in metier("lint").out

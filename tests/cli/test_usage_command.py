"""`metier usage`: what it prints, on which stream, and how it exits."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import metier
from cli.printed import Finished, run_here
from cli.terminals import at_terminal
from conftest import Workspace
from usage.recorded import ClaudeCode, claude_home

SCHEMA = json.loads((Path(metier.__file__).parent / "schemas" / "usage.v1.schema.json").read_text())
TASK = "Merge these two PDF forms into one PDF for joe@example.org"
SINCE = ("--since", "2026-01-01")


@pytest.fixture
def shop(workspace: Workspace) -> Workspace:
    """A workspace that its user trusts."""
    workspace.skill("pdf-forms", "Fill and merge PDF forms.", folder=".claude/skills/pdf")
    for name in ("letters", "invoices", "deploy"):
        workspace.skill(name, f"Help with {name}.", folder=f".claude/skills/{name}")
    workspace.trust()
    return workspace


def sessions(shop: Workspace, home: Path, count: int = 1, *more: Any) -> None:
    """Sessions in which the same skill fires."""
    for number in range(count):
        lines = ClaudeCode(str(shop.root), f"s{number}")
        told = [lines.user("Write to them"), lines.skill("letters"), lines.user(TASK)]
        claude_home(home, [*told, *more], f"s{number}")


def usage(shop: Workspace, *arguments: str) -> Finished:
    return run_here(shop.root, "usage", *SINCE, *arguments)


def rows(finished: Finished) -> dict[str, list[str]]:
    return {line.split("\t")[0]: line.split("\t")[1:] for line in finished.stdout.splitlines()}


def test_every_skill_is_listed_with_its_counts(shop: Workspace, empty_home: Path) -> None:
    sessions(shop, empty_home, 2)
    finished = usage(shop)
    assert finished.returncode == 0
    assert rows(finished) == {
        "letters": ["2", "2", "2", "0", "0", "0", "0", "2026-11-10", "claude"],
        "pdf-forms": ["0", "0", "0", "0", "0", "2", "0", "never", "claude"],
        "deploy": ["0", "0", "0", "0", "0", "0", "0", "never", "claude"],
        "invoices": ["0", "0", "0", "0", "0", "0", "0", "never", "claude"],
    }
    assert TASK not in finished.stdout + finished.stderr


def test_too_little_history_is_reported(shop: Workspace, empty_home: Path) -> None:
    sessions(shop, empty_home, 3)
    assert "3 sessions: too few to call a skill unused\n" in usage(shop).stderr
    sessions(shop, empty_home, 10)
    finished = usage(shop)
    assert "too few" not in finished.stderr
    assert "3 of 4 skills never fired\n" in finished.stderr


def test_without_sessions_a_hint_says_what_to_try(shop: Workspace) -> None:
    finished = usage(shop)
    assert finished.returncode == 0
    assert finished.stdout == ""
    assert "0 sessions since 2026-01-01\nhint: --since 90d" in finished.stderr


def test_prompts_are_printed_only_on_request(shop: Workspace, empty_home: Path) -> None:
    sessions(shop, empty_home)
    finished = usage(shop, "--prompts")
    assert finished.stdout.endswith(f"\nmissed\tprompt\npdf-forms\t{TASK}\n")
    assert usage(shop, "--prompts", "--json").stdout.count(TASK) == 1
    assert TASK not in usage(shop, "--json").stdout


@pytest.mark.parametrize(
    "more", [(), ("--prompts",), ("--host", "codex"), ("--all",), ("--unused",)]
)
def test_json_follows_its_schema(shop: Workspace, empty_home: Path, more: tuple[str, ...]) -> None:
    sessions(shop, empty_home, 1, ClaudeCode(str(shop.root), "s0").skill("gone"))
    jsonschema.validate(json.loads(usage(shop, "--json", *more).stdout), SCHEMA)


def test_a_limit_says_how_many_there_are(shop: Workspace, empty_home: Path) -> None:
    sessions(shop, empty_home)
    finished = usage(shop, "--limit", "1")
    assert list(rows(finished)) == ["letters"]
    assert "1 of 4 skills: --limit 4 shows all\n" in finished.stderr


def test_a_terminal_gets_a_header_and_a_count(shop: Workspace, empty_home: Path) -> None:
    sessions(shop, empty_home)
    seen = at_terminal(shop, "usage", *SINCE)
    assert any(line.split()[:3] == ["skill", "fired", "sessions"] for line in seen.plain)
    assert "4 skills" in seen.plain


def test_a_narrow_terminal_shows_the_whole_name_of_a_skill(
    shop: Workspace, empty_home: Path
) -> None:
    name = "letters-to-customers-and-suppliers"
    shop.skill(name, "Write letters.", folder=f".claude/skills/{name}")
    sessions(shop, empty_home)
    lines = at_terminal(shop, "usage", "--limit", "9", *SINCE, columns=80).plain
    (line,) = (one for one in lines if one.startswith(f"{name} "))
    assert len(line) <= 80


def test_a_terminal_groups_what_was_never_used_by_its_source(
    shop: Workspace, empty_home: Path
) -> None:
    sessions(shop, empty_home, 10)
    shop.skill("for-codex", "Help with codex.", folder=".agents/skills/for-codex")
    lines = at_terminal(shop, "usage", *SINCE).plain
    assert not any(line.startswith(("deploy ", "for-codex ")) for line in lines)
    assert "never used, in claude: 2: deploy, invoices" in lines
    assert "3 of 4 skills never fired" in lines


def test_unused_lists_the_skills_that_never_fired_with_their_source(
    shop: Workspace, empty_home: Path
) -> None:
    sessions(shop, empty_home, 10)
    shop.skill("for-codex", "Help with codex.", folder=".agents/skills/for-codex")
    finished = usage(shop, "--unused")
    assert list(rows(finished)) == ["pdf-forms", "deploy", "invoices"]
    assert {row[-1] for row in rows(finished).values()} == {"claude"}
    assert "3 of 4 skills never fired\n" in finished.stderr
    assert list(rows(usage(shop, "--unused", "--limit", "1"))) == ["pdf-forms"]
    found = json.loads(usage(shop, "--unused", "--json").stdout)
    assert [(one["name"], one["source"]) for one in found["skills"]] == [
        (name, "claude") for name in ("pdf-forms", "deploy", "invoices")
    ]
    lines = at_terminal(shop, "usage", *SINCE, "--unused").plain
    assert ["deploy", *["0"] * 7, "never", "claude"] in [line.split() for line in lines]


def test_of_two_skills_with_one_name_the_folder_tells_which_fired(
    shop: Workspace, empty_home: Path
) -> None:
    for folder in ("dup-a", "dup-b"):
        shop.skill("my-dup", f"Does {folder}.", folder=f".claude/skills/{folder}")
    lines = ClaudeCode(str(shop.root), "x")
    claude_home(empty_home, [lines.user("Go"), lines.skill("dup-a"), lines.skill("dup-b")], "x")
    finished = usage(shop)
    fired = {name: row[0] for name, row in rows(finished).items() if "dup" in name}
    assert fired == {"my-dup": "1"}
    assert "fired, but not in the catalog: dup-b" in finished.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--host", "codx"), "no host is called 'codx' (USAGE)\nhint: did you mean 'codex'?"),
        (("--since", "soon"), "'soon' is not a time (USAGE)\nhint: --since 7d"),
    ],
)
def test_wrong_arguments_are_explained(
    shop: Workspace, arguments: tuple[str, ...], message: str
) -> None:
    finished = run_here(shop.root, "usage", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert message in finished.stderr


def test_problems_are_counted_and_stop_nothing(shop: Workspace, empty_home: Path) -> None:
    sessions(shop, empty_home)
    file = claude_home(empty_home, [ClaudeCode(str(shop.root), "x").user("Hi")], "x")
    file.write_bytes(file.read_bytes() + b'{"half":')
    database = empty_home / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"")
    finished = usage(shop)
    assert rows(finished)["letters"][0] == "1"
    assert "warning: 1 line of the transcripts cannot be read\n" in finished.stderr
    assert "warning: 1 transcript not read: it cannot be read as a database" in finished.stderr


def test_a_variable_that_leads_into_a_workspace_is_reported(
    shop: Workspace, empty_home: Path
) -> None:
    sessions(shop, empty_home)
    moved = str(shop.root / ".claude")
    finished = run_here(shop.root, "usage", *SINCE, CLAUDE_CONFIG_DIR=moved)
    assert f"CLAUDE_CONFIG_DIR is ignored: {moved} is inside a workspace" in finished.stderr
    assert rows(finished)["letters"][0] == "1"


def test_transcripts_are_not_changed(shop: Workspace, empty_home: Path) -> None:
    sessions(shop, empty_home)
    folder = empty_home / ".claude"
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*")}
    usage(shop)
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*")} == before


# Export


def test_an_export_is_redacted(shop: Workspace, empty_home: Path, tmp_path: Path) -> None:
    sessions(shop, empty_home)
    file = tmp_path / "cases.yaml"
    finished = usage(shop, "--export-cases", str(file), "--yes")
    assert (finished.returncode, finished.stdout) == (0, "")
    assert yaml.safe_load(file.read_text()) == {
        "cases": [
            {"task": "Write to them", "skills": ["letters"], "source": "fired"},
            {
                "task": TASK.replace("joe@example.org", "[e-mail]"),
                "skills": ["pdf-forms"],
                "source": "suggested",
            },
        ]
    }


def test_an_export_asks_first(shop: Workspace, empty_home: Path, tmp_path: Path) -> None:
    sessions(shop, empty_home)
    file = tmp_path / "cases.yaml"
    finished = usage(shop, "--export-cases", str(file))
    assert (finished.returncode, finished.stdout, file.exists()) == (2, "", False)
    assert "hint: --yes writes your prompts, redacted, without asking" in finished.stderr


def test_an_export_replaces_no_file(shop: Workspace, empty_home: Path, tmp_path: Path) -> None:
    sessions(shop, empty_home)
    file = tmp_path / "cases.yaml"
    file.write_text("mine")
    finished = usage(shop, "--export-cases", str(file), "--yes")
    assert (finished.returncode, file.read_text()) == (2, "mine")


def test_without_a_case_nothing_is_written(shop: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "cases.yaml"
    finished = usage(shop, "--export-cases", str(file), "--yes")
    assert (finished.returncode, file.exists()) == (0, False)
    assert "no prompt makes a case: nothing was written\n" in finished.stderr


def test_skills_of_an_untrusted_workspace_are_not_ranked(
    workspace: Workspace, empty_home: Path
) -> None:
    workspace.skill("pdf-forms", "Fill and merge PDF forms.", folder=".claude/skills/pdf")
    workspace.skill("letters", "Write letters.", folder=".claude/skills/letters")
    sessions(workspace, empty_home)
    finished = usage(workspace)
    assert rows(finished)["pdf-forms"][5] == "0"
    assert "note: skills of this workspace are not ranked until you trust it\n" in finished.stderr

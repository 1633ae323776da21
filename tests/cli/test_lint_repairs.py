"""`metier lint --fix`: it does what `metier lint` announces, and `--dry-run` shows it first."""

import re
from pathlib import Path

import pytest

from cli.printed import Lint, Printed, lint
from conftest import Workspace
from metier.flow.repairing import plan_repairs, write_repairs
from metier.load import read_skills

__all__ = ["lint"]

NAMELESS = "---\ndescription: Does one thing well. Use it when that is needed.\n---\n\nDo it.\n"
COLON = "---\nname: colon\ndescription: Do this: that. Use it when needed.\n---\n\nKeep: it's.\n"
TWICE = "---\nname: twice\ndescription: Do: that. Use it now.\nlicense: a: b\n---\n\nDo.\n"
UNSURE = "---\nname: unsure\ndescription: Does it, and well too.\nmetadata: {a: b: c}\n---\n\nDo.\n"
CRLF = "---\r\nname: crlf\r\ndescription: Does a lot. Use it now.\r\n---\r\n\r\nOne\r\n"
MARKED = "\ufeff---\nname: marked\ndescription: Does a lot. Use it for lots.\n---\n\nOne\n"


@pytest.fixture
def messy(workspace: Workspace, empty_home: Path) -> Workspace:
    """Files to repair, one with notes only, one that cannot be repaired, one that may not be."""
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    workspace.write("skills/colon/SKILL.md", COLON)
    workspace.write("skills/twice/SKILL.md", TWICE)
    workspace.write("skills/unsure/SKILL.md", UNSURE)
    workspace.write("skills/crlf/SKILL.md", CRLF)
    workspace.write("skills/marked/SKILL.md", MARKED)
    Workspace(empty_home).write(".claude/skills/hosted/SKILL.md", COLON.replace("colon", "hosted"))
    return workspace


def texts(workspace: Workspace) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(workspace.root.rglob("SKILL.md"))}


def announced(result: Printed) -> int:
    found = re.search(r"(\d+) can be repaired with --fix", result.err)
    return int(found[1]) if found else 0


CHOICES: list[tuple[str, ...]] = [
    (),
    ("--notes",),
    ("--strict",),
    ("--select", "FM"),
    ("--select", "FM112,SK301"),
    ("--ignore", "SK301,FM113", "--notes"),
]


@pytest.mark.parametrize("choice", CHOICES, ids=" ".join)
def test_fix_repairs_as_many_findings_as_lint_announces_and_marks(
    messy: Workspace, lint: Lint, choice: tuple[str, ...]
) -> None:
    told = lint(*choice)
    marked = [line for line in told.out.splitlines() if " [*] " in line]
    assert len(marked) == announced(told) > 0
    before = texts(messy)
    fixed = lint("--fix", *choice)
    changed = [path for path, raw in texts(messy).items() if raw != before[path]]
    files = {line.split(":")[0] for line in marked}
    assert {str(messy.root / path) for path in files} == set(changed)
    assert fixed.err.startswith(f"repaired {len(marked)} findings in {len(files)} files\n")
    assert (announced(fixed), "[*]" in fixed.out) == (0, False)


def test_notes_that_are_not_shown_are_not_repaired_but_counted(
    messy: Workspace, lint: Lint
) -> None:
    before = texts(messy)
    fixed = lint("--fix")
    for name in ("crlf", "marked"):
        path = str(messy.root / f"skills/{name}/SKILL.md")
        assert texts(messy)[path] == before[path]
    shown = lint("--notes").out.splitlines()
    notes = [line for line in shown if " FM112 " in line or " FM113 " in line]
    assert len(notes) == 2
    assert re.search(r"; (\d+) notes hidden \(--notes\)\n", fixed.err)


def test_hidden_notes_are_counted_as_notes_shows_them(messy: Workspace, lint: Lint) -> None:
    choice = ("--ignore", "FM113", "--user")
    more = len(lint("--notes", "--json", *choice).data) - len(lint("--json", *choice).data)
    assert f"; {more} notes hidden (--notes)\n" in lint(*choice).err


def test_a_finding_is_fixable_in_json_exactly_when_fix_repairs_it(
    messy: Workspace, lint: Lint
) -> None:
    found = {(one["path"], one["code"]): one["fixable"] for one in lint("--json", "--user").data}
    assert found["skills/colon/SKILL.md", "FM104"]
    assert not found["skills/unsure/SKILL.md", "FM103"]
    hosted = Path.home() / ".claude/skills/hosted/SKILL.md"
    assert not found[str(hosted), "FM104"]
    lint("--fix")
    left = {(one["path"], one["code"]) for one in lint("--json", "--user").data}
    assert {key for key, fixable in found.items() if fixable}.isdisjoint(left)


def test_a_finding_promises_no_repair_that_does_not_come(messy: Workspace, lint: Lint) -> None:
    lines = lint("--select", "FM103,FM104").out.splitlines()[::2]
    marks = {line.split(":")[0]: "[*]" in line for line in lines}
    assert marks["skills/colon/SKILL.md"]
    assert not marks["skills/unsure/SKILL.md"]


# Tabs


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_fix_indents_front_matter_with_spaces_and_leaves_the_body_alone(
    workspace: Workspace, lint: Lint, end: str
) -> None:
    text = "---\nname: a\nmetadata:\n{}author: me\ndescription: Does a lot.\n---\n\n\tx\n"
    file = workspace.write("skills/a/SKILL.md", text.format("\t").replace("\n", end))
    told = lint()
    assert told.out == (
        "skills/a/SKILL.md:4:1: FM116 [*] YAML does not allow tabs for indentation"
        " [codex, copilot, opencode, claude-code, gemini]\n"
        "    hint: use spaces\n"
    )
    assert announced(told) == 1
    assert lint("--fix").code == 0
    assert file.read_bytes() == text.format("  ").replace("\n", end).encode()
    assert lint("--fix").err.startswith("nothing to repair\n")


def test_fix_indents_the_files_of_every_kind_with_spaces(workspace: Workspace, lint: Lint) -> None:
    front = "---\ndescription: How it is done.\ntags:\n\t- a\n---\nDo it.\n"
    ability = workspace.write("abilities/a.md", front)
    profile = "agentId: a\ndescription: Does it.\ntags:\n\t- a\n"
    agent = workspace.write("agents/a.yaml", profile)
    assert lint("--fix").err.startswith(
        "repaired 2 findings in 2 files\n2 files checked, no problems found"
    )
    assert ability.read_text() == front.replace("\t", "  ")
    assert agent.read_text() == profile.replace("\t", "  ")


def test_fix_leaves_tabs_alone_that_could_mean_two_things(workspace: Workspace, lint: Lint) -> None:
    workspace.skill("a", extra="metadata:\n  a:\n\tb: c")
    before = texts(workspace)
    assert lint("--fix").err.startswith("nothing to repair\n")
    assert texts(workspace) == before


# Files that change meanwhile


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(workspace: Workspace) -> None:
    file = workspace.write("skills/colon/SKILL.md", COLON)
    reading = read_skills([workspace.root])
    issues = [issue for found in reading.found for issue in reading.read(found).issues]
    repairs = plan_repairs(reading, issues, lambda _: True)
    file.write_text("changed")
    [(left_alone, reason)] = write_repairs(repairs)
    assert (left_alone, reason) == (repairs[0], "it changed in the meantime")
    assert file.read_text() == "changed"


# Looking first


def test_a_dry_run_prints_the_diff_and_writes_nothing(messy: Workspace, lint: Lint) -> None:
    before = texts(messy)
    told = lint("--fix", "--dry-run", "--user")
    assert texts(messy) == before
    assert told.code == lint().code == 1
    assert told.err.endswith("; 3 notes hidden (--notes)\nnothing was written (--dry-run)\n")
    assert told.out.startswith(
        "--- skills/colon/SKILL.md\n"
        "+++ skills/colon/SKILL.md\n"
        "@@ -1,6 +1,6 @@\n"
        " ---\n"
        " name: colon\n"
        "-description: Do this: that. Use it when needed.\n"
        "+description: 'Do this: that. Use it when needed.'\n"
    )
    assert "unsure" not in told.out


def test_a_path_with_a_line_end_has_one_line_in_a_diff(workspace: Workspace, lint: Lint) -> None:
    text = "---\nname: a\ndescription: Do this: that. Use it when needed.\n---\n\nKeep it.\n"
    workspace.write("skills/a\n+++ b/SKILL.md", text)
    printed = lint("--fix", "--dry-run").out.split("\n")
    assert printed[:2] == [f"{mark} skills/a\\n+++ b/SKILL.md" for mark in ("---", "+++")]


@pytest.mark.parametrize("choice", [(), ("--notes",)], ids=" ".join)
def test_a_dry_run_as_json_says_what_fix_then_does(
    messy: Workspace, lint: Lint, choice: tuple[str, ...]
) -> None:
    told = lint("--fix", "--dry-run", "--json", *choice).data
    findings = [one for row in told for one in row["findings"]]
    assert len(findings) == announced(lint(*choice))
    assert all(one["fixable"] for one in findings)
    before = texts(messy)
    lint("--fix", *choice)
    changed = [path for path, raw in texts(messy).items() if raw != before[path]]
    assert sorted(str(messy.root / row["path"]) for row in told) == changed
    assert lint("--fix", "--dry-run", "--json", *choice).data == []


def test_a_dry_run_shows_line_ends_that_go(messy: Workspace, lint: Lint) -> None:
    told = lint("--fix", "--dry-run", "--select", "FM112").out
    assert "-name: crlf\\r\n" in told
    assert "+name: crlf\n" in told


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--dry-run",), "--dry-run is for --fix", "metier lint --fix --dry-run"),
        (
            ("--fix", "--dry-run", "--format", "sarif"),
            "--dry-run prints a diff or JSON, not sarif",
            "remove --format",
        ),
    ],
)
def test_a_dry_run_that_makes_no_sense_is_wrong_usage(
    messy: Workspace, lint: Lint, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    assert lint(*arguments) == Printed(2, "", f"error: {message} (USAGE)\nhint: {hint}\n")


# Outside of the workspace


def test_repairs_in_the_folders_of_hosts_are_counted_with_the_command_that_makes_them(
    messy: Workspace, lint: Lint
) -> None:
    skills = Path.home() / ".claude/skills"
    for options in ((), ("--fix",)):
        line = f"can be repaired too: metier lint --fix {skills}\n"
        assert f"1 finding outside of the workspace {line}" in lint("--user", *options).err
    assert "repaired 1 finding in 1 file\n" in lint(str(skills), "--fix").err
    assert "outside of the workspace" not in lint("--user").err


def test_names_that_fix_cannot_change_are_not_promised_and_are_left_alone_in_one_line(
    workspace: Workspace, lint: Lint, tmp_path: Path
) -> None:
    assert workspace.root.exists()
    for number in range(5):
        file = tmp_path / f"other/skills/dir{number}/SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: n{number}\ndescription: Counts {number} trees.\n---\n\nDo.\n")
    other = str(tmp_path / "other/skills")
    assert "--unsafe" not in lint(other).err
    told = lint(other, "--fix", "--unsafe").err
    [line] = [line for line in told.splitlines() if line.startswith("left alone: ")]
    assert line.startswith("left alone: 5 files, ")
    assert line.endswith("among them (SK303: its folder is not in the workspace)")
    assert "hint: metier lint --fix --unsafe --root FOLDER renames" in told
    assert "renamed 5 folders" in lint("--fix", "--unsafe", "--root", other).err


def test_exact_copies_in_other_folders_of_hosts_that_stay_are_counted(
    workspace: Workspace, empty_home: Path, lint: Lint
) -> None:
    for folder in (".claude/skills", ".agents/skills"):
        workspace.write(f"{folder}/colon/SKILL.md", COLON)
    home = Workspace(empty_home)
    home.write(".codex/skills/colon/SKILL.md", COLON)
    home.write(".gemini/skills/colon/SKILL.md", CRLF)
    told = lint("--fix").err
    assert "1 exact copy of repaired files left as before: metier lint --fix " in told
    assert "/.codex/skills\n" in told
    assert "exact cop" not in lint("--fix").err

"""`metier overlap`: which skills compete, for people, for programs and for CI."""

import json
from collections.abc import Callable
from typing import NamedTuple

import pytest

from cli.run_workspace import follows
from cli.terminals import at_terminal
from conftest import Workspace
from metier.cli import run

pytestmark = pytest.mark.slow

OTHERS = [
    "Reviews contracts of suppliers for missing signatures.",
    "Draws maps of bicycle routes through a town.",
    "Tunes the indexes of a database that answers slowly.",
    "Translates menus of restaurants into sign language.",
]
INVOICES = (
    "Extracts tables from PDF invoices. Use when reading tables in PDF invoices of suppliers."
)
SCANS = "Extracts tables from PDF scans. Use when reading tables in PDF scans of newspapers."


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


Overlap = Callable[..., Ran]


@pytest.fixture
def filled(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    for number, text in enumerate(OTHERS):
        workspace.skill(f"other-{number}", text)
    workspace.skill("invoice-tables", INVOICES)
    workspace.skill("scan-tables", SCANS)
    monkeypatch.chdir(workspace.root)
    workspace.trust()
    return workspace


@pytest.fixture
def overlap(filled: Workspace, capsys: pytest.CaptureFixture[str]) -> Overlap:
    def ran(*arguments: str) -> Ran:
        assert filled.root.exists()
        return Ran(run(["overlap", *arguments]), *capsys.readouterr())

    return ran


# In a pipe


def test_each_pair_is_a_row_with_its_words_tasks_and_edits(overlap: Overlap) -> None:
    ran = overlap()
    assert ran.code == 0
    [[kind, figure, names, words, tasks, edits]] = ran.rows
    assert (kind, names) == ("pair", "invoice-tables, scan-tables")
    assert 0.6 < float(figure) < 1
    assert {"tables", "pdf", "extracts"} <= set(words.split(", "))
    assert '"read tables in PDF scans of newspapers" is for scan-tables' in tasks
    assert "in scan-tables, add 'Not for " in edits


def test_texts_that_skills_share_and_clusters_come_before_pairs(
    overlap: Overlap, filled: Workspace
) -> None:
    filled.skill("copied", SCANS)
    filled.skill("again", f"{SCANS} Again.")
    ran = overlap("--limit", "1")
    assert [row[0] for row in ran.rows] == ["same", "cluster", "pair"]
    assert ran.rows[0][1:] == ["1.00", "copied, scan-tables", SCANS]
    assert ran.rows[1][2] == "again, copied, invoice-tables, scan-tables"
    assert "1 of 3 pairs: --limit 3 shows all" in ran.err


def test_everything_that_the_limit_cuts_is_told_in_one_line(
    overlap: Overlap, filled: Workspace
) -> None:
    for number, text in enumerate([*OTHERS, SCANS]):
        filled.skill(f"copied-{number}", text)
        filled.skill(f"again-{number}", f"{text} Again.")
    ran = overlap("--limit", "1")
    assert [row[0] for row in ran.rows] == ["same", "cluster", "pair"]
    assert (
        ran.err.splitlines()[-1]
        == "1 of 5 texts, 1 of 5 clusters, 1 of 7 pairs: --limit 7 shows all"
    )
    assert overlap("--limit", "1", "--json").err == "1 of 7 pairs: --limit 7 shows all\n"
    assert overlap("--limit", "7").err == ""


def test_nothing_in_common_is_told_and_no_failure(overlap: Overlap) -> None:
    ran = overlap("other-1")
    assert (ran.code, ran.out) == (0, "")
    assert "'other-1' overlaps with no other by 0.6 or more: --at-least shows more" in ran.err
    assert overlap("--at-least", "1").err.startswith("none of 6 skills overlaps by 1 or more")


def test_a_skill_that_is_not_compared_is_not_said_to_overlap_with_none(
    overlap: Overlap, filled: Workspace
) -> None:
    filled.skill("manual", SCANS, extra="disable-model-invocation: true")
    ran = overlap("manual")
    assert ran.out == ""
    assert ran.err.endswith("'manual' is not compared: only the user starts it\n")
    assert "'other-1' overlaps with no other by 0.6" in overlap("manual", "other-1").err


def test_an_empty_catalog_has_no_overlap(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace.root)
    assert run(["overlap", "--max-overlap", "0"]) == 0
    assert capsys.readouterr().out == ""


def test_an_unknown_skill_is_told_with_the_nearest_name(overlap: Overlap) -> None:
    ran = overlap("scan-table")
    assert ran.code == 2
    assert "no skill is called 'scan-table'" in ran.err
    assert "scan-tables" in ran.err.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments", [("--max-overlap", "1.5"), ("--at-least", "-1"), ("--host", "emacs")]
)
def test_wrong_usage_exits_with_2(overlap: Overlap, arguments: tuple[str, ...]) -> None:
    assert overlap(*arguments).code == 2


def test_json_follows_its_schema(overlap: Overlap, filled: Workspace) -> None:
    filled.skill("copied", SCANS)
    filled.skill("again", f"{SCANS} Again.")
    filled.skill("manual", SCANS, extra="disable-model-invocation: true")
    data = json.loads(overlap("--json", "scan-tables", "manual").out)
    follows("overlap", data)
    assert data["notes"] == ["'manual' is not compared: only the user starts it"]
    assert data["pairs"][0]["edits"] is not None


# For CI


@pytest.mark.parametrize(("most", "code"), [("0.3", 1), ("0.6", 1), ("0.95", 0), ("1", 0)])
def test_an_overlap_above_the_most_fails_the_build(overlap: Overlap, most: str, code: int) -> None:
    ran = overlap("--max-overlap", most)
    assert ran.code == code
    assert (f"by more than {most}" in ran.err) is bool(code)


@pytest.mark.parametrize(("most", "code"), [("0.99", 1), ("1", 0)])
def test_the_same_text_is_above_any_share_but_1(
    overlap: Overlap, filled: Workspace, most: str, code: int
) -> None:
    filled.skill("copied", OTHERS[0])
    assert overlap("--max-overlap", most).code == code


def test_the_gate_counts_pairs_that_are_not_shown(overlap: Overlap, filled: Workspace) -> None:
    filled.skill("again", f"{SCANS} Again.")
    ran = overlap("--max-overlap", "0.5", "--limit", "1", "--json")
    assert ran.code == 1
    assert len(json.loads(ran.out)["pairs"]) == 1
    assert "3 pairs overlap by more than 0.5: the highest is " in ran.err


def test_the_gate_is_for_the_named_skill_only(overlap: Overlap) -> None:
    assert overlap("other-0", "--max-overlap", "0.5").code == 0
    assert overlap("scan-tables", "--max-overlap", "0.5").code == 1


def test_a_workspace_that_is_not_trusted_is_compared(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.skill("a", SCANS)
    workspace.skill("b", f"{SCANS} Again.")
    monkeypatch.chdir(workspace.root)
    assert run(["overlap", "--max-overlap", "0.9"]) == 1
    assert "a, b" in capsys.readouterr().out


# On a terminal


def test_a_terminal_shows_what_competes_under_headings(filled: Workspace) -> None:
    filled.skill("copied", SCANS)
    filled.skill("again", f"{SCANS} Again.")
    lines = at_terminal(filled, "overlap", "--quiet", columns=100).plain
    headings = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    assert headings == ["8 skills", "same text", "clusters", "pairs"]
    assert any(line.startswith("  2 skills: copied, scan-tables") for line in lines)
    assert any("both have: " in line for line in lines)
    assert [line for line in lines if len(line) > 100] == []


def test_a_skill_with_control_characters_in_its_name_is_not_compared(filled: Workspace) -> None:
    filled.skill('"evil\\e[31m"', f"{SCANS} Again.", folder="skills/evil")
    screen = at_terminal(filled, "overlap").screen
    assert "6 skills" in screen
    assert "evil" not in screen

"""`metier which`: which skills come for a task, why, and why not another."""

import io
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.run_workspace import follows
from cli.terminals import at_terminal
from conftest import Workspace
from metier.cli import run
from metier.cli.layout import print_table, wrapped
from metier.cli.which import _rows
from metier.values.which import RankedDocument, Which

pytestmark = pytest.mark.slow

TASK = "extract the tables of this PDF"


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


class Metier:
    """Runs `metier which` in this process, with pipes."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, given: str = "") -> Ran:
        stream = io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")
        self._monkeypatch.setattr("sys.stdin", stream)
        code = run(["which", *arguments])
        return Ran(code, *self._capsys.readouterr())


@pytest.fixture
def which(
    untrusted: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Metier:
    """In a workspace that its user trusts."""
    untrusted.trust()
    return Metier(capsys, monkeypatch)


@pytest.fixture
def untrusted(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    workspace.skill(
        "pdf-tables",
        "Extracts tables from PDF files. Not for spreadsheets.",
        body="Look for columns.",
    )
    workspace.skill("sql", "Writes database queries.")
    workspace.skill("manual", "Deploys it.", extra="disable-model-invocation: true")
    workspace.write(
        "docs/capabilities/billing.md",
        "---\nid: billing\nname: Billing\ndescription: Bills.\ntriggers:\n"
        "  keywords: [refund, invoice]\n---\nAsk first.\n",
    )
    monkeypatch.chdir(workspace.root)
    return workspace


# In a pipe


def test_each_candidate_is_a_row_with_its_kind_outcome_figure_and_words(which: Metier) -> None:
    ran = which(TASK)
    assert ran.code == 0
    first, second, agent = ran.rows
    assert first[:3] == ["skill", "pdf-tables", "yes"]
    assert float(first[3]) > 2.8
    assert first[4].startswith("name: tables, PDF; description: extract, tables, PDF")
    assert second[:3] == ["skill", "sql", "no"]
    assert agent[:3] == ["agent", "standard", "no"]


def test_the_limit_is_on_skills(which: Metier) -> None:
    assert [row[1] for row in which(TASK, "--limit", "1").rows] == ["pdf-tables", "standard"]


def test_a_question_about_one_skill_shows_the_best_two(untrusted: Workspace, which: Metier) -> None:
    for name in ("pdf-forms", "pdf-pages", "table-notes"):
        untrusted.skill(name, "Works on PDF files and tables.")
    assert len([row for row in which(TASK).rows if row[0] == "skill"]) == 5
    rows = which(TASK, "--expect", "sql").rows
    assert len([row for row in rows if row[0] == "skill"]) == 2
    rows = which(TASK, "--expect", "sql", "--limit", "4").rows
    assert len([row for row in rows if row[0] == "skill"]) == 4


def test_words_that_a_skill_is_not_for_are_said(which: Metier) -> None:
    ran = which("tables of a spreadsheet")
    assert "says it is not for: spreadsheet" in ran.rows[0][4]


def test_cards_come_with_their_figure_and_the_reason_why_not(which: Metier) -> None:
    found = {row[1]: row for row in which("refund the invoice").rows}
    assert found["billing"][:3] == ["card", "billing", "yes"]
    assert which("refund the invoice").code == 0


def test_nothing_fits_is_said_and_exits_with_1(which: Metier) -> None:
    ran = which("thanks, go on")
    assert ran.code == 1
    assert "nothing fits" in ran.err.splitlines()
    assert ran.err.splitlines()[-1] == "hint: --expect SKILL says why a skill does not fire"
    assert {row[2] for row in ran.rows} <= {"no"}


def test_a_host_that_honours_the_switch_is_not_shown_a_manual_skill(
    which: Metier, untrusted: Workspace
) -> None:
    for host, folder, shown in (("claude-code", ".claude", False), ("codex", ".agents", True)):
        untrusted.skill(
            "by-hand", f"Deploys it in {host}.", extra="disable-model-invocation: true",
            folder=f"{folder}/skills/by-hand",
        )  # fmt: skip
        names = [row[1] for row in which("deploys it", "--host", host).rows]
        assert ("by-hand" in names) is shown


def test_what_a_host_leaves_of_a_text_is_said(which: Metier, untrusted: Workspace) -> None:
    untrusted.skill("tables", "Extracts tables.", folder=".claude/skills/tables")
    untrusted.write(".claude/settings.json", '{"skillListingBudgetFraction": 0.00001}')
    ran = which("extract the tables", "--host", "claude-code", "--expect", "tables")
    reason = "claude-code shows its name without a text: the listing is over its budget"
    assert ran.rows[0][:3] == ["skill", "tables", "no"]
    assert reason in ran.rows[0][4]
    assert ["expected", "tables", reason, "", ""] in ran.rows
    assert [row[2] for row in ran.rows if row[0] == "expected"] == [
        reason,
        "next: metier listing --host claude-code says what to shorten or to switch off",
    ]


def test_a_misspelt_word_is_shown_with_what_it_probably_means(which: Metier) -> None:
    ran = which("extract the colums of a databse", "--expect", "sql")
    lines = [row[2] for row in ran.rows if row[0] == "expected"]
    pairs = "colums (columns), databse (database)"
    assert f"probably misspelt, so they match no description: {pairs}" in lines
    assert "body: colums (columns)" in next(row[4] for row in ran.rows if row[1] == "pdf-tables")


# An expected skill


def test_a_skill_that_is_first_and_stays_silent_is_not_said_to_lose(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.skill("notes", "Lists what changed before a version is tagged.")
    workspace.trust()
    monkeypatch.chdir(workspace.root)
    ran = Metier(capsys, monkeypatch)("what changed for our customers?", "--expect", "notes")
    assert ran.rows[-1][2] == "these words in its description would not let it fire"


def test_why_another_skill_is_first_is_said_in_rows_of_its_own(which: Metier) -> None:
    ran = which(TASK, "--expect", "sql")
    lines = [row[2] for row in ran.rows if row[:2] == ["expected", "sql"]]
    assert any("below the threshold of 2.8" in line for line in lines)
    assert any("'pdf-tables' is first" in line for line in lines)
    assert any(line.startswith("words of the task that it lacks: ") for line in lines)
    assert lines[-2] == "these words in its description would not make it first"
    assert lines[-1] == "if the task is not for 'pdf-tables', narrow that skill's description"
    assert ran.code == 0


def test_words_that_would_make_a_skill_first_are_said(which: Metier) -> None:
    ran = which("check the zorp of a database", "--expect", "sql")
    assert ran.code == 1
    assert ran.rows[-1][2] == ("it would be first and fire with these in its description: check")
    assert not any(line.startswith("hint: --expect") for line in ran.err.splitlines())


def test_the_first_is_said_to_be_so(which: Metier) -> None:
    rows = which(TASK, "--expect", "pdf-tables").rows
    assert rows[-1][:3] == ["expected", "pdf-tables", "it is first, and it fires"]


def test_when_no_words_help_it_is_said(which: Metier, untrusted: Workspace) -> None:
    ran = which("look at columns", "--expect", "manual")
    lines = [row[2] for row in ran.rows if row[0] == "expected"]
    assert lines[0].startswith("only the user starts it")
    assert not any("would be first" in line for line in lines)


def test_an_unknown_skill_is_an_error_with_a_suggestion(which: Metier) -> None:
    ran = which(TASK, "--expect", "pdf-table")
    assert ran.code == 2
    assert ran.out == ""
    assert "pdf-tables" in ran.err


# Where the task comes from


def test_the_task_can_come_from_standard_input(which: Metier) -> None:
    expected = which(TASK).out
    assert which(given=f"{TASK}\n").out == expected
    assert which("-", given=TASK).out == expected


def test_each_line_can_be_a_task(which: Metier) -> None:
    ran = which("--each", given=f"{TASK}\n\nthanks, go on\n")
    assert ran.code == 0
    assert ran.rows == [[TASK, "pdf-tables"], ["thanks, go on", "-"]]
    nothing = which("--each", given="thanks\nok\n")
    assert nothing.code == 1
    assert "nothing fits any of the tasks" in nothing.err


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        ((" ",), "", "the task is empty"),
        ((), "", "the task is empty"),
        (("--each",), "\n \n", "the task is empty"),
        (("--each", "a task"), "", "--each reads standard input"),
        (("--each", "--expect", "sql"), "tables", "--each and --expect cannot be combined"),
        (("tables", "--host", "codx"), "", "codx"),
        (("tables", "--limit", "0"), "", "--limit"),
    ],
)
def test_misuse_exits_with_2_and_says_what_is_wrong(
    arguments: tuple[str, ...], given: str, message: str, which: Metier
) -> None:
    ran = which(*arguments, given=given)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


# JSON


@pytest.mark.parametrize(
    "arguments",
    [
        (TASK,),
        (TASK, "--host", "codex"),
        (TASK, "--expect", "sql"),
        (TASK, "--expect", "manual"),
        ("refund the invoice",),
        ("thanks, go on",),
        ("the of a", "--expect", "sql"),
    ],
)
def test_json_follows_its_schema(arguments: tuple[str, ...], which: Metier) -> None:
    ran = which(*arguments, "--json")
    found = json.loads(ran.out)
    follows("which", found)
    assert found["task"] == arguments[0]
    assert ("expectation" in found) is ("--expect" in arguments)
    fits = found["named"] or any(one["injected"] for one in found["cards"])
    assert ran.code == (0 if fits else 1)


def test_json_of_each_line_is_a_list(which: Metier) -> None:
    ran = which("--each", "--json", given=f"{TASK}\nthanks\n")
    found = json.loads(ran.out)
    assert [one["named"] for one in found] == [["pdf-tables"], []]
    for one in found:
        follows("which", one)


def test_with_a_host_it_says_which_question_it_answers(which: Metier) -> None:
    told = "this is for what the model of codex sees in its listing"
    assert told in which(TASK, "--host", "codex").err
    assert told not in which(TASK).err


def ranked(name: str, evidence: float, score: float) -> RankedDocument:
    return RankedDocument(
        kind="skill", id=name, name=name, path=name, description="", score=score,
        evidence=evidence, fires=False, parts={},
    )  # fmt: skip


def test_a_row_above_one_with_more_evidence_says_why() -> None:
    skills = [ranked("a", 2.12, 0.9), ranked("b", 2.70, 0.8), ranked("c", 1.0, 0.1)]
    answer = Which(task="x", threshold=2.85, host=None, skills=skills, named=[], most=3)
    assert [row[4] for row in _rows(answer)] == [
        "above 'b' by a higher score, with less evidence",
        "",
        "",
    ]


# Trust

SILENT = (
    "hooks may not use the text of this workspace yet, so they do not name 'pdf-tables':"
    " metier trust"
)


def test_an_untrusted_workspace_is_noted(
    untrusted: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    metier = Metier(capsys, monkeypatch)
    assert metier(TASK).err.splitlines().count(SILENT) == 1
    assert SILENT not in metier("thanks, go on").err.splitlines()
    untrusted.trust(speak=True)
    assert SILENT not in metier(TASK).err.splitlines()


def test_a_workspace_that_hooks_leave_out_is_noted_where_one_of_its_skills_fires(
    untrusted: Workspace, which: Metier
) -> None:
    assert SILENT in which(TASK).err.splitlines()
    assert SILENT not in which("thanks, go on").err.splitlines()
    assert SILENT in which("--each", given=f"thanks\n{TASK}\n").err.splitlines()
    untrusted.trust(speak=True)
    assert SILENT not in which(TASK).err.splitlines()


def test_an_untrusted_workspace_is_not_noted_where_only_the_users_own_skill_fires(
    untrusted: Workspace,
    empty_home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Workspace(empty_home).skill(
        "mail-merge", "Merges letters into mail.", folder=".claude/skills/mail-merge"
    )
    ran = Metier(capsys, monkeypatch)("merge these letters into mail")
    assert (ran.rows[0][1:3], "hooks" in ran.err) == (["mail-merge", "yes"], False)


# On a terminal


def test_a_terminal_shows_what_comes_with_a_gauge_and_the_reasons(untrusted: Workspace) -> None:
    seen = at_terminal(untrusted, "which", TASK, "--expect", "sql")
    lines = seen.plain
    assert seen.code == 0
    at = lines.index("skills  evidence of 2.85 or more fires")
    assert lines[at + 1].startswith("  ● pdf-tables  ")
    assert "█████│" in lines[at + 1]
    assert "words " in lines[at + 1]
    assert lines[at + 2].strip() == "name: tables, PDF"
    assert any(line.startswith("  ○ sql  ") for line in lines)
    assert "why not sql?" in lines


LONG = "extract-the-tables-of-a-pdf-report-for-the-auditor-of-the-year"


@pytest.mark.parametrize("columns", [60, 80, 100, 130])
def test_a_terminal_breaks_no_line_of_a_skill_with_a_long_name(
    columns: int, untrusted: Workspace
) -> None:
    untrusted.skill(LONG, "Gets the spreadsheets and documents of a client as rows.")
    task = "extract the tables of this PDF report for our accountant"
    seen = at_terminal(untrusted, "which", task, columns=columns)
    start = seen.plain.index("skills  evidence of 2.85 or more fires")
    lines = seen.plain[start : seen.plain.index("agents")]
    assert f"● {LONG}" in "\n".join(lines)
    assert max(map(len, lines)) <= max(columns, len(f"  ● {LONG}"))
    gauges = [line for line in lines if "│" in line]
    assert gauges
    assert all(re.search("[█░]{5}│[█░]{5}", line) for line in gauges)


def test_a_narrow_terminal_cuts_the_task_and_no_skill(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    named = "pdf-tables-of-invoices, pdf-tables-of-reports"
    print_table(("task", "skills"), [["extract the tables of this PDF " * 3, named]], answer=1)
    assert capsys.readouterr().out.splitlines()[1].endswith(f"…  {named}")


def test_a_long_name_stands_beside_its_bullet() -> None:
    name = "a-name-" * 5
    assert wrapped(name, 24, "    ", "  - ") == [f"  - {name}"]


@pytest.mark.parametrize(("times", "mark", "full"), [(1.03, "○", 4), (1, "●", 5), (0.93, "●", 5)])
def test_the_gauge_is_full_up_to_the_threshold_only_for_what_reaches_it(
    times: float, mark: str, full: int, which: Metier, untrusted: Workspace
) -> None:
    evidence = json.loads(which(TASK, "--json").out)["skills"][0]["evidence"]
    threshold = f"skillThreshold = {evidence * times}"
    untrusted.write("metier.toml", f"[capabilities]\n{threshold}\n")
    line = at_terminal(untrusted, "which", TASK).plain[1]
    assert line.startswith(f"  {mark} pdf-tables")
    assert re.findall("[█░]*│[█░]*", line) == [f"{'█' * full:░<5}│░░░░░"]


def test_a_terminal_shows_agents_unless_the_question_is_about_one_skill(
    untrusted: Workspace,
) -> None:
    assert "agents" in at_terminal(untrusted, "which", TASK).plain
    assert "agents" not in at_terminal(untrusted, "which", TASK, "--expect", "sql").plain


def test_a_terminal_without_a_task_is_asked_for_one(untrusted: Workspace) -> None:
    seen = at_terminal(untrusted, "which")
    assert seen.code == 2
    assert "no task is given" in seen.plain[0]


def test_a_terminal_says_when_nothing_fits(untrusted: Workspace) -> None:
    seen = at_terminal(untrusted, "which", "thanks, go on")
    assert seen.code == 1
    assert "nothing fits" in seen.plain
    assert not any("●" in line for line in seen.plain)


def test_an_expected_skill_without_a_name_goes_by_its_folder(
    workspace: Workspace, which: Metier
) -> None:
    workspace.write("skills/broken/SKILL.md", "")
    rows = [row for row in which("use broken", "--expect", "broken").rows if row[0] == "expected"]
    assert rows[0][1] == "broken"
    assert rows[0][2].startswith("it is excluded: ")


def test_of_two_skills_with_one_name_only_the_one_that_fires_is_marked(
    which: Metier, untrusted: Workspace
) -> None:
    untrusted.skill("figma", "Read designs from a figma link.", folder=".agents/skills/figma")
    untrusted.skill("figma", "Exports components.", folder=".agents/skills/figma-1")
    found = which("read the figma link", "--host", "codex")
    named = {row[1]: row[2] for row in found.rows if row[0] == "skill" and "figma" in row[1]}
    assert named == {
        "figma::.agents/skills/figma": "yes",
        "figma::.agents/skills/figma-1": "no",
    }

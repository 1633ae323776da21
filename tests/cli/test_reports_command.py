"""`metier reports`: what a kept run shows, how two differ, and what damaged ones do not spoil."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.printed import Printed, looked_at
from conftest import Workspace
from metier.cli import run

DAMAGED = {
    "half": "{",
    "list": "[]",
    "other": '{"run_id": "another"}',
    "bare": '{"run_id": "ID"}',
    "deep": "[" * 100_000,
    "odd": '{"run_id": "ID", "required_capabilities": 7}',
}


Metier = Callable[..., Printed]


@pytest.fixture
def metier(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Metier:
    """Run any command on a workspace with two skills."""
    workspace.skill("alpha", extra="capabilities: [one, two]")
    workspace.skill("beta", extra="capabilities: [two]")

    def call(*arguments: str) -> Printed:
        looked_at(workspace.root)
        code = run([*arguments, "--root", str(workspace.root)])
        return Printed(code, *capsys.readouterr())

    return call


def damaged(workspace: Workspace, name: str) -> Path:
    """Write a damaged report, which has the id of a report all the same."""
    file = (
        workspace.state / "reports" / f"20000101T000000.000000-{list(DAMAGED).index(name):04}.json"
    )
    file.write_text(DAMAGED[name].replace("ID", file.stem))
    return file


def run_id(metier: Metier, *arguments: str) -> str:
    found: str = metier("resolve", *arguments, "--json").data["run_id"]
    return found


# One


@pytest.mark.parametrize("arguments", [("-r", "one"), ("-r", "nowhere"), ("-r", "two", "-r", "x")])
def test_a_kept_run_is_shown_as_it_was_when_it_was_made(
    metier: Metier, arguments: tuple[str, ...]
) -> None:
    made = metier("resolve", *arguments)
    kept = made.err.splitlines()[-1].rpartition(" ")[2]
    shown = metier("reports", "show", kept)
    assert (shown.code, shown.out) == (0, made.out)
    assert set(made.err.splitlines()[1:-1]) <= set(shown.err.splitlines())
    assert metier("reports", "show", kept, "--json").data["run_id"] == kept


def test_a_run_that_waits_is_shown_with_the_way_to_go_on(metier: Metier) -> None:
    waiting = run_id(metier, "-r", "nowhere")
    shown = metier("reports", "show", waiting)
    assert f"to continue: metier resolve --continue {waiting} --decision" in shown.err


# Two


def test_the_same_question_twice_makes_no_difference(metier: Metier) -> None:
    runs = run_id(metier, "-r", "one"), run_id(metier, "-r", "one")
    same = metier("reports", "diff", *runs)
    assert (same.code, same.out, same.err) == (0, "", "the same, except for id and time\n")
    assert metier("reports", "diff", *runs, "--json").data["equal"]


def test_a_report_compared_with_itself_is_named(metier: Metier) -> None:
    latest = run_id(metier, "-r", "one")
    same = metier("reports", "diff", "last", "last")
    assert (same.code, same.err) == (0, f"both are the same report, {latest}\n")


def test_a_difference_is_told_field_by_field(workspace: Workspace, metier: Metier) -> None:
    first = run_id(metier, "-r", "two")
    workspace.skill("gamma", extra="capabilities: [two]")
    second = run_id(metier, "-r", "two", "--mode", "strict", "--policy", "min-total-score=0.99")
    told = metier("reports", "diff", first, second)
    lines = told.out.splitlines()
    assert (told.code, lines[0]) == (1, f"{first} → {second}")
    assert lines[1:3] == ["question", "  mode: best-effort → strict"]
    assert "  min-total-score: 0.45 → 0.99" in lines
    assert "  unresolved_required_capabilities: nothing → two" in lines
    assert any(one.startswith("  selected: ") and one.endswith(" → nothing") for one in lines)
    assert (
        "  rejected: nothing → below-min-total-score" in lines[lines.index("beta::skills/beta") :]
    )
    assert f"only in {second}: gamma::skills/gamma" in lines


def test_a_difference_as_json_has_old_and_new(metier: Metier) -> None:
    runs = run_id(metier, "-r", "one"), run_id(metier, "-r", "two")
    told = metier("reports", "diff", *runs, "--json")
    assert (told.code, told.data["equal"], told.data["old"]) == (1, False, runs[0])
    question = told.data["question"]["required_capabilities"]
    assert question == {"old": ["one"], "new": ["two"]}
    assert told.data["policy"] == {}
    changed = told.data["candidates"]["alpha::skills/alpha"]
    assert changed["matches.one"]["old"]["match"] == "exact"
    assert "new" not in changed["matches.one"]


def test_another_order_is_a_difference(workspace: Workspace, metier: Metier) -> None:
    first = run_id(metier, "-r", "two")
    folder = workspace.state / "reports"
    report = json.loads((folder / f"{first}.json").read_text())
    report["run_id"] = turned = "20990101T000000.000000-0000"
    report["candidates"].reverse()
    (folder / f"{turned}.json").write_text(json.dumps(report))
    told = metier("reports", "diff", first, turned)
    assert (told.code, "order" in told.out) == (1, True)


# All of them


def test_reports_are_listed_with_the_newest_first(metier: Metier) -> None:
    none = metier("reports")
    assert (none.code, none.out) == (0, "")
    assert none.err.endswith("no report is stored here: metier resolve creates one\n")
    first, second = run_id(metier, "-r", "one"), run_id(metier, "-r", "nowhere")
    listed = metier("reports")
    assert listed == metier("reports", "list")
    assert [line.split("\t") for line in listed.out.splitlines()] == [
        [second, "pending-decision", "nowhere", ""],
        [first, "resolved", "one", "alpha::skills/alpha"],
    ]
    assert [one["reportId"] for one in metier("reports", "--json").data] == [second, first]


def test_a_list_of_reports_can_be_limited(metier: Metier) -> None:
    _, second = run_id(metier, "-r", "one"), run_id(metier, "-r", "nowhere")
    listed = metier("reports", "list", "--limit", "1")
    assert [line.split("\t")[0] for line in listed.out.splitlines()] == [second]
    assert listed.err.endswith("1 of 2 reports: --limit 2 shows all\n")
    limited = metier("reports", "list", "--limit", "1", "--json").data
    assert [report["reportId"] for report in limited] == [second]


# Damaged ones


def test_damaged_reports_do_not_hide_the_others(workspace: Workspace, metier: Metier) -> None:
    good = run_id(metier, "-r", "one")
    for name in DAMAGED:
        damaged(workspace, name)
    listed = metier("reports", "list")
    first_cells = [line.split("\t")[0] for line in listed.out.splitlines()]
    assert (listed.code, first_cells) == (0, [good])
    warnings = [one for one in listed.err.splitlines() if one.startswith("warning: report '")]
    assert len(warnings) == len(DAMAGED)
    assert [one["reportId"] for one in metier("reports", "list", "--json").data] == [good]


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_report_is_told_with_the_file_to_remove(
    workspace: Workspace, metier: Metier, name: str
) -> None:
    metier("resolve", "-r", "one")
    file = damaged(workspace, name)
    for command in (
        ("reports", "show", file.stem),
        ("resolve", "--continue", file.stem, "--decision", "abort"),
    ):
        told = metier(*command)
        assert (told.code, told.out) == (1, "")
        assert f"report '{file.stem}' cannot be read" in told.err
        assert f"hint: remove {file}" in told.err
        assert "did you mean" not in told.err


def test_a_file_that_is_no_report_is_neither_told_nor_deleted(
    workspace: Workspace, metier: Metier
) -> None:
    good = run_id(metier, "-r", "one")
    file = workspace.state / "reports" / "mine.json"
    file.write_text('{"run_id": "mine"}')
    listed = metier("reports", "list", "--json")
    assert ([one["reportId"] for one in listed.data], listed.err) == ([good], "")
    assert "no report 'mine'" in metier("reports", "show", "mine").err
    assert file.exists()


def test_a_run_that_never_was_is_not_found(metier: Metier) -> None:
    kept = run_id(metier, "-r", "one")
    told = metier("reports", "show", f"{kept}x")
    assert (told.code, f"did you mean '{kept}'?" in told.err) == (2, True)


def test_a_report_may_be_called_by_its_beginning_or_as_the_last(
    workspace: Workspace, metier: Metier
) -> None:
    assert "there is no report yet" in metier("reports", "show", "last").err
    workspace.skill("a", "Searches the web.")
    metier("resolve", "-r", "web-search")
    metier("resolve", "-r", "other-thing")
    first, second = [one["reportId"] for one in metier("reports", "list", "--json").data]
    latest = max(first, second)
    assert metier("reports", "show", "last", "--json").data["run_id"] == latest
    assert metier("reports", "show", latest[:-1], "--json").data["run_id"] == latest
    assert "no report '" in metier("reports", "show", latest[:8]).err

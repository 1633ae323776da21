"""What `metier resolve` stores: reports, and resolutions that wait for a decision."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.printed import Finished, Printed, looked_at
from cli.unprivileged import POSSIBLE, run_unprivileged
from conftest import Workspace, state_of
from metier.cli import run
from metier.flow.reports import MOST_REPORTS


class Result(Printed):
    __slots__ = ()

    @property
    def action(self) -> Any:
        return self.data["on_missing_required_action"]


Resolve = Callable[..., Result]


@pytest.fixture
def resolve(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Resolve:
    """Run the command on the workspace, which its user has looked at."""

    def call(*arguments: str) -> Result:
        looked_at(workspace.root)
        code = run(["resolve", *arguments, "--root", str(workspace.root)])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    """Two that provide something."""
    workspace.skill("alpha", extra="capabilities: [one, two]")
    workspace.skill("beta", extra="capabilities: [two]")
    return workspace


def reports(root: Path) -> list[str]:
    return sorted(file.stem for file in (state_of(root) / "reports").glob("*.json"))


# Decisions


@pytest.mark.parametrize(
    ("decision", "outcome", "code"),
    [
        ("emulate", "emulated", 0),
        ("continue-with-partial", "continued-partial", 0),
        ("abort", "aborted", 1),
    ],
)
def test_a_decision_can_be_given_at_once_or_later(
    filled: Workspace, resolve: Resolve, decision: str, outcome: str, code: int
) -> None:
    asked = ("-r", "one", "-r", "two", "-r", "nowhere", "--policy", "min-total-score=0.3", "--json")
    at_once = resolve(*asked, "--decision", decision)
    waiting = resolve(*asked)
    assert (at_once.code, waiting.code) == (code, 3)
    later = resolve("--continue", waiting.data["run_id"], "--decision", decision, "--json")
    assert later.code == code
    expected = {"policy": "offer-emulation", "outcome": outcome, "user_decision": decision}
    assert at_once.action == later.action == expected
    for key in ("selected", "candidates", "degraded_mode", "emulated_capabilities", "diagnostics"):
        assert at_once.data[key] == later.data[key], key
    kept = filled.state / "reports" / f"{waiting.data['run_id']}.json"
    assert json.loads(kept.read_text()) == later.data


def test_a_run_that_was_decided_waits_no_longer(filled: Workspace, resolve: Resolve) -> None:
    waiting = resolve("-r", "nowhere", "--json").data["run_id"]
    done = resolve("--continue", waiting, "--decision", "abort")
    assert (done.code, done.out) == (1, "aborted: nothing selected\n")
    again = resolve("--continue", waiting, "--decision", "emulate")
    assert (again.code, again.out) == (2, "")
    assert "does not wait for a decision: it is aborted" in again.err


def test_continue_needs_a_decision_and_a_run(filled: Workspace, resolve: Resolve) -> None:
    waiting = resolve("-r", "nowhere", "--json").data["run_id"]
    without = resolve("--continue", waiting)
    assert (without.code, "--continue needs --decision" in without.err) == (2, True)
    unknown = resolve("--continue", f"{waiting}x", "--decision", "abort")
    assert (unknown.code, f"did you mean '{waiting}'?" in unknown.err) == (2, True)
    outside = resolve("--continue", "../../../etc/passwd", "--decision", "abort")
    assert (outside.code, "no report '" in outside.err) == (2, True)
    wrong = resolve("-r", "one", "--decision", "perhaps")
    assert (wrong.code, "USAGE" in wrong.err) == (2, True)


def test_a_decision_nobody_needed_leaves_no_trace(filled: Workspace, resolve: Resolve) -> None:
    result = resolve("-r", "one", "--decision", "abort", "--json")
    assert (result.code, result.action["outcome"]) == (0, "not-needed")
    assert "user_decision" not in result.action


# What is kept


def test_reports_are_kept_up_to_a_bound_and_the_oldest_go(
    filled: Workspace, resolve: Resolve
) -> None:
    folder = filled.state / "reports"
    folder.mkdir(parents=True)
    for number in range(MOST_REPORTS + 5):
        (folder / f"20000101T000000.{number:06}-0000.json").write_text("{}")
    newest = resolve("-r", "one", "--json").data["run_id"]
    kept = reports(filled.root)
    assert (len(kept), kept[-1]) == (MOST_REPORTS, newest)
    assert kept[0] == "20000101T000000.000006-0000"


def test_a_report_that_cannot_be_kept_is_told(filled: Workspace, resolve: Resolve) -> None:
    filled.state.mkdir(parents=True)
    (filled.state / "reports").write_text("in the way")
    result = resolve("-r", "one")
    assert (result.code, result.out.splitlines()[0]) == (0, "one: alpha (exact)")
    assert "warning: the report cannot be stored here" in result.err


@pytest.fixture
def closed(filled: Workspace) -> Iterator[Workspace]:
    """The workspace, closed for writing."""
    if not POSSIBLE:
        pytest.skip("root may do everything here")
    filled.trust()
    filled.root.chmod(0o555)
    yield filled
    filled.root.chmod(0o755)


@pytest.fixture
def nowhere_to_write(closed: Workspace) -> Iterator[Workspace]:
    """The same, and no state can be written either."""
    above = closed.state.parents[1]
    above.mkdir(parents=True)
    above.chmod(0o555)
    yield closed
    above.chmod(0o755)


def resolved(workspace: Workspace) -> Finished:
    """What a process does that file modes bind."""
    return run_unprivileged(workspace.root, "resolve", "-r", "one", "--json")


def test_a_workspace_that_cannot_be_written_is_resolved_all_the_same(closed: Workspace) -> None:
    finished = resolved(closed)
    report = json.loads(finished.stdout)
    assert (finished.returncode, report["selected"]) == (0, ["alpha::skills/alpha"])
    assert "warning" not in finished.stderr
    assert reports(closed.root) == [report["run_id"]]
    assert {path.name for path in closed.root.iterdir()} == {".git", "skills"}


def test_where_no_state_can_be_written_it_is_resolved_all_the_same(
    nowhere_to_write: Workspace,
) -> None:
    finished = resolved(nowhere_to_write)
    report = json.loads(finished.stdout)
    assert (finished.returncode, report["selected"]) == (0, ["alpha::skills/alpha"])
    assert report["history_state"] == "ephemeral"
    assert "warning: the catalog cannot be written" in finished.stderr
    assert not nowhere_to_write.state.exists()

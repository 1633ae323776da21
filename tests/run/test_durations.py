"""How long steps and runs took, by a clock that somebody may set back."""

import time

import pytest

from metier.cli.run_view import run_seconds
from metier.run.ledger import Ledger
from metier.run.sqlite_store import SqliteRunStore
from metier.values.agents import CheckpointSettings, Limits
from metier.values.runs import Claim, Event, RunRecord, StepRecord
from run.world import BROKEN, World, agent, do, forever


def test_a_step_that_ends_before_it_began_took_no_time() -> None:
    assert StepRecord("a", "succeeded", started=20.0, finished=10.0).duration_ms == 0.0
    assert StepRecord("a", "succeeded", started=20.0, finished=20.5).duration_ms == 500.0
    assert StepRecord("a", "running", started=20.0).duration_ms is None


def test_a_run_that_ends_before_it_began_took_no_time() -> None:
    run = RunRecord("r", "agent", "task", "succeeded", 20.0, {}, {})
    assert run_seconds(run._replace(finished=10.0)) == 0.0
    assert run_seconds(run._replace(finished=22.0)) == 2.0
    assert run_seconds(run) is None


class Clocks:
    """A wall clock that somebody sets back by an hour at each look, and one that only goes on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._wall = iter(range(1_000_000, 0, -3_600))
        self._steady = iter(range(1, 100_000))
        monkeypatch.setattr(time, "time", lambda: float(next(self._wall)))
        monkeypatch.setattr(time, "monotonic", lambda: float(next(self._steady)))


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


def ledger(*known: StepRecord) -> Ledger:
    return Ledger(
        SqliteRunStore.in_memory(), Claim(1, 1), ["a"], CheckpointSettings(), Limits(), known
    )


def test_the_duration_of_a_step_is_by_a_clock_that_nobody_sets(clocks: Clocks) -> None:
    made = ledger()
    record = made.fresh("a", "running")
    ended = made.timed(record)
    assert ended.duration_ms == 1_000.0
    assert ended.finished == record.started - 3_600, "a moment of the wall clock"


def test_each_attempt_at_a_step_counts_from_its_own_beginning(clocks: Clocks) -> None:
    made = ledger()
    for _ in range(2):
        record = made.fresh("a", "running")
        assert made.timed(record).duration_ms == 1_000.0


def test_a_step_whose_beginning_is_not_known_here_never_took_less_than_no_time(
    clocks: Clocks,
) -> None:
    known = StepRecord("a", "running", started=2_000_000.0)
    assert ledger(known).timed(known).duration_ms == 0.0


STEPS = {
    "succeeded": ("worked", {}),
    "failed": (BROKEN, {}),
    "skipped": ("unused", {"condition": "false"}),
}


@pytest.mark.parametrize("state", STEPS)
def test_a_step_of_any_end_took_some_time_though_the_clock_was_set_back(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    act, more = STEPS[state]
    world = World()
    world.acts["a"] = act
    events: list[Event] = []
    walls = iter(range(2_000_000_000, 0, -3_600))
    monkeypatch.setattr(time, "time", lambda: float(next(walls)))
    result = world.run(agent(do("a", **more)), on_event=events.append)
    (step,) = result.steps
    assert step.state == state
    assert step.duration_ms is not None
    assert 0 <= step.duration_ms < 60_000
    (told,) = [one.data["durationMs"] for one in events if one.kind == f"step.{state}"]
    assert told == step.duration_ms


def test_a_step_that_a_limit_stopped_took_no_negative_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.acts = {"a": forever}
    walls = iter(range(2_000_000_000, 0, -3_600))
    monkeypatch.setattr(time, "time", lambda: float(next(walls)))
    result = world.run(agent(do("a"), limits={"seconds": 0.2}))
    (step,) = result.steps
    assert step.duration_ms is not None
    assert 100 < step.duration_ms < 60_000

"""How long steps and runs took, by a clock that somebody may set back."""

from metier.cli.run_view import run_seconds
from metier.values.runs import RunRecord, StepRecord


def test_a_step_that_ends_before_it_began_took_no_time() -> None:
    assert StepRecord("a", "succeeded", started=20.0, finished=10.0).duration_ms == 0.0
    assert StepRecord("a", "succeeded", started=20.0, finished=20.5).duration_ms == 500.0
    assert StepRecord("a", "running", started=20.0).duration_ms is None


def test_a_run_that_ends_before_it_began_took_no_time() -> None:
    run = RunRecord("r", "agent", "task", "succeeded", 20.0, {}, {})
    assert run_seconds(run._replace(finished=10.0)) == 0.0
    assert run_seconds(run._replace(finished=22.0)) == 2.0
    assert run_seconds(run) is None

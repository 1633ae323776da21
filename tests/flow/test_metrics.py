"""What a worker measures for Prometheus."""

import re
from typing import Any

import pytest

from conftest import REPOSITORY
from metier.flow.metrics import Metrics, pages_of
from metier.flow.worker import Counts
from metier.values.runs import Event, Usage


class StoppedWorker:
    """A worker that has ended some runs, as its metrics see it."""

    is_healthy, problem = True, ""

    def __init__(self) -> None:
        self.counts = Counts()
        self.counts.ended = {"succeeded": 2, "failed": 1}
        self.counts.taken_over, self.counts.returned, self.counts.lost = 3, 4, 5
        self.running = {"one": object()}

    def queue_lengths(self) -> dict[str, int]:
        return {"runs": 6}

    def live_runs(self) -> dict[str, int]:
        return {"pending": 7, "running": 8}


@pytest.fixture
def metrics() -> Metrics:
    made = Metrics()
    worker: Any = StoppedWorker()
    made.watch(worker)
    return made


def lines(metrics: Metrics) -> list[str]:
    worker: Any = StoppedWorker()
    _, body = pages_of(worker, metrics)["/metrics"]()
    return body.decode().splitlines()


def test_tokens_and_cost_of_models_are_counted(metrics: Metrics) -> None:
    usage = Usage(input_tokens=10, output_tokens=3, cost=0.25).to_json()
    for _ in range(2):
        metrics.take(Event("model.answered", "r", 1.0, "s", {"usage": usage}))
    assert 'metier_tokens_total{direction="input"} 20.0' in lines(metrics)
    assert 'metier_tokens_total{direction="output"} 6.0' in lines(metrics)
    assert "metier_cost_dollars_total 0.5" in lines(metrics)


def test_durations_of_steps_are_counted_by_state(metrics: Metrics) -> None:
    for state, took in (("succeeded", 250), ("succeeded", 500), ("failed", 10)):
        metrics.take(Event(f"step.{state}", "r", 1.0, "s", {"durationMs": took}))
    metrics.take(Event("step.started", "r", 1.0, "s", {}))
    assert 'metier_step_seconds_count{state="succeeded"} 2.0' in lines(metrics)
    assert 'metier_step_seconds_sum{state="succeeded"} 0.75' in lines(metrics)
    assert 'metier_step_seconds_bucket{le="0.1",state="succeeded"} 0.0' in lines(metrics)
    assert 'metier_step_seconds_count{state="failed"} 1.0' in lines(metrics)


def test_runs_queues_and_what_the_worker_did_are_there(metrics: Metrics) -> None:
    assert {
        'metier_runs{state="pending"} 7.0',
        'metier_runs{state="running"} 8.0',
        'metier_queue_waiting{queue="runs"} 6.0',
        "metier_worker_running 1.0",
        'metier_runs_ended_total{state="succeeded"} 2.0',
        'metier_runs_ended_total{state="failed"} 1.0',
        "metier_runs_taken_over_total 3.0",
        "metier_runs_returned_total 4.0",
        "metier_runs_lost_total 5.0",
    } <= set(lines(metrics))


def test_the_documentation_names_every_metric_and_no_other(metrics: Metrics) -> None:
    text = (REPOSITORY / "docs" / "scale.md").read_text()
    named = set(re.findall(r"`(metier_[a-z_]+)(?:\{[a-z]+\})?`", text))
    families = [line.split()[2] for line in lines(metrics) if line.startswith("# TYPE ")]
    assert named == {name for name in families if not name.endswith("_created")}

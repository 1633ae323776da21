"""What `metier doctor` says about figures of shared state."""

import pytest

from metier.cli.doctor_shared import _age, _clock, _connection, _queues, _workers
from metier.flow.shared_health import Health

WELL = Health("18.1", True, 2, 2, 0.2, 0, 0.0, 2, 0, 0)


def test_the_connection_is_described_with_its_versions() -> None:
    assert _connection(WELL, "there").detail == "there; PostgreSQL 18.1, TLS, schema 2 of 2"
    plain = _connection(WELL._replace(is_encrypted=False), "there").detail
    assert plain == "there; PostgreSQL 18.1, schema 2 of 2"


@pytest.mark.parametrize(
    ("skew", "verdict", "detail"),
    [
        (0.2, "ok", "PostgreSQL is 0.2 s ahead of this machine"),
        (-0.2, "ok", "PostgreSQL is 0.2 s behind this machine"),
        (90.0, "warning", "PostgreSQL is 90 s ahead of this machine"),
        (-3_600.0, "warning", "PostgreSQL is 3,600 s behind this machine"),
    ],
)
def test_clocks_that_differ_are_a_warning(skew: float, verdict: str, detail: str) -> None:
    check = _clock(WELL._replace(skew=skew))
    assert (check.verdict, check.detail) == (verdict, detail)


@pytest.mark.parametrize(
    ("workers", "dead", "verdict"),
    [(2, 0, "ok"), (2, 1, "ok"), (2, 2, "warning"), (0, 0, "warning")],
)
def test_runs_that_wait_for_no_live_worker_are_a_warning(
    workers: int, dead: int, verdict: str
) -> None:
    health = WELL._replace(waiting=3, oldest_seconds=30.0, workers=workers, dead_workers=dead)
    (check,) = _queues(health)
    assert check.verdict == verdict
    assert check.detail.startswith("3 pending runs, the oldest for 30 s")


def test_the_run_of_a_dead_worker_waits_for_another_worker() -> None:
    (check,) = _queues(WELL._replace(of_dead_workers=1, workers=1, dead_workers=1))
    assert (check.verdict, check.hint) == ("warning", "metier worker")
    assert check.detail == "1 run of a dead worker waits; no worker is alive"
    (check,) = _queues(WELL._replace(of_dead_workers=2))
    assert (check.verdict, check.detail) == ("ok", "2 runs of dead workers wait")


def test_a_queue_from_which_no_live_worker_takes_runs_is_a_warning() -> None:
    _, check = _queues(WELL._replace(waiting=1, unserved={"typo": 1}))
    assert check.verdict == "warning"
    assert check.detail == "1 run waits in 'typo', from which no live worker takes runs"
    assert check.hint == "metier worker --queue typo"


def test_a_run_that_no_worker_will_take_can_be_resumed() -> None:
    health = WELL._replace(in_no_queue=1, oldest_in_no_queue="r1")
    _, check = _queues(health)
    assert check.detail == "1 run stopped before the end, and no worker will take it"
    assert (check.verdict, check.hint) == ("warning", "resume it with metier runs resume r1")
    _, check = _queues(health._replace(in_no_queue=2))
    assert check.hint == "resume them with metier runs resume RUN"


@pytest.mark.parametrize(("documents", "is_executed"), [("same", False), ("any", True)])
def test_runs_with_documents_of_no_live_worker_are_a_warning(
    documents: str, is_executed: bool
) -> None:
    _, check = _workers(WELL._replace(other_documents=1), documents)
    assert check.verdict == "warning"
    assert ("executes them with its own" in check.detail) is is_executed


def test_documents_are_not_compared_while_no_worker_is_alive() -> None:
    (check,) = _workers(WELL._replace(workers=1, dead_workers=1, other_documents=1), "same")
    assert check.name == "workers"


def test_runs_that_were_given_up_are_a_warning() -> None:
    _, check = _workers(WELL._replace(given_up=2), "any")
    assert (check.name, check.verdict) == ("runs given up", "warning")
    assert check.detail.startswith("2 runs of the last 7 days failed after too many attempts")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (4e5, "5 d")]
)
def test_an_age_has_one_unit(seconds: float, text: str) -> None:
    assert _age(seconds) == text

"""DBOS on SQLite, as its documentation starts; PostgreSQL is what it recommends in production."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers.protocol import Act, Batch, Peer, Runs

_RUN = "run"


def _execute(state: Path, batch: Batch) -> None:
    with _launched(state, lambda _number: None) as (dbos, workflow):
        if batch.together:
            handles = [dbos.start_workflow(workflow, batch.steps) for _ in range(batch.runs)]
            for handle in handles:
                handle.get_result()
        else:
            for _ in range(batch.runs):
                workflow(batch.steps)


def _start(state: Path, steps: int, act: Act) -> None:
    named: Any = import_module("dbos").SetWorkflowID
    with _launched(state, act) as (_dbos, workflow), named(_RUN):
        workflow(steps)


def _resume(state: Path, _steps: int, act: Act) -> None:
    with _launched(state, act) as (dbos, _workflow):
        dbos.retrieve_workflow(_RUN).get_result()


@contextmanager
def _launched(state: Path, act: Act) -> Iterator[tuple[Any, Any]]:
    """DBOS, and a workflow that calls `act` step by step."""
    dbos: Any = import_module("dbos").DBOS
    dbos(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{state / 'dbos.db'}",
            "application_version": "1",
            "log_level": "ERROR",
        }
    )

    def step(number: int) -> int:
        act(number)
        return number

    def workflow(steps: int) -> int:
        return sum(durable_step(number) for number in range(steps))

    durable_step = dbos.step()(step)
    durable_workflow = dbos.workflow()(workflow)
    dbos.launch()
    try:
        yield dbos, durable_workflow
    finally:
        dbos.destroy()


PEER = Peer(
    name="DBOS",
    packages=("dbos",),
    about="on SQLite; its documentation recommends PostgreSQL",
    strengths=(
        "Makes ordinary Python functions durable: loops and branches are code, no document.",
        "Messages and events between workflows, durable sleep, and transactions that record a step"
        " together with your own data.",
        "Also for TypeScript, Go, Java and Rust. metier itself uses DBOS to hand out runs.",
    ),
    runs=Runs(
        store="SQLite as DBOS opens it",
        execute=_execute,
        start=_start,
        resume=_resume,
        resumed_by="nothing: it resumes when the program starts again",
    ),
)

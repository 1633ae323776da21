"""LangGraph with its SQLite checkpointer, with each step safe before the next, and as it ships."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers.protocol import Act, Batch, Peer, Runs

_NEW = {"value": 0}


def _runs(durability: str, store: str) -> Runs:
    async def invoke(app: Any, thread: str, steps: int, state: Any = _NEW) -> None:
        settings = {"configurable": {"thread_id": thread}, "recursion_limit": steps + 10}
        await app.ainvoke(state, settings, durability=durability)

    async def run_batch(folder: Path, batch: Batch) -> None:
        async with _compiled(folder, batch.steps, lambda _number: None) as app:
            if batch.together:
                calls = (invoke(app, str(number), batch.steps) for number in range(batch.runs))
                await asyncio.gather(*calls)
            else:
                for number in range(batch.runs):
                    await invoke(app, str(number), batch.steps)

    async def run_one(folder: Path, steps: int, act: Act, state: Any) -> None:
        async with _compiled(folder, steps, act) as app:
            await invoke(app, "run", steps, state)

    return Runs(
        store=store,
        execute=lambda folder, batch: asyncio.run(run_batch(folder, batch)),
        start=lambda folder, steps, act: asyncio.run(run_one(folder, steps, act, _NEW)),
        resume=lambda folder, steps, act: asyncio.run(run_one(folder, steps, act, None)),
        resumed_by="`invoke(None)` with the thread id",
    )


@asynccontextmanager
async def _compiled(state: Path, steps: int, act: Act) -> AsyncIterator[Any]:
    saver_class: Any = import_module("langgraph.checkpoint.sqlite.aio").AsyncSqliteSaver
    graph = _graph(steps, act)
    async with saver_class.from_conn_string(str(state / "graph.db")) as saver:
        await saver.conn.execute("PRAGMA synchronous = FULL")
        yield graph.compile(checkpointer=saver)


def _graph(steps: int, act: Act) -> Any:
    """A chain of nodes."""
    graphs: Any = import_module("langgraph.graph")
    graph = graphs.StateGraph(dict)
    for number in range(steps):

        async def node(_state: dict[str, Any], number: int = number) -> dict[str, Any]:
            await asyncio.to_thread(act, number)  # the loop stays free, as with a real call
            return {"value": number}

        graph.add_node(f"s{number}", node)
        graph.add_edge(graphs.START if number == 0 else f"s{number - 1}", f"s{number}")
    return graph


_PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite")
PEER = Peer(
    name="LangGraph",
    packages=_PACKAGES,
    about='AsyncSqliteSaver, `durability="sync"`',
    strengths=(
        "Any graph of Python functions: cycles, branches, parallel nodes, typed state.",
        "A node can stop for a human and go on with the answer; earlier states can be edited.",
        "Integrations, hosted deployment and tracing of a large ecosystem.",
    ),
    runs=_runs("sync", "SQLite, WAL, full sync; the whole state with each step"),
)
AS_SHIPPED = Peer(
    name="LangGraph, async",
    packages=_PACKAGES,
    about="AsyncSqliteSaver, the default durability",
    runs=_runs("async", "the same, written while the next step runs"),
)

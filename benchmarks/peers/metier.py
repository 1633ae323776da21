"""metier itself, through its Python interface and its command line."""

import asyncio
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.protocol import DEPTH, Act, Batch, Linted, Linter, Peer, Runs, Search


def _index(skills: Path, state: Path) -> int:
    with _catalog(skills, state) as catalog:
        catalog.refresh()
        return len(catalog.skills())


def _search(skills: Path, state: Path) -> Search:
    catalog = _catalog(skills, state)

    def search(task: str) -> list[str]:
        answer = catalog.which(task, limit=DEPTH, everything=False)
        return [os.path.basename(os.path.dirname(one.path)) for one in answer.skills]

    return search


def _catalog(skills: Path, state: Path) -> Any:
    from metier import Catalog
    from metier.storage.places import state_home

    os.environ["METIER_STATE_DIR"] = str(state)
    if state_home(workspace=str(skills.parent)) != str(state):
        raise RuntimeError(f"metier keeps no state in {state}")  # such as a folder of a repository
    return Catalog.open(skills.parent, home="/nowhere")


def _lint_command(_programs: Path, skills: Path) -> list[str]:
    program = str(Path(sys.executable).with_name("metier"))
    return [program, "lint", "--json", "--root", str(skills.parent)]


def _linted(output: str, errors: str) -> Linted:
    checked = re.search(r"([\d,]+) files? checked", errors)
    if checked is None:
        raise ValueError(errors.strip() or "no summary")
    return Linted(int(checked[1].replace(",", "")), len(json.loads(output)))


def _execute(state: Path, batch: Batch) -> None:
    from benchmarks.runs import SERVICES, idle_profile
    from metier.run.runner import Runner
    from metier.run.sqlite_store import SqliteRunStore

    store = SqliteRunStore.open(str(state / "runs.db"))
    runner, profile = Runner(store, SERVICES), idle_profile(batch.steps)

    async def run() -> None:
        if batch.together:
            await asyncio.gather(*(runner.run(profile, "idle") for _ in range(batch.runs)))
        else:
            for _ in range(batch.runs):
                await runner.run(profile, "idle")

    asyncio.run(run())
    store.close()


def _start(state: Path, steps: int, act: Act) -> None:
    store, runner = _acting(state, act)
    asyncio.run(runner.run(_acting_profile(steps), "act"))
    store.close()


def _resume(state: Path, _steps: int, act: Act) -> None:
    store, runner = _acting(state, act)
    store.recover(time.time())
    (run,) = store.runs(limit=2)
    asyncio.run(runner.resume(run.run_id))
    store.close()


def _acting(state: Path, act: Act) -> tuple[Any, Any]:
    from benchmarks.runs import SERVICES
    from metier.run.runner import Runner
    from metier.run.sqlite_store import SqliteRunStore
    from metier.run.tool import ToolContext, schema_tool

    async def perform(_arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        number = int(context.step_id.removeprefix("s"))
        await asyncio.to_thread(act, number)  # the loop stays free, as with a real call
        return {}

    SERVICES.tools.register(schema_tool("act", {}, perform))
    store = SqliteRunStore.open(str(state / "runs.db"))
    return store, Runner(store, SERVICES)


def _acting_profile(steps: int) -> Any:
    from metier.values.agents import AgentProfile

    workflow = [
        {"stepId": f"s{number}", "type": "tool", "config": {"tool": "act"}}
        for number in range(steps)
    ]
    return AgentProfile.of({"agentId": "acting", "description": "Acts.", "workflow": workflow})


PEER = Peer(
    name="metier",
    about="this project",
    index=_index,
    keeps_index=True,
    search=_search,
    lint=Linter(command=_lint_command, read=_linted),
    runs=Runs(
        store="SQLite, WAL, full sync; a step is acknowledged when it is on disk",
        execute=_execute,
        start=_start,
        resume=_resume,
        resumed_by="`metier runs resume`, or a worker",
    ),
)

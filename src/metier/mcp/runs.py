"""Runs of agents for MCP clients, where the user allows them."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from mcp.types import CallToolResult

from metier.catalog import Catalog
from metier.errors import UsageError
from metier.flow.queueing import Placement, RunRequest, has_workers, queue_name, start_detached
from metier.mcp.answers import result
from metier.mcp.tool_calls import Args, Call, ServedTool
from metier.serving.catalog_thread import Opened, Stamp
from metier.values.runs import Event, RunResult

T = TypeVar("T")
MOST_AT_ONCE = 8
_TEXT = {"type": "string", "minLength": 1, "maxLength": 100_000}
_NAME = {"type": "string", "minLength": 1, "maxLength": 1_000}


class RunThread:
    """Executes runs in a thread with its own loop and catalog; `close` cancels them."""

    def __init__(self, opened: Opened, stamp: Stamp = lambda _: None) -> None:
        self._opened = opened
        self._stamp = stamp
        self._stamped: object = None
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._catalog: Catalog | None = None
        self._running: set[asyncio.Task[RunResult]] = set()

    def tools(self) -> Sequence[ServedTool]:
        return (
            ServedTool(
                "run_start",
                "Run an agent",
                "Starts an agent on a task and returns the id of the run at once;"
                " run_get returns its result.",
                takes={
                    "agent": {**_NAME, "description": "The id of an agent of this workspace."},
                    "task": {**_TEXT, "description": "The task in words."},
                    "input": {"description": "The input that the templates of the workflow see."},
                    "model": {**_NAME, "description": "provider:model, or offline."},
                    "execution": {"enum": ["sequential", "parallel"]},
                },
                needs=("agent", "task"),
                gives="run",
                answer=self._start,
                read_only=False,
            ),
            ServedTool(
                "run_get",
                "Look at a run",
                "Returns the result of a run so far: its state, its output, and each step.",
                takes={"runId": {**_NAME, "description": "The id that run_start returned."}},
                needs=("runId",),
                gives="run",
                answer=self._get,
            ),
        )

    async def _start(self, call: Call) -> CallToolResult:
        return result(await self._submit(self._begin(call.args)))

    async def _get(self, call: Call) -> CallToolResult:
        return result(await self._submit(self._state(call.args["runId"])))

    async def _submit(self, work: Coroutine[Any, Any, T]) -> T:
        if self._thread is None:
            self._thread = threading.Thread(target=self._main, name="runs", daemon=True)
            self._thread.start()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    # In the thread

    async def _open(self) -> Catalog:
        if self._catalog is None:
            self._holding = self._opened()
            self._catalog = self._holding.__enter__()
            self._stamped = self._stamp(self._catalog)
        return self._catalog

    def _forget_trust(self) -> None:
        """Reopen the catalog when trust may have changed; no run starts while others use it."""
        if self._catalog is None or self._stamp(self._catalog) == self._stamped:
            return
        if self._running:
            raise UsageError(
                "the workspace or its trust has changed while agents run",
                code="RUN_BUSY",
                hint="wait for them to end",
            )
        self._holding.__exit__(None, None, None)
        self._catalog = None

    async def _begin(self, args: Args) -> dict[str, Any]:
        """Start a run, here or on a worker, and wait until it is stored."""
        self._forget_trust()
        catalog, model = await self._open(), args.get("model", "")
        if model:
            catalog.agency.model(model)  # report a wrong name before anything runs
        request = RunRequest(
            args["agent"], args["task"], args.get("input"), model, args.get("execution")
        )
        if has_workers(catalog.agency, queue_name(catalog.agency, Placement(), model)):
            enqueued = start_detached(catalog.agency, request, Placement())
            return await self._state(enqueued.run_id)
        return await self._begin_here(catalog, request)

    async def _begin_here(self, catalog: Catalog, request: RunRequest) -> dict[str, Any]:
        if len(self._running) >= MOST_AT_ONCE:
            raise UsageError(
                f"{MOST_AT_ONCE} runs are running", code="RUN_BUSY", hint="wait for one to end"
            )
        begun: asyncio.Future[str] = self._loop.create_future()

        def on_event(event: Event) -> None:
            if event.kind == "run.started" and not begun.done():
                begun.set_result(event.run_id)

        task = self._loop.create_task(
            catalog.run(
                request.agent,
                request.task,
                input=request.input,
                model=request.model,
                execution=request.execution,
                on_event=on_event,
            )
        )
        self._running.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait((task, begun), return_when=asyncio.FIRST_COMPLETED)
        if not begun.done():
            begun.set_result(task.result().run_id)  # raises why it did not start
        return await self._state(begun.result())

    def _ended(self, task: "asyncio.Task[RunResult]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # it is stored, or was raised to the caller

    async def _state(self, run_id: str) -> dict[str, Any]:
        catalog = await self._open()
        store = catalog.agency.store
        run = store.run(run_id)
        steps = [step.to_json() for step in store.steps(run.key)]
        return catalog.redactor.value({"schemaVersion": "1", **run.to_json(), "steps": steps})

    # The end

    def close(self) -> None:
        """Cancel running runs, and wait until that is stored."""
        if self._thread is None:
            self._loop.close()
            return
        asyncio.run_coroutine_threadsafe(self._leave(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _leave(self) -> None:
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._catalog is not None:
            self._holding.__exit__(None, None, None)

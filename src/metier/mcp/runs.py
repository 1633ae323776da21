"""Agents at work for a client: only where somebody has allowed it."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from mcp.types import CallToolResult

from metier.catalog import Catalog
from metier.errors import UsageError
from metier.mcp.answers import result
from metier.mcp.tool import Args, Call, ServedTool
from metier.values.runs import Event, RunResult

T = TypeVar("T")
MOST_AT_ONCE = 8
_TEXT = {"type": "string", "minLength": 1, "maxLength": 100_000}
_NAME = {"type": "string", "minLength": 1, "maxLength": 1_000}


class Workshop:
    """One thread with an event loop and a catalogue of its own, in which all runs take place.

    A run goes on when the call that began it is answered. What `close` finds at work is
    cancelled, and can be resumed later.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[Catalog]],
        stamp: Callable[[Catalog], object] = lambda _: None,
    ) -> None:
        """`stamp` changes with what the user's trust in the workspace depends on."""
        self._opened = opened
        self._stamp = stamp
        self._stamped: object = None
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._catalog: Catalog | None = None
        self._at_work: set[asyncio.Task[RunResult]] = set()

    def tools(self) -> Sequence[ServedTool]:
        """Begin a run, and look at one; in this order."""
        return (
            ServedTool(
                "run_start",
                "Run an agent",
                "Begins a run of an agent on a task and answers at once with the id of the run;"
                " run_get says what has come of it.",
                takes={
                    "agent": {**_NAME, "description": "The id of an agent of this workspace."},
                    "task": {**_TEXT, "description": "What is to be done."},
                    "input": {"description": "What the templates of the workflow see as input."},
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
                "Says what has come of a run so far: its state, its output, and each step.",
                takes={"runId": {**_NAME, "description": "The id that run_start gave."}},
                needs=("runId",),
                gives="run",
                answer=self._get,
            ),
        )

    async def _start(self, call: Call) -> CallToolResult:
        return result(await self._in_the_shop(self._begin(call.args)))

    async def _get(self, call: Call) -> CallToolResult:
        return result(await self._in_the_shop(self._look(call.args["runId"])))

    async def _in_the_shop(self, work: Coroutine[Any, Any, T]) -> T:
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
        """Have the catalogue opened anew when the user's trust may have changed.

        Runs that are at work keep it; until they have ended, no other one begins.
        """
        if self._catalog is None or self._stamp(self._catalog) == self._stamped:
            return
        if self._at_work:
            raise UsageError(
                "the workspace or its trust has changed while agents run",
                code="RUN_BUSY",
                hint="wait for them to end",
            )
        self._holding.__exit__(None, None, None)
        self._catalog = None

    async def _begin(self, args: Args) -> dict[str, Any]:
        """Begin a run, and wait until it is on the record."""
        if len(self._at_work) >= MOST_AT_ONCE:
            raise UsageError(
                f"{MOST_AT_ONCE} runs are at work", code="RUN_BUSY", hint="wait for one to end"
            )
        self._forget_trust()
        catalog, model = await self._open(), args.get("model", "")
        if model:
            catalog.agency.model(model)  # a wrong name is told before anything runs
        begun: asyncio.Future[str] = self._loop.create_future()

        def look(event: Event) -> None:
            if event.kind == "run.started" and not begun.done():
                begun.set_result(event.run_id)

        task = self._loop.create_task(
            catalog.run(
                args["agent"],
                args["task"],
                input=args.get("input"),
                model=model,
                execution=args.get("execution"),
                on_event=look,
            )
        )
        self._at_work.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait((task, begun), return_when=asyncio.FIRST_COMPLETED)
        if not begun.done():
            begun.set_result(task.result().run_id)  # raises what kept it from beginning
        return await self._look(begun.result())

    def _ended(self, task: "asyncio.Task[RunResult]") -> None:
        self._at_work.discard(task)
        if not task.cancelled():
            task.exception()  # it is on the record, or was told to who began it

    async def _look(self, run_id: str) -> dict[str, Any]:
        store = (await self._open()).agency.store
        run = store.run(run_id)
        steps = [one.to_json() for one in store.steps(run.key)]
        return {"schemaVersion": "1", **run.to_json(), "steps": steps}

    # The end

    def close(self) -> None:
        """Cancel what is at work, and wait until it is on the record."""
        if self._thread is None:
            self._loop.close()
            return
        asyncio.run_coroutine_threadsafe(self._leave(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _leave(self) -> None:
        at_work = list(self._at_work)
        for task in at_work:
            task.cancel()
        await asyncio.gather(*at_work, return_exceptions=True)
        if self._catalog is not None:
            self._holding.__exit__(None, None, None)

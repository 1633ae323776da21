"""The methods of a catalog that run agents. What they need is loaded when one is called."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from metier.core.arguments import check_choice, check_count, check_text
from metier.errors import UsageError

if TYPE_CHECKING:
    from metier.flow.agent import Agent
    from metier.flow.run_stream import RunStream
    from metier.flow.running import Agency
    from metier.index.store import Store
    from metier.values.agents import AgentProfile, Execution
    from metier.values.models import Model
    from metier.values.runs import OnEvent, RunResult, RunRow, RunState


class RunMethods:
    """Runs agents of files and of Python."""

    store: "Store"

    if TYPE_CHECKING:

        @property
        def agency(self) -> Agency: ...

    def add(self, agent: "Agent") -> None:
        """Add an agent for as long as the catalog is open; runs may delegate to it, and resume.

        Adding it again replaces it. Raises `UsageError` if a file has an agent of that id.
        """
        self.agency.add(agent)

    def _added_profile(self, agent_id: str) -> "AgentProfile | None":
        """The profile of an agent of Python that was added; None for any other."""
        added = self.agency.added.get(agent_id) if "agency" in self.__dict__ else None
        return added.profile if added is not None else None

    def stream(
        self,
        agent: "str | Agent",
        task: str,
        *,
        input: Any = None,
        model: "str | Model" = "",
        execution: "Execution | None" = None,
    ) -> "RunStream":
        """`run` as a stream of its events, to be read inside `async with`.

        `result` is set after the last event.
        """
        from metier.flow.run_stream import RunStream
        from metier.flow.running import check_run

        check_run(agent, task, model)
        return RunStream(
            lambda on_event: self.agency.run(
                agent, task, input=input, model=model, execution=execution, on_event=on_event
            )
        )

    def stream_resume(self, run_id: str, *, model: "str | Model" = "") -> "RunStream":
        """`resume` as a stream of its events, to be read inside `async with`.

        `result` is set after the last event.
        """
        from metier.flow.run_stream import RunStream
        from metier.flow.running import check_resume

        check_resume(run_id, model)
        return RunStream(
            lambda on_event: self.agency.resume(run_id, model=model, on_event=on_event)
        )

    def run_sync(
        self,
        agent: "str | Agent",
        task: str,
        *,
        input: Any = None,
        model: "str | Model" = "",
        execution: "Execution | None" = None,
        on_event: "OnEvent | None" = None,
    ) -> "RunResult":
        """`run` for scripts without an event loop. Raises `UsageError` inside one."""
        return _completed(
            "run",
            lambda: self.agency.run(
                agent, task, input=input, model=model, execution=execution, on_event=on_event
            ),
        )

    def resume_sync(
        self, run_id: str, *, model: "str | Model" = "", on_event: "OnEvent | None" = None
    ) -> "RunResult":
        """`resume` for scripts without an event loop. Raises `UsageError` inside one."""
        return _completed(
            "resume", lambda: self.agency.resume(run_id, model=model, on_event=on_event)
        )

    def cancel(self, run_id: str) -> bool:
        """Cancel a run, whichever process executes it; whether one did. It can be resumed.

        A run that has ended stays as it is. Raises `NotFoundError`.
        """
        from metier.flow.queueing import cancel_run

        check_text("run_id", run_id)
        self.store.require_open()
        return cancel_run(self.agency, run_id)

    def allow_tools(self, *names: str) -> None:
        """Give tools consent, as `--allow-tool` does, for all runs of this catalog until it closes.

        Commands and functions of the settings need it, tools of MCP servers (`SERVER__TOOL`), and
        functions with `@tool(needs_consent=True)`. A `new_connection` and `asgi_app` do not have
        it. Raises `UsageError` for an unknown tool; add an `Agent` before consent to its tools.
        """
        for name in names:
            check_text("names", name, "catalog.allow_tools('one', 'another')")
            if not name.strip():
                raise UsageError("the name of a tool is empty", hint="catalog.allow_tools('one')")
        self.agency.allow(names, "catalog.add(AGENT) first, if it is a tool of an Agent")

    def runs(
        self, *, state: "RunState | None" = None, agent: str = "", text: str = "", limit: int = 50
    ) -> "list[RunRow]":
        """The newest runs, without those that runs delegated; `text` is in the task or the id."""
        from metier.values.runs import STATES, RunsAsked

        if state is not None:
            check_choice("state", state, STATES)
        check_text("agent", agent, "the id of an agent")
        check_text("text", text)
        check_count("limit", limit)
        self.store.require_open()
        asked = RunsAsked(state=state or "", agent=agent, text=text, limit=limit)
        return self.agency.current_store().browse(asked)[0]

    def run_result(self, run_id: str) -> "RunResult":
        """The stored state of a run and its steps. Raises `NotFoundError`."""
        check_text("run_id", run_id)
        self.store.require_open()
        return self.agency.result(run_id)


def _completed(name: str, start: Callable[[], "Coroutine[Any, Any, RunResult]"]) -> "RunResult":
    """The result of `start`. Raises `UsageError` in a running event loop."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        is_running = False
    else:
        is_running = True
    if is_running:
        raise UsageError(
            f"{name}_sync() cannot be called inside a running event loop",
            hint=f"await catalog.{name}(…)",
        )
    return asyncio.run(start())

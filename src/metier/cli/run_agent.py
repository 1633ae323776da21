"""`metier run`"""

import asyncio
import json
import math
import shlex
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, NoReturn

import click

from metier.catalog import Catalog
from metier.cli.review import offered
from metier.cli.run_live import TURNS, Progress, progress
from metier.cli.run_queue import check_detached, placement_of, print_detached, queue_options
from metier.cli.run_view import print_output, state_in_words, summary
from metier.cli.session import Session, complete_names, metier_command
from metier.core.process import discard_output
from metier.core.unread import why_not_json
from metier.errors import MetierError, StoreError, UsageError
from metier.flow.boundary import untrusted_error
from metier.flow.queueing import RunRequest, start_detached
from metier.flow.run_report import not_taken_back
from metier.flow.run_watching import watch
from metier.safety.escapes import escaped_json
from metier.values.agents import AgentProfile, Execution
from metier.values.evals import LIVE_AGENT
from metier.values.runs import Event, OnEvent, RunResult

CANCELLED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_INPUT_HINT = """--input '{"name": "value"}', --input @FILE, or --input - for standard input"""

_AWAY = "PostgreSQL does not answer; the run waits up to two minutes for it"
_BACK = "PostgreSQL answers again; the run continues"

Begin = Callable[[OnEvent], Coroutine[Any, Any, RunResult]]
"""Starts or resumes a run."""


def input_option(function: Any) -> Any:
    return click.option(
        "--input",
        "given",
        metavar="JSON|@FILE|-",
        help="The `input` that the templates of the workflow see.",
    )(function)


def run_options(function: Any) -> Any:
    for option in (
        click.option("--events", is_flag=True, help="Print events as lines of JSON."),
        click.option(
            "--allow-tool",
            "allowed",
            metavar="NAME",
            multiple=True,
            help="Allow a command of the settings; repeatable.",
        ),
    ):
        function = option(function)
    return function


@metier_command("run", repeats=True)
@click.argument("agent", shell_complete=complete_names("agent"))
@click.argument("task")
@input_option
@click.option("--model", metavar="NAME", default="", help="provider:model, or offline.")
@click.option(
    "--execution", type=click.Choice(["sequential", "parallel"]), help="Overrides the profile's."
)
@queue_options
@click.option(
    "--key", metavar="TEXT", default="",
    help="With --detach: while a run with this key waits or executes, start no other.",
)  # fmt: skip
@run_options
def command(
    session: Session,
    agent: str,
    task: str,
    given: str | None,
    model: str,
    execution: Execution | None,
    allowed: tuple[str, ...],
    events: bool,
    detach: bool,
    **placement: Any,
) -> int:
    """Run an agent on a task. Every finished step is stored, so a run that stops can be resumed.

    The output goes to standard output, progress to standard error. With --events standard
    output has one JSON object per line: the events, and finally the result.

    Ctrl-C cancels the run, and 'metier runs resume' continues it; a second Ctrl-C ends the
    program at once. Exit code 1 when the run failed, 130 when it was cancelled.

    With --detach a worker executes the run (see 'metier worker'); 'metier runs watch' follows it.
    """
    if not task.strip():
        raise UsageError("the task is empty", hint="metier run AGENT 'what to do'")
    value = read_input(session, given)
    check_detached(detach)
    require_trust(session, "running an agent")
    with session.catalog() as catalog:
        profile = catalog.agency.require(agent)
        if not detach:
            consent(session, catalog, allowed, profile)
        if model:
            catalog.agency.model(model)  # report a wrong name before anything runs
        if detach:
            session.has_acted = True
            request = RunRequest(agent, task, value, model, execution)
            enqueued = start_detached(catalog.agency, request, placement_of(**placement))
            return print_detached(session, catalog.agency, enqueued)

        def begin(on_event: OnEvent) -> Coroutine[Any, Any, RunResult]:
            return catalog.run(
                agent, task, input=value, model=model, execution=execution, on_event=on_event
            )

        return Attended(session, catalog, events).finish(begin)


def require_trust(session: Session, what: str) -> None:
    """Raise `TrustError` unless the workspace is trusted; outside a workspace none is needed."""
    if not session.is_outside() and not offered(session):
        boundary = session.boundary
        raise untrusted_error(boundary.workspace, boundary.trust, what)


# What is given


def read_input(session: Session, given: str | None) -> Any:
    """The value of `--input`. Raises `UsageError`."""
    if given is None:
        return None
    where = "standard input" if given == "-" else given[1:] if given.startswith("@") else ""
    text = _text_of(session, given, where)
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        why = why_not_json(error, text)
    raise UsageError(f"the input is not JSON: {why}", where=where, hint=_INPUT_HINT)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:30]} is too large a number")
    return number


def _text_of(session: Session, given: str, where: str) -> str:
    if not where:
        return given
    try:
        if given == "-":
            return session.standard_input_bytes.decode("utf-8-sig")
        with open(where, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        problem = "is not UTF-8"
    except ValueError:
        problem = "cannot be read: this is not a file name"
    raise UsageError(f"the input {problem}", where=where, hint=_INPUT_HINT)


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def consent(
    session: Session, catalog: Catalog, allowed: Sequence[str], profile: AgentProfile
) -> None:
    """Allow tools, and warn about those of the agent that are not. Raises `UsageError`."""
    agency = catalog.agency
    allow_tools(catalog, allowed)
    if missing := agency.tools_without_consent(profile):
        session.note("warning: steps that call these tools will fail without your consent")
        session.note(f"hint:{allowing(missing)}")


def allow_tools(catalog: Catalog, allowed: Sequence[str]) -> None:
    """Consent to tools in this process. Raises `UsageError` for an unknown one."""
    commands = [tool.name for tool in catalog.config.tools.commands]
    catalog.agency.allow(allowed, f"commands: {', '.join(commands) or '-'}")


def allowing(names: Iterable[str]) -> str:
    return "".join(f" --allow-tool {shlex.quote(name)}" for name in names)


# While it runs


class Attended(NamedTuple):
    """A run in the foreground; a signal cancels it."""

    session: Session
    catalog: Catalog
    events: bool
    opening: str = ""
    """Shown once the run has begun."""

    def finish(self, begin: Begin) -> int:
        with progress(self.session, is_shown=not self.events) as shown:
            result = asyncio.run(self.run(begin, shown))
        return self.tell(result)

    async def run(self, begin: Begin, shown: Progress) -> RunResult:
        """Run to the end, or until a signal cancels it."""
        begun: list[str] = []
        traced = self.catalog.agency.spans()

        def on_event(event: Event) -> None:
            if not begun:
                self.session.has_acted = True
                begun.append(event.run_id)
                if self.opening:
                    shown.note(self.opening)
            if traced is not None:
                traced(event)
            if self.events:
                self._print_event(event.to_json(), task.cancel)
            with suppress(OSError):  # the terminal is gone
                shown.show(event)

        def cancel() -> None:
            task.cancel()
            shown.show_cursor()
            shown.note("cancelling; Ctrl-C again stops at once")
            if begun and self.catalog.is_kept:
                shown.note(f"to continue later: {self._command('resume', begun[0])}")

        def on_outage(is_away: bool) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(shown.note, _AWAY if is_away else _BACK)

        loop = asyncio.get_running_loop()
        if outage := self.catalog.agency.store.outage:
            outage.on_change = on_outage
        task = asyncio.ensure_future(begin(on_event))
        clock = asyncio.ensure_future(_ticking(shown.tick))
        with _on_signal(lambda: loop.call_soon_threadsafe(cancel)):
            try:
                return await task
            except asyncio.CancelledError:
                if not begun:
                    raise KeyboardInterrupt from None
            except StoreError as error:
                if error.code == "STORE_UNREACHABLE" and begun:
                    error.hint = f"to continue later: {self._command('resume', begun[0])}"
                raise
            finally:
                clock.cancel()
        store = self.catalog.agency.store
        run = store.run(begun[0])
        return RunResult(run, store.steps(run.key), {})

    async def watch(self, run_id: str, shown: Progress) -> RunResult:
        """Show a run that another process executes; its result once it has ended."""

        def on_event(event: Event) -> None:
            if self.events:
                self._print_event(event.to_json(), task.cancel)
            with suppress(OSError):  # the terminal is gone
                shown.show(event)

        task = asyncio.ensure_future(watch(self.catalog.agency, run_id, on_event, shown.note))
        clock = asyncio.ensure_future(_ticking(shown.tick))
        try:
            return await task
        finally:
            clock.cancel()

    def _print_event(self, event: dict[str, Any], stop: Callable[[], object]) -> None:
        """Print a line of JSON; stop if the pipe is closed."""
        try:
            click.echo(escaped_json(json.dumps(event, ensure_ascii=False)))
        except BrokenPipeError:
            discard_output()
            stop()

    # The result

    def tell(self, result: RunResult) -> int:
        """Print the result; the exit code."""
        session = self.session
        result = session.redactor.value(result)
        if self.events:
            self._print_event({"event": "result", **result_json(result)}, lambda: None)
        elif session.as_json:
            session.print_json(result_json(result))
        elif result.success:
            print_output(result.output)
        session.note(summary(result.run, result.steps))
        if left := not_taken_back(result.run, result.steps):
            session.note(f"not undone: {', '.join(left)}")
        if not self.catalog.is_kept:
            session.note("warning: the run is not stored: nothing can be written here")
        if _was_cancelled(result):
            if result.run.is_resumable:
                self._note("to continue", "resume", result)
            return CANCELLED
        self._note("to see more", "show", result)
        if result.run.agent_id == LIVE_AGENT:
            session.note(f"to see the figures: metier eval --resume {result.run_id}")
        if result.success or session.as_json or self.events:
            return int(not result.success)
        raise self._failure(result)

    def _note(self, why: str, action: str, result: RunResult) -> None:
        if self.catalog.is_kept:
            self.session.note(f"{why}: {self._command(action, result.run_id)}")

    def _command(self, action: str, run_id: str) -> str:
        """Resuming needs the consent that was given here."""
        given = self.catalog.agency.consent
        more = allowing(sorted(given)) if action == "resume" else ""
        return runs_command(self.session, action, run_id) + more

    def _failure(self, result: RunResult) -> MetierError:
        failure = result.run.failure
        goes_on = result.run.is_resumable and self.catalog.is_kept
        missing = self.catalog.agency.tools_without_consent(AgentProfile.of(result.run.profile))
        more = allowing(name for name in missing if failure and name == failure.tool)
        again = self._command("resume", result.run_id)
        return MetierError(
            failure.message if failure else f"the run is {state_in_words(result.state)}",
            code=failure.code if failure else None,
            where=f"step {failure.step}" if failure and failure.step else "",
            hint=(failure.hint if failure else "")
            or (goes_on and f"to continue: {again}{more}")
            or "",
        )


def _was_cancelled(result: RunResult) -> bool:
    """Also during a rollback."""
    failure = result.run.failure
    return result.state == "cancelled" or (failure is not None and failure.code == "RUN_CANCELLED")


def result_json(result: RunResult) -> dict[str, Any]:
    return {"schemaVersion": "1", **result.to_json()}


def runs_command(session: Session, action: str, run_id: str) -> str:
    root = f" --root {shlex.quote(session.root)}" if session.root else ""
    return f"metier runs {action} {run_id}{root}"


async def _ticking(tick: Callable[[], object]) -> None:
    while True:
        await asyncio.sleep(1 / TURNS)
        with suppress(OSError):
            tick()


@contextmanager
def _on_signal(cancel: Callable[[], object]) -> Iterator[None]:
    """The first signal calls `cancel`, the second exits; ignored signals stay ignored."""
    before = {one: signal.getsignal(one) for one in _SIGNALS}

    def first(_number: int, _frame: Any) -> None:
        for one in heeded:
            signal.signal(one, signal.SIG_DFL)
        cancel()

    heeded = [one for one in _SIGNALS if before[one] not in (signal.SIG_IGN, None)]
    for one in heeded:
        signal.signal(one, first)
    try:
        yield
    finally:
        for one in heeded:
            signal.signal(one, before[one])

"""`metier eval --live`: what a model does with the cases, and how far the free answer agrees."""

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, NamedTuple

import click

from metier.catalog import Catalog
from metier.cli.eval_live_view import print_report
from metier.cli.hosts_here import hosts_here
from metier.cli.review import has_terminal
from metier.cli.run_agent import CANCELLED, Attended, require_trust
from metier.cli.run_live import Progress
from metier.cli.run_view import summary
from metier.cli.runs import found_run
from metier.cli.session import Session, counted
from metier.core.text import printable
from metier.errors import UsageError
from metier.flow.listing import LISTED
from metier.flow.live_eval import (
    Estimate,
    LivePlan,
    LiveSettings,
    eval_run,
    planned,
    report_of,
    resume,
    start,
)
from metier.storage.places import user_home
from metier.values.runs import Event, OnEvent, RunRecord, RunResult

_ENDED = ("step.succeeded", "step.failed")


class LiveOptions(NamedTuple):
    """The options of `metier eval` that ask a model."""

    model: str | None
    tries: int
    concurrency: int
    max_cost: float | None
    run: str | None
    """The evaluation to go on with."""
    yes: bool

    @property
    def is_wanted(self) -> bool:
        return self.model is not None or self.run is not None


_OPTIONS = (
    click.option(
        "--live", "live_model", metavar="MODEL",
        help="Ask a model, and compare: provider:model, as for 'metier run'.",
    ),
    click.option(
        "--tries", type=click.IntRange(1, 100), default=3, show_default=True, metavar="N",
        help="With --live: how often each case is asked.",
    ),
    click.option(
        "--concurrency", type=click.IntRange(1, 100), default=5, show_default=True, metavar="N",
        help="With --live: how many tries are asked at a time.",
    ),
    click.option(
        "--max-cost", type=click.FloatRange(0, min_open=True), metavar="DOLLARS",
        help="With --live: stop when it has cost more.",
    ),
    click.option(
        "--resume", "live_run", metavar="RUN",
        help="Go on with a live evaluation that stopped: an id, or 'last'.",
    ),
    click.option("--yes", is_flag=True, help="With --live: do not ask before it starts."),
)  # fmt: skip


def live_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of live evaluations; the function gets them as `live`."""

    @wraps(function)
    def wrapper(*args: Any, **given: Any) -> Any:
        names = ("live_model", "tries", "concurrency", "max_cost", "live_run", "yes")
        live = LiveOptions(*(given.pop(name) for name in names))
        return function(*args, live=live, **given)

    made: Callable[..., Any] = wrapper
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


def evaluate_live(
    session: Session, files: Sequence[str], host: str | None, live: LiveOptions, limit: int
) -> int:
    """Ask a model about every case, or go on with that; 1 if a try has no answer."""
    require_trust(session, "asking a model")
    with session.catalog() as catalog:
        if live.run is not None:
            if files:
                hint = "the cases are those of the evaluation that is resumed"
                raise UsageError("--resume takes no files", hint=hint)
            return _resumed(session, catalog, live, host, limit)
        plan = _planned(session, catalog, files, host, live)
        _ask(session, plan, live)

        def begin(on_event: OnEvent) -> Coroutine[Any, Any, RunResult]:
            return start(catalog, plan, on_event)

        return _finish(session, catalog, begin, plan.estimate.tries, limit)


def _planned(
    session: Session,
    catalog: Catalog,
    files: Sequence[str],
    host: str | None,
    live: LiveOptions,
) -> LivePlan:
    assert live.model is not None
    wanted = host or _host_here(catalog)
    if wanted not in LISTED:
        message = f"it is not known what {wanted} shows the model"
        raise UsageError(message, hint=f"hosts with a known rule: {', '.join(LISTED)}")
    offline = catalog.evaluate(files, host=wanted)
    for problem in offline.problems:
        number = f" case {problem.number}" if problem.number else ""
        session.note(f"warning: {problem.file}{number}: {problem.message}")
    settings = LiveSettings(live.model, wanted, live.tries, live.concurrency, live.max_cost)
    plan = planned(catalog, offline, settings)
    for note in plan.notes:
        session.note(f"note: {note}")
    return plan


def _host_here(catalog: Catalog) -> str:
    """The first host that is used here; Claude Code if none is."""
    found = hosts_here(catalog.workspace, user_home(os.environ))
    return next((one for one in found if one in LISTED), LISTED[0])


def _ask(session: Session, plan: LivePlan, live: LiveOptions) -> None:
    """Say what it will take, and let the user decide."""
    estimate, settings = plan.estimate, plan.settings
    session.note_wrapped(f"{settings.model}, listed as in {settings.host}: {_words(estimate)}")
    cost = estimate.cost
    if cost is not None and settings.max_cost is not None and cost > settings.max_cost:
        session.note(f"warning: it may stop at ${settings.max_cost:g} before all is asked")
    if live.yes:
        return
    if not has_terminal():
        raise UsageError("asking a model costs money, which needs your consent", hint="--yes")
    click.confirm("Ask?", abort=True, err=True)


def _words(estimate: Estimate) -> str:
    """`2 cases, 6 tries, about 12 requests, 5,600 tokens in and 3,600 out: $0.0123`"""
    used = estimate.usage
    parts = (
        counted(estimate.cases, "case"),
        counted(estimate.tries, "try", "tries"),
        f"about {counted(estimate.requests, 'request')}",
        f"{used.input_tokens:,} tokens in and {used.output_tokens:,} out",
    )
    cost = estimate.cost
    price = "its price is not known" if cost is None else f"${cost:.4f}"
    return f"{', '.join(parts)}: {price}"


# Going on


def _resumed(
    session: Session, catalog: Catalog, live: LiveOptions, host: str | None, limit: int
) -> int:
    assert live.run is not None
    run = eval_run(catalog.agency.store, found_run(catalog.agency, live.run).run_id)
    _check_same(run, live.model, host)
    if live.max_cost is not None and catalog.agency.price(run.request["model"]) is None:
        raise UsageError("--max-cost needs the price of the model, which is not known")
    steps = catalog.agency.store.steps(run.key)
    left = len(run.profile["workflow"]) - sum(one.state == "succeeded" for one in steps)

    def begin(on_event: OnEvent) -> Coroutine[Any, Any, RunResult]:
        return resume(catalog, run.run_id, max_cost=live.max_cost, on_event=on_event)

    return _finish(session, catalog, begin, left, limit)


def _check_same(run: RunRecord, model: str | None, host: str | None) -> None:
    """Raise `UsageError` if the model or host of an evaluation is another."""
    for option, given, stored in (
        ("--live", model, run.request["model"]),
        ("--host", host, run.request["input"]["host"]),
    ):
        if given is not None and given != stored:
            message = f"run '{run.run_id}' was started with {option} {stored}"
            raise UsageError(message, hint=f"leave {option} out, or start a new evaluation")


# While it runs


def _finish(
    session: Session,
    catalog: Catalog,
    begin: Callable[[OnEvent], Coroutine[Any, Any, RunResult]],
    tries: int,
    limit: int,
) -> int:
    with _progress(session, tries) as shown:
        result = asyncio.run(Attended(session, catalog, events=False).run(begin, shown))
    report = report_of(result.run, result.steps)
    if session.as_json:
        session.print_json({"schemaVersion": "1", **_run_json(result), **report.to_json()})
    else:
        print_report(report, limit)
    session.note_wrapped(summary(result.run, result.steps))
    if not report.errors and not report.unfinished:
        return 0
    for line in _missing(result, report.errors, report.unfinished):
        session.note_wrapped(line)
    if catalog.is_kept:
        session.note(f"to go on: {_command(session, result.run_id)}")
    return CANCELLED if result.state == "cancelled" else 1


def _run_json(result: RunResult) -> Mapping[str, Any]:
    failure = result.run.failure
    return {
        "runId": result.run_id,
        "state": result.state,
        "error": failure.to_json() if failure else None,
        "usage": result.usage.to_json(),
    }


def _missing(result: RunResult, errors: int, unfinished: int) -> Iterator[str]:
    """Why tries have no answer."""
    failure = result.run.failure
    if failure is not None and failure.code == "RUN_LIMIT_EXCEEDED":
        yield f"stopped at --max-cost: {failure.message}"
    if errors:
        first = next(one.failure for one in result.steps if one.state == "failed" and one.failure)
        what = counted(errors, "try", "tries")
        yield f"{what} without an answer, counted as neither hit nor miss: {first.message}"
    if unfinished:
        yield f"{counted(unfinished, 'try', 'tries')} not asked to the end"


def _command(session: Session, run_id: str) -> str:
    root = f" --root {shlex.quote(session.root)}" if session.root else ""
    return f"metier eval --resume {run_id}{root}"


@contextmanager
def _progress(session: Session, tries: int) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere only how to go on."""
    with ExitStack() as stack:
        bar: Any = None
        if tries and not session.quiet and sys.stderr.isatty():
            made = click.progressbar(length=tries, label="asking", file=sys.stderr, width=30)
            bar = stack.enter_context(made)

        def show(event: Event) -> None:
            if event.kind == "run.started":
                command = _command(session, event.run_id)
                session.note(printable(f"run {event.run_id}; if it stops: {command}"))
            elif bar is not None and event.kind in _ENDED:
                bar.update(1)

        yield Progress(show, session.note, lambda: None)

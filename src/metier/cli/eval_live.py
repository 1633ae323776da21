"""`metier eval --live`: what a model does with the cases, and how far the free answer agrees."""

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import click

from metier.catalog import Catalog
from metier.cli.eval_formats import bar_line
from metier.cli.eval_live_options import CONCURRENCY, TRIES, Asked, LiveOptions
from metier.cli.eval_live_view import print_report
from metier.cli.review import has_terminal
from metier.cli.run_agent import CANCELLED, Attended, require_trust
from metier.cli.run_live import Progress
from metier.cli.run_view import summary
from metier.cli.runs import found_run
from metier.cli.session import LAST, Session, counted
from metier.core.text import printable
from metier.errors import NotFoundError, UsageError
from metier.flow.evaluating import failed_bars
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
from metier.hosts.here import hosts_here
from metier.storage.places import user_home
from metier.values.evals import LIVE_AGENT
from metier.values.runs import Event, OnEvent, RunRecord, RunResult

_OF_THE_ORDER = {"minHit1", "minNdcg"}
_LOOKED_AT = 1_000
"""Runs among which the last live evaluation is looked for."""
_ENDED = ("step.succeeded", "step.failed")


def evaluate_live(session: Session, asked: Asked, live: LiveOptions) -> int:
    """Ask a model about every case, or go on with that.

    1 if a bar is missed or a try has no answer.
    """
    for name in asked.bars.keys() & _OF_THE_ORDER:
        raise UsageError(f"{name} needs an order of skills, which a model does not give")
    require_trust(session, "asking a model")
    with session.catalog() as catalog:
        if live.run is not None:
            if asked.files:
                hint = "the cases are those of the evaluation that is resumed"
                raise UsageError("--resume takes no files", hint=hint)
            return _resumed(session, catalog, asked, live)
        plan = _planned(session, catalog, asked, live)
        _ask(session, plan, live)

        def begin(on_event: OnEvent) -> Coroutine[Any, Any, RunResult]:
            return start(catalog, plan, on_event)

        return _finish(session, catalog, begin, plan.estimate.tries, asked)


def _planned(session: Session, catalog: Catalog, asked: Asked, live: LiveOptions) -> LivePlan:
    assert live.model is not None
    wanted = asked.host or _host_here(catalog)
    if wanted not in LISTED:
        message = f"metier does not know what {wanted} shows the model"
        raise UsageError(message, hint=f"hosts with a known rule: {', '.join(LISTED)}")
    offline = catalog.evaluate(asked.files, host=wanted)
    for problem in offline.problems:
        session.note(f"warning: {problem.place}: {problem.message}")
    settings = LiveSettings(
        live.model, wanted, live.tries or TRIES, live.concurrency or CONCURRENCY, live.max_cost
    )
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
    session.note(f"{settings.model}, listed as in {settings.host}: {_words(estimate)}")
    cost = estimate.cost
    if cost is not None and settings.max_cost is not None and cost > settings.max_cost:
        session.note(f"warning: it may stop at ${settings.max_cost:g} before all cases are asked")
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


def _resumed(session: Session, catalog: Catalog, asked: Asked, live: LiveOptions) -> int:
    assert live.run is not None
    run = _found(catalog, live.run)
    _check_same(run, live.model, asked.host)
    if live.max_cost is not None and catalog.agency.price(run.request["model"]) is None:
        raise UsageError("--max-cost needs the price of the model, which is not known")
    steps = catalog.agency.store.steps(run.key)
    left = len(run.profile["workflow"]) - sum(one.state == "succeeded" for one in steps)

    def begin(on_event: OnEvent) -> Coroutine[Any, Any, RunResult]:
        return resume(catalog, run.run_id, max_cost=live.max_cost, on_event=on_event)

    return _finish(session, catalog, begin, left, asked)


def _found(catalog: Catalog, wanted: str) -> RunRecord:
    """The live evaluation with that id, or the last one."""
    if wanted != LAST:
        return eval_run(catalog.agency.store, found_run(catalog.agency, wanted).run_id)
    runs = catalog.agency.store.runs(limit=_LOOKED_AT, delegated=False)
    found = next((run for run in runs if run.agent_id == LIVE_AGENT), None)
    if found is None:
        raise NotFoundError("there is no live evaluation yet", hint="metier eval --live MODEL")
    return found


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
    asked: Asked,
) -> int:
    with _progress(session, tries) as shown:
        result = asyncio.run(Attended(session, catalog, events=False).run(begin, shown))
    report = report_of(result.run, result.steps)
    bars = failed_bars(report.figures, asked.bars)
    if asked.as_json:
        told = {**_run_json(result), **report.to_json(), "bars": [one.to_json() for one in bars]}
        session.print_json({"schemaVersion": "1", **told})
    else:
        print_report(report, asked.limit)
    session.note(summary(result.run, result.steps))
    for one in bars:
        session.note(f"failed: {bar_line(one)}")
    if not report.errors and not report.unfinished:
        return int(bool(bars))
    for line in _missing(result, report.errors, report.unfinished):
        session.note(line)
    if catalog.is_kept:
        more = " --max-cost DOLLARS" if _is_too_costly(result) else ""
        session.note(f"to continue: {_command(session, result.run_id)}{more}")
    return CANCELLED if result.state == "cancelled" else 1


def _run_json(result: RunResult) -> Mapping[str, Any]:
    failure = result.run.failure
    return {
        "runId": result.run_id,
        "state": result.state,
        "error": failure.to_json() if failure else None,
        "usage": result.usage.to_json(),
    }


def _is_too_costly(result: RunResult) -> bool:
    failure = result.run.failure
    return failure is not None and failure.code == "RUN_LIMIT_EXCEEDED"


def _missing(result: RunResult, errors: int, unfinished: int) -> Iterator[str]:
    """Why tries have no answer."""
    if _is_too_costly(result):
        yield f"stopped: it has cost ${result.usage.cost:.4f}, more than --max-cost"
    if errors:
        first = next(one.failure for one in result.steps if one.state == "failed" and one.failure)
        what = counted(errors, "try", "tries")
        yield f"{what} without an answer, counted as neither hit nor miss: {first.message}"
    if unfinished:
        yield f"{counted(unfinished, 'try', 'tries')} not completed"


def _command(session: Session, run_id: str) -> str:
    root = f" --root {shlex.quote(session.root)}" if session.root else ""
    return f"metier eval --resume {run_id}{root}"


@contextmanager
def _progress(session: Session, tries: int) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere only how to go on."""
    with ExitStack() as stack:
        bars: list[Any] = []

        def show(event: Event) -> None:
            if event.kind == "run.started":
                command = _command(session, event.run_id)
                session.note(printable(f"run {event.run_id}; if it stops: {command}"))
                if tries and not session.quiet and sys.stderr.isatty():
                    bar = click.progressbar(length=tries, label="asking", file=sys.stderr, width=30)
                    bars.append(stack.enter_context(bar))
            elif event.kind in _ENDED:
                for one in bars:
                    one.update(1)

        yield Progress(show, session.note, lambda: None)

"""`metier hook stats`"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from typing import NamedTuple

import click

from metier.cli.groups import with_commands
from metier.cli.session import Session, counted, metier_command
from metier.cli.since import moment
from metier.core.nearest import did_you_mean
from metier.errors import ConfigError, StoreError, UsageError
from metier.flow.hook_figures import (
    MOST_USED,
    Group,
    HeldBack,
    Statistics,
    Usage,
    Used,
    documents_known,
    is_selected,
    statistics,
)
from metier.flow.hook_log import (
    INJECTED,
    Considered,
    Decision,
    Decisions,
    decisions_of,
    failed_refresh,
    failures,
    kill_switch,
    killed_since,
    label,
    read_decisions,
    resume,
    why_failed,
)
from metier.flow.shared import SharedState
from metier.storage.hook_files import may_speak
from metier.storage.places import state_room, user_room
from metier.storage.room import Room

_SHOWN = 20
_MOST_NAMED = 10
_FEW_REQUESTS = 20
"""With fewer, what was not used may well be used later."""


class _Filter(NamedTuple):
    since: float | None
    host: str


_SINCE = click.option(
    "--since", metavar="WHEN", help="Only requests since then: 7d, 12h, or a date."
)
_SHARED = click.option("--shared", is_flag=True, help="Include all machines that share state.")
_HOST = click.option("--host", metavar="NAME", default="", help="Only requests of this host.")


@metier_command("stats", catalog=False)
@_SINCE
@_HOST
@_SHARED
def _stats(session: Session, since: str | None, host: str, shared: bool) -> None:
    """Show hook decisions and their accuracy.

    How often hooks inject, what, how fast, and how often you called that right.
    """
    room = _room(session)
    with _log(session, room, shared) as decisions:
        _show(session, _filter(since, host), decisions, room)


def _show(session: Session, wanted: _Filter, decisions: Decisions, room: Room) -> None:
    problem = _problem(session, room)
    cards, skills = _names(session, room)
    figures = statistics(decisions, **wanted._asdict(), cards=cards, skills=skills)
    if session.as_json:
        session.print_json({**figures.to_json(), "killSwitch": kill_switch(room)})
    else:
        if figures.overall.requests:
            _print(session, figures)
        else:
            _note_nothing(session, decisions, wanted)
        _note_skipped(session, figures.skipped)
        _note_kill_switch(session, room)
    if problem:
        session.note(f"warning: {problem}")


@metier_command("decisions", catalog=False)
@_SINCE
@_HOST
@click.option("--limit", type=click.IntRange(min=1), metavar="N", default=_SHOWN, show_default=True,
              help="How many decisions to show.")  # fmt: skip
@_SHARED
def _decisions(session: Session, since: str | None, host: str, limit: int, shared: bool) -> None:
    """List the latest decisions, newest last."""
    room = _room(session)
    with _log(session, room, shared) as decisions:
        known = {} if shared else failures(room)
        _list(session, _filter(since, host), decisions, limit, known)


def _list(
    session: Session,
    wanted: _Filter,
    decisions: Decisions,
    limit: int,
    known: Mapping[tuple[str, int], str],
) -> None:
    latest: deque[Decision] = deque(maxlen=limit)
    total = 0
    for decision in decisions:
        if is_selected(decision, **wanted._asdict()):
            latest.append(decision)
            total += 1
    if session.as_json:
        rows = [{**one.to_json(), "right": decisions.labels.get(one.id)} for one in latest]
        session.print_json(rows)
        return
    if not latest:
        _note_nothing(session, decisions, wanted)
    columns = ["id", "time", "host", "ms", "left", "injected"]
    session.print_list(columns, [_cells(one, known) for one in latest], "decision", total=total)
    _note_skipped(session, decisions.skipped)


@metier_command("label", catalog=False)
@click.argument("decision_id", metavar="ID")
@click.argument("verdict", metavar="right|wrong", type=click.Choice(["right", "wrong"]))
def _label(session: Session, decision_id: str, verdict: str) -> None:
    """Record your verdict on a decision."""
    found = label(_room(session), decision_id, verdict == "right")
    if session.as_json:
        session.print_json({"id": found, "right": verdict == "right"})
    else:
        session.tell(f"{found}: {verdict}")


@metier_command("resume", catalog=False)
def _resume(session: Session) -> None:
    """Let hooks inject again after the kill switch stopped them."""
    room = _room(session)
    reason = kill_switch(room)
    resume(room)
    if session.as_json:
        session.print_json({"resumed": bool(reason), "reason": reason})
    elif reason:
        session.tell(f"hooks follow their settings again; they were stopped because: {reason}")
    else:
        session.tell("nothing has stopped the hooks")


command = with_commands(_stats, _decisions, _label, _resume)


def _room(session: Session) -> Room:
    return user_room() if session.is_outside() else state_room(session.workspace())


@contextmanager
def _log(session: Session, room: Room, shared: bool) -> Iterator[Decisions]:
    """The decisions on this machine, or those in shared state. Raises `StoreError`."""
    if not shared:
        yield read_decisions(room)
        return
    state = SharedState.of(session.config(), session.require_workspace())
    if state is None:
        raise UsageError("state is not shared here", hint="set [state] url and namespace")
    from metier.flow.shipping import ship_decisions  # few workspaces share their state

    with closing(state):
        ship_decisions(state, room)
        yield decisions_of(state.decisions.lines)


def _filter(since: str | None, host: str) -> _Filter:
    return _Filter(None if since is None else moment(since, time.time()), host)


# Decisions


def _cells(decision: Decision, known: Mapping[tuple[str, int], str]) -> list[str]:
    """`left` is the best score that was not injected."""
    left = _best_left(decision.cards) or _best_left(decision.skills)
    return [
        decision.id,
        _clock(decision.at, "%m-%d %H:%M"),
        decision.host,
        f"{decision.milliseconds:.1f}",
        f"{left.score:.2f}" if left else "",
        "; ".join(_outcome(decision, left, known)),
    ]


def _outcome(
    decision: Decision, left: Considered | None, known: Mapping[tuple[str, int], str]
) -> Iterator[str]:
    if decision.error:
        yield f"error: {why_failed(decision, known)}"
    names = [
        other.name for other in (*decision.cards, *decision.skills) if other.outcome == INJECTED
    ]
    if decision.injected and names:
        yield ", ".join(names)
    if left:
        yield f"not {left.name} ({left.outcome})"


def _best_left(considered: Sequence[Considered]) -> Considered | None:
    """The best that was not injected; scores of cards and of skills do not compare."""
    left = [one for one in considered if one.outcome != INJECTED]
    return min(left, key=lambda one: (-one.score, one.name), default=None)


def _clock(moment: float | None, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return "" if moment is None else datetime.fromtimestamp(moment).strftime(form)


# Figures


def _catalog_room(session: Session, room: Room) -> Room:
    """The room of the catalog that hooks use here."""
    return room if may_speak(room, session.workspace()) else user_room()


def _names(session: Session, room: Room) -> tuple[list[str] | None, list[str] | None]:
    """The cards and skills that hooks know; None if unknown."""
    try:
        return documents_known(_catalog_room(session, room))
    except StoreError as error:
        session.note(f"warning: {error.message}; metier does not know what was never used")
        return None, None


def _print(session: Session, figures: Statistics) -> None:
    overall = _rows({"all": figures.overall})
    if figures.held_back.requests or "monitor" in figures.modes:
        overall.insert(2, ["that would inject", _would_inject(figures.held_back)])
    session.print_table(["", "all"], [*overall, *_facts(figures)])
    arms = {f"{arm} ({', '.join(figures.scorers[arm])})": one for arm, one in figures.arms.items()}
    for title, groups in (("host", figures.hosts), ("mode", figures.modes), ("arm", arms)):
        if len(groups) > 1 or (groups and title == "arm"):
            click.echo()
            session.print_table([title, *groups], _rows(groups))
    _print_usage(session, figures)


def _would_inject(held_back: HeldBack) -> str:
    """`12 (30.0%), 400 tokens each: 2 cards, 1 skill`; the first are requests."""
    requests = _part(held_back.requests, held_back.share)
    if not held_back.requests:
        return requests
    what = f"{counted(len(held_back.cards), 'card')}, {counted(len(held_back.skills), 'skill')}"
    return f"{requests}, {_figure(held_back.tokens_mean, 0)} tokens each: {what}"


def _facts(figures: Statistics) -> list[list[str]]:
    facts = [["from", _clock(figures.first)], ["to", _clock(figures.last)]]
    for title, groups in (("hosts", figures.hosts), ("modes", figures.modes)):
        counts = (f"{name} {one.requests:,}" for name, one in groups.items())
        facts.append([title, ", ".join(counts)])
    return facts


_LINES: Mapping[str, Callable[[Group], str]] = {
    "requests": lambda one: f"{one.requests:,}",
    "that inject": lambda one: _part(one.injecting, one.injection_rate),
    "tokens a request": lambda one: _figure(one.tokens_mean),
    "tokens p50 / p95, where injected": lambda one: _pair(one.tokens_p50, one.tokens_p95, 0),
    "ms p50 / p95": lambda one: _pair(one.milliseconds_p50, one.milliseconds_p95, 1),
    "errors": lambda one: _part(one.errors, one.error_rate),
    "labelled": lambda one: f"{one.labelled:,}",
    "of them right": lambda one: _part(one.right, one.right_share),
}


def _rows(groups: Mapping[str, Group]) -> list[list[str]]:
    return [[name, *(show(one) for one in groups.values())] for name, show in _LINES.items()]


def _part(count: int, share: float | None) -> str:
    """`12 (30.0%)`"""
    return f"{count:,}" if share is None else f"{count:,} ({share:.1%})"


def _figure(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _pair(middle: float | None, high: float | None, digits: int) -> str:
    return f"{_figure(middle, digits)} / {_figure(high, digits)}"


def _print_usage(session: Session, figures: Statistics) -> None:
    usages, held_back = {"card": figures.cards, "skill": figures.skills}, figures.held_back
    held = {"card": held_back.cards, "skill": held_back.skills}
    _print_used(session, "most used", {kind: one.most_used for kind, one in usages.items()})
    _print_used(session, "would be used", held)
    unused = [row for kind, usage in usages.items() for row in _unused(kind, usage, held[kind])]
    if unused:
        click.echo()
    session.print_table(["unused", "count", "names"], unused)
    if unused and held_back.requests:
        session.note("what only the mode (monitor, soft) held back does not count as unused")
    requests = figures.overall.requests
    if unused and requests < _FEW_REQUESTS:
        kinds = "card or skill"
        session.note(f"{counted(requests, 'request')}: too few to call a {kinds} unused")


def _print_used(session: Session, title: str, used: Mapping[str, Sequence[Used]]) -> None:
    rows = [
        [one.name, kind, f"{one.uses:,}", f"{one.mean_score:.2f}"]
        for kind, some in used.items()
        for one in some[:MOST_USED]
    ]
    if rows:
        click.echo()
    session.print_table([title, "kind", "times", "mean score"], rows)


def _unused(kind: str, usage: Usage, held_back: Sequence[Used]) -> list[list[str]]:
    held = {one.name for one in held_back}
    unused = [name for name in usage.unused or () if name not in held]
    if not unused:
        return []
    names = ", ".join(unused[:_MOST_NAMED])
    more = ", …" if len(unused) > _MOST_NAMED else ""
    return [[f"{kind}s", f"{len(unused):,} of {usage.existing:,}", names + more]]


# Notes


def _note_nothing(session: Session, decisions: Decisions, wanted: _Filter) -> None:
    hosts = {decision.host for decision in decisions}
    if not hosts:
        session.note("no decision is logged yet")
        session.note("hint: metier hook install HOST")
        return
    session.note("no decision matches")
    if wanted.host and wanted.host not in hosts:
        known = f"known hosts: {', '.join(sorted(hosts))}"
        session.note(f"hint: {did_you_mean(wanted.host, hosts, known)}")


def _note_skipped(session: Session, skipped: int) -> None:
    if skipped:
        session.note(f"warning: {counted(skipped, 'line')} of the log cannot be read")


def _note_kill_switch(session: Session, room: Room) -> None:
    reason = kill_switch(room)
    if reason:
        since = _clock(killed_since(room), "%Y-%m-%d %H:%M")
        session.note(f"warning: kill switch on since {since}; to undo: metier hook stats resume")
        session.note(f"    why: {reason}")


def _problem(session: Session, room: Room) -> str:
    """Invalid settings, or why the last refresh for hooks failed."""
    try:
        session.config()
    except ConfigError as error:
        if session.config_file is not None:
            raise
        return f"hooks cannot read the settings: {error.message}"
    failure = failed_refresh(room, _catalog_room(session, room))
    if failure is None:
        return ""
    when = _clock(failure.at, "%Y-%m-%d %H:%M")
    return f"the last refresh for hooks failed, {when}: {failure.what}"

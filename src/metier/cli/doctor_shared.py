"""`metier doctor`: shared state on PostgreSQL."""

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from metier.catalog import Catalog
from metier.cli.session import counted
from metier.errors import MetierError

if TYPE_CHECKING:
    from metier.flow.shared_health import Health


class Check(NamedTuple):
    name: str
    verdict: str
    """ok · warning · error"""
    detail: str
    hint: str = ""


def shared_checks(catalog: Catalog) -> Iterator[Check]:
    """Nothing if state is local."""
    yield from _url_file(catalog.config.state_url_file)
    try:
        shared = catalog.shared
        if shared is None:
            return
        from metier.flow.shared_health import shared_health  # needs the driver

        health = shared_health(shared)
    except MetierError as error:
        yield Check("shared state", "error", f"{error.message} ({error.code})", error.hint)
        return
    yield _connection(health, f"{shared.address}, namespace {shared.namespace}")
    if health.is_superuser:
        hint = "use a role that may create and use the schemas of metier, and nothing else"
        yield Check("login", "warning", "the login is a superuser of PostgreSQL", hint)
    yield _clock(health)
    yield from _queues(health)
    yield from _workers(health, catalog.config.worker_documents)


def _url_file(path: str) -> Iterator[Check]:
    """Warn about a file with an address, and maybe a password, that every user can read."""
    with suppress(OSError):  # said when the address is read
        if path and os.stat(os.path.expanduser(path)).st_mode & stat.S_IROTH:
            detail = f"{path} can be read by every user of this machine"
            yield Check("state.url-file", "warning", detail, f"chmod 600 {shlex.quote(path)}")


def _connection(health: "Health", where: str) -> Check:
    encrypted = ", TLS" if health.is_encrypted else ""
    schema = f"schema {health.schema} of {health.newest_schema}"
    return Check("shared state", "ok", f"{where}; PostgreSQL {health.server}{encrypted}, {schema}")


def _clock(health: "Health") -> Check:
    from metier.flow.shared_health import MOST_SKEW  # needs the driver

    ahead = "ahead of" if health.skew > 0 else "behind"
    if abs(health.skew) < MOST_SKEW:
        return Check("clock", "ok", f"PostgreSQL is {abs(health.skew):.1f} s {ahead} this machine")
    detail = f"PostgreSQL is {abs(health.skew):,.0f} s {ahead} this machine"
    return Check("clock", "warning", detail, "set both clocks with NTP: times of runs are wrong")


def _queues(health: "Health") -> Iterator[Check]:
    """Runs that wait, and those that no live worker takes."""
    is_served = health.workers > health.dead_workers
    yield _waiting(health, is_served)
    if is_served:
        for queue, count in health.unserved.items():
            runs = f"{counted(count, 'run')} {'waits' if count == 1 else 'wait'}"
            detail = f"{runs} in '{queue}', from which no live worker takes runs"
            yield Check("queue", "warning", detail, f"metier worker --queue {shlex.quote(queue)}")
    if health.in_no_queue:
        stopped = f"{counted(health.in_no_queue, 'run')} stopped before the end"
        detail = f"{stopped}, and no worker will take {_them(health.in_no_queue)}"
        hint = f"resume {_them(health.in_no_queue)} with metier runs resume RUN"
        if health.in_no_queue == 1:
            hint = f"resume it with metier runs resume {health.oldest_in_no_queue}"
        yield Check("interrupted runs", "warning", detail, hint)


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def _waiting(health: "Health", is_served: bool) -> Check:
    parts, count = [], health.of_dead_workers
    if health.waiting:
        oldest = f"the oldest for {_age(health.oldest_seconds)}"
        parts.append(f"{counted(health.waiting, 'pending run')}, {oldest}")
    if count:
        whose = "a dead worker waits" if count == 1 else "dead workers wait"
        parts.append(f"{counted(count, 'run')} of {whose}")
    if not parts:
        return Check("queue", "ok", "no run waits")
    if is_served:
        return Check("queue", "ok", "; ".join(parts))
    return Check("queue", "warning", "; ".join([*parts, "no worker is alive"]), "metier worker")


def _workers(health: "Health", documents: str) -> Iterator[Check]:
    live = health.workers - health.dead_workers
    if health.dead_workers:
        detail = f"{live:,} live, {health.dead_workers:,} dead: their leases have expired"
        yield Check("workers", "warning", detail, "a live worker takes over their runs")
    else:
        yield Check("workers", "ok", f"{live:,} live")
    if live and health.other_documents:
        waiting = counted(health.other_documents, "pending run")
        detail = f"{waiting} started with documents that no live worker has"
        if documents != "same":
            detail += ": a worker executes them with its own"
        yield Check("documents of runs", "warning", detail, "update the checkouts of the workers")
    if health.given_up:
        yield _given_up(health.given_up)


def _given_up(count: int) -> Check:
    from metier.flow.shared_health import RECENT_DAYS  # needs the driver

    runs = f"{counted(count, 'run')} of the last {RECENT_DAYS} days"
    detail = f"{runs} failed after too many attempts (RUN_GIVEN_UP)"
    return Check("runs given up", "warning", detail, "metier runs list --state failed")


def _age(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"

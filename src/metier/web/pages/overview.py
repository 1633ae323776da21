"""Overview: what is known, what is excluded, what hosts show, what hooks did, what ran."""

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from metier.catalog import Catalog
from metier.errors import MetierError
from metier.flow.hook_figures import statistics
from metier.flow.hook_log import Decisions, kill_switch, read_decisions
from metier.flow.listing import LISTED, HostListing
from metier.flow.running import Agency
from metier.hosts.here import hosts_here
from metier.storage.places import user_home
from metier.values.browsing import Browse
from metier.values.files import KINDS, PLURAL
from metier.values.outcomes import Exclusion
from metier.values.rows import Row
from metier.values.runs import RunRecord
from metier.web.page import Data, Page, View
from metier.web.words import in_browser

_DAYS = 14
_DAY = 86_400
_MOST_EXCLUDED, _LEAST_OF_REASON = 8, 2
_SEARCHED = 200
"""Excluded files of a reason among which some are chosen."""
_MOST_RUNS = 8
_MOST_UNUSED = 12


def build(view: View) -> Data:
    """Documents and listings are cached until the catalog changes; the rest is read anew."""
    known: dict[str, Any] = view.cached("documents", lambda: _documents(view.catalog))
    return {
        **known,
        "hosts": view.briefly("hosts", lambda: _hosts(view.catalog)),
        "hooks": _hooks(view.catalog),
        "runs": _runs(view.catalog),
        "isRestricted": view.is_restricted,
    }


def _documents(catalog: Catalog) -> dict[str, Any]:
    counts = catalog.counts()
    kinds = []
    for kind in KINDS:
        of_kind = [one for one in counts if one.kind == kind]
        by_state: Counter[str] = Counter()
        for one in of_kind:
            by_state[one.state] += one.documents
        kinds.append({"kind": kind, "title": PLURAL[kind], **_states(by_state)})
    by_source: dict[str, Counter[str]] = {}
    for one in counts:
        by_source.setdefault(one.source, Counter())[one.kind] += (
            one.documents if one.state == "active" else 0
        )
    sources = [
        {"source": source, **{kind: found[kind] for kind in KINDS}, "total": found.total()}
        for source, found in by_source.items()
    ]
    sources.sort(key=lambda one: -int(one["total"]))
    return {"kinds": kinds, "sources": sources, "excluded": _excluded(catalog)}


def _states(found: Counter[str]) -> dict[str, int]:
    return {state: found[state] for state in ("active", "shadowed", "excluded")}


def _excluded(catalog: Catalog) -> dict[str, Any]:
    reasons: Counter[str] = Counter()
    for one in catalog.counts():
        if one.state == "excluded":
            reasons[one.reason] += one.documents
    files = list(_some_of_each(catalog, reasons))
    return {"total": reasons.total(), "reasons": dict(reasons.most_common()), "files": files}


def _some_of_each(catalog: Catalog, reasons: Counter[str]) -> Iterator[dict[str, str]]:
    """Some excluded files of each reason: sorted by reason, one follows the other."""
    most = max(_LEAST_OF_REASON, _MOST_EXCLUDED // max(1, len(reasons)))
    asked = Browse(facets={"state": ["excluded"]}, order="reason")
    begin = 0
    for _, number in sorted(reasons.items()):
        asked = asked._replace(offset=begin, limit=min(_SEARCHED, number))
        yield from _varied(
            [_excluded_file(catalog, one) for one in catalog.browse(asked).rows], most
        )
        begin += number


def _varied(files: Sequence[dict[str, str]], most: int) -> list[dict[str, str]]:
    """At most so many files, the first of each detail before the second of any."""
    before: Counter[str] = Counter()
    turns = []
    for one in files:
        turns.append(before[one["detail"]])
        before[one["detail"]] += 1
    in_turn = sorted(zip(turns, files, strict=True), key=lambda pair: pair[0])
    return [one for _, one in in_turn[:most]]


def _excluded_file(catalog: Catalog, row: Row) -> dict[str, str]:
    issues = catalog.issues_of(row)
    cause = issues[-1] if row.shadowed_by else Exclusion.cause(row.reason, issues)
    detail = Exclusion.of(row.path, row.reason, issues, row.shadowed_by, row.is_off).detail
    return {
        "kind": row.kind,
        "path": row.path,
        "reason": row.reason,
        "detail": detail,
        "code": cause.code if cause else "",
        "hint": in_browser(cause.hint) if cause else "",
    }


def _hosts(catalog: Catalog) -> list[dict[str, Any]]:
    home = user_home(os.environ)
    names = [one for one in hosts_here(catalog.workspace, home) if one in LISTED]
    return [_listing(catalog.listing(name)) for name in names]


def _listing(found: HostListing) -> dict[str, Any]:
    return {
        "host": found.host,
        "title": found.title,
        "context": found.context,
        "budget": found.listing.budget,
        "unit": found.listing.unit,
        "needed": found.needed,
        "shown": found.listing.used,
        "counts": found.counts,
        "lost": found.lost_count,
        "hidden": len(found.hidden),
        "notLoaded": found.not_loaded,
    }


def _hooks(catalog: Catalog) -> dict[str, Any]:
    """What hooks decided lately."""
    if catalog.room is None:
        return {"requests": 0}
    now = time.time()
    try:
        decisions = read_decisions(catalog.room)
        names = catalog.names("skill")
        figures = statistics(decisions, since=now - _DAYS * _DAY, skills=names)
        days = _by_day(decisions, now)
    except OSError as error:
        return {"requests": 0, "problem": error.strerror or str(error)}
    unused = figures.skills.unused or ()
    return {
        "requests": figures.overall.requests,
        "injecting": figures.overall.injecting,
        "errors": figures.overall.errors,
        "millisecondsP50": figures.overall.milliseconds_p50,
        "days": days,
        "named": [{"name": one.name, "times": one.uses} for one in figures.skills.most_used],
        "neverNamed": len(unused),
        "someNeverNamed": list(unused[:_MOST_UNUSED]),
        "killSwitch": kill_switch(catalog.room),
    }


def _by_day(decisions: Decisions, now: float) -> dict[str, int]:
    found = Counter(int((now - one.at) // _DAY) for one in decisions if one.at <= now)
    days = range(_DAYS - 1, -1, -1)
    return {_date(now - day * _DAY): found[day] for day in days}


def _date(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def _runs(catalog: Catalog) -> dict[str, Any]:
    """The latest runs."""
    try:
        store = catalog.agency.store
        runs, total = store.runs(limit=_MOST_RUNS, delegated=False), store.count_runs()
    except MetierError as error:
        return {"total": 0, "latest": [], "problem": error.message, "hint": in_browser(error.hint)}
    latest = [
        {
            "runId": run.run_id,
            "agentId": run.agent_id,
            "task": run.task,
            "state": "interrupted" if _is_interrupted(catalog.agency, run) else run.state,
            "created": run.created,
            "seconds": _seconds(run.created, run.finished),
            "tokens": run.usage.tokens,
            "cost": run.usage.cost,
        }
        for run in runs
    ]
    return {"total": total, "latest": latest}


def _is_interrupted(agency: Agency, run: RunRecord) -> bool:
    """Whether its process is gone; on shared state, a worker may continue a pending run."""
    is_left = agency.state is None and run.state == "pending" and run.failure is not None
    return is_left or agency.store.is_abandoned(run, time.time())


def _seconds(created: float, finished: float | None) -> float | None:
    return round(max(0.0, finished - created), 3) if finished else None


PAGES = [
    Page(
        name="overview",
        title="Overview",
        build=build,
        command=lambda _: ["doctor"],
        group="Look",
        order=10,
        computes=True,
    )
]

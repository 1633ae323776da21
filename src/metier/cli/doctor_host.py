"""`metier doctor --host`, and what `metier doctor` says about listings."""

import os
from collections.abc import Iterator, Sequence

import click

from metier.catalog import Catalog
from metier.cli.doctor_shared import Check
from metier.cli.layout import flowed_here, paged, words
from metier.cli.session import Session, counted
from metier.core.paths import is_inside
from metier.flow.host_skills import ORDER, State, Verdict
from metier.flow.listing import LISTED, HostListing
from metier.hosts.here import hosts_here
from metier.hosts.known import HOSTS
from metier.storage.places import user_home

_TITLES: dict[State, str] = {
    "does-not-load": "does not load",
    "unknown": "not known whether it loads",
    "off": "switched off",
    "never-shown": "loads, but is never shown",
    "twice": "loaded twice",
    "elsewhere": "in a folder that it does not read",
    "loads": "loads",
}
_LOADED: tuple[State, ...] = ("never-shown", "twice", "loads")
_COLOURS: dict[State, str] = {"does-not-load": "red", "loads": "green"}


def check_host(session: Session, host: str, limit: int) -> int:
    """Print what a host makes of each skill; 1 if a skill in its folders does not load."""
    with session.catalog() as catalog:
        found = catalog.host_verdicts(host)
    if session.as_json:
        session.print_json([one.to_json() for one in found])
    else:
        paged(list(_lines(HOSTS[host].title, found, limit)))
    return int(any(one.state == "does-not-load" for one in found))


def _lines(title: str, found: Sequence[Verdict], limit: int) -> Iterator[str]:
    home = user_home(os.environ)
    loaded = sum(one.state in _LOADED for one in found)
    yield click.style(f"{title} loads {loaded:,} of {counted(len(found), 'skill')}", bold=True)
    for state in ORDER:
        group = [one for one in found if one.state == state]
        if not group:
            continue
        yield click.style(f"{_TITLES[state]} ({len(group):,})", fg=_COLOURS.get(state, "yellow"))
        yield from _reasons(group[:limit], home)
        if len(group) > limit:
            yield f"  and {len(group) - limit:,} more: --limit {len(group)} shows all"


def _reasons(group: Sequence[Verdict], home: str) -> Iterator[str]:
    """Each skill with its reason; a reason that several share is given once, above them."""
    by_reason: dict[str, list[str]] = {}
    for one in group:
        reason = one.message + (f" ({one.hint})" if one.hint else "")
        by_reason.setdefault(reason, []).append(_shown(one, home))
    for reason, paths in by_reason.items():
        if len(paths) == 1:
            yield flowed_here(words(f"{paths[0]}: {reason}"), 4, "  ")
            continue
        yield flowed_here(words(f"{reason}:"), 4, "  ")
        yield from (f"    {path}" for path in paths)


def _shown(verdict: Verdict, home: str) -> str:
    """Where the file is: below the workspace, or below the home folder as `~/…`."""
    if verdict.file.endswith(f"/{verdict.path}"):
        return verdict.path
    return f"~{verdict.file.removeprefix(home)}" if is_inside(verdict.file, home) else verdict.file


def listing_checks(catalog: Catalog) -> Iterator[Check]:
    """One check for each host that is used here and whose rule is known."""
    for name in hosts_here(catalog.workspace, user_home(os.environ)):
        if name in LISTED:
            found = catalog.listing(name)
            if found.by_id or found.not_loaded:
                yield _check(found)


def _check(found: HostListing) -> Check:
    lost, budget, unit = found.lost_count, found.listing.budget, found.listing.unit
    count = counted(len(found.by_id), "skill")
    need = "needs" if len(found.by_id) == 1 else "need"
    detail = f"{count} {need} {found.needed:,} {unit} in {found.host}"
    detail += f", its limit is {budget:,}" if budget is not None else ""
    if lost:
        detail += f": {lost:,} {'is' if lost == 1 else 'are'} cut or not shown"
    if found.not_loaded:
        verb = "does" if found.not_loaded == 1 else "do"
        detail += f"; {found.not_loaded:,} {verb} not load"
    hint = f"metier {'listing' if lost else 'doctor'} --host {found.host}"
    is_fine = not lost and not found.not_loaded
    return Check("listing", "ok" if is_fine else "warning", detail, "" if is_fine else hint)

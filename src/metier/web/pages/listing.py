"""Listing: what each host shows the model of the skills, and what would fit if some were off."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from metier.flow.listing import LISTED, STATES, HostListing, ListedSkill
from metier.flow.listing_changes import edited, lost_text, switch_of, switched_off
from metier.flow.listing_plan import Edit, greedy_plan, needed_fraction
from metier.hosts.here import hosts_here
from metier.hosts.known import HOSTS
from metier.hosts.listing_types import Skill
from metier.storage.places import user_home
from metier.web.page import Data, Page, View
from metier.web.table import Column, Row, Table, table_of

LARGEST_CONTEXT = 10_000_000
_MOST_LINES = 200
_MOST_HIDDEN = 50
_COLUMNS = [
    Column("place", "#", "number", hint="its place in the listing"),
    Column("name", "Skill", "id"),
    Column("state", "State", "badge"),
    Column("shown", "Seen", "number", hint="characters of its text that the model sees"),
    Column("length", "Of", "number", hint="characters of its text"),
    Column("text", "Text, as the model sees it", "long", sorts=False),
]


def build(view: View) -> Data:
    here = view.briefly("here", lambda: _here(view))
    host = view.query.choice("host", LISTED, here[0] if here else LISTED[0])
    context = view.query.number("context", 0, least=1, most=LARGEST_CONTEXT) or None
    found = view.briefly((host, context), lambda: view.catalog.listing(host, context))
    wish = view.query.choice("plan", ["show", "try"])
    plan = view.briefly((host, context, "plan"), lambda: greedy_plan(found)) if wish else []
    off = dict.fromkeys(view.query.all("off"))
    after = _after(view, found, list(off), plan if wish == "try" else [])
    shown = after or found
    state = view.query.choice("state", STATES)
    return {
        "host": host,
        "hosts": [_host(name, here) for name in LISTED],
        "contextFrom": found.context_from,
        "isAsked": context is not None,
        "now": _figures(found),
        "after": _figures(after) if after is not None else None,
        "plan": _plan(found, plan, wish),
        "off": list(off),
        "state": state,
        "skills": _table(view, shown, state),
        **_around(shown),
        **_lines(view, shown),
    }


def _here(view: View) -> list[str]:
    found = hosts_here(view.catalog.workspace, user_home(os.environ))
    return [name for name in found if name in LISTED]


def _host(name: str, here: Sequence[str]) -> dict[str, Any]:
    return {"host": name, "title": HOSTS[name].title, "isHere": name in here}


def _after(
    view: View, found: HostListing, off: Sequence[str], plan: Sequence[Edit]
) -> HostListing | None:
    """The listing after what was chosen; None if nothing was."""
    if not off and not plan:
        return None
    key = (found.host, found.context, "after", tuple(sorted(off)), bool(plan))
    if not plan:
        return view.briefly(key, lambda: switched_off(found, off))
    chosen = [Edit("switch-off", "", path, 0, 0) for path in off]
    return view.briefly(key, lambda: edited(found, [*plan, *chosen]))


def _figures(found: HostListing) -> dict[str, Any]:
    return {
        "context": found.context,
        "budget": found.listing.budget,
        "unit": found.listing.unit,
        "needed": found.needed,
        "shown": found.listing.used,
        "skills": sum(found.counts.values()),
        "counts": found.counts,
        "lost": found.lost_count,
    }


def _around(found: HostListing) -> dict[str, Any]:
    hidden = [{"path": path, "switch": switch} for path, switch in found.hidden[:_MOST_HIDDEN]]
    return {
        "hidden": len(found.hidden),
        "someHidden": hidden,
        "notLoaded": found.not_loaded,
        "own": found.own,
        "hasCounts": found.has_counts,
    }


def _plan(found: HostListing, plan: Sequence[Edit], wish: str) -> dict[str, Any] | None:
    """What `metier listing` suggests; None unless it was asked for."""
    if not wish:
        return None
    off = [one for one in plan if one.action == "switch-off"]
    short = [one for one in plan if one.action == "shorten"]
    facts = HOSTS[found.host].listing
    return {
        "isTried": wish == "try" and bool(plan),
        "switchOff": [one.name for one in off],
        "shorten": [one.name for one in short],
        "to": short[0].to if short else None,
        "how": switch_of(found.host),
        "fraction": needed_fraction(found),
        "fractionSetting": facts.fraction_setting if facts is not None else "",
        "fractionFile": facts.fraction_file if facts is not None else "",
    }


def _table(view: View, found: HostListing, state: str) -> Table:
    wanted = [
        _row(place, one)
        for place, one in enumerate(found.skills, start=1)
        if not state or one.state == state
    ]
    made = table_of(view, _COLUMNS, wanted, sort="place", noun="skill", empty="no such skill")
    skills = {skill.path: skill for skill in found.offered}
    rows = [{**row, **_details(found, skills[row["file"]], row)} for row in made.rows]
    return replace(made, rows=rows)


def _row(position: int, skill: ListedSkill) -> Row:
    return {"place": position, **skill._asdict()}


def _details(found: HostListing, skill: Skill, row: Row) -> dict[str, str]:
    """What only the rows of one page need."""
    lost = "" if row["state"] == "whole" else lost_text(skill, row["text"])
    return {"id": found.by_id[id(skill)].row.name, "lost": lost}


def _lines(view: View, found: HostListing) -> dict[str, Any]:
    """The listing to the letter; its start unless all is asked for."""
    lines = found.listing.lines
    most = len(lines) if view.query.flag("all") else _MOST_LINES
    return {"lines": list(lines[:most]), "linesTotal": len(lines)}


def _command(data: Data) -> list[str]:
    context = [f"--context={data['now']['context']}"] if data["isAsked"] else []
    return ["listing", f"--host={data['host']}", *context, "--show"]


PAGES = [
    Page(
        name="listing",
        title="Listing",
        build=build,
        command=_command,
        group="Look",
        order=40,
        computes=True,
    )
]

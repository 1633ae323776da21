"""`metier listing`"""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from metier.catalog import Catalog
from metier.cli.layout import flowed_here, paged, words
from metier.cli.session import Session, counted, metier_command
from metier.core.process import without_garbage_collection
from metier.core.text import printable
from metier.errors import UsageError
from metier.flow.listing import LISTED, HostListing, ListedSkill, TextState
from metier.flow.listing_changes import switch_of
from metier.flow.listing_plan import greedy_plan, needed_fraction, out_of_reach
from metier.hosts.here import hosts_here
from metier.hosts.known import HOSTS
from metier.storage.places import user_home

if TYPE_CHECKING:
    from metier.flow.measuring import Difference, Measured

_BAR = 40
_SHORTENED = 60
"""The most characters of a text that a list shows."""
_TITLES: dict[TextState, str] = {
    "cut": "cut",
    "no-text": "without text",
    "invisible": "invisible",
}


class _ListedHost(click.Choice[str]):
    """Says which hosts are known, but not what they show."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in HOSTS and value not in self.choices:
            known = ", ".join(LISTED)
            self.fail(f"what {HOSTS[value].title} shows its model is unknown; known: {known}")
        return super().convert(value, param, ctx)


@metier_command("listing", repeats=True)
@click.option("--host", type=_ListedHost(LISTED), help="Only this host (default: those used here).")
@click.option(
    "--context",
    type=click.IntRange(min=1),
    metavar="N",
    help="The model's context, in tokens (default: printed for each host).",
)
@click.option("--show", is_flag=True, help="Print the listing as the model sees it.")
@click.option(
    "--measure",
    is_flag=True,
    help="Start your own host once, offline and without your credentials, and compare.",
)
@click.option("--yes", is_flag=True, help="Do not ask before --measure starts a program.")
@click.option(
    "--max-lost",
    type=click.IntRange(min=0),
    metavar="N",
    help="Exit with 1 if more than N skills lose text.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="At most N skills in each list.",
)
def command(
    session: Session,
    host: str | None,
    context: int | None,
    show: bool,
    measure: bool,
    yes: bool,
    max_lost: int | None,
    limit: int,
) -> int:
    """Show what a host tells the model about your skills, and what is lost.

    Computed from the files by each host's own rule, without a model. A skill counts as lost if the
    model does not see its whole text; one that you switched off does not count.
    """
    with session.catalog() as catalog:
        names = [host] if host else hosts_here(catalog.workspace, user_home(os.environ))
        names = [name for name in names if name in LISTED]
        if not names:
            hint = f"--host names one: {', '.join(LISTED)}"
            raise UsageError("no host with skills was found here", hint=hint)
        found = [catalog.listing(name, context) for name in names]
        if measure:
            return _measure(session, catalog, found, show, limit, yes)
    with without_garbage_collection():
        _print(session, found, show, limit)
    failing = [one for one in found if max_lost is not None and one.lost_count > max_lost]
    for one in failing:
        lost = f"{counted(one.lost_count, 'skill')} of {one.title} lose text"
        session.note(f"failed: {lost}, --max-lost allows {max_lost:,}")
    return int(bool(failing))


def _print(session: Session, found: Sequence[HostListing], show: bool, limit: int) -> None:
    if session.as_json:
        session.print_json([_json(one, show) for one in found])
    elif show:
        for one in found:
            if len(found) > 1:
                session.note(f"{one.title}:")
            click.echo(one.listing.rendered())
    else:
        paged([line for one in found for line in (*_block(one, limit), "")][:-1])


def _json(found: HostListing, show: bool) -> dict[str, Any]:
    plan = [edit.to_json() for edit in greedy_plan(found)]
    text = {"listing": found.listing.rendered()} if show else {}
    fraction = needed_fraction(found)
    return {**found.to_json(), "greedyPlan": plan, "neededFraction": fraction, **text}


def _block(found: HostListing, limit: int) -> Iterator[str]:
    yield click.style(found.title, bold=True) + _model(found)
    yield f"  {_size(found)}"
    yield f"  {_counts(found)}"
    if found.listing.budget is not None and found.listing.used > found.listing.budget:
        yield "  names are shown beyond the limit, too"
    if found.lost_count and found.listing.budget is not None:
        how = "its usage counts" if found.has_counts else "no usage counts were found"
        if _by_use(found.host):
            yield f"  order: {how}; those used least lose their text first"
    for state, title in _TITLES.items():
        if count := found.counts[state]:
            some = found.some(state, limit)
            reasons = {one.why for one in found.skills if one.state == state}
            shared = reasons.pop() if len(reasons) == 1 else ""
            yield f"  {title}, because {shared}:" if shared else f"  {title}:"
            yield from _rows([_row(one, shared) for one in some], limit, of=count)
    if found.hidden:
        yield f"  kept from the model by a switch: {counted(len(found.hidden), 'skill')}"
    if found.not_loaded:
        which = counted(found.not_loaded, "skill")
        verb = "does" if found.not_loaded == 1 else "do"
        yield f"  {which} in its folders {verb} not load: metier doctor --host {found.host}"
    yield from _plan(found, limit)


def _model(found: HostListing) -> str:
    if found.context is None:
        return ""
    source = {"given": "--context", "settings": "its settings"}.get(found.context_from, "default")
    return f", context of {found.context:,} tokens ({source})"


def _size(found: HostListing) -> str:
    unit, budget = found.listing.unit, found.listing.budget
    if budget is None:
        return f"{found.needed:,} {unit} needed, no limit"
    full = max(1, found.needed, budget)
    shown = round(_BAR * min(found.listing.used, full) / full)
    needed = max(shown, round(_BAR * found.needed / full))
    bar = "█" * shown + "░" * (needed - shown) + "·" * (_BAR - needed)
    figures = f"{found.needed:,} {unit} needed, {found.listing.used:,} shown, limit {budget:,}"
    return f"{bar}  {figures}"


def _counts(found: HostListing) -> str:
    counts = found.counts
    parts = [f"{counts['whole']:,} whole"]
    parts += [f"{counts[state]:,} {title}" for state, title in _TITLES.items() if counts[state]]
    own = f"; {found.own:,} of the host's own" if found.own else ""
    return f"{counted(sum(counts.values()), 'skill')}: {', '.join(parts)}{own}"


def _row(skill: ListedSkill, shared: str) -> str:
    """A skill, and why it loses text unless all in the list share the reason."""
    left = f": {_shortened(skill.text)}" if skill.state == "cut" else ""
    size = f"{skill.shown:,} of {skill.length:,} characters" if skill.state == "cut" else ""
    detail = ", ".join(filter(None, [size, "" if skill.why == shared else skill.why]))
    return f"{skill.name} ({detail}){left}" if detail else f"{skill.name}{left}"


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHORTENED else f"{text[:_SHORTENED]}…"


def _rows(rows: Sequence[str], limit: int, indent: int = 4, of: int = 0) -> Iterator[str]:
    """The first `limit` rows; `of` is how many there are if they are not all given."""
    start, total = " " * indent, of or len(rows)
    for row in rows[:limit]:
        yield flowed_here(words(row), indent + 2, start)
    if total > limit:
        yield f"{start}and {total - limit:,} more: --limit {total} shows all"


def _plan(found: HostListing, limit: int) -> Iterator[str]:
    plan = greedy_plan(found)
    off = [edit for edit in plan if edit.action == "switch-off"]
    short = [edit for edit in plan if edit.action == "shorten"]
    if plan:
        yield "  greedy plan that makes all fit (not the only one, nor the smallest):"
    if off:
        switch = f" ({how})" if (how := switch_of(found.host)) else ""
        least = ", those used least" if found.has_counts else ""
        yield f"    switch off {counted(len(off), 'skill')}{least}{switch}:"
        yield from _rows([one.name for one in off], limit, 6)
    if short:
        yield f"    shorten {counted(len(short), 'text')} to {short[0].to:,} characters:"
        yield from _rows([f"{one.name} ({one.length:,} characters)" for one in short], limit, 6)
    if plan and (others := out_of_reach(found)):
        reasons = [f"{why} ({len(some):,})" for why, some in others.items()]
        which = counted(sum(map(len, others.values())), "skill")
        text = f"neither would help {which}: {'; '.join(reasons)}"
        yield flowed_here(words(text), 6, "    ")
    if (fraction := needed_fraction(found)) is not None:
        facts = HOSTS[found.host].listing
        assert facts is not None
        written = f'{{"{facts.fraction_setting}": {fraction:g}}}'
        yield f"  or give the listing more of the context, in {facts.fraction_file}: {written}"


def _by_use(host: str) -> bool:
    facts = HOSTS[host].listing
    return facts is not None and facts.rule == "least used lose text"


def _measure(
    session: Session,
    catalog: Catalog,
    found: Sequence[HostListing],
    show: bool,
    limit: int,
    yes: bool,
) -> int:
    """Start hosts, and print what they sent; 1 if one listed something else than computed."""
    from metier.cli.review import has_terminal  # only --measure asks
    from metier.flow.measuring import program_of  # loads an HTTP server

    programs = [program_of(one.host, catalog.workspace) for one in found]
    if not yes:
        if not has_terminal():
            raise UsageError("--measure starts a program, which needs your consent", hint="--yes")
        session.note("this starts, each with copies of your skills and no network but loopback:")
        for program in programs:
            session.note(f"  {program}")
        click.confirm("Start?", abort=True, err=True)
    measured = [catalog.measure_listing(one) for one in found]
    if session.as_json:
        both = zip(found, measured, strict=True)
        session.print_json([{"host": one.host, **result.to_json()} for one, result in both])
    else:
        for one, result in zip(found, measured, strict=True):
            paged(list(_result(one, result, show, limit)))
    return int(any(one.differences for one in measured))


def _result(found: HostListing, measured: "Measured", show: bool, limit: int) -> Iterator[str]:
    if show:
        yield printable(measured.text)
        return
    yield click.style(found.title, bold=True) + f": {measured.program}"
    yield f"  it listed {counted(len(measured.sent), 'skill')}, its own included"
    if not measured.differences:
        yield "  your skills are listed as computed"
        return
    yield f"  {counted(len(measured.differences), 'skill')} listed differently:"
    yield from _rows([_difference(one) for one in measured.differences], limit)


def _difference(difference: "Difference") -> str:
    if difference.sent is None:
        return f"{difference.name}: not listed"
    if difference.computed is None:
        return f"{difference.name}: listed, but unknown to metier"
    sent, computed = len(difference.sent), len(difference.computed)
    return f"{difference.name}: {sent:,} characters, computed {computed:,}"

"""`metier overlap`"""

import sys
from collections.abc import Iterator, Sequence

import click

from metier.cli.layout import flowed, one_line, paged, shortened, terminal_width, words, wrapped
from metier.cli.session import Session, complete_names, counted, metier_command
from metier.hosts import HOOKED
from metier.values.overlap import Collision, Edit, Overlap, OverlapPair

_SHOWN_WORDS = 8
_SHOWN_TASKS = 3
_SHOWN_NAMES = 6
_LONGEST_TEXT = 100
_SHARE = click.FloatRange(0, 1)


@metier_command("overlap", repeats=True)
@click.argument("skills", nargs=-1, metavar="[SKILL]...", shell_complete=complete_names("skill"))
@click.option(
    "--max-overlap",
    "most",
    type=_SHARE,
    metavar="SHARE",
    help="Exit with 1 if a pair overlaps by more: 0 is nothing in common, 1 the same text.",
)
@click.option(
    "--at-least",
    "least",
    type=_SHARE,
    default=0.6,
    show_default=True,
    metavar="SHARE",
    help="Only pairs that overlap by at least this much.",
)
@click.option(
    "--host",
    metavar="HOST",
    type=click.Choice(HOOKED),
    help="Only skills that this host loads: " + ", ".join(HOOKED) + ".",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="The most pairs, clusters and texts to show.",
)
def command(
    session: Session,
    skills: Sequence[str],
    most: float | None,
    least: float,
    host: str | None,
    limit: int,
) -> int:
    """Find skills that compete for the same tasks, and separate them.

    For each pair: how much their descriptions overlap, the words that both have, the tasks of one
    for which the other fires too, and the fewest words that separate them. With SKILL, only what
    competes with it.
    """
    least = least if most is None else min(least, most)
    with session.catalog() as catalog, session.progress("comparing") as on_progress:
        found = catalog.overlap(
            skills, least=least, limit=limit, host=host, on_progress=on_progress
        )
    for note in found.notes:
        session.note(note)
    if session.as_json:
        session.print_json(found.to_json())
    elif sys.stdout.isatty():
        paged([*_view(found, limit, terminal_width())])
    else:
        for row in _rows(found, limit):
            click.echo("\t".join(map(one_line, row)))
    _note_cut(session, found, limit)
    if not found.overlaps and not found.same and (found.compared or not skills):
        session.note(_nothing(found))
    return _gate(session, found, most) if most is not None else 0


def _note_cut(session: Session, found: Overlap, limit: int) -> None:
    """Say how much of what was found is not shown; JSON has all but the pairs."""
    totals = {"pair": len(found.overlaps)}
    if not session.as_json:
        totals = {"text": len(found.same), "cluster": len(found.clusters), **totals}
    cut = {noun: total for noun, total in totals.items() if total > limit}
    if cut:
        parts = ", ".join(f"{limit:,} of {counted(total, noun)}" for noun, total in cut.items())
        session.note(f"{parts}: --limit {max(cut.values())} shows all")


def _nothing(found: Overlap) -> str:
    if found.skills < 2:
        return f"there are too few skills to compare: {found.skills}"
    if not found.compared:
        which = counted(found.skills, "skill")
        return f"none of {which} overlaps by {found.least:g} or more: --at-least shows more"
    names = shortened([f"'{name}'" for name in found.compared])
    verb = "overlaps" if len(found.compared) == 1 else "overlap"
    return f"{names} {verb} with no other by {found.least:g} or more: --at-least shows more"


def _gate(session: Session, found: Overlap, most: float) -> int:
    above = found.above(most)
    if above:
        which = counted(above, "pair overlaps", "pairs overlap")
        session.note(f"{which} by more than {most:g}: the highest is {found.highest:.2f}")
    return int(above > 0)


# For programs


def _rows(found: Overlap, limit: int) -> Iterator[list[str]]:
    """`same`, `cluster` or `pair`, the overlap, the skills, and what is known of them."""
    for same in found.same[:limit]:
        yield ["same", "1.00", ", ".join(same.names), same.text]
    for cluster in found.clusters[:limit]:
        names, common = ", ".join(cluster.names), ", ".join(cluster.words)
        yield ["cluster", f"{cluster.highest:.2f}", names, common]
    for pair in found.pairs:
        yield [
            "pair",
            f"{pair.overlap:.2f}",
            f"{pair.first}, {pair.second}",
            ", ".join(pair.shared[:_SHOWN_WORDS]),
            "; ".join(map(_collision, pair.collisions)),
            "; ".join(map(_edit, pair.edits)),
        ]


# For people


def _view(found: Overlap, limit: int, width: int) -> Iterator[str]:
    pairs = counted(len(found.overlaps), "pair overlaps", "pairs overlap")
    yield _title(counted(found.skills, "skill"), f"{pairs} by {found.least:g} or more")
    if found.same:
        many = counted(len(found.same), "text")
        yield from ["", _title("same text", f"{many} that skills share: keep one, or say more")]
    for same in found.same[:limit]:
        names = shortened(same.names, _SHOWN_NAMES)
        yield from wrapped(f"{counted(len(same.names), 'skill')}: {names}", width, "  ")
        text = one_line(same.text)
        cut = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
        yield from wrapped(cut, width, "      ")
    yield from _more(len(found.same), limit)
    if found.clusters:
        many = counted(len(found.clusters), "group")
        yield from ["", _title("clusters", f"{many} of skills that compete")]
    for cluster in found.clusters[:limit]:
        common = click.style(", ".join(map(one_line, cluster.words)), bold=True)
        yield f"  {common}  {len(cluster.names):,} skills, up to {cluster.highest:.2f}"
        yield from wrapped(shortened(cluster.names, _SHOWN_NAMES), width, "      ")
    yield from _more(len(found.clusters), limit)
    if found.pairs:
        yield from ["", _title("pairs", "the most alike first")]
    for pair in found.pairs:
        yield from _pair_lines(pair, width)


def _title(text: str, rest: str) -> str:
    return click.style(text, bold=True) + (f"  {rest}" if rest else "")


def _more(total: int, limit: int) -> Iterator[str]:
    if total > limit:
        yield f"  and {total - limit:,} more: --limit {total} shows all"


def _pair_lines(pair: OverlapPair, width: int) -> Iterator[str]:
    first, second = ([click.style(one, bold=True) for one in words(name)] for name in _names(pair))
    start = f"  {pair.overlap:.2f} {_gauge(pair.overlap)}  "
    yield flowed([*first, "and", *second], width, 6, start)
    figures = f"words {pair.words:.2f}, meaning {max(0.0, pair.meaning):.2f}"
    both = f"; both have: {', '.join(pair.shared[:_SHOWN_WORDS])}" if pair.shared else ""
    yield from wrapped(f"{figures}{both}", width, "      ")
    for one in pair.collisions[:_SHOWN_TASKS]:
        yield from wrapped(f"- {_collision(one)}", width, "      ")
    if len(pair.collisions) > _SHOWN_TASKS:
        more = len(pair.collisions) - _SHOWN_TASKS
        yield f"      - and {counted(more, 'more task', 'more tasks')}"
    edits = f": {'; '.join(map(_edit, pair.edits))}" if pair.edits else ""
    yield from wrapped(f"{pair.advice}{edits}", width, "      ")


def _names(pair: OverlapPair) -> tuple[str, str]:
    """With paths where two skills have the same name."""
    return (pair.first, pair.second) if pair.first != pair.second else pair.paths


def _gauge(overlap: float) -> str:
    full = round(10 * overlap)
    return "█" * full + "░" * (10 - full)


def _collision(collision: Collision) -> str:
    verb = "comes first" if collision.is_ahead else "fires too"
    return f'"{collision.task}" is for {collision.skill}, but {collision.rival} {verb}'


def _edit(edit: Edit) -> str:
    parts = [f"add '{' '.join(edit.add)}'"] if edit.add else []
    parts += [f"add 'Not for {', '.join(edit.not_for)}.'"] if edit.not_for else []
    return f"in {edit.skill}, {' and '.join(parts)}"

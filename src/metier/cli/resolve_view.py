"""A resolution on a terminal or in a pipe, from its report alone."""

import sys
from collections.abc import Sequence

import click

from metier.cli.layout import bar, branches, packed, terminal_width, wrapped
from metier.cli.session import Session
from metier.flow.report_text import (
    PARTS,
    Branch,
    Row,
    changes,
    counts,
    handle_of,
    headline,
    reason_of,
    shown_rows,
    tree_of,
    verdict,
)
from metier.values.resolution import Report

_COLUMNS = ("candidate", "final", *PARTS, "penalty", "history", "verdict")
_MOST_BLOCKS = 20


def print_report(
    session: Session, report: Report, notes: Sequence[str], *, everyone: bool = False
) -> None:
    """Print blocks on a terminal, else a table."""
    on_terminal = sys.stdout.isatty()
    shown = shown_rows(report, everyone=everyone, most=_MOST_BLOCKS if on_terminal else None)
    width = terminal_width() if on_terminal else 0
    for text in headline(report):
        for line in wrapped(text, width, "") if on_terminal else [text]:
            click.echo(line)
    if on_terminal:
        for row in shown:
            click.echo("\n".join(["", *_block(row, report, width)]))
    else:
        session.print_table(_COLUMNS, [_cells(row, report) for row in shown])
    tree = [line for node in report["dependencies"] for line in _lines(tree_of(node, report))]
    if on_terminal and tree:
        click.echo("\n".join(["", *tree]))
    for line in [*([] if on_terminal else tree), *counts(report, shown), *notes]:
        session.note(line)


def _block(row: Row, report: Report, width: int) -> list[str]:
    mark = click.style("  selected", fg="green", bold=True) if row["selected"] else ""
    name = click.style(handle_of(row), bold=True)
    head = f"{row['rank'] or '–':<2} {name}  {row['S_total_final']:.3f}{mark}"
    folder = row["id"].removeprefix(f"{row['name']}::")
    origin = "" if row["source"] == "workspace" else f" (from {row['source']})"
    parts = [f"{part} {bar(row[f'S_{part}'])}" for part in PARTS]
    word = "why" if row["id"] in report["diagnostics"]["chosen"] else "why not"
    return [
        head,
        *wrapped(f"{folder}{origin}", width),
        *packed(parts, width),
        *(line for text in changes(row) for line in wrapped(text, width)),
        *wrapped(f"{word}: {reason_of(row, report)}", width),
    ]


def _cells(row: Row, report: Report) -> list[str]:
    return [
        row["id"],
        f"{row['S_total_final']:.3f}",
        *(f"{row[f'S_{part}']:.2f}" for part in PARTS),
        f"{row['penalties']['total']:.2f}" if row["penalties"]["total"] else "",
        f"{row['history_multiplier']:.2f}" if row["history_multiplier"] != 1 else "",
        verdict(row, report),
    ]


def _lines(branch: Branch) -> list[str]:
    return [branch.text, *branches([_lines(one) for one in branch.below])]

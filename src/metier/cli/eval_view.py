"""Evaluations as text."""

import sys
from collections.abc import Sequence

import click

from metier.cli.eval_formats import (
    DIFFERENCE_COLUMNS,
    FIGURE_COLUMNS,
    PURPOSE,
    SKILL_COLUMNS,
    EvalReport,
    confusion_rows,
    difference_rows,
    figure_rows,
    location,
    short,
    skill_rows,
    why,
)
from metier.cli.layout import one_line, terminal_width, wrapped
from metier.cli.session import Session, counted
from metier.values.evals import CaseResult, Comparison, Evaluation, Figure


def print_text(session: Session, report: EvalReport, limit: int) -> None:
    """Tables on a terminal, else rows separated by tabs."""
    evaluation = report.evaluation
    if not evaluation.results:
        return
    files = counted(len(evaluation.files), "file")
    unscored = evaluation.unscored
    apart = f"; {counted(unscored, 'case')} not scored" if unscored else ""
    session.note(f"{counted(evaluation.scored, 'case')} scored in {files}{apart}. {PURPOSE}")
    if not sys.stdout.isatty():
        for row in _rows(report):
            click.echo("\t".join(map(one_line, row)))
        return
    click.echo("\n".join(_view(report, limit, terminal_width())))


# For programs


def _rows(report: EvalReport) -> list[list[str]]:
    """Rows of several kinds; the first column says which."""
    evaluation = report.evaluation
    rows = [["figure", name, *_figure(one)] for name, one in evaluation.figures.items() if one.of]
    if report.comparison is not None:
        differences = report.comparison.differences.items()
        rows += [
            ["change", name, *(f"{number:.4f}" for number in one[:5]), str(one.changed)]
            for name, one in differences
        ]
        rows += [["better", location(one), one.case.task] for one in report.comparison.better]
        rows += [["worse", location(one), one.case.task] for one in report.comparison.worse]
    rows += [["skill", *row] for row in skill_rows(evaluation)]
    rows += [["lost", *row] for row in confusion_rows(evaluation)]
    rows += [["failed", location(one), one.case.task, why(one)] for one in evaluation.failed]
    return rows


def _figure(figure: Figure) -> list[str]:
    shares = (figure.value or 0.0, figure.low, figure.high)
    return [*(f"{share:.4f}" for share in shares), f"{figure.hits:g}", str(figure.of)]


# For people


def _view(report: EvalReport, limit: int, width: int) -> list[str]:
    evaluation = report.evaluation
    lines = ["", *table(FIGURE_COLUMNS, figure_rows(evaluation))]
    if report.comparison is not None:
        lines += _comparison(report.comparison, limit, width)
    skills = skill_rows(evaluation)
    if limit and skills:
        lines += ["", *table(SKILL_COLUMNS, skills[:limit])]
        lines += more(len(skills) - limit, "skill", len(skills))
    return [*lines, *_lost(evaluation, limit, width), *_failed(evaluation, limit, width)]


def _comparison(comparison: Comparison, limit: int, width: int) -> list[str]:
    lines = ["", click.style(f"against {one_line(comparison.against)}", bold=True)]
    lines += table(DIFFERENCE_COLUMNS, difference_rows(comparison))
    for word, results in (("better", comparison.better), ("worse", comparison.worse)):
        shown = [f"  {word}  {_case(one, width - 10)}" for one in results[:limit]]
        lines += [*shown, *more(len(results) - limit, f"{word} case", len(results))]
    return lines


def _lost(evaluation: Evaluation, limit: int, width: int) -> list[str]:
    """Which skill lost to which other, and why one of the cases was lost."""
    found = evaluation.confusions
    if not found or not limit:
        return []
    lines = ["", click.style("lost", bold=True)]
    for one in found[:limit]:
        cases = counted(one.cases, "case")
        to = f" to {one.lost_to}" if one.lost_to else ""
        silence = "" if one.lost_to else f", {one.instead}"
        text = f"{one.skill}{to} in {cases}{silence}: {'; '.join(one.reasons)}"
        lines += wrapped(text, width, "  ")
    return [*lines, *more(len(found) - limit, "pair", len(found))]


def _failed(evaluation: Evaluation, limit: int, width: int) -> list[str]:
    failed = evaluation.failed
    if not failed or not limit:
        return []
    lines = ["", click.style(f"{len(failed)} failed", bold=True)]
    for one in failed[:limit]:
        mark = click.style("✗", fg="red")
        lines.append(f"  {mark} {_case(one, width - 4)}")
        lines += wrapped(why(one), width, "      ")
    return [*lines, *more(len(failed) - limit, "failed case", len(failed))]


def _case(result: CaseResult, width: int) -> str:
    where = location(result)
    return f"{where}  {short(result.case.task, max(20, width - len(where) - 2))}"


def more(count: int, noun: str, total: int) -> list[str]:
    return [f"  {counted(count, f'more {noun}')}: --limit {total} shows all"] if count > 0 else []


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns that are as wide as they need; figures to the right."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in [columns, *cells]) for at in range(len(columns))]
    lines = []
    for number, row in enumerate([list(columns), *cells]):
        first, *others = row
        text = first.ljust(widths[0]) + "".join(
            f"  {cell.rjust(size)}" for cell, size in zip(others, widths[1:], strict=True)
        )
        lines.append(click.style(text.rstrip(), bold=True) if not number else text.rstrip())
    return lines

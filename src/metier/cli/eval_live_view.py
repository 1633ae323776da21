"""A live evaluation as text."""

from collections.abc import Iterator, Sequence

import click

from metier.cli.layout import one_line, paged
from metier.cli.session import counted
from metier.evals.figures import FIGURES
from metier.evals.verdicts import LiveReport, LiveResult
from metier.values.evals import Figure

_LONGEST = 72


def print_report(report: LiveReport, limit: int) -> None:
    paged(list(report_lines(report, limit)))


def report_lines(report: LiveReport, limit: int) -> Iterator[str]:
    """Figures, agreement with the free answer, and the cases that need attention."""
    yield click.style(f"{report.model} with the listing of {report.host}", bold=True)
    yield f"  {'':<16}{'live':<22}{'without a model':<22}"
    offline = report.offline
    for name, figure in report.figures.items():
        if figure.of:
            count = counted(figure.of, "case")
            row = f"{FIGURES[name].title:<16}{_figure(figure):<22}{_figure(offline[name]):<22}"
            yield f"  {row}{count}"
    yield from _agreement(report)
    yield from _cases("live and without a model differ", report.differing, limit)
    failing = [one for one in report.results if one.live is False and not one.offline]
    yield from _cases("both fail", failing, limit)


def _figure(figure: Figure) -> str:
    """`0.87 (0.62 to 0.96)`"""
    if figure.value is None:
        return "-"
    return f"{figure.value:.2f} ({figure.low:.2f} to {figure.high:.2f})"


def _agreement(report: LiveReport) -> Iterator[str]:
    found = report.agreement
    if not sum(found):
        return
    kappa = f", kappa {found.kappa:.2f}" if found.kappa is not None else ""
    yield ""
    title = click.style("agreement of the verdicts", bold=True)
    yield f"{title}: {_figure(found.share)}{kappa}"
    yield f"  {'':<16}{'passes without':>16}{'fails without':>16}"
    yield f"  {'passes live':<16}{found.both_pass:>16}{found.only_live:>16}"
    yield f"  {'fails live':<16}{found.only_offline:>16}{found.both_fail:>16}"


def _cases(title: str, results: Sequence[LiveResult], limit: int) -> Iterator[str]:
    if not results:
        return
    yield ""
    yield click.style(f"{title}: {counted(len(results), 'case')}", bold=True)
    for one in results[:limit]:
        yield f"  {_place(one)}{_short(one.case.task)}"
        yield f"    {_outcome(one)}"
        yield f"    without a model: {_names(one.case.offline)}"
    if len(results) > limit:
        yield f"  and {len(results) - limit:,} more: --limit {len(results)} shows all"


def _place(result: LiveResult) -> str:
    case = result.case
    return one_line(f"{case.file} {case.number}: ") + " " if case.file else ""


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _outcome(one: LiveResult) -> str:
    """`3 tries: right 2, nothing 1; loaded: bell 2`"""
    parts = [
        f"{name} {count}"
        for name, count in (
            ("right", one.right),
            ("forbidden", one.forbidden),
            ("other", one.other),
            ("nothing", one.nothing),
        )
        if count
    ]
    ordered = sorted(one.loaded.items(), key=lambda pair: (-pair[1], pair[0]))
    loaded = ", ".join(f"{one_line(name)} {count}" for name, count in ordered)
    tries = f"{counted(one.tries, 'try', 'tries')}: {', '.join(parts)}"
    wanted = f"; wanted: {_names(one.case.right)}" if one.case.right else ""
    return f"{tries}{wanted}{f'; loaded: {loaded}' if loaded else ''}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names)) or "nothing"

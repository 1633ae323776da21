"""A live evaluation as text."""

import sys
from collections.abc import Iterator, Sequence

import click

from metier.cli.eval_formats import percent, short
from metier.cli.eval_view import more, table
from metier.cli.layout import one_line, paged, terminal_width
from metier.cli.session import counted
from metier.flow.evaluating import FIGURES
from metier.flow.live_eval import LiveReport, LiveResult
from metier.values.evals import Figure

_FIGURE_COLUMNS = ("figure", "live", "95% interval", "offline", "95% interval", "cases")
_VERDICT_COLUMNS = ("", "passes offline", "fails offline")


def print_report(report: LiveReport, limit: int) -> None:
    """Tables on a terminal, else rows separated by tabs."""
    if sys.stdout.isatty():
        paged(list(_view(report, limit, terminal_width())))
        return
    for row in _rows(report):
        click.echo("\t".join(map(one_line, row)))


# For programs


def _rows(report: LiveReport) -> Iterator[list[str]]:
    """Rows of several kinds; the first column says which."""
    offline = report.offline
    for name, figure in report.figures.items():
        if figure.of:
            yield ["figure", name, *_shares(figure), *_shares(offline[name]), str(figure.of)]
    found = report.agreement
    kappa = "" if found.kappa is None else f"{found.kappa:.4f}"
    yield ["agreement", *_shares(found.share), kappa, *map(str, found)]
    for one in report.results:
        counts = (one.right, one.forbidden, one.other, one.nothing, one.tries, one.errors)
        verdicts = (_verdict(one.live), _verdict(one.offline))
        yield ["case", _place(one), one.case.task, *map(str, counts), *verdicts]


def _shares(figure: Figure) -> list[str]:
    if figure.value is None:
        return ["", "", ""]
    return [f"{share:.4f}" for share in (figure.value, figure.low, figure.high)]


def _verdict(passes: bool | None) -> str:
    return "-" if passes is None else "passes" if passes else "fails"


# For people


def _view(report: LiveReport, limit: int, width: int) -> Iterator[str]:
    """Figures, agreement with the free answer, and the cases that need attention."""
    offline = report.offline
    rows = [
        [FIGURES[name].title, *_percent(figure), *_percent(offline[name]), str(figure.of)]
        for name, figure in report.figures.items()
        if figure.of
    ]
    if not rows:
        yield "no try has finished"
        return
    yield from table(_FIGURE_COLUMNS, rows)
    yield from _agreement(report)
    yield from _cases("live and offline differ", report.differing, limit, width)
    failing = [one for one in report.results if one.live is False and not one.offline]
    yield from _cases("both fail", failing, limit, width)


def _percent(figure: Figure) -> list[str]:
    if figure.value is None:
        return ["-", ""]
    return [percent(figure.value), f"{percent(figure.low)} to {percent(figure.high)}"]


def _agreement(report: LiveReport) -> Iterator[str]:
    found = report.agreement
    if found.share.value is None:
        return
    kappa = f", kappa {found.kappa:.2f}" if found.kappa is not None else ""
    yield ""
    share, interval = _percent(found.share)
    yield f"{click.style(f'agreement {share}', bold=True)} ({interval}){kappa}"
    rows = [
        ["passes live", str(found.both_pass), str(found.only_live)],
        ["fails live", str(found.only_offline), str(found.both_fail)],
    ]
    yield from table(_VERDICT_COLUMNS, rows)


def _cases(title: str, results: Sequence[LiveResult], limit: int, width: int) -> Iterator[str]:
    if not results or not limit:
        return
    yield ""
    yield click.style(f"{title}: {counted(len(results), 'case')}", bold=True)
    for one in results[:limit]:
        where = _place(one)
        yield f"  {where}  {short(one.case.task, max(20, width - len(where) - 4))}"
        yield f"      {_outcome(one)}"
        yield f"      offline: {_names(one.case.offline)}"
    yield from more(len(results) - limit, "case", len(results))


def _place(result: LiveResult) -> str:
    return f"{one_line(result.case.file) or 'case'}#{result.case.number}"


def _outcome(result: LiveResult) -> str:
    """`3 tries: right 2, nothing 1; loaded: bell 2`"""
    counts = {
        "right": result.right,
        "forbidden": result.forbidden,
        "other": result.other,
        "nothing": result.nothing,
    }
    said = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    ordered = sorted(result.loaded.items(), key=lambda pair: (-pair[1], pair[0]))
    loaded = ", ".join(f"{one_line(name)} {count}" for name, count in ordered)
    wanted = f"; expected: {_names(result.case.right)}" if result.case.right else ""
    tries = counted(result.tries, "try", "tries")
    return f"{tries}: {said}{wanted}{f'; loaded: {loaded}' if loaded else ''}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names)) or "nothing"

"""Evaluations as JUnit XML for CI, and as Markdown and HTML for people."""

import html
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from metier.cli.layout import one_line
from metier.cli.session import counted
from metier.flow.evaluating import FIGURES, FailedBar
from metier.safety.escapes import visible
from metier.values.evals import CaseResult, Comparison, Evaluation, Figure

PURPOSE = "It measures whether descriptions tell skills apart, not what a model does."
_LONGEST = 160
_MOST_ROWS = 200
_MOST_NAMED = 3
_NOT_XML = re.compile("[\ufffe\uffff\ud800-\udfff]")
_MARKDOWN = re.compile(r"([\\`*_\[\]|#~!<>&$@])")


class EvalReport(NamedTuple):
    """An evaluation, and what is said about it."""

    evaluation: Evaluation
    bars: Sequence[FailedBar]
    """Bars that were missed."""
    comparison: Comparison | None = None

    @property
    def is_failed(self) -> bool:
        evaluation = self.evaluation
        return bool(self.bars or evaluation.problems or evaluation.unknown)

    def bar_lines(self) -> list[str]:
        return [bar_line(bar) for bar in self.bars]

    def unknown_lines(self) -> list[str]:
        """Names in cases that mean no document, each once."""
        found: dict[tuple[str, str], list[CaseResult]] = {}
        for result in self.evaluation.unknown:
            for name, why in result.unknown.items():
                found.setdefault((name, why), []).append(result)
        return [
            f"{location(results[0])}: '{one_line(name)}': {why}{_also(len(results) - 1)}"
            for (name, why), results in found.items()
        ]

    def to_json(self) -> dict[str, Any]:
        more = {} if self.comparison is None else {"comparison": self.comparison.to_json()}
        bars = [bar.to_json() for bar in self.bars]
        return {**self.evaluation.to_json(), "passed": not self.is_failed, "bars": bars, **more}


def _also(others: int) -> str:
    return f" (and {others} more)" if others else ""


def bar_line(bar: FailedBar) -> str:
    title = FIGURES[bar.figure].title
    if bar.value is None:
        return f"{title} has no cases, and {bar.bar} is {bar.limit:g}"
    side = "below" if bar.bar.startswith("min") else "above"
    return f"{title} is {percent(bar.value)}, {side} {bar.bar} = {bar.limit:g}"


def location(result: CaseResult) -> str:
    return f"{one_line(result.case.file) or 'case'}#{result.case.number}"


def percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def short(task: str, most: int = _LONGEST) -> str:
    line = one_line(task)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def why(result: CaseResult) -> str:
    """What is wrong with a case, and for which reasons."""
    told = "; ".join(
        result.faults or [f"'{name}': {text}" for name, text in result.unknown.items()]
    )
    return f"{told}: {'; '.join(result.reasons)}" if result.reasons else told


def counts(name: str, figure: Figure) -> str:
    """`41 of 56`, or how many cases a mean is over."""
    if not figure.of:
        return "no cases"
    return f"{figure.of} cases" if name == "ndcg10" else f"{figure.hits:.0f} of {figure.of}"


def left_out(comparison: Comparison) -> str:
    cases = counted(comparison.left_out, "case")
    return f"{cases} not compared: not scored here or in {comparison.against}"


def training_line(evaluation: Evaluation) -> str:
    """What is not scored since it was learnt."""
    learnt = evaluation.learnt
    marked = evaluation.training - learnt
    parts = [counted(marked, "training case")] if marked else []
    if learnt:
        whose = counted(learnt, "case whose task is an example", "cases whose task is an example")
        parts.append(whose)
    return f"{' and '.join(parts)} not scored"


def note_lines(evaluation: Evaluation) -> list[str]:
    """Remarks that are not faults."""
    lines = list(evaluation.notes)
    ignored = evaluation.ignored
    if ignored:
        more = f" and {len(ignored) - _MOST_NAMED} more" if len(ignored) > _MOST_NAMED else ""
        shown = ", ".join(map(one_line, ignored[:_MOST_NAMED]))
        lines.append(f"{counted(len(ignored), 'file')} without cases ignored: {shown}{more}")
    if evaluation.training:
        lines.append(training_line(evaluation))
    return lines


def figure_rows(evaluation: Evaluation) -> list[list[str]]:
    """Title, value, interval and counts of every figure; agents and cards only if measured."""
    rows = []
    for name, figure in evaluation.figures.items():
        if figure.value is None:
            if name not in ("agents", "cards"):
                rows.append([FIGURES[name].title, "-", "", counts(name, figure)])
            continue
        interval = f"{percent(figure.low)} to {percent(figure.high)}"
        rows.append([FIGURES[name].title, percent(figure.value), interval, counts(name, figure)])
    return rows


def skill_rows(evaluation: Evaluation) -> list[list[str]]:
    """Name and figures of every skill, the worst first."""
    return [
        [one.name, *(_share(one.figures[name]) for name in ("recall", "falseFires", "hit1"))]
        for one in evaluation.skills
    ]


def _share(figure: Figure) -> str:
    return "-" if figure.value is None else f"{figure.hits:.0f} of {figure.of}"


def difference_rows(comparison: Comparison) -> list[list[str]]:
    """There, here, and the difference with its interval."""
    rows = []
    for name, one in comparison.differences.items():
        change = f"{100 * one.change:+.1f}"
        interval = f"{100 * one.low:+.1f} to {100 * one.high:+.1f}"
        verdict = "clear" if one.is_clear else "not clear" if one.changed else "same"
        shares = [percent(one.there), percent(one.here)]
        rows.append([FIGURES[name].title, *shares, change, interval, verdict])
    return rows


FIGURE_COLUMNS = ("figure", "value", "95% interval", "cases")
SKILL_COLUMNS = ("skill", "recall", "false fires", "hit@1")
DIFFERENCE_COLUMNS = ("figure", "there", "here", "change", "95% interval", "")
FAILED_COLUMNS = ("case", "task", "what is wrong")
CONFUSION_COLUMNS = ("skill", "lost to", "cases", "because")


def failed_rows(evaluation: Evaluation) -> list[list[str]]:
    return [[location(one), short(one.case.task), why(one)] for one in evaluation.failed]


def confusion_rows(evaluation: Evaluation) -> list[list[str]]:
    return [
        [one.skill, one.instead, str(one.cases), "; ".join(one.reasons)]
        for one in evaluation.confusions
    ]


class _Section(NamedTuple):
    title: str
    columns: Sequence[str]
    rows: list[list[str]]


def _sections(report: EvalReport) -> list[_Section]:
    """Every table that has rows."""
    evaluation, comparison = report.evaluation, report.comparison
    sections = [_Section("Figures", FIGURE_COLUMNS, figure_rows(evaluation))]
    if comparison is not None:
        title = f"Against {comparison.against}"
        sections.append(_Section(title, DIFFERENCE_COLUMNS, difference_rows(comparison)))
        sections.append(_Section("Changed cases", ("", "case", "task"), _changed(comparison)))
    sections += [
        _Section("Skills", SKILL_COLUMNS, skill_rows(evaluation)),
        _Section("Lost", CONFUSION_COLUMNS, confusion_rows(evaluation)),
        _Section("Failed cases", FAILED_COLUMNS, failed_rows(evaluation)),
    ]
    return [section for section in sections if section.rows]


def _changed(comparison: Comparison) -> list[list[str]]:
    changed = [("better", one) for one in comparison.better]
    changed += [("worse", one) for one in comparison.worse]
    return [[word, location(one), short(one.case.task)] for word, one in changed]


def _remarks(report: EvalReport) -> list[str]:
    evaluation, comparison = report.evaluation, report.comparison
    lines = [f"Failed: {line}" for line in report.bar_lines()]
    lines += [f"Error: {one.place}: {one.message}" for one in evaluation.problems]
    lines += [f"Error: {line}" for line in report.unknown_lines()]
    lines += [left_out(comparison)] if comparison is not None and comparison.left_out else []
    return [*lines, *note_lines(evaluation)]


def summary(evaluation: Evaluation) -> str:
    scored, failed = evaluation.scored, len(evaluation.failed)
    host = f" in {evaluation.host}" if evaluation.host else ""
    return f"{scored} cases{host}: {scored - failed} passed, {failed} failed"


# Markdown


def as_markdown(report: EvalReport) -> str:
    lines = ["# Evaluation", "", f"{summary(report.evaluation)}. {PURPOSE}", ""]
    lines += [f"- {_md(line)}" for line in _remarks(report)]
    for title, columns, rows in _sections(report):
        lines += ["", f"## {_md(title)}", "", _md_row(columns), _md_row(["---"] * len(columns))]
        lines += [_md_row(map_md(row)) for row in rows[:_MOST_ROWS]]
        if len(rows) > _MOST_ROWS:
            lines += ["", f"{len(rows) - _MOST_ROWS} more are not shown."]
    return "\n".join(lines) + "\n"


def map_md(row: Sequence[str]) -> list[str]:
    return [_md(cell) for cell in row]


def _md(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(visible(text)))


def _md_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


# HTML

_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; margin: .5rem 0 2rem; width: 100% }
th, td { border-bottom: 1px solid #ccc; padding: .3rem .6rem; text-align: left }
td { vertical-align: top }
.failed { color: #b00020 }
"""


def as_html(report: EvalReport) -> str:
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        "<title>Evaluation of skills</title>",
        f"<style>\n{_STYLE}</style>",
        "</head>",
        "<body>",
        "<h1>Evaluation of skills</h1>",
        f"<p>{_html(summary(report.evaluation))}. {_html(PURPOSE)}</p>",
    ]
    lines += [f'<p class="failed">{_html(line)}</p>' for line in _remarks(report)]
    for title, columns, rows in _sections(report):
        lines += [f"<h2>{_html(title)}</h2>", "<table>", f"<tr>{_cells('th', columns)}</tr>"]
        lines += [f"<tr>{_cells('td', row)}</tr>" for row in rows]
        lines.append("</table>")
    return "\n".join([*lines, "</body>", "</html>"]) + "\n"


def _cells(tag: str, cells: Sequence[str]) -> str:
    return "".join(f"<{tag}>{_html(cell)}</{tag}>" for cell in cells)


def _html(text: str) -> str:
    return html.escape(visible(text))


# JUnit


def as_junit(report: EvalReport) -> str:
    evaluation = report.evaluation
    suites: dict[str, list[str]] = {file: [] for file in evaluation.files}
    failed: dict[str, int] = {}
    for result in evaluation.results:
        suites.setdefault(result.case.file, []).append(_testcase(result))
        is_failed = not result.passed and not _is_skipped(result)
        failed[result.case.file] = failed.get(result.case.file, 0) + is_failed
    for problem in evaluation.problems:
        name = f"#{problem.number}" if problem.number else "file"
        suites.setdefault(problem.file, []).append(_test(problem.file, name, problem.message))
        failed[problem.file] = failed.get(problem.file, 0) + 1
    if report.bars:
        tests = zip(report.bars, report.bar_lines(), strict=True)
        suites["bars"] = [_test("bars", bar.bar, line) for bar, line in tests]
        failed["bars"] = len(report.bars)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites name="metier eval">']
    for file, tests_of in suites.items():
        count = f'tests="{len(tests_of)}" failures="{failed.get(file, 0)}"'
        lines += [f"<testsuite name={_attribute(file)} {count}>", *tests_of, "</testsuite>"]
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _testcase(result: CaseResult) -> str:
    name = f"#{result.case.number} {short(result.case.task)}"
    is_skipped = _is_skipped(result)
    fault = "" if result.passed or is_skipped else why(result)
    return _test(result.case.file, name, fault, is_skipped=is_skipped)


def _is_skipped(result: CaseResult) -> bool:
    return result.is_training and not result.unknown


def _test(file: str, name: str, fault: str, *, is_skipped: bool = False) -> str:
    start = f"<testcase classname={_attribute(file)} name={_attribute(name)}"
    if is_skipped:
        return f"{start}><skipped/></testcase>"
    if not fault:
        return f"{start}/>"
    return f"{start}><failure message={_attribute(fault)}/></testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", one_line(visible(text))))


FORMATS: dict[str, Callable[[EvalReport], str]] = {
    "junit": as_junit,
    "markdown": as_markdown,
    "html": as_html,
}

"""What `metier lint` shows on a terminal: findings, counts by rule, and the summary."""

import sys
from collections import Counter
from collections.abc import Sequence

import click

from metier.cli.layout import flowed, print_table, terminal_width, words
from metier.cli.lint_formats import for_hosts, on_one_line
from metier.cli.session import Session, counted
from metier.core.text import printable
from metier.findings import SECURITY_CODES
from metier.flow.lint_report import Reported, by_owner, by_rule, has_repair
from metier.flow.linting import Linted
from metier.values.outcomes import Issue

MANY = 50
"""More findings than this are shown as counts on a terminal."""
_COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}
_SEVERITIES = {"error": "error", "warning": "warning", "info": "note"}


def print_findings(
    session: Session, reported: Sequence[Reported], *, show_all: bool, is_selected: bool = False
) -> None:
    """The findings; if they are many, counts by rule come first, or alone on a terminal.

    The findings of one rule are listed if `is_selected`: the counts say how to ask for them.
    """
    is_terminal = sys.stdout.isatty()
    width = terminal_width() if is_terminal else sys.maxsize
    issues = [one.issue for one in reported]
    is_one_rule = is_selected and len({issue.code for issue in issues}) == 1
    if not is_terminal or len(issues) <= MANY or (is_one_rule and not show_all):
        click.echo("".join(_coloured(issue, width) for issue in issues), nl=False)
        return
    rules = _print_rules(session, issues)
    if show_all:
        order = {code: number for number, code in enumerate(rules)}
        issues.sort(key=lambda issue: order[issue.code])
        click.echo("\n" + "".join(_coloured(issue, width) for issue in issues), nl=False)
        return
    click.echo()
    steps = [
        f"metier lint --select {rules[0]}  lists the findings of a rule; --all lists all",
        f"metier explain {rules[0]}        says why it matters, and what to write instead",
    ]
    for step in steps:
        click.echo(step)


def _print_rules(session: Session, issues: Sequence[Issue]) -> list[str]:
    """Print counts by rule; the codes, worst first."""
    rules = by_rule(issues)
    rows = [
        [
            _number(rule.findings, "findings"),
            _number(rule.files, "files"),
            rule.code,
            _SEVERITIES[rule.severity],
            f"{rule.title}{' [*]' if rule.fixable else ''}",
        ]
        for rule in rules
    ]
    _print_counts(session, ["findings", "files", "code", "severity", "rule"], rows)
    return [rule.code for rule in rules]


def _print_counts(session: Session, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table whose numbers stay aligned on a terminal."""
    if sys.stdout.isatty() and rows:
        print_table(columns, [[printable(cell) for cell in row] for row in rows])
    else:
        session.print_table(columns, rows)


def _number(count: int, column: str) -> str:
    return f"{count:,}".rjust(len(column)) if sys.stdout.isatty() else str(count)


def print_statistics(
    session: Session, reported: Sequence[Reported], files: int, *, as_json: bool
) -> None:
    """Counts by rule, worst first, and by owner if there is a CODEOWNERS file."""
    issues = [one.issue for one in reported]
    owners = by_owner(reported)
    if as_json:
        session.print_json(
            {
                "files": files,
                "findings": len(issues),
                "rules": [rule.to_json() for rule in by_rule(issues)],
                "owners": [{"owner": owner, "findings": count} for owner, count in owners],
            }
        )
        return
    _print_rules(session, issues)
    if owners:
        click.echo()
        rows = [[_number(count, "findings"), owner] for owner, count in owners]
        _print_counts(session, ["findings", "owner"], rows)


def _coloured(issue: Issue, width: int) -> str:
    location = click.style(f"{on_one_line(issue.path)}:{issue.line}:{issue.column}", bold=True)
    marks = [f"{location}:", click.style(issue.code, fg=_COLOURS[issue.severity], bold=True)]
    if issue.fixable:
        marks.append(click.style("[*]", fg="cyan"))
    text = flowed([*marks, *words(f"{issue.message}{for_hosts(issue)}")], width, indent=4) + "\n"
    if issue.hint:
        hint = [click.style("hint:", fg="cyan"), *words(issue.hint)]
        text += flowed(hint, width, indent=6, start="    ") + "\n"
    return text


def summary(
    linted: Linted,
    issues: Sequence[Issue],
    hidden: Sequence[Issue],
    *,
    new: bool = False,
    unsafe: bool = False,
) -> str:
    """How many files and findings there are, in one line; `new`: the known ones are left out.

    `hidden` are notes, of which those about security are counted too.
    """
    if not linted.files:
        return "nothing to check: no skill, ability, card or agent found"
    parts = [_counts(issues, linted.files, "new " if new else "")]
    if linted.excluded:
        parts.append(f"{len(linted.excluded):,} excluded")
    fixable = sum(issue.fixable for issue in issues)
    more = 0 if unsafe else sum(map(_may_need_unsafe, issues))
    if fixable:
        parts.append(f"{fixable:,} can be repaired with --fix{' --unsafe' if unsafe else ''}")
    if more:
        alone = f"--fix --unsafe repairs up to {more:,}"
        parts.append(f"up to {more:,} more with --fix --unsafe" if fixable else alone)
    if hidden:
        security = sum(issue.code.startswith(SECURITY_CODES) for issue in hidden)
        about = f", {security:,} of them about security" if security else ""
        parts.append(f"{counted(len(hidden), 'note')} hidden{about} (--notes)")
    return "; ".join(parts)


def _may_need_unsafe(issue: Issue) -> bool:
    """Whether a finding that is left alone may be repaired with --unsafe."""
    return issue.left_alone and issue.needs_unsafe and has_repair(issue)


def _counts(issues: Sequence[Issue], files: int, new: str) -> str:
    if not issues:
        return f"{counted(files, 'file')} checked, no {new}problems found"
    by: Counter[str] = Counter(issue.severity for issue in issues)
    found = [
        counted(by[severity], f"{new}{word}")
        for severity, word in _SEVERITIES.items()
        if by[severity]
    ]
    affected = len({issue.path for issue in issues})
    return f"{counted(files, 'file')} checked: {', '.join(found)} in {counted(affected, 'file')}"

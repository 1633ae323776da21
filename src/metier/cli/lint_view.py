"""What `metier lint` shows on a terminal: findings, and counts by rule and owner."""

import sys
from collections.abc import Sequence

import click

from metier.cli.layout import flowed, paged, print_table, terminal_width, words
from metier.cli.lint_formats import for_hosts, on_one_line
from metier.cli.lint_summary import SEVERITIES
from metier.cli.session import Session
from metier.core.text import printable
from metier.flow.lint_counts import RuleCount, by_owner, by_rule
from metier.flow.lint_report import Reported
from metier.values.outcomes import Issue

MANY = 50
"""More findings than this are shown as counts on a terminal."""
_COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


def print_findings(
    session: Session,
    reported: Sequence[Reported],
    *,
    show_all: bool,
    is_selected: bool = False,
    is_watched: bool = False,
) -> None:
    """The findings; if they are many, counts by rule come first, or alone on a terminal.

    The findings of one rule are listed if `is_selected`: the counts say how to ask for them.
    More lines than the terminal holds go through the pager, unless `is_watched`.
    """
    is_terminal = sys.stdout.isatty()
    width = terminal_width() if is_terminal else sys.maxsize
    issues = [one.issue for one in reported]
    is_one_rule = is_selected and len({issue.code for issue in issues}) == 1
    if not is_terminal or len(issues) <= MANY or (is_one_rule and not show_all):
        _print_issues(issues, width, is_watched=is_watched)
        return
    rules = _print_rules(session, issues)
    if show_all:
        order = {code: number for number, code in enumerate(rules)}
        issues.sort(key=lambda issue: order[issue.code])
        click.echo()
        _print_issues(issues, width, is_watched=is_watched)
        return
    click.echo()
    steps = [
        f"metier lint --select {rules[0]}  lists the findings of a rule; --all lists all",
        f"metier explain {rules[0]}        says why it matters, and what to write instead",
    ]
    for step in steps:
        click.echo(step)


def _print_issues(issues: Sequence[Issue], width: int, *, is_watched: bool) -> None:
    text = "".join(_coloured(issue, width) for issue in issues)
    if is_watched:
        click.echo(text, nl=False)
    elif text:
        paged(text.removesuffix("\n").split("\n"))


def _print_rules(session: Session, issues: Sequence[Issue]) -> list[str]:
    """Print counts by rule; the codes, worst first."""
    rules = by_rule(issues)
    rows = [
        [
            _number(rule.findings, "findings"),
            _number(rule.files, "files"),
            rule.code,
            SEVERITIES[rule.severity],
            f"{rule.title}{_mark(rule)}",
        ]
        for rule in rules
    ]
    _print_counts(session, ["findings", "files", "code", "severity", "rule"], rows)
    return [rule.code for rule in rules]


def _mark(rule: RuleCount) -> str:
    """`[*]` if --fix repairs all findings of a rule, else how many."""
    if rule.fixable == rule.findings:
        return " [*]"
    return f" [* {rule.fixable:,} of {rule.findings:,}]" if rule.fixable else ""


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

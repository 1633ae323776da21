"""`metier explain`"""

import shutil
import sys
from typing import Any

import click
from click.shell_completion import CompletionItem

from metier.cli.layout import flowed
from metier.cli.session import Session, metier_command
from metier.errors import NotFoundError
from metier.findings.codes import CODES, SEVERITIES
from metier.findings.pages import ERROR_PAGES, PAGES


def _complete(_ctx: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    codes = [*CODES, *ERROR_PAGES]
    return [CompletionItem(code) for code in codes if code.startswith(incomplete.upper())]


@metier_command("explain", catalog=False)
@click.argument("code", required=False, shell_complete=_complete)
def command(session: Session, code: str | None) -> None:
    """Explain a finding or an error: why it matters, a bad and a good example.

    Without CODE every code is listed.
    """
    if code is None:
        _list_codes(session)
        return
    wanted = code.upper()
    if wanted in CODES:
        _explain_finding(session, wanted)
    elif wanted in ERROR_PAGES:
        severity = _severity(wanted)
        if session.as_json:
            session.print_json({"code": wanted, "severity": severity, "why": ERROR_PAGES[wanted]})
            return
        click.echo(f"{click.style(wanted, bold=True)} ({severity})\n")
        click.echo(_paragraph(ERROR_PAGES[wanted]))
    else:
        raise NotFoundError(f"no code is called '{code}'", hint="metier explain lists all codes")


def _severity(code: str) -> str:
    """What ends a command is an error, and has no severity of its own."""
    return SEVERITIES.get(code, "error")


def _list_codes(session: Session) -> None:
    rows = [[code, rule.severity, rule.title] for code, rule in CODES.items()]
    rows += [[code, _severity(code), text.split(".")[0]] for code, text in ERROR_PAGES.items()]
    if session.as_json:
        session.print_json(
            [{"code": code, "severity": severity, "title": title} for code, severity, title in rows]
        )
        return
    session.print_table(["code", "severity", "title"], rows)


def _explain_finding(session: Session, code: str) -> None:
    rule, page = CODES[code], PAGES[code]
    if session.as_json:
        session.print_json(
            {
                "code": code,
                "severity": rule.severity,
                "title": rule.title,
                "fixable": rule.fixable,
                "why": page.why,
                "bad": page.bad,
                "good": page.good,
            }
        )
        return
    notes = " --notes" if rule.severity == "info" else ""
    fixable = f", metier lint --fix{notes} repairs it" if rule.fixable else ""
    title = f"{click.style(code, bold=True)} {rule.title} ({rule.severity}{fixable})"
    click.echo(_paragraph(title) + "\n")
    click.echo(_paragraph(page.why))
    for title, example in (("Bad", page.bad), ("Good", page.good)):
        click.echo(f"\n{click.style(title, bold=True)}\n")
        click.echo("\n".join(f"    {line}".rstrip() for line in example.strip("\n").split("\n")))


def _paragraph(text: str) -> str:
    """On a terminal lines are broken between words."""
    if not sys.stdout.isatty():
        return text
    return flowed(text.split(" "), shutil.get_terminal_size().columns)

"""`metier explain`"""

from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from metier.cli.layout import flowed_here
from metier.cli.session import Session, metier_command
from metier.errors import NotFoundError
from metier.findings import CODES, OWN_FAMILY, Finding, errors


def _complete(_ctx: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    codes = [*CODES, *errors()]
    return [CompletionItem(code) for code in codes if code.startswith(incomplete.upper())]


@metier_command("explain", catalog=False)
@click.argument("code", required=False, shell_complete=_complete)
def command(session: Session, code: str | None) -> None:
    """Explain a finding or an error: why it matters, a bad and a good example.

    Without CODE every code is listed; the beginning of codes, such as SK3, lists a family.
    """
    findings = {**CODES, **errors(), **_own(session, code)}
    if code is None:
        _list(session, findings)
        return
    wanted = code.upper()
    if wanted not in findings and wanted and (family := _family(wanted, findings)):
        _list(session, family)
        return
    if wanted not in findings:
        raise NotFoundError(f"unknown code '{code}'", hint="metier explain lists all codes")
    if session.as_json:
        session.print_json({"code": wanted, **_fields(findings[wanted])})
    else:
        _print(wanted, findings[wanted])


def _own(session: Session, code: str | None) -> Mapping[str, Finding]:
    """The pages of user-defined rules, if they may be read."""
    if code is not None and not code.upper().startswith(OWN_FAMILY):
        return {}
    from metier.flow.own_rules import rules_of  # few ask for them

    with rules_of(session.config()) as rules:
        return rules.pages


def _family(beginning: str, known: Mapping[str, Finding]) -> dict[str, Finding]:
    """The codes that begin alike: those of findings, else those of errors."""
    others = errors()
    for codes in ({code: one for code, one in known.items() if code not in others}, others):
        found = {code: one for code, one in codes.items() if code.startswith(beginning)}
        if found:
            return found
    return {}


def _list(session: Session, findings: dict[str, Finding]) -> None:
    """Errors have no title: the first sentence is shown."""
    rows = [
        [code, finding.severity, finding.title or finding.why.partition(".")[0]]
        for code, finding in findings.items()
    ]
    columns = ["code", "severity", "title"]
    if session.as_json:
        session.print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        session.print_list(columns, rows, "code")


def _fields(finding: Finding) -> dict[str, Any]:
    names = ["severity", "title", "fixable", "why", "hosts", "source", "bad", "good"]
    names = names if finding.title else ["severity", "why"]
    return {name: getattr(finding, name) for name in names}


def _by_effect(finding: Finding) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for host, effect in finding.hosts.items():
        found.setdefault(effect, []).append(host)
    return found


def _print(code: str, finding: Finding) -> None:
    notes = " --notes" if finding.severity == "info" else ""
    unsafe = " --unsafe" if finding.unsafe else ""
    fixable = f", metier lint --fix{unsafe}{notes} repairs it" if finding.fixable else ""
    name = " ".join(filter(None, [click.style(code, bold=True), finding.title]))
    click.echo(flowed_here(f"{name} ({finding.severity}{fixable})".split(" ")) + "\n")
    click.echo(flowed_here(finding.why.split(" ")))
    if finding.hosts:
        click.echo(f"\n{click.style('Hosts', bold=True)}\n")
    for effect, hosts in _by_effect(finding).items():
        words = f"{', '.join(hosts)}: {effect}".split(" ")
        click.echo(flowed_here(words, indent=6, start="    "))
    if finding.source:
        click.echo("\n" + flowed_here(f"Source: {finding.source}".split(" ")))
    examples = {"Bad": finding.bad, "Good": finding.good} if finding.title else {}
    for title, example in examples.items():
        if not example:
            continue
        click.echo(f"\n{click.style(title, bold=True)}\n")
        click.echo("\n".join(f"    {line}".rstrip() for line in example.strip("\n").split("\n")))

"""`metier show`"""

from typing import Any

import click
from click.shell_completion import CompletionItem

from metier.catalog import Catalog
from metier.cli.session import Session, metier_command
from metier.errors import MetierError
from metier.values.files import KINDS, Kind
from metier.values.rows import Row


def _complete(ctx: click.Context, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    """Names that the catalogue knows; nothing when there is none."""
    try:
        with Catalog.open(ctx.params.get("root")) as catalog:
            names = catalog.names(ctx.params.get("kind") or "skill")
    except MetierError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@metier_command("show")
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("wanted", metavar="ID", shell_complete=_complete)
def command(session: Session, kind: Kind, wanted: str) -> None:
    """Show one document: what it is, its findings, its text.

    ID is a name, or the full id `name::folder` of a skill that another one hides.
    """
    with session.catalog() as catalog:
        row = catalog.row(kind, wanted)
        others = [other.id for other in catalog.find(kind, wanted) if other != row]
        issues = catalog.issues_of(row)
        body = catalog.document(row).body
        if session.as_json:
            details = {"body": body, "findings": [issue.to_json() for issue in issues]}
            session.print_json({**row.to_json(), **details, "others": others})
            return
        for name, value in _facts(row):
            click.echo(f"{click.style(f'{name}:', bold=True)} {value}")
        for issue in issues:
            click.echo(f"{click.style('finding:', bold=True)} {issue.code} {issue.message}")
        for other in others:
            click.echo(f"{click.style('also:', bold=True)} {other}")
        click.echo(f"\n{body}" if body else "\n(no text)")


def _facts(row: Row) -> list[tuple[str, str]]:
    facts = [("id", row.id), ("name", row.name), ("description", row.description)]
    facts += [("file", row.path), ("source", row.source), ("state", row.state)]
    if row.twin:
        facts.append(("hidden by", row.twin))
    if row.capabilities:
        facts.append(("provides", ", ".join(row.capabilities)))
    facts += [
        (key, _plain(value)) for key, value in row.data.items() if value not in (None, "", [], {})
    ]
    return facts


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(entry) for entry in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_plain(entry)}" for key, entry in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)

"""`metier providers`"""

from typing import Any

import click
from click.shell_completion import CompletionItem

from metier.catalog import Catalog
from metier.cli.session import Session, metier_command, names_from_catalog
from metier.core.text import printable


def _complete(ctx: click.Context, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    return names_from_catalog(ctx, Catalog.capabilities, incomplete)


@metier_command("providers")
@click.argument("capability", shell_complete=_complete)
def command(session: Session, capability: str) -> None:
    """Name the skills that provide CAPABILITY, one a line."""
    with session.catalog() as catalog:
        names = catalog.providers(capability)
        if session.as_json:
            session.print_json(names)
            return
        if not names:
            session.note(f"no skill provides '{capability}'")
        for name in names:
            click.echo(printable(name))

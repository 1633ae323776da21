"""`metier providers`"""

import os
from typing import Any

import click
from click.shell_completion import CompletionItem

from metier.catalog import Catalog, state_file
from metier.cli.session import Session, metier_command
from metier.config import find_workspace
from metier.core.text import printable
from metier.errors import MetierError


def _complete(ctx: click.Context, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    """Capabilities that some skill declares; nothing when there is no catalogue."""
    root = ctx.params.get("root")
    if not os.path.exists(state_file(find_workspace(root))):
        return []
    try:
        with Catalog.open(root) as catalog:
            names = catalog.capabilities()
    except MetierError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


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

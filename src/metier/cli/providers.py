"""`metier providers`"""

import click

from metier.cli.session import Session, metier_command


@metier_command("providers")
@click.argument("capability")
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
            click.echo(name)

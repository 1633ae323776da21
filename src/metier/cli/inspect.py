"""`metier inspect`"""

import click

from metier.cli.inspect_view import report
from metier.cli.layout import paged
from metier.cli.session import Session, metier_command
from metier.flow.inspecting import inspect_source


@metier_command("inspect", repeats=True)
@click.argument("source", metavar="PATH|ARCHIVE|GIT-ADDRESS")
@click.option("--all", "everything", is_flag=True, help="Show every finding, info too.")
def command(session: Session, source: str, everything: bool) -> int:
    """Show what a package would add, and what to check before you install it.

    The package is a folder, a file, a zip, tar or tar.gz archive, or a git address (https, ssh,
    file). Nothing in it runs, and nothing is installed. Exit code 1 if there is something to check.

    It finds only what its patterns match. "Nothing noteworthy" does not mean that the package is
    safe.
    """
    session.notes_trust = False  # it would read as if it were about what is inspected
    with session.catalog() as catalog, session.progress("inspecting", after=1) as on_progress:
        found = inspect_source(source, catalog.store, on_progress)
    if session.as_json:
        session.print_json(found.to_json())
    else:
        paged(report(found, everything=everything))
    return int(bool(found.noteworthy))

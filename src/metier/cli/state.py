"""`metier state`"""

import os

import click

from metier.cli.groups import CommandGroup
from metier.cli.review import offered
from metier.cli.session import Session, counted, metier_command
from metier.config.owners import is_tracked
from metier.errors import NotFoundError, UsageError
from metier.flow.adopt import Adopted, OldState
from metier.flow.boundary import untrusted_error
from metier.storage.places import state_room
from metier.storage.workspace import OLD_STATE_FOLDER

command = CommandGroup("state", help="Take over the state of another workspace.")


@command.add
@metier_command("adopt", catalog=False)
@click.argument("old", metavar="[OLD]", required=False, type=click.Path(file_okay=False))
@click.option("--dry-run", is_flag=True, help="Show what would be taken over, and take nothing.")
def _adopt(session: Session, old: str | None, dry_run: bool) -> int:
    """Take over runs, reports and decisions of a workspace that has moved, or of version 0.1.

    OLD is the path that the workspace had before. Without it the folder .metier of the workspace
    is read, where version 0.1 kept its state. Each row is checked. Secrets, settings, trust
    and database files are never taken over, and nothing is deleted.
    """
    session.require_workspace()
    if not offered(session):
        boundary = session.boundary
        raise untrusted_error(boundary.workspace, boundary.trust, "taking over state")
    source = _source(session.workspace(), old)
    found = source.found()
    session.note(f"found in {source.room.path}: {_summary(found)}")
    if not any(found):
        raise NotFoundError("there is no state to take over", where=source.room.path)
    taken = found
    if not dry_run:
        with session.open_catalog() as catalog:
            assert catalog.room is not None
            taken = source.adopt(catalog.room, catalog.agency.file)
    if session.as_json:
        session.print_json(taken._asdict())
    elif dry_run:
        session.note("nothing was taken over (--dry-run)")
    else:
        session.tell(f"taken over: {_summary(taken)}")
    return 0


def _source(workspace: str, old: str | None) -> OldState:
    if old is not None:
        former = os.path.realpath(old)
        if former == workspace:
            raise UsageError("this is where the workspace is now", where=former)
        return OldState(state_room(former))
    if is_tracked(workspace, OLD_STATE_FOLDER):
        raise UsageError(
            f"git tracks {OLD_STATE_FOLDER}: it came with the repository, and is not your state",
            where=os.path.join(workspace, OLD_STATE_FOLDER),
        )
    return OldState.beside(workspace)


def _summary(found: Adopted) -> str:
    runs, reports = counted(found.runs, "run"), counted(found.reports, "report")
    return f"{runs}, {reports}, {counted(found.decisions, 'decision')}"

"""`metier state`"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing
from typing import TYPE_CHECKING

import click

from metier.catalog import Catalog
from metier.cli.groups import CommandGroup
from metier.cli.review import offered
from metier.cli.session import Session, counted, metier_command
from metier.config.owners import is_tracked
from metier.errors import NotFoundError, UsageError
from metier.flow.adopt import Adopted, OldState
from metier.flow.boundary import untrusted_error
from metier.flow.local_state import LocalState
from metier.flow.shared import SharedState
from metier.flow.state_settings import StateSettings, is_shared, settings_for, state_settings
from metier.storage.places import state_room
from metier.storage.workspace import OLD_STATE_FOLDER

if TYPE_CHECKING:
    from metier.flow.pruning import Pruned

command = CommandGroup("state", help="Show where state is kept, copy it, or remove what is old.")


@command.add
@metier_command("show", catalog=False)
def _show(session: Session) -> int:
    """Show where runs, reports, outcomes and decisions are kept, and how many there are."""
    session.require_workspace()
    session.note_state()
    with session.open_catalog() as catalog, _local(catalog) as state:
        shared, local = catalog.shared, state.counts()._asdict()
        counts = shared.counts() if shared is not None else local
        where = shared.address if shared is not None else state.room.path
    namespace = shared.namespace if shared is not None else ""
    if session.as_json:
        session.print_json(
            {
                "schemaVersion": "1",
                "store": "postgresql" if shared is not None else "local",
                "where": where,
                "namespace": namespace,
                "counts": counts,
                "local": local,
            }
        )
        return 0
    session.tell(f"{where}{f', namespace {namespace}' if namespace else ''}")
    session.tell(_all(counts))
    if shared is not None:
        session.note(f"on this machine: {_all(local)}")
    return 0


@command.add
@metier_command("copy", catalog=False)
@click.option(
    "--to", "address", metavar="URL",
    help="The database, without a password (default: the one in the settings).",
)  # fmt: skip
@click.option(
    "--namespace",
    metavar="NAME",
    help="The namespace to copy to (default: the one in the settings).",
)
def _copy(session: Session, address: str | None, namespace: str | None) -> int:
    """Copy runs, reports, outcomes and decisions of this machine to PostgreSQL.

    Everything is counted and compared afterwards. What was copied before is not copied again,
    and nothing is deleted here. A password comes from METIER_STATE_URL, state.url-file or
    ~/.pgpass. Nothing is copied while a run is running.
    """
    session.require_workspace()
    settings = _target(session, address, namespace)
    shared = SharedState(settings)
    from metier.flow.state_copy import copy_state  # needs the driver

    with closing(shared), session.open_catalog() as catalog, _local(catalog) as state:
        result = copy_state(state, shared)
    if session.as_json:
        session.print_json(
            {
                "schemaVersion": "1",
                "where": settings.address,
                "namespace": settings.namespace,
                "found": result.found._asdict(),
                "copied": result.copied._asdict(),
                "newer": result.newer,
            }
        )
        return 0
    session.note(f"found on this machine: {_all(result.found._asdict())}")
    nothing = "nothing new" if result.newer else "nothing: everything was already there"
    copied = _all(result.copied._asdict()) if any(result.copied) else nothing
    session.tell(f"copied to {settings.address}, namespace {settings.namespace}: {copied}")
    if result.newer:
        session.note(_not_copied(result.newer))
    return 0


def _not_copied(newer: int) -> str:
    if newer == 1:
        return "1 run was not copied: it continued in PostgreSQL, and stays as it is there"
    return (
        f"{newer:,} runs were not copied: they continued in PostgreSQL, and stay as they are there"
    )


@command.add
@metier_command("prune", catalog=False)
@click.option("--all", "resumable", is_flag=True, help="Also remove runs that could be resumed.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
def _prune(session: Session, resumable: bool, dry_run: bool) -> int:
    """Remove ended runs, reports and decisions of hooks that are older than 30 days.

    The setting state.keep-days says how long they are kept. Counts of sessions are kept for a
    year. The catalogs of workspaces that no longer exist are removed as well; their runs and
    reports are not. 'metier refresh' does the same once a day. Exit code 1 if the record of runs
    is damaged: it is left as it is.
    """
    from metier.flow.pruning import Pruning  # only this needs it

    session.require_workspace()
    with session.open_catalog() as catalog:
        pruning = Pruning(catalog)
        act = pruning.found if dry_run else pruning.remove
        pruned = act(resumable=resumable)
        days = catalog.config.keep_days
    if session.as_json:
        found = {"schemaVersion": "1", **pruned._asdict(), "dryRun": dry_run}
        session.print_json({**found, "damaged": pruning.damaged})
        return int(bool(pruning.damaged))
    verb = "would be removed" if dry_run else "removed"
    nothing = f"nothing to remove: nothing is older than {counted(days, 'day')}"
    some = amounts(pruned)
    session.tell(f"{verb}: {some}" if some else nothing)
    if pruning.damaged:
        session.fault(f"{pruning.damaged} is damaged and was left as it is: metier doctor")
    return int(bool(pruning.damaged))


def amounts(pruned: "Pruned") -> str:
    """`3 runs, 2 reports`; empty if there is nothing."""
    nouns = ("run", "report", "decision", "session", "catalog")
    counts = zip(nouns, pruned, strict=False)
    said = ", ".join(counted(count, noun) for noun, count in counts if count)
    size = f" ({pruned.bytes / 1e6:.1f} MB)" if pruned.catalogs else ""
    return said + size


def _local(catalog: Catalog) -> AbstractContextManager[LocalState]:
    assert catalog.room is not None
    is_trusted = catalog.trust.is_trusted
    return LocalState.opened(catalog.room, catalog.workspace, is_trusted=is_trusted)


def _target(session: Session, address: str | None, namespace: str | None) -> StateSettings:
    """The database to copy to. Raises `ConfigError` and `UsageError`."""
    config = session.config()
    wanted = namespace or config.state_namespace
    known = None
    if is_shared(config):
        known = state_settings(config._replace(state_namespace=wanted), session.workspace())
    if address is not None and not wanted:
        raise UsageError(
            "shared state needs a namespace",
            code="STATE_NAMESPACE_MISSING",
            hint="metier state copy --to URL --namespace NAME",
        )
    if address is not None:
        return settings_for(address, wanted, known)
    if known is None:
        raise UsageError("no database is named", hint="metier state copy --to URL --namespace NAME")
    return known


def _all(counts: Mapping[str, int]) -> str:
    return ", ".join(counted(count, kind.removesuffix("s")) for kind, count in counts.items())


@command.add
@metier_command("adopt", catalog=False)
@click.argument("old", metavar="[OLD]", required=False, type=click.Path(file_okay=False))
@click.option("--dry-run", is_flag=True, help="Show what would be copied, and copy nothing.")
def _adopt(session: Session, old: str | None, dry_run: bool) -> int:
    """Copy runs, reports and decisions of a workspace that has moved, or of version 0.1.

    OLD is the path that the workspace had before. Without it the folder .metier of the workspace
    is read, where version 0.1 kept its state. Each row is checked. Secrets, settings, trust
    and database files are never copied, and nothing is deleted.
    """
    session.require_workspace()
    if not offered(session):
        boundary = session.boundary
        raise untrusted_error(boundary.workspace, boundary.trust, "copying state")
    source = _source(session.workspace(), old)
    found = source.found()
    session.note(f"found in {source.room.path}: {_summary(found)}")
    if not any(found):
        raise NotFoundError("there is no state to copy", where=source.room.path)
    taken = found
    if not dry_run:
        with session.open_catalog() as catalog:
            assert catalog.room is not None
            with closing(catalog.agency.local_store()) as store:
                taken = source.adopt(catalog.room, store)
    if session.as_json:
        session.print_json(taken._asdict())
    elif dry_run:
        session.note("nothing was copied (--dry-run)")
    else:
        session.tell(f"copied: {_summary(taken)}")
        if is_shared(session.config()):
            session.note("to share them: metier state copy")
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

"""`metier refresh`"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from metier.catalog import Catalog, Refreshed
from metier.cli.session import Session, counted, metier_command
from metier.cli.shown_paths import ShownPaths, which_and_why
from metier.errors import ConfigError, MetierError
from metier.flow.boundary import Boundary
from metier.flow.gone_workspaces import remember_workspace
from metier.flow.prune_times import announce, is_announced, is_due
from metier.flow.state_settings import is_shared
from metier.storage.places import state_room
from metier.values.files import KINDS, PLURAL
from metier.values.outcomes import Issue
from metier.values.which import BUILT_IN


@metier_command("refresh", catalog=False)
@click.option(
    "--background",
    is_flag=True,
    hidden=True,
    help="Refresh what hooks need, with no more powers than they have.",
)
def command(session: Session, background: bool) -> None:
    """Update the catalog from disk.

    Reads only files that changed, and prepares what hooks read. One bad file never stops the
    rest: what is excluded is counted here, and `metier lint --user` says which and why.
    """
    with _failure_logged(session):
        if background:
            boundary = prepare_hooks(session)
            ship(boundary)
            if boundary.config.is_workspace:
                with Catalog.within(boundary) as catalog:
                    _prune(session, catalog)
            return
        with session.open_catalog() as catalog:
            _refresh(session, catalog)
            _prune(session, catalog)
            _announce(session, catalog)
        ship(session.boundary)


def _refresh(session: Session, catalog: Catalog) -> None:
    is_new = not catalog.is_built()
    encoding = catalog.encoding if catalog.config.encoder is not None else None
    if encoding is not None:
        encoding.retry()
    refreshed = session.refresh(catalog)
    if catalog.is_kept and catalog.room is not None:
        remember_workspace(catalog.room, catalog.workspace)
    prepare_hooks(session, is_silent=True)
    if session.as_json:
        shown = ShownPaths(catalog)
        found = {
            "exclusions": [one.to_json() for one in catalog.excluded(shown)],
            "issues": [shown.issue(one) for one in catalog.issues(shown)],
        }
        meaning = BUILT_IN if encoding is None else encoding.meaning
        session.print_json({**refreshed.to_json(), **found, "meaning": meaning})
        return
    if catalog.is_kept:
        session.note(f"{'built' if is_new else 'refreshed'} {catalog.store.path}")
    for line in summary(refreshed, catalog):
        session.tell(line)
    for issue in failed_sources(catalog):
        source = f"source {issue.path}: " if issue.code == "SRC901" else ""
        session.tell(f"warning: {source}{issue.message} ({issue.code})")
    for line in review_notices(catalog):
        session.tell(line)
    if encoding is not None and encoding.warning:
        session.tell(encoding.warning)


def _prune(session: Session, catalog: Catalog) -> None:
    """Remove what is old, once a day, if that was announced."""
    if catalog.room is None or not is_due(catalog.room):
        return
    from metier.cli.state import amounts  # once a day
    from metier.flow.pruning import prune_daily

    pruned = prune_daily(catalog)
    if any(pruned):
        session.note(f"removed what is old: {amounts(pruned)}")


def _announce(session: Session, catalog: Catalog) -> None:
    """Say once what a refresh will remove; nothing is removed before."""
    if session.quiet or session.as_json or not catalog.is_kept or is_announced():
        return
    session.note(
        "note: from tomorrow on, a refresh removes ended runs, reports and decisions of hooks"
        f" that are older than {counted(catalog.config.keep_days, 'day')}, once a day; to see"
        " which: metier state prune --dry-run; to keep them longer: state.keep-days in your"
        " settings"
    )
    with suppress(OSError):
        announce()


def review_notices(catalog: Catalog) -> list[str]:
    """A line for skills that wait for a review, and one for those that changed since."""
    counts = catalog.review_counts()
    texts = {"held": "held until reviewed", "changed": "changed since review"}
    return [
        f"{counted(counts[state], 'skill')} {text}: metier diff"
        for state, text in texts.items()
        if counts.get(state)
    ]


@contextmanager
def _failure_logged(session: Session) -> Iterator[None]:
    """Also log errors for hooks: a background refresh has no reader."""
    try:
        yield
    except MetierError as error:
        from metier.flow.hook_refresh import log_failure  # few commands need it

        log_failure(session.workspace(), error)
        raise


def prepare_hooks(
    session: Session, config_file: str | None = None, *, is_silent: bool = False
) -> Boundary:
    """Refresh the catalog that hooks use; the boundary around it."""
    from metier.flow.hook_refresh import (  # few commands need it
        hook_boundary,
        hook_documents,
        log_failure,
    )

    workspace = session.workspace()
    boundary, wrong = hook_boundary(workspace, config_file, is_outside=session.is_outside())
    if wrong and not is_silent:
        session.note(f"warning: settings of the workspace are ignored: {wrong}")
        log_failure(workspace, ConfigError(wrong))
    with Catalog.for_hooks(boundary) as catalog:
        if is_silent:
            return boundary
        found = hook_documents(catalog.store)
    text = f"found {counted(found.skills, 'skill')} and {counted(found.cards, 'card')}"
    if found.excluded:
        option = " --user" if found.excluded_of_user else ""
        text += f"; {found.excluded:,} excluded: metier lint{option} says why"
    session.note(text)
    return boundary


def ship(boundary: Boundary) -> None:
    """Send the decisions of hooks to shared state, if it is configured."""
    config = boundary.config
    if config.is_workspace and is_shared(config):
        from metier.flow.shipping import ship_from  # few workspaces share their state

        ship_from(config, boundary.workspace, state_room(boundary.workspace))


def summary(refreshed: Refreshed, catalog: Catalog) -> list[str]:
    changes = refreshed.changes
    kinds = [counted(changes.included[kind], kind, PLURAL[kind]) for kind in KINDS]
    if changes.shadowed:
        kinds.append(f"{changes.shadowed:,} of them shadowed by another of the same name")
    lines = [
        ", ".join(kinds),
        f"{changes.added:,} new, {changes.changed:,} changed, {changes.removed:,} removed,"
        f" {changes.unchanged:,} unchanged",
    ]
    if changes.excluded:
        lines.append(f"{changes.excluded:,} excluded: {which_and_why(catalog)}")
    return lines


def failed_sources(catalog: Catalog) -> list[Issue]:
    """Sources that could not be read, and patterns that match nothing."""
    return catalog.source_issues

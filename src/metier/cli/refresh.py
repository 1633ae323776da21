"""`metier refresh`"""

from metier.catalog import Catalog, Refreshed
from metier.cli.review import prepare_hooks
from metier.cli.session import Session, counted, metier_command
from metier.cli.shown import ShownPaths
from metier.values.files import KINDS, PLURAL
from metier.values.outcomes import Issue


@metier_command("refresh", catalog=False)
def command(session: Session) -> None:
    """Bring the catalogue up to what is on disk.

    Reads only files that changed, and prepares what hooks read. One bad file never stops the
    rest: what is left out is counted here, and `metier lint` says which and why.
    """
    with session.open_catalog() as catalog:
        is_new = not catalog.is_built()
        refreshed = session.refresh(catalog)
        prepare_hooks(session)
        if session.as_json:
            shown = ShownPaths(catalog)
            found = {
                "exclusions": [one.to_json() for one in catalog.excluded(shown)],
                "issues": [shown.issue(one) for one in catalog.issues(shown)],
            }
            session.print_json({**refreshed.to_json(), **found})
            return
        if catalog.is_kept:
            session.note(f"{'built' if is_new else 'refreshed'} {catalog.store.path}")
        for line in summary(refreshed):
            session.tell(line)
        for issue in failed_sources(catalog):
            source = f"source {issue.path}: " if issue.code == "SRC901" else ""
            session.tell(f"warning: {source}{issue.message} ({issue.code})")


def summary(refreshed: Refreshed) -> list[str]:
    """What a refresh found, for people."""
    changes = refreshed.changes
    kinds = [counted(changes.included[kind], kind, PLURAL[kind]) for kind in KINDS]
    if changes.shadowed:
        kinds.append(f"{changes.shadowed:,} of them shadowed by another of their name")
    lines = [
        ", ".join(kinds),
        f"{changes.added:,} new, {changes.changed:,} changed, {changes.removed:,} removed,"
        f" {changes.unchanged:,} unchanged",
    ]
    if changes.excluded:
        lines.append(f"{changes.excluded:,} left out: metier lint says which and why")
    return lines


def failed_sources(catalog: Catalog) -> list[Issue]:
    """What the last refresh could not read: sources of cards, and patterns that match nothing."""
    return catalog.source_issues

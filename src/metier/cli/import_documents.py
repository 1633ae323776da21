"""`metier import`"""

import click

from metier.cli.session import Session, counted, metier_command
from metier.core.text import printable
from metier.flow.importing import (
    FOREIGN_KINDS,
    ForeignKind,
    ImportedFile,
    plan_import,
    write_imported,
)


@metier_command("import", catalog=False)
@click.option(
    "--from",
    "kinds",
    multiple=True,
    type=click.Choice(FOREIGN_KINDS),
    help="Import only these (default: all of them).",
)
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    default="",
    help="Where skills are written (default: .claude/skills, .cursor/skills for Cursor's rules).",
)
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
def command(session: Session, kinds: tuple[ForeignKind, ...], folder: str, dry_run: bool) -> None:
    """Bring the commands, agents and rules of other tools into this workspace.

    Commands and sub-agents of Claude Code, rules of Cursor, the sections of AGENTS.md and the
    metadata of skillport become skills, agents and abilities. Files are added, never replaced;
    only tags of skillport are added to existing skills. The report says
    what was mapped to what, what was not, and which hosts read the result.
    """
    workspace = session.require_workspace()
    planned = plan_import(workspace, kinds or FOREIGN_KINDS, folder)
    written = 0 if dry_run else write_imported(workspace, planned)
    if session.as_json:
        session.print_json([one.to_json() for one in planned])
        return
    for one in planned:
        for line in _lines(one):
            click.echo(printable(line))
    if not planned:
        session.note("nothing to import: no commands, agents or rules of other tools were found")
    elif dry_run:
        count = sum(bool(one.target) for one in planned)
        session.note(f"{counted(count, 'file')} would be written (--dry-run)")
    elif not written:
        session.note("wrote nothing")
    else:
        session.note(f"wrote {counted(written, 'file')}; next: metier lint, metier list")


def _lines(file: ImportedFile) -> list[str]:
    """One file of the report."""
    if not file.target:
        return [f"{file.source}: not imported: {file.reason}"]
    lines = [f"{file.source} → {file.target}"]
    if file.mapped:
        kept = (key if key == to else f"{key} as {to}" for key, to in file.mapped)
        lines.append(f"    kept: {', '.join(kept)}")
    lines += [f"    not kept: {key}: {reason}" for key, reason in file.unmapped]
    lines += [f"    note: {note}" for note in file.notes]
    titles = [host.title for host in file.hosts]
    return [*lines, f"    read by: {', '.join(['metier', *titles])}"]

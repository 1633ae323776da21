"""`metier eval suggest`"""

import os
from collections.abc import Sequence

import click

from metier.cli.session import Session, complete_names, counted, metier_command
from metier.errors import UsageError


@metier_command("suggest", repeats=True)
@click.argument("skills", nargs=-1, metavar="[SKILL]...", shell_complete=complete_names("skill"))
@click.option(
    "--output", "file", metavar="FILE", type=click.Path(), help="Write the cases to FILE instead."
)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def suggest(session: Session, skills: Sequence[str], file: str | None, force: bool) -> int:
    """Draft evaluation cases from the texts of skills, for you to correct.

    Examples, quoted prompts and what follows "use when" become tasks for the skill. What follows
    "not for", and tasks of the skill that overlaps with it most, become near misses. Without SKILL,
    for all skills.
    """
    if file is not None and os.path.lexists(file) and not force:
        raise UsageError(f"'{file}' exists", hint="--force overwrites it")
    from metier.flow.eval_drafts import as_yaml  # a mistyped command needs none of it

    with session.catalog() as catalog, session.progress("comparing") as on_progress:
        drafts = catalog.draft_cases(skills, on_progress=on_progress)
    for note in drafts.notes:
        session.note(note)
    cases = drafts.cases
    if session.as_json:
        session.print_json({"schemaVersion": "1", "cases": [one.to_json() for one in cases]})
    if not cases:
        session.note("no skill says when to use it: there is nothing to draft from")
        return 1
    if file is not None:
        with open(file, "w" if force else "x", encoding="utf-8") as out:
            out.write(as_yaml(cases))
        session.note(f"wrote {counted(len(cases), 'case')} to {file}: correct them before use")
    elif not session.as_json:
        click.echo(as_yaml(cases), nl=False)
    return 0

"""`metier list`"""

from typing import Any

import click
from click.shell_completion import CompletionItem

from metier.cli.session import Session, metier_command
from metier.errors import UsageError
from metier.values.files import KINDS, PLURAL, Kind
from metier.values.rows import Row

_BY_WORD: dict[str, Kind] = {word: kind for kind in KINDS for word in (kind, PLURAL[kind])}


def _complete(_ctx: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in PLURAL.values() if word.startswith(incomplete)]


@metier_command("list")
@click.argument(
    "kind",
    default="skills",
    type=click.Choice(list(_BY_WORD)),
    metavar="[KIND]",
    shell_complete=_complete,
)
@click.option("--search", metavar="TEXT", help="Only those with TEXT in name or description.")
@click.option("--capability", metavar="NAME", help="Only skills that provide NAME.")
@click.option("--shadowed", is_flag=True, help="Also those that another of their name hides.")
def command(
    session: Session, kind: str, search: str | None, capability: str | None, shadowed: bool
) -> None:
    """List skills (the default), abilities, cards or agents by name."""
    wanted = _BY_WORD[kind]
    if capability is not None and wanted != "skill":
        raise UsageError("only skills provide capabilities", hint="metier list skills")
    with session.catalog() as catalog:
        if wanted == "skill":
            rows = catalog.skills(search=search, capability=capability, shadowed=shadowed)
        else:
            rows = catalog.documents(wanted, search=search, shadowed=shadowed)
        if session.as_json:
            session.print_json([row.to_json() for row in rows])
            return
        if not rows:
            asked = search is not None or capability is not None
            where = "are like that" if asked else f"found below {catalog.workspace}"
            session.note(f"no {PLURAL[wanted]} {where}")
        session.print_table(
            ["name", "path", "description"],
            [[_label(row), row.path, row.description] for row in rows],
        )


def _label(row: Row) -> str:
    return f"{row.handle} (shadowed)" if row.state == "shadowed" else row.handle

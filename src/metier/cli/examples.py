"""`metier examples`"""

from collections.abc import Sequence

import click

from metier.cli.groups import CommandGroup
from metier.cli.session import Session, counted, metier_command
from metier.errors import UsageError
from metier.values.examples import Example

command = CommandGroup(
    "examples",
    default="list",
    help="""List, export and remove the examples that teach which document a task is for.

    Examples come from the front matter of skills (`examples`), from the example tasks of agents,
    from evaluation cases that are marked as training, and from `metier history record --task`.
    """,
)


@command.add
@metier_command("list", repeats=True)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N examples.")
def _list(session: Session, limit: int | None) -> int:
    """List the examples: for which document, or not for it, and where they come from."""
    with session.catalog() as catalog:
        found = catalog.examples.all()
    if session.as_json:
        session.print_json([one.to_json() for one in found[:limit]])
        return 0
    if not found:
        session.note('no examples: metier history record SKILL success --task "…" records one')
        return 0
    rows = [[one.id, _document(one), one.task, one.source] for one in found[:limit]]
    session.print_list(["ID", "FOR", "TASK", "SOURCE"], rows, "example", total=len(found))
    return 0


def _document(example: Example) -> str:
    name = f"agent {example.name}" if example.kind == "agent" else example.name
    return name if example.is_for else f"not {name}".strip() if name else "nothing"


@command.add
@metier_command("export", repeats=True)
def _export(session: Session) -> int:
    """Print all examples as evaluation cases that are marked as training."""
    import yaml

    with session.catalog() as catalog:
        found = catalog.examples.all()
    cases = [_case(one) for one in found]
    if session.as_json:
        session.print_json({"cases": cases})
        return 0
    text = yaml.safe_dump({"cases": cases}, allow_unicode=True, sort_keys=False, width=100)
    session.tell(text.rstrip("\n"))
    return 0


def _case(example: Example) -> dict[str, object]:
    key = f"{example.kind}s" if example.is_for else "notSkills"
    expected = {key: [example.name]} if example.name else {"nothing": True}
    return {"task": example.task, **expected, "training": True}


@command.add
@metier_command("remove", repeats=True)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "all_", is_flag=True, help="Remove all recorded examples.")
def _remove(session: Session, ids: Sequence[str], all_: bool) -> int:
    """Remove recorded examples. To remove those of documents and files, edit these."""
    if bool(ids) == all_:
        raise UsageError("give the ids of examples, or --all", hint="metier examples list")
    with session.catalog() as catalog:
        known = {one.id: one for one in catalog.examples.all()}
        for wanted in ids:
            _check(wanted, known.get(wanted))
        recorded = [one.id for one in known.values() if one.source == "recorded"]
        removed = catalog.examples.remove(recorded if all_ else ids)
    if session.as_json:
        session.print_json({"removed": removed})
        return 0
    session.tell(f"removed {counted(removed, 'example')}")
    return 0


def _check(wanted: str, known: Example | None) -> None:
    if known is None:
        raise UsageError(f"no example has the id '{wanted}'", hint="metier examples list")
    if known.source != "recorded":
        raise UsageError(
            f"example '{wanted}' is not recorded: it is in {known.source} of '{known.name}'",
            hint="remove it there, then metier refresh",
        )

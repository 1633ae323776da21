"""`metier dev`"""

import click

from metier.cli.groups import CommandGroup
from metier.cli.session import Session, counted, metier_command
from metier.cli.shown_paths import shipped_folder
from metier.core.text import printable
from metier.errors import UsageError
from metier.flow.conformance import CaseResult, run_suite

command = CommandGroup(
    "dev",
    help="Commands for people who work on metier or implement its specs.",
)


@command.add
@metier_command("conformance", catalog=False)
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path())
def _conformance(session: Session, folder: str | None) -> int:
    """Run the conformance suite in DIR (default: the suite of metier).

    Exit code 1 when a case fails, 2 when the suite cannot be run. Your workspace is neither read
    nor written.
    """
    results = run_suite(folder if folder is not None else _shipped())
    failed = [result for result in results if not result.passed]
    if session.as_json:
        session.print_json(
            {
                "passed": len(results) - len(failed),
                "failed": len(failed),
                "cases": [result.to_json() for result in results],
            }
        )
    else:
        for result in failed:
            click.echo(printable(_line(result)))
        passed = len(results) - len(failed)
        session.tell(f"{counted(len(results), 'case')}: {passed:,} passed, {len(failed):,} failed")
    return int(bool(failed))


def _line(result: CaseResult) -> str:
    first, *others = result.differences
    more = f" (and {counted(len(others), 'more difference')})" if others else ""
    return f"{result.id}: {first.path}: expected {first.expected}, found {first.found}{more}"


def _shipped() -> str:
    folder = shipped_folder("conformance_suite", "conformance")
    if not folder:
        hint = "name its folder: metier dev conformance DIR"
        raise UsageError("no suite ships with this installation", hint=hint)
    return folder

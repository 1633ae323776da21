"""`metier lint`"""

import sys
from collections import Counter
from collections.abc import Sequence

import click

from metier import __version__
from metier.cli.session import Session, metier_command
from metier.config import Config
from metier.discover import roots_for, roots_of_paths
from metier.errors import UsageError
from metier.lint.choose import choose
from metier.lint.formats import FORMATS
from metier.load import Linted, fix_files, lint_files, read_documents
from metier.values.files import KINDS, Kind, Reading
from metier.values.outcomes import Issue


@metier_command("lint", catalog=False)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fix", "repair", is_flag=True, help="Repair what is mechanical, then check.")
@click.option("--select", multiple=True, metavar="CODES", help="Only these codes or families.")
@click.option("--ignore", multiple=True, metavar="CODES", help="All but these.")
@click.option("--notes", is_flag=True, help="Also show notes, which never fail.")
@click.option("--strict", is_flag=True, help="No lenient reading; notes fail too.")
@click.option("--kind", type=click.Choice(list(KINDS)), help="What the named files are.")
@click.option(
    "--output-format", type=click.Choice(list(FORMATS)), default="text", show_default=True
)
def command(
    session: Session,
    paths: tuple[str, ...],
    repair: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    notes: bool,
    strict: bool,
    kind: Kind | None,
    output_format: str,
) -> int:
    """Check skills, abilities, cards and agents, and say what to change.

    Without PATH the whole workspace is checked. Exit code 1 when there are errors or
    warnings, 0 when there are none; `metier explain CODE` tells more about each.
    """
    output_format = "json" if session.as_json else output_format
    config = session.config()
    wanted = _codes(select) or config.lint_select
    unwanted = _codes(ignore) or config.lint_ignore
    choose([], select=wanted, ignore=unwanted, per_file_ignores=config.per_file_ignores)
    reading = _reading(session, config, paths, kind, strict=strict)
    if repair:
        session.note(f"repaired {_files(fix_files(reading))}")
        reading = _reading(session, config, paths, kind, strict=strict)
    with session.progress("checking") as on_progress:
        linted = lint_files(reading, on_progress)
    issues = choose(
        linted.issues,
        select=wanted,
        ignore=unwanted,
        per_file_ignores=config.per_file_ignores,
        notes=notes or strict,
    )
    click.echo(_render(issues, output_format), nl=False)
    session.note(_summary(linted, issues))
    return int(any(strict or issue.severity != "info" for issue in issues))


def _codes(values: tuple[str, ...]) -> tuple[str, ...]:
    """`--select FM,SK3 --select DC` as one list."""
    return tuple(code.strip().upper() for value in values for code in value.split(",") if code)


def _reading(
    session: Session, config: Config, paths: Sequence[str], kind: Kind | None, *, strict: bool
) -> Reading:
    workspace = session.workspace()
    if kind is not None and not paths:
        raise UsageError("--kind needs the files that are of that kind", hint="metier lint PATH")
    if paths:
        roots = roots_of_paths(paths, workspace, config, kind)
    else:
        own = config._replace(host_folders=False, mounts=())
        roots = roots_for(workspace, own, home="")
    return read_documents(roots, strict=strict)


def _render(issues: Sequence[Issue], output_format: str) -> str:
    if output_format == "text" and sys.stdout.isatty():
        return "".join(_coloured(issue) for issue in issues)
    return FORMATS[output_format](issues, __version__)


def _coloured(issue: Issue) -> str:
    colour = {"error": "red", "warning": "yellow", "info": "blue"}[issue.severity]
    place = click.style(f"{issue.path}:{issue.line}:{issue.column}", bold=True)
    code = click.style(issue.code, fg=colour, bold=True)
    fixable = click.style(" [*]", fg="cyan") if issue.fixable else ""
    hint = f"    {click.style('hint:', fg='cyan')} {issue.hint}\n" if issue.hint else ""
    return f"{place}: {code}{fixable} {issue.message}\n{hint}"


def _summary(linted: Linted, issues: Sequence[Issue]) -> str:
    if not linted.files:
        return "nothing to check: no skill, ability, card or agent found"
    hidden = sum(issue.severity == "info" for issue in linted.issues) - sum(
        issue.severity == "info" for issue in issues
    )
    parts = [_counts(issues, linted.files)]
    fixable = sum(issue.fixable for issue in issues)
    if fixable:
        parts.append(f"{fixable} can be repaired with --fix")
    if hidden > 0:
        parts.append(f"{hidden:,} notes hidden (--notes)")
    return "; ".join(parts)


def _counts(issues: Sequence[Issue], files: int) -> str:
    if not issues:
        return f"{_files(files)} checked, nothing to complain about"
    by: Counter[str] = Counter(issue.severity for issue in issues)
    words = [
        f"{by[severity]:,} {word}{'s' if by[severity] != 1 else ''}"
        for severity, word in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if by[severity]
    ]
    affected = len({issue.path for issue in issues})
    return f"{_files(files)} checked: {', '.join(words)} in {_files(affected)}"


def _files(count: int) -> str:
    return f"{count:,} file{'s' if count != 1 else ''}"

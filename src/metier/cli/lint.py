"""`metier lint`"""

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from metier import __version__
from metier.cli.layout import flowed, words
from metier.cli.lint_formats import FORMATS
from metier.cli.session import Session, counted, metier_command
from metier.cli.shown import shown_file
from metier.config import Config
from metier.core.text import printable
from metier.errors import ConfigError, UsageError
from metier.findings import CODES
from metier.flow.linting import (
    Choice,
    Linted,
    Linter,
    LintRequest,
    Repair,
    choice_of,
    unknown_code,
    write_repairs,
)
from metier.values.files import KINDS, Kind
from metier.values.outcomes import Issue


def _complete_code(_ctx: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(code, help=rule.title)
        for code, rule in CODES.items()
        if code.startswith(incomplete.upper())
    ]


@metier_command("lint", catalog=False)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("--fix", "repair", is_flag=True, help="Repair what is mechanical, then check.")
@click.option("--dry-run", is_flag=True, help="With --fix: print the diff, and write nothing.")
@click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    shell_complete=_complete_code,
    help="Only these codes or families.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="CODES",
    shell_complete=_complete_code,
    help="All but these.",
)
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
    dry_run: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    notes: bool,
    strict: bool,
    kind: Kind | None,
    output_format: str,
) -> int:
    """Check skills, abilities, cards and agents, and say what to change.

    Without PATH everything in the catalog is checked: the workspace, the folders of your hosts,
    mounts and sources of cards; and what the settings say about cards. --fix repairs the
    findings marked with [*], in the files that you name, else in those of the workspace. A file
    that the catalog excludes is marked in its finding, or listed after the findings if it has
    none. Exit code 1 if there are errors or warnings, else 0; `metier explain CODE` explains a
    finding.
    """
    output_format = _format(session, output_format, repair=repair, dry_run=dry_run)
    if kind is not None and not paths:
        raise UsageError("--kind needs the files that are of that kind", hint="metier lint PATH")
    config = session.config()
    choice = _choice(config, _codes(select), _codes(ignore), notes=notes or strict)
    request = LintRequest(session.workspace(), config, choice, paths, kind, strict)
    linter = Linter(request, shown_file)
    linted, repairs = _lint(session, linter)
    if repair and not dry_run:
        write_repairs(repairs)
        session.note(_repaired(repairs))
        if repairs:
            linted, repairs = _lint(session, linter)
    issues = linter.chosen(linted, repairs)
    if dry_run:
        _print_repairs(session, repairs, linter, as_json=output_format == "json")
    else:
        click.echo(_render(issues, output_format), nl=False)
    if select:  # list no excluded files beside the selected codes
        linted.excluded = []
    for file in linted.unreported(linter.wants):
        session.note_wrapped(f"excluded: {linter.shown(file.path)} ({file.reason}: {file.detail})")
    session.note_wrapped(_summary(linted, issues, hidden=linter.hidden_notes(linted)))
    if dry_run:
        session.note("nothing was written (--dry-run)")
    return int(any(strict or issue.severity != "info" for issue in issues))


def _format(session: Session, output_format: str, *, repair: bool, dry_run: bool) -> str:
    if session.as_json and output_format not in ("text", "json"):
        raise UsageError("--json and --output-format ask for two formats", hint="give one of them")
    if dry_run and not repair:
        raise UsageError("--dry-run is for --fix", hint="metier lint --fix --dry-run")
    if dry_run and output_format not in ("text", "json"):
        message = f"--dry-run prints a diff or JSON, not {output_format}"
        raise UsageError(message, hint="remove --output-format")
    return "json" if session.as_json else output_format


def _lint(session: Session, linter: Linter) -> tuple[Linted, list[Repair]]:
    with session.progress("checking") as on_progress:
        linted = linter.lint(on_progress)
    return linted, linter.repairs(linted)


def _codes(values: tuple[str, ...]) -> tuple[str, ...]:
    """`--select FM,SK3 --select DC` as one list."""
    return tuple(code.strip().upper() for value in values for code in value.split(","))


def _choice(
    config: Config, select: tuple[str, ...], ignore: tuple[str, ...], *, notes: bool
) -> Choice:
    hint = f"families: {', '.join(sorted({code[:2] for code in CODES}))}; metier explain lists all"
    wrong = unknown_code((*select, *ignore))
    if wrong is not None:
        raise UsageError(f"unknown code '{wrong}'", hint=hint)
    per_file = [code for codes in config.per_file_ignores.values() for code in codes]
    wrong = unknown_code((*config.lint_select, *config.lint_ignore, *per_file))
    if wrong is not None:
        where = ", ".join(config.sources) or "environment"
        raise ConfigError(f"unknown code '{wrong}'", where=where, hint=hint)
    return choice_of(config, select, ignore, notes=notes)


def _repaired(repairs: Sequence[Repair]) -> str:
    """`repaired 3 findings in 2 files`"""
    if not repairs:
        return "nothing to repair"
    findings = sum(len(repair.issues) for repair in repairs)
    return f"repaired {counted(findings, 'finding')} in {counted(len(repairs), 'file')}"


def _print_repairs(
    session: Session, repairs: Sequence[Repair], linter: Linter, *, as_json: bool
) -> None:
    from metier.install.changes import Change  # loads difflib

    rows = []
    for repair in repairs:
        path = linter.shown(repair.found.path)
        before, after = (raw.decode(errors="replace") for raw in (repair.before, repair.after))
        rows.append(
            {
                "path": path,
                "findings": [issue._replace(path=path).to_json() for issue in repair.issues],
                "diff": Change(path=path, before=before, after=after).diff,
            }
        )
    if as_json:
        session.print_json(rows)
        return
    for row in rows:
        click.echo(printable(str(row["diff"])))


def _render(issues: Sequence[Issue], output_format: str) -> str:
    is_terminal = sys.stdout.isatty()
    if output_format == "text" and (is_terminal or click.get_current_context().color):
        width = shutil.get_terminal_size().columns if is_terminal else sys.maxsize
        return "".join(_coloured(issue, width) for issue in issues)
    return FORMATS[output_format](issues, __version__)


def _coloured(issue: Issue, width: int) -> str:
    colour = {"error": "red", "warning": "yellow", "info": "blue"}[issue.severity]
    location = click.style(f"{printable(issue.path)}:{issue.line}:{issue.column}", bold=True)
    marks = [f"{location}:", click.style(issue.code, fg=colour, bold=True)]
    if issue.fixable:
        marks.append(click.style("[*]", fg="cyan"))
    text = flowed([*marks, *words(issue.message)], width, indent=4) + "\n"
    if issue.hint:
        hint = [click.style("hint:", fg="cyan"), *words(issue.hint)]
        text += flowed(hint, width, indent=6, start="    ") + "\n"
    return text


def _summary(linted: Linted, issues: Sequence[Issue], hidden: int) -> str:
    if not linted.files:
        return "nothing to check: no skill, ability, card or agent found"
    parts = [_counts(issues, linted.files)]
    if linted.excluded:
        parts.append(f"{len(linted.excluded):,} excluded")
    fixable = sum(issue.fixable for issue in issues)
    if fixable:
        parts.append(f"{fixable} can be repaired with --fix")
    if hidden:
        parts.append(f"{counted(hidden, 'note')} hidden (--notes)")
    return "; ".join(parts)


def _counts(issues: Sequence[Issue], files: int) -> str:
    if not issues:
        return f"{counted(files, 'file')} checked, no problems found"
    by: Counter[str] = Counter(issue.severity for issue in issues)
    words = [
        counted(by[severity], word)
        for severity, word in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if by[severity]
    ]
    affected = len({issue.path for issue in issues})
    return f"{counted(files, 'file')} checked: {', '.join(words)} in {counted(affected, 'file')}"

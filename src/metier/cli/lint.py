"""`metier lint`"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from metier.cli.lint_options import LintOptions, lint_options
from metier.cli.lint_summary import summary
from metier.cli.session import Session, counted, metier_command
from metier.cli.shown_paths import shown_file
from metier.config import Config
from metier.core.nearest import nearest_few
from metier.core.paths import is_inside
from metier.errors import UsageError
from metier.flow.boundary import untrusted_error
from metier.flow.lint_choice import (
    Choice,
    check_codes,
    choice_of,
    known_families,
    unknown_code,
)
from metier.flow.lint_elsewhere import Elsewhere, Reach, elsewhere, unsafe_only
from metier.flow.lint_report import Owners, Plan, Reported, owners_file, with_owners
from metier.flow.linting import Linted, Linter, LintRequest, Owned

if TYPE_CHECKING:
    from metier.flow.lint_baseline import Baseline

_LIST = "-"
"""Standard input."""


@metier_command("lint", catalog=False)
@lint_options
def command(session: Session, options: LintOptions) -> int:
    """Check skills, abilities, cards and agents, and say what to change.

    Without PATH the workspace is checked, with its mounts, sources of cards and settings; with
    --user also the folders of your hosts. --fix repairs the findings marked with [*], in the files
    that you name, else in those of the workspace. A file that the catalog excludes is marked in
    its finding, or listed after the findings if it has none.

    On a terminal more than 50 findings are shown as counts by rule; --all lists them. Exit code 1
    if there are errors or warnings, else 0 (see --fail-on); `metier explain CODE` explains a
    finding.
    """
    output_format = options.check(as_json=session.as_json)
    if not options.watch:
        return _check(session, options, output_format)
    from metier.cli.lint_watch import watch  # few ask for it

    return watch(session, options, lambda again: _check(again, options, output_format), _linter)


def _check(session: Session, options: LintOptions, output_format: str) -> int:
    linter = _linter(session, options)
    if linter is None:
        _write(session, options, output_format, [], Linted())
        has_changed = options.changed is not None
        reason = "has changed" if has_changed else "is in the list of files"
        session.note(f"nothing to check: no skill, ability, card or agent {reason}")
        return 0
    if options.repair and not options.dry_run:
        from metier.cli.lint_repairs import Written, finish_repairs

        finish_repairs(session)
    linted, plan = _lint(session, linter, unsafe=options.unsafe)
    if options.repair and not options.dry_run:
        written = Written(session)
        while plan.repairs and written.add(plan.repairs):
            linted, plan = _lint(session, linter, unsafe=options.unsafe)
        written.note(session, linter, plan)
    reported = with_owners(linter.chosen(linted, plan.repairs), session.workspace())
    reported = _without_known(session, options, linter, reported)
    if options.dry_run:
        from metier.cli.lint_repairs import note_levels, print_repairs

        print_repairs(session, plan.repairs, linter, as_json=output_format == "json")
        note_levels(session, linter, linted, plan, unsafe=options.unsafe)
    else:
        if output_format == "sarif":
            reported = linter.with_repairs(reported)
        _write(session, options, output_format, reported, linted)
    _note_summary(session, options, linter, linted, reported)
    return int(any(one.issue.severity in options.failing for one in reported))


# What to check


def _linter(session: Session, options: LintOptions) -> Linter | None:
    """What lints the files that were asked for; None if none of them is a document."""
    from metier.flow.lint_files import documents_among, links_among  # few name files by a list

    config = session.config()
    choice = _choice(
        config, _codes(options.select), _codes(options.ignore), notes=options.shows_notes
    )
    paths = options.paths
    links: tuple[str, ...] = ()
    is_part = options.changed is not None or options.files_from is not None
    if is_part:
        files, workspace = _named_files(session, options), session.workspace()
        links = tuple(links_among(files, workspace, config))
        paths = (*documents_among(files, workspace, config), *links)
        if not paths:
            return None
    request = LintRequest(
        session.workspace(), config, choice, paths, options.kind, options.strict, options.user,
        options.exclude, is_part, options.host or "",
        _owned(session, options.owner) if options.owner is not None else None, links,
    )  # fmt: skip
    linter = Linter(request, shown_file)
    if session.is_outside() and not paths and not linter.has_folders():
        raise UsageError(
            "there is no workspace here, and no folder of skills",
            where=session.workspace(),
            hint="metier lint PATH checks a folder, --user the folders of your hosts",
        )
    return linter


def _named_files(session: Session, options: LintOptions) -> list[str]:
    from metier.flow.lint_files import changed_files, listed_files

    workspace = session.workspace()
    if options.changed is not None:
        trust = session.boundary.trust
        session.require_workspace()
        if not trust.is_trusted:
            error = untrusted_error(workspace, trust, "--changed runs git, which")
            error.hint += "; --files-from - takes a list of files, and needs no trust"
            raise error
        return changed_files(workspace, options.changed)
    if options.files_from == _LIST:
        raw = session.standard_input_bytes
    else:
        with click.open_file(options.files_from or "", "rb") as file:
            raw = file.read()
    files = listed_files(raw)
    if missing := sum(not os.path.lexists(file) for file in files):
        verb = "does" if missing == 1 else "do"
        session.note(f"{missing:,} of {counted(len(files), 'listed path')} {verb} not exist")
    return files


def _codes(values: tuple[str, ...]) -> tuple[str, ...]:
    """`--select FM,SK3 --select DC` as one list."""
    return tuple(code.strip().upper() for value in values for code in value.split(","))


def _choice(
    config: Config, select: tuple[str, ...], ignore: tuple[str, ...], *, notes: bool
) -> Choice:
    wrong = unknown_code((*select, *ignore))
    if wrong is not None:
        raise UsageError(f"unknown code '{wrong}'", hint=known_families())
    check_codes(config)
    return choice_of(config, select, ignore, notes=notes)


def _lint(session: Session, linter: Linter, *, unsafe: bool = False) -> tuple[Linted, Plan]:
    with session.progress("checking") as on_progress:
        linted = linter.lint(on_progress)
    return linted, linter.repairs(linted, unsafe=unsafe)


def _owned(session: Session, owner: str) -> Owned:
    """The files of an owner. Raises `UsageError` if there is no such owner."""
    import shlex  # few ask for an owner

    text = owners_file(session.workspace())
    in_teams = owner in {team.owner for team in session.config().teams}
    listed = f"it is in [teams]: metier list --owner {shlex.quote(owner)}" if in_teams else ""
    if not text:
        hint = listed or "it says which files belong to whom; GitHub and GitLab read it"
        message = "--owner needs a CODEOWNERS file"
        raise UsageError(message, where=session.workspace(), hint=hint)
    owners = Owners(text)
    if owner not in (known := owners.names()):
        hint = listed or nearest_few(owner, known, "owner")
        raise UsageError(f"there is no owner '{owner}' in CODEOWNERS", hint=hint)
    return lambda path: owner in owners.of(path)


def _without_known(
    session: Session, options: LintOptions, linter: Linter, reported: Sequence[Reported]
) -> list[Reported]:
    """The findings that are not in the baseline, which is written first if that was asked for."""
    if options.baseline is None:
        return list(reported)
    from metier.flow.lint_baseline import Baseline

    if options.write_baseline:
        before = Baseline.read_if_there(options.baseline)
        baseline = before.updated(reported, linter.is_checked)
        baseline.write(options.baseline)
        gone = before.fixed(reported, linter.is_checked)
        dropped = f"; {counted(gone, 'fixed finding')} dropped out" if gone else ""
        session.note(f"wrote {counted(len(baseline), 'finding')} to {options.baseline}{dropped}")
        new = _hiding(session, baseline, options.baseline).unknown(reported)
        _note_unhidden(session, len(new))
        return new
    baseline = Baseline.read(options.baseline)
    new = _hiding(session, baseline, options.baseline).unknown(reported)
    if hidden := len(reported) - len(new):
        session.note(f"{counted(hidden, 'known finding')} hidden ({options.baseline})")
    if gone := baseline.fixed(reported, linter.is_checked):
        session.note(f"{counted(gone, 'listed finding')} fixed: --write-baseline drops them")
    _note_unhidden(session, len(new) - len(baseline.unknown(reported)))
    return new


def _note_unhidden(session: Session, count: int) -> None:
    if count:
        findings = f"{counted(count, 'security finding')} of it reported anyway"
        session.note(f"{findings}: a workspace that is not trusted hides none")


def _hiding(session: Session, baseline: "Baseline", file: str) -> "Baseline":
    """What is hidden: a file of an untrusted workspace hides no security findings."""
    config, workspace = session.config(), session.workspace()
    is_own = config.is_workspace and is_inside(os.path.realpath(file), workspace)
    return baseline.without_security() if is_own and not config.is_trusted else baseline


# What to print


def _write(
    session: Session,
    options: LintOptions,
    output_format: str,
    reported: Sequence[Reported],
    linted: Linted,
) -> None:
    if options.statistics:
        from metier.cli.lint_view import print_statistics  # few ask for it

        print_statistics(session, reported, linted.files, as_json=output_format == "json")
        return
    if options.output_file is not None:
        from metier.cli.lint_formats import rendered  # a clean run prints nothing

        try:
            _write_file(options.output_file, rendered(output_format, reported))
        except OSError as error:
            message = f"the findings cannot be written: {error.strerror or error}"
            raise UsageError(message, code="SYSTEM", where=options.output_file) from None
        session.note(f"wrote {counted(len(reported), 'finding')} to {options.output_file}")
    elif output_format == "text" and not reported:
        return
    elif output_format == "text" and (sys.stdout.isatty() or click.get_current_context().color):
        from metier.cli.lint_view import print_findings

        print_findings(
            session,
            reported,
            show_all=options.show_all,
            is_selected=bool(options.select),
            is_watched=options.watch,
        )
    else:
        from metier.cli.lint_formats import rendered

        click.echo(rendered(output_format, reported), nl=False)


def _write_file(file: str, text: str) -> None:
    """Replace a file, or write to a pipe or device. Raises `OSError` and `UsageError`."""
    from metier.storage.atomic_files import write_atomically  # few ask for it

    raw = text.encode(errors="backslashreplace")
    path = os.path.abspath(file)
    if os.path.isdir(path):
        raise UsageError("this is a folder", where=file, hint="--output-file names a file")
    if not os.path.isdir(os.path.dirname(path)):
        raise UsageError(
            "the folder of the file does not exist", where=file, hint="create it first"
        )
    if path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path)):
        with open(path, "wb") as opened:
            opened.write(raw)
    else:
        write_atomically(path, raw)


def _reach(session: Session, options: LintOptions) -> Reach:
    is_named = bool(options.paths or options.files_from) or options.changed is not None
    return Reach(session.workspace(), session.config().is_workspace, is_named)


def _note_elsewhere(session: Session, found: Elsewhere) -> None:
    """Say which command repairs what --fix leaves alone outside of the workspace."""
    if found.findings:
        import shlex  # few findings are outside of the workspace

        count = counted(found.findings, "finding")
        folders = shlex.join(map(session.shown, found.folders))
        session.note(
            f"{count} outside of the workspace can be repaired too: metier lint --fix {folders}"
        )


def _note_summary(
    session: Session,
    options: LintOptions,
    linter: Linter,
    linted: Linted,
    reported: Sequence[Reported],
) -> None:
    if options.select:  # list no excluded files beside the selected codes
        linted.excluded = []
    for file in linted.unreported(linter.wants):
        session.note(f"excluded: {linter.shown(file.path)} ({file.reason}: {file.detail})")
    issues = [one.issue for one in reported]
    hidden, is_new = linter.hidden_notes(linted), options.baseline is not None
    reach = _reach(session, options)
    left = [one.found_as for one in reported if one.issue.left_alone]
    more = unsafe_only(linter.reading, left, reach)
    _note_elsewhere(session, elsewhere(linter.reading, left, reach))
    session.note(
        summary(
            linted,
            issues,
            hidden,
            new=is_new,
            unsafe=options.unsafe,
            unsafe_more=more,
            planned=options.dry_run,
        )
    )
    if options.dry_run:
        session.note("nothing was written (--dry-run)")
    if not (options.paths or options.user or options.changed or options.files_from):
        from metier.flow.lint_files import known_of_user  # not for named files

        if count := known_of_user(session.boundary):
            session.note(f"{count:,} more in the folders of your hosts: metier lint --user")

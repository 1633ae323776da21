"""`metier eval`"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from metier.catalog import Catalog
from metier.cli.eval_formats import FORMATS, EvalReport, left_out, note_lines
from metier.cli.eval_history import command as history
from metier.cli.eval_live_options import Asked, LiveOptions, live_options
from metier.cli.eval_suggest import suggest
from metier.cli.eval_view import print_text
from metier.cli.groups import ArgumentGroup, GroupArgument, with_commands
from metier.cli.session import Session, metier_command
from metier.config import Config
from metier.config.owners import head_commit
from metier.core.nearest import nearest
from metier.errors import NotFoundError, UsageError
from metier.flow.boundary import Boundary
from metier.flow.eval_against import compared, with_setting
from metier.flow.eval_history import keep, remembered
from metier.flow.evaluating import BARS, failed_bars
from metier.hosts import HOOKED
from metier.values.evals import Comparison, Evaluation
from metier.values.trust import NOTHING

_SHARE = click.FloatRange(0, 1)
_BAR_OPTIONS = {
    "minRecall": "Fail if the right skill is named in fewer cases.",
    "maxFalseFires": "Fail if more cases get a skill that must not be named.",
    "minHit1": "Fail if the right skill is first in fewer cases.",
    "minNdcg": "Fail if nDCG@10, the quality of the order, is lower.",
    "maxSilent": "Fail if more cases get no skill at all, though one fits.",
    "maxSpeaksWrongly": "Fail if more cases get a skill, though none fits.",
}


def _bar_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for name, text in reversed(_BAR_OPTIONS.items()):
        option = f"--{_kebab(name)}"
        function = click.option(option, _snake(name), metavar="SHARE", type=_SHARE, help=text)(
            function
        )
    return function


def _kebab(name: str) -> str:
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in name)


def _snake(name: str) -> str:
    return _kebab(name).replace("-", "_")


@metier_command("eval", repeats=True)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(), cls=GroupArgument)
@click.option("--host", metavar="HOST", type=click.Choice(HOOKED),
              help=f"Only skills that this host loads and shows: {', '.join(HOOKED)}.")  # fmt: skip
@click.option("--against", metavar="COMMIT|DIR",
              help="Compare with another commit or folder, on the same cases.")  # fmt: skip
@click.option("--against-setting", "settings", multiple=True, metavar="KEY=VALUE",
              help="Compare with another value in [capabilities]: skillThreshold=2.5.")  # fmt: skip
@_bar_options
@live_options
@click.option("--limit", type=click.IntRange(min=0), default=10, show_default=True, metavar="N",
              help="The most skills and failed cases to show as text.")  # fmt: skip
@click.option("--format", "output_format", type=click.Choice(["text", "json", *FORMATS]),
              default="text", show_default=True)  # fmt: skip
def _eval(
    session: Session,
    files: tuple[str, ...],
    host: str | None,
    against: str | None,
    settings: tuple[str, ...],
    limit: int,
    output_format: str,
    live: LiveOptions,
    **bars: float | None,
) -> int:
    """Measure how often the right skills are named, on cases of yours.

    FILE is an evaluation file or a folder with such files; without it, those of the workspace are
    found by their names. A case is a task, and the skills, agents or cards that should fire for it,
    or nothing: docs/evals.md has the formats.

    It does not ask a model: it measures whether the descriptions tell the skills apart, not what a
    model does. With --live it asks one, in a run that can be resumed: docs/evals-live.md.

    Exits with 1 if a bar is missed, if a file or a case cannot be read or names an unknown skill,
    and if there are no cases; with 2 if FILE does not exist. For a file with the name of a command,
    write ./history.
    """
    output_format = _format(session, output_format)
    _check_files(files)
    if against and settings:
        raise UsageError("--against and --against-setting ask for two comparisons")
    if live.is_wanted:
        if against or settings:
            raise UsageError("a live evaluation is compared only with the one without a model")
        asked = Asked(files, host, _given(bars), limit, output_format == "json")
        return _live(session, asked, live, output_format)
    with session.catalog() as catalog:
        limits = _limits(catalog.config, bars)
        evaluation = _evaluated(session, catalog, files, host)
        comparison = None
        if (against or settings) and evaluation.results:
            comparison = _compared(session, catalog, evaluation, against, settings)
        _keep(session, catalog, evaluation, files)
    report = EvalReport(evaluation, failed_bars(evaluation.figures, limits), comparison)
    if output_format == "text":
        print_text(session, report, limit)
    elif output_format == "json":
        session.print_json(report.to_json())
    else:
        click.echo(FORMATS[output_format](report), nl=False)
    return _exit_code(session, report)


def _format(session: Session, output_format: str) -> str:
    if session.as_json and output_format not in ("text", "json"):
        raise UsageError("--json and --format ask for two formats", hint="give one of them")
    return "json" if session.as_json else output_format


def _check_files(files: tuple[str, ...]) -> None:
    """Raise `NotFoundError` for a file that is not there; a command may be meant."""
    for file in files:
        if not os.path.lexists(file):
            near = nearest(file, command.commands)
            hint = f"did you mean 'metier eval {near}'?" if near else "metier eval --help"
            raise NotFoundError(f"there is no file '{file}'", hint=hint)


def _live(session: Session, asked: Asked, live: LiveOptions, output_format: str) -> int:
    from metier.cli.eval_live import evaluate_live  # few evaluations ask a model

    if output_format not in ("text", "json"):
        raise UsageError(f"--live has no format '{output_format}'", hint="--format json")
    return evaluate_live(session, asked, live)


def _given(bars: Mapping[str, float | None]) -> dict[str, float]:
    """The bars of flags."""
    return {name: flag for name in BARS if (flag := bars[_snake(name)]) is not None}


def _limits(config: Config, bars: Mapping[str, float | None]) -> dict[str, float]:
    """The bars: those of flags, else of the settings."""
    limits = {}
    for name in BARS:
        flag = bars[_snake(name)]
        limit = flag if flag is not None else getattr(config, f"eval_{_snake(name)}")
        if limit is not None:
            limits[name] = limit
    return limits


def _evaluated(
    session: Session, catalog: Catalog, files: tuple[str, ...], host: str | None
) -> Evaluation:
    if not files and session.is_outside():
        raise UsageError("there is no workspace here", hint="name the files: metier eval FILE")
    with session.progress("evaluating", after=1.0) as on_progress:
        return catalog.evaluate(files, host=host, on_progress=on_progress)


# Comparisons


def _compared(
    session: Session,
    catalog: Catalog,
    now: Evaluation,
    against: str | None,
    settings: tuple[str, ...],
) -> Comparison:
    cases = [result.case for result in now.results]
    with (
        _other(catalog, against, settings) as (other, called),
        session.progress(f"evaluating {called}", after=1.0) as on_progress,
    ):
        before = other.evaluate(cases=cases, host=now.host, on_progress=on_progress)
    return compared(before.results, now.results, called)


@contextmanager
def _other(
    catalog: Catalog, against: str | None, settings: tuple[str, ...]
) -> Iterator[tuple[Catalog, str]]:
    """The catalog to compare with, and what it is called."""
    if not against:
        config = catalog.config
        for setting in settings:
            config = with_setting(config, setting)
        boundary = _boundary(catalog, catalog.workspace, config)
        with Catalog.within(boundary) if catalog.is_kept else Catalog.in_memory(boundary) as other:
            if not other.is_kept:
                other.refresh()
            yield other, ", ".join(settings)
    elif os.path.isdir(against):
        with _in_folder(catalog, os.path.realpath(against)) as other:
            yield other, against
    else:
        from metier.flow.commits import commit_of, write_documents  # few commands need it

        catalog.require_trust("comparing with a commit runs git, which")
        commit = commit_of(catalog.workspace, against)
        with tempfile.TemporaryDirectory() as made:
            folder = os.path.realpath(made)
            write_documents(catalog.workspace, commit, folder, catalog.config)
            with _in_folder(catalog, folder) as other:
                yield other, against


@contextmanager
def _in_folder(catalog: Catalog, folder: str) -> Iterator[Catalog]:
    """The documents of another folder, with the same settings."""
    config = catalog.config._replace(links=NOTHING)
    with Catalog.in_memory(_boundary(catalog, folder, config), room=catalog.room) as other:
        other.refresh()
        yield other


def _boundary(catalog: Catalog, folder: str, config: Config) -> Boundary:
    return Boundary(folder, catalog.trust, config)


# Afterwards


def _keep(
    session: Session, catalog: Catalog, evaluation: Evaluation, files: tuple[str, ...]
) -> None:
    if catalog.room is None or not evaluation.scored:
        return
    commit = head_commit(catalog.workspace)
    changed = _is_changed(catalog, commit)
    try:
        keep(catalog.room, remembered(evaluation, commit, changed=changed, given=files))
    except OSError as error:
        session.note(f"warning: the result is not stored: {error.strerror or error}")


def _is_changed(catalog: Catalog, commit: str) -> bool | None:
    """Whether the skills differ from a commit; None if unknown, as git is run on trust only."""
    if not commit or not catalog.config.is_trusted:
        return None
    from metier.flow.commits import is_changed  # few commands need it

    files = [row.file for row in catalog.documents("skill", shadowed=True)]
    return is_changed(catalog.workspace, commit, files)


def _exit_code(session: Session, report: EvalReport) -> int:
    evaluation = report.evaluation
    for problem in evaluation.problems:
        session.fault(f"{problem.place}: {problem.message}")
    for line in report.unknown_lines():
        session.fault(line)
    if not evaluation.results:
        session.fault("no evaluation cases found")
        session.note("hint: metier eval suggest drafts some; docs/evals.md has the formats")
        return 1
    if report.comparison is not None and report.comparison.left_out:
        session.note(left_out(report.comparison))
    for line in note_lines(evaluation):
        session.note(line)
    for line in report.bar_lines():
        session.note(f"failed: {line}")
    return int(report.is_failed)


command = with_commands(_eval, history, suggest, kind=ArgumentGroup)
command.subcommand_metavar = "[FILE]... | COMMAND [ARGS]..."

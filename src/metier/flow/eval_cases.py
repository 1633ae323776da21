"""Evaluation files: which there are, and the cases in them."""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from metier.core.arguments import check_count, check_text, check_texts
from metier.core.paths import is_inside
from metier.errors import UsageError
from metier.evals.finding import ENDINGS, find_files, skill_folder
from metier.evals.formats import LARGEST_FILE, CaseFile, NoCasesError, read_cases
from metier.evals.repeated import distinct
from metier.parse.yaml import YamlRejectedError, load_yaml
from metier.storage.room import read_regular
from metier.values.evals import CaseProblem, EvalCase

MOST_CASES = 50_000
"""In all files together."""

NameOf = Callable[[str], str]
"""The name of the skill in a folder."""


class Cases(NamedTuple):
    """What evaluation files hold."""

    cases: list[EvalCase]
    files: list[str]
    """The files with cases."""
    problems: list[CaseProblem]
    ignored: list[str]
    """Files that were found, and hold something else."""
    notes: list[str]
    """Remarks that are not faults."""


class _Source(NamedTuple):
    path: str
    shown: str
    is_given: bool
    """Whether the user named it; else it was found."""


def check_cases(cases: Sequence[EvalCase]) -> None:
    """Raise `UsageError` for a case of Python with a wrong field, or that expects nothing."""
    for number, case in enumerate(cases):
        at = f"cases[{number}]"
        check_text(f"{at}.task", case.task)
        for field in ("skills", "not_skills", "agents", "cards", "tags"):
            check_texts(f"{at}.{field}", getattr(case, field), "pdf-tables")
        if case.most is not None:
            check_count(f"{at}.most", case.most)
        expected = (case.skills, case.not_skills, case.agents, case.cards, case.nothing)
        if not any(expected) and case.most is None:
            hint = "give skills, not_skills, agents, cards, most, or nothing=True"
            raise UsageError(f"{at} does not say what is expected", hint=hint)


def cases_of(given: Sequence[str], workspace: str, name_of: NameOf, *, finds: bool = True) -> Cases:
    """The cases in the given files and folders; without any, those of the workspace."""
    found = Cases([], [], [], [], [])
    sources: dict[str, _Source] = {}
    folders = {}
    for path in given:
        real = os.path.realpath(path)
        if os.path.isdir(real):
            folders[path] = _add_folder(real, workspace, sources, found)
        else:
            sources[real] = _Source(real, _shown(os.path.abspath(path), workspace), True)
    if not given and finds:
        _add_folder(workspace, workspace, sources, found)
    for source in sources.values():
        _read(source, workspace, name_of, found)
    told = {*found.files, *(one.file for one in found.problems)}
    cases, notes = distinct(found.cases)
    found = found._replace(cases=cases, notes=[*found.notes, *notes])
    for path, inner in folders.items():
        if told.isdisjoint(_shown(file, workspace) for file in inner):
            shown = _shown(os.path.abspath(path), workspace)
            found.problems.append(CaseProblem(shown, _nothing_in(inner)))
    return found


def _nothing_in(files: Sequence[str]) -> str:
    if not files:
        return f"there is no evaluation file in this folder ({', '.join(ENDINGS)})"
    return f"no file in this folder has cases; looked at {len(files):,}"


def _add_folder(
    folder: str, workspace: str, sources: dict[str, _Source], found: Cases
) -> Sequence[str]:
    """Add the files of a folder; those of the whole workspace are found by their names."""
    files = find_files(folder, is_named=is_inside(workspace, folder))
    for path in files.paths:
        sources.setdefault(path, _Source(path, _shown(path, workspace), False))
    if not files.is_all:
        text = f"only {len(files.paths):,} evaluation files are read"
        found.problems.append(CaseProblem(_shown(folder, workspace), text))
    return files.paths


def _shown(path: str, workspace: str) -> str:
    return os.path.relpath(path, workspace) if is_inside(path, workspace) else path


def _read(source: _Source, workspace: str, name_of: NameOf, found: Cases) -> None:
    try:
        own = _cases_in(source, workspace, name_of)
    except NoCasesError as error:
        if source.is_given:
            found.problems.append(CaseProblem(source.shown, str(error)))
        else:
            found.ignored.append(source.shown)
        return
    except OSError as error:
        found.problems.append(CaseProblem(source.shown, error.strerror or str(error)))
        return
    except ValueError as error:
        found.problems.append(CaseProblem(source.shown, str(error)))
        return
    room = MOST_CASES - len(found.cases)
    if len(own.cases) > room:
        text = f"only the first {MOST_CASES:,} cases are evaluated"
        found.problems.append(CaseProblem(source.shown, text))
    found.cases.extend(own.cases[:room])
    found.problems.extend(own.problems)
    found.notes.extend(own.notes)
    if own.cases:
        found.files.append(source.shown)


def _cases_in(source: _Source, workspace: str, name_of: NameOf) -> CaseFile:
    raw = read_regular(source.path, LARGEST_FILE, links=source.is_given)
    top = workspace if is_inside(source.path, workspace) else os.sep
    folder = skill_folder(source.path, top)
    skill = name_of(folder) if folder else ""
    return read_cases(raw, source.shown, skill=skill, load_yaml=_load_yaml)


def _load_yaml(text: str) -> tuple[Any, list[str]]:
    try:
        tree = load_yaml(text)
    except YamlRejectedError as error:
        problem = error.problem
        raise ValueError(f"{problem.message}, line {problem.line + 1}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return tree.value, [f"{one.message}, line {one.line + 1}" for one in tree.problems]

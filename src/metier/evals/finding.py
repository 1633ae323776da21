"""The evaluation files of a folder, found by their names. Links are not followed."""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from metier.core.paths import is_utf8
from metier.values.files import NOT_ENTERED, SKILL_NAMES

ENDINGS = (".json", ".jsonl", ".yaml", ".yml")
MOST_FILES = 2_000
_MOST_FOLDERS = 200_000
_FOLDER = "evals"
_SKLAB = (".sklab", "tests", ("triggers.yaml", "triggers.yml"))
_ANYWHERE = re.compile(r"trigger[-_](?:evals?|tests)[^/]*\.(?:json|jsonl|ya?ml)", re.IGNORECASE)
"""`trigger-eval*.json` of skill-creator, `trigger_tests.yaml` of waza."""
_VENV_MARK = "pyvenv.cfg"


class FoundFiles(NamedTuple):
    """Evaluation files, by path."""

    paths: list[str]
    is_all: bool
    """Whether the limits left none out."""


def find_files(top: str, *, is_named: bool = True) -> FoundFiles:
    """The evaluation files below a folder; if not `is_named`, whatever they are called.

    In the folder of a skill the names count always: it has other data too.
    """
    found: set[str] = set()
    folders = 0
    stack = [top]
    while stack and folders < _MOST_FOLDERS and len(found) < MOST_FILES:
        folder = stack.pop()
        folders += 1
        names = _Names(folder)
        if _VENV_MARK in names.files:
            continue
        has_skill = not names.files.isdisjoint(SKILL_NAMES)
        found.update(_here(folder, names, has_skill=has_skill, is_top=folder == top))
        if has_skill and not is_named:
            found.update(find_files(folder).paths)
            continue
        if not is_named:
            found.update(_with_endings(folder, names))
        stack += [os.path.join(folder, name) for name in names.folders if name not in NOT_ENTERED]
    return FoundFiles(sorted(found)[:MOST_FILES], not stack and len(found) <= MOST_FILES)


class _Names:
    """The regular files and real folders of a folder; none if it cannot be listed."""

    def __init__(self, path: str) -> None:
        self.files: set[str] = set()
        self.folders: list[str] = []
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if not is_utf8(entry.name):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        self.folders.append(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        self.files.add(entry.name)
        except OSError:
            return


def _with_endings(folder: str, names: _Names) -> Iterator[str]:
    for name in names.files:
        if name.lower().endswith(ENDINGS) and not name.startswith("."):
            yield os.path.join(folder, name)


def _here(folder: str, names: _Names, *, has_skill: bool, is_top: bool) -> Iterator[str]:
    for name in names.files:
        if _ANYWHERE.fullmatch(name):
            yield os.path.join(folder, name)
    if (has_skill or is_top) and _FOLDER in names.folders:
        inner = os.path.join(folder, _FOLDER)
        yield from _with_endings(inner, _Names(inner))
    if has_skill and _SKLAB[0] in names.folders and _SKLAB[1] in _Names(_sklab(folder)).folders:
        inner = os.path.join(_sklab(folder), _SKLAB[1])
        for name in _Names(inner).files.intersection(_SKLAB[2]):
            yield os.path.join(inner, name)


def _sklab(folder: str) -> str:
    return os.path.join(folder, _SKLAB[0])


def skill_folder(file: str, top: str) -> str:
    """The nearest folder with a SKILL.md above a file, not above `top`; else empty."""
    folder = os.path.dirname(file)
    while folder.startswith(top.rstrip("/")):
        if any(os.path.isfile(os.path.join(folder, name)) for name in SKILL_NAMES):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder or folder == top:
            return ""
        folder = parent
    return ""

"""What refers to a renamed skill: paths in texts, names in agent profiles and settings."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from metier.core.paths import is_inside, is_markdown
from metier.storage.room import read_regular
from metier.values.files import LARGEST, NOT_ENTERED

_TOKEN = re.compile(r"[^\s()<>\[\]{}\"'`|,;:#*=]++")
"""What a path in a text can be."""
_SKILLS_OF_AGENT = re.compile(
    r"^skills[ \t]*:.*\n?(?:(?:[ \t]|-[ \t]).*\n?|\r?\n)*"
    r"|\"skills\"[ \t\r\n]*:[ \t\r\n]*\[[^\[\]]*\]",
    re.MULTILINE,
)
"""The list of an agent's skills, in YAML or JSON."""
_ENTRY_START = r"((?:^|[\[,]|-[ \t]|:)[ \t\r\n]*)(['\"]?)"
_ENTRY_END = r"\2(?=[ \t]*(?:[\],\r\n#]|$))"
_DISABLED = re.compile(r"^[ \t]*(?:own_)?disabled[ \t]*=[ \t]*\[[^\]]*\]", re.MULTILINE)
_BESIDE = ("README.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".claude-plugin/plugin.json",
           ".claude-plugin/marketplace.json")  # fmt: skip
"""Files of a folder above a skill that may name the skill's folder."""
_DEEPEST = 40
"""Steps of a path that is looked at."""
_MOST_FILES = 200
"""Files of one skill's folder that are looked at."""


class Renames(NamedTuple):
    """What gets another name."""

    folders: Mapping[str, str]
    """Absolute paths, old → new."""
    names: Mapping[str, str]
    """Names, handles and ids of skills, old → new."""


class References:
    """Follows renames through the texts of a workspace."""

    def __init__(self, workspace: str, renames: Renames) -> None:
        self._workspace = workspace
        self._renames = renames
        self._old = {os.path.basename(folder) for folder in renames.folders}

    def followed(self, text: str, file: str, *, is_agent: bool) -> str:
        """A text with the new paths, and in an agent's profile or the settings the new names."""
        if self._renames.names:
            pattern = _SKILLS_OF_AGENT if is_agent else _DISABLED
            if is_agent or file.endswith(".toml"):
                text = pattern.sub(lambda part: self._renamed(part[0]), text)
        if self._renames.folders and any(name in text for name in self._old):
            folder = os.path.dirname(file)
            text = _TOKEN.sub(lambda token: self._moved(token[0], folder), text)
        return text

    def _renamed(self, part: str) -> str:
        """A list of names with the new ones."""
        for old, new in self._renames.names.items():
            if old in part:
                entry = rf"{_ENTRY_START}{re.escape(old)}{_ENTRY_END}"
                part = re.sub(entry, rf"\g<1>\g<2>{new}\g<2>", part)
        return part

    def _moved(self, token: str, folder: str) -> str:
        """A path with the new names of folders; any other token stays."""
        steps = token.split("/")
        if not 2 <= len(steps) <= _DEEPEST or self._old.isdisjoint(
            step.rstrip(".") for step in steps
        ):
            return token
        start = 1 if steps[0] == "" else 0
        for base in (folder, self._workspace):
            found = self._steps(steps, start, base)
            if found is not None:
                return "/".join(found)
        return token

    def _steps(self, steps: list[str], start: int, base: str) -> list[str] | None:
        for number in range(start, len(steps)):
            name = steps[number].rstrip(".")
            if name not in self._old:
                continue
            path = os.path.normpath(os.path.join(base, *steps[start:number], name))
            if path in self._renames.folders:
                new = os.path.basename(self._renames.folders[path])
                end = steps[number][len(name) :]
                return [*steps[:number], new + end, *steps[number + 1 :]]
        return None


def texts_to_follow(
    workspace: str, documents: Iterable[str], renamed: Iterable[str]
) -> Iterator[str]:
    """The files that may refer to a skill: documents, texts of skills, and those above them.

    `renamed` are the folders of the renamed skills. Links are not followed.
    """
    seen: set[str] = set()
    for file in (*documents, *_around(workspace, renamed)):
        real = os.path.realpath(file)
        if real not in seen and is_inside(real, workspace) and real == os.path.abspath(file):
            seen.add(real)
            yield real


def _around(workspace: str, renamed: Iterable[str]) -> Iterator[str]:
    yield os.path.join(workspace, "metier.toml")
    above: set[str] = set()
    for folder in renamed:
        yield from _texts_below(folder)
        parent = os.path.dirname(folder)
        while is_inside(parent, workspace) and parent not in above:
            above.add(parent)
            yield from (os.path.join(parent, name) for name in _BESIDE)
            parent = os.path.dirname(parent)


def _texts_below(folder: str) -> Iterator[str]:
    left = _MOST_FILES
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in NOT_ENTERED]
        for name in sorted(filter(is_markdown, files)):
            left -= 1
            if left < 0:
                return
            yield os.path.join(path, name)


def text_of(file: str) -> bytes | None:
    """The bytes of a text file; None if it cannot be read or is not UTF-8."""
    try:
        raw = read_regular(file, LARGEST["skill"], links=False)
        raw.decode()
    except (OSError, UnicodeDecodeError):
        return None
    return raw

"""Alias tables: different names for one capability."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from metier.core.names import is_capability_name
from metier.core.paths import is_inside
from metier.core.unread import has_too_many_digits, locate_digits, why_not_json
from metier.storage.room import LARGEST, read_regular
from metier.values.outcomes import Issue

SCHEMA_VERSION = "1"
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+"')


class AliasTable(NamedTuple):
    """One table: name → canonical name."""

    source: str
    """runtime · workspace · built-in"""
    version: str
    canonical: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, source: str, version: str, aliases: Mapping[str, Iterable[str]]) -> "AliasTable":
        """A key is canonical; of keys in a cycle, the smallest is."""
        canonical = {key: key for key in aliases}
        for key in sorted(aliases):
            for alias in aliases[key]:
                if alias not in aliases:
                    canonical.setdefault(alias, key)
        for circle in _circles(aliases):
            canonical.update(dict.fromkeys(circle, min(circle)))
        flat = {name: canonical[key] for name, key in canonical.items()}
        return cls(source, version, flat)


class AliasTables:
    """The tables in force; for each name the first that has it decides."""

    def __init__(self, tables: Iterable[AliasTable] = ()) -> None:
        self.tables = tuple(tables)
        self._canonical: dict[str, str] = {}
        for table in self.tables:
            for name, canonical in table.canonical.items():
                self._canonical.setdefault(name, canonical)
        self._names: dict[str, list[str]] = {}
        for name, canonical in sorted(self._canonical.items()):
            self._names.setdefault(canonical, []).append(name)

    def canonical(self, name: str) -> str:
        return self._canonical.get(name, name)

    def names_of(self, name: str) -> list[str]:
        """All names with the same canonical name, `name` too."""
        return sorted({name, *self._names.get(self.canonical(name), ())})

    @property
    def versions(self) -> dict[str, str]:
        return {table.source: table.version for table in self.tables}


def read_alias_table(path: str, source: str, shown: str) -> tuple[AliasTable | None, list[Issue]]:
    """The alias table in a file, or what is wrong with it."""
    try:
        return parse_alias_table(_text_of(path, source), source, shown)
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        return None, [Issue("DC403", message, shown, hint="until then it is not used")]


def _text_of(path: str, source: str) -> str:
    """The text of a table; that of a workspace may not be a link out of it."""
    real = os.path.realpath(path)
    workspace = os.path.realpath(os.path.dirname(os.path.dirname(path)))
    if source == "workspace" and not is_inside(real, workspace):
        raise OSError(None, "a link leads out of the workspace")
    return read_regular(real, LARGEST, links=False).decode()


def parse_alias_table(text: str, source: str, path: str) -> tuple[AliasTable | None, list[Issue]]:
    """The table in JSON text, or issues."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line, column, what = 1, 1, why_not_json(error)
        if isinstance(error, json.JSONDecodeError):
            line, column, what = error.lineno, error.colno, error.msg
        elif has_too_many_digits(error):
            line, column = locate_digits(text)
        return None, [_issue(f"not valid JSON: {what}", path, line, column)]
    problems = list(_problems(data))
    if problems:
        positions = _positions(text)
        return None, [
            _issue(message, path, *positions.get(key, (1, 1))) for key, message in problems
        ]
    return AliasTable.of(source, data["alias_table_version"], data["aliases"]), []


def _problems(data: Any) -> Iterable[tuple[str, str]]:
    """Each invalid key, and what is wrong with it."""
    if not isinstance(data, dict):
        yield "", "an alias table is a JSON object"
        return
    for key in sorted(data.keys() - {"schema_version", "alias_table_version", "aliases"}):
        yield key, f"'{key}' is not a key of an alias table"
    if data.get("schema_version") != SCHEMA_VERSION:
        yield "schema_version", f"'schema_version' must be \"{SCHEMA_VERSION}\""
    version = data.get("alias_table_version")
    if not isinstance(version, str) or not version:
        yield "alias_table_version", "'alias_table_version' must be a string"
    aliases = data.get("aliases")
    if not isinstance(aliases, dict):
        yield "aliases", "'aliases' must be an object of lists"
        return
    for key, names in aliases.items():
        if not is_capability_name(key):
            yield key, f"'{key[:80]}' is not a capability name"
        if not isinstance(names, list):
            yield key, f"'{key}' must have a list of names"
            continue
        for name in names:
            if not isinstance(name, str) or not is_capability_name(name):
                yield str(name), f"{str(name)[:80]!r} below '{key[:80]}' is not a capability name"


def _issue(message: str, path: str, line: int, column: int) -> Issue:
    return Issue("DC403", message, path, line, column, "correct it: until then it is not used")


def _positions(text: str) -> dict[str, tuple[int, int]]:
    """Line and column of the first occurrence of each string."""
    positions: dict[str, tuple[int, int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        for found in _TEXT.finditer(line):
            positions.setdefault(json.loads(found[0]), (number, found.start() + 1))
    return positions


def _circles(aliases: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Strongly connected keys (Tarjan, without recursion)."""
    follow = {key: [one for one in names if one in aliases] for key, names in aliases.items()}
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    circles: list[list[str]] = []
    for start in follow:
        if start in number:
            continue
        path = [(start, iter(follow[start]))]
        while path:
            key, others = path[-1]
            if key not in number:
                number[key] = lowest[key] = len(number)
                waiting.append(key)
                is_waiting.add(key)
            for other in others:
                if other not in number:
                    path.append((other, iter(follow[other])))
                    break
                if other in is_waiting:
                    lowest[key] = min(lowest[key], number[other])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[key])
                if lowest[key] == number[key]:
                    circle: list[str] = []
                    while not circle or circle[-1] != key:
                        circle.append(waiting.pop())
                    is_waiting.difference_update(circle)
                    if len(circle) > 1:
                        circles.append(circle)
    return circles


# The table that ships with metier: short, because a wrong alias is worse than none

VERSION = "1"
ALIASES: dict[str, tuple[str, ...]] = {
    "audio-transcription": ("speech-to-text", "speech-transcription"),
    "calendar-management": ("calendar-scheduling",),
    "code-generation": ("code-writing",),
    "code-review": ("pull-request-review",),
    "code-search": ("codebase-search", "source-code-search"),
    "data-analysis": ("data-analytics",),
    "data-visualization": ("chart-creation", "data-visualisation"),
    "document-summarization": ("document-summary",),
    "email-sending": ("email-delivery", "send-email"),
    "file-conversion": ("document-conversion",),
    "file-search": ("file-lookup",),
    "image-editing": ("photo-editing",),
    "image-generation": ("image-creation", "text-to-image"),
    "issue-tracking": ("ticket-tracking",),
    "knowledge-search": ("knowledge-base-search",),
    "log-analysis": ("log-inspection",),
    "pdf-creation": ("pdf-generation",),
    "pdf-extraction": ("pdf-parsing", "pdf-text-extraction"),
    "release-notes": ("changelog-writing",),
    "speech-synthesis": ("text-to-speech",),
    "sql-query": ("database-query",),
    "summarization": ("summarisation", "text-summarization"),
    "test-generation": ("test-writing", "unit-test-generation"),
    "translation": ("language-translation", "text-translation"),
    "web-scraping": ("web-crawling",),
    "web-search": ("internet-search", "online-search"),
}


@cache
def builtin_aliases() -> AliasTable:
    return AliasTable.of("built-in", VERSION, ALIASES)


@cache
def only_builtin() -> AliasTables:
    return AliasTables([builtin_aliases()])

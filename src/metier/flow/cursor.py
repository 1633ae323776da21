"""Where a cursor is in a document that is being written: its text may not be valid yet."""

import re
from typing import NamedTuple

_KEY = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?=[ \t\r]|$)")
_START = re.compile(r"( *)((?:- +|-$)*)")
_TOKEN = re.compile(r"[^\s,\[\](){}'\"=]*")
_CLAUSE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)\(([^()]*)$")
_CLAUSE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
CONTRACT = ("metadata", "contract")
_MOST_LINES = 5_000
"""Lines above the cursor that are looked at."""


class Cursor(NamedTuple):
    """What is at an offset of the front matter, or of a document that is all YAML."""

    keys: tuple[str, ...]
    """The keys around it; at a key, those of the mapping that it is in."""
    is_key: bool
    """Whether a key is, or can be, written there."""
    word: str
    """The key, or the part of a value between blanks, commas, quotes and brackets."""
    start: int
    """Where the word starts."""
    written: str
    """The word up to the cursor."""
    clause: str = ""
    """In a contract: the clause around the cursor, or at it."""
    is_clause_name: bool = False
    pair: str = ""
    """In a contract: the key of the pair whose value is at the cursor."""

    @property
    def path(self) -> tuple[str, ...]:
        """The keys, with the one at the cursor."""
        return (*self.keys, self.word) if self.is_key else self.keys


def cursor_at(text: str, offset: int, *, all_yaml: bool = False) -> Cursor | None:
    """What is at `offset`; None in the body."""
    end = len(text) if all_yaml else _end_of_front_matter(text)
    start = text.rfind("\n", 0, offset) + 1
    if offset > end or (not all_yaml and start == 0):
        return None
    stop = text.find("\n", offset)
    line = text[start : stop if stop >= 0 else len(text)].rstrip("\r")
    return _in_line(text, start, line, offset - start)


def _end_of_front_matter(text: str) -> int:
    """The offset of the second fence, or of the end while there is none; -1 without the first."""
    if not text.removeprefix("\ufeff").startswith("---"):
        return -1
    fence = re.compile(r"\n---[ \t]*\r?(?=\n|\Z)").search(text)
    return fence.start() if fence else len(text)


def _in_line(text: str, start: int, line: str, column: int) -> Cursor:
    lead = _START.match(line)
    assert lead is not None  # it matches the empty text
    key = _KEY.match(line, lead.end())
    above = _above(text[:start], lead.end())
    if key is not None and column <= key.end(1):
        written = line[key.start() : column]
        return Cursor(above, True, key[1], start + key.start(), written)
    if key is not None:
        return _value((*above, key[1]), line, start, column)
    if lead[2]:
        return _value(above, line, start, column)
    word, first = _token(line, column, 0)
    return Cursor(above, True, word, start + first, line[first:column])


def _value(keys: tuple[str, ...], line: str, start: int, column: int) -> Cursor:
    key = _KEY.match(line, _START.match(line).end())  # type: ignore[union-attr]  # always matches
    least = key.end() if key is not None else 0
    word, first = _token(line, column, least)
    cursor = Cursor(keys, False, word, start + first, line[first:column])
    if keys != CONTRACT:
        return cursor
    return _in_contract(cursor, line, column, first)


def _in_contract(cursor: Cursor, line: str, column: int, first: int) -> Cursor:
    inside = _CLAUSE.search(line, 0, column)
    if inside is None:
        name = _CLAUSE_NAME.match(line, first)
        clause = name[0] if name and line[name.end() : name.end() + 1] == "(" else ""
        return cursor._replace(clause=clause, is_clause_name=True)
    last = inside[2].rpartition(",")[2]
    pair = last.partition("=")[0].strip() if "=" in last else ""
    return cursor._replace(clause=inside[1], pair=pair)


def _token(line: str, column: int, least: int) -> tuple[str, int]:
    """The word around a column, and where it starts."""
    first = column
    while first > least and _TOKEN.fullmatch(line[first - 1]):
        first -= 1
    rest = _TOKEN.match(line, first)
    return (rest[0] if rest else ""), first


def _above(text: str, indent: int) -> tuple[str, ...]:
    """The keys of the mappings and lists around a line that is indented so far."""
    keys: list[str] = []
    for line in reversed(text.split("\n")[-_MOST_LINES:]):
        lead = _START.match(line)
        key = _KEY.match(line, lead.end()) if lead is not None else None
        if key is not None and key.start() < indent:
            keys.insert(0, key[1])
            indent = key.start()
        if not indent:
            break
    return tuple(keys)

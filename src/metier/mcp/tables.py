"""Small edits of TOML text: one table is put at the end or taken out, all else stays.

Only what can be proved is done: after each edit the text is read again and must say what it said
before, but for the table.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

_BRACKET = re.compile(r"^[\ufeff \t]*\[", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    """The value of TOML, numbers with a point as written. ValueError when it is none."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        return tomllib.loads(plain, parse_float=lambda digits: ("number", digits))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def same(left: str, right: str) -> bool:
    """Whether two texts say the same, comments and all; blank lines are free."""
    return _lines(left) == _lines(right) and parse(left) == parse(right)


def is_blank(text: str) -> bool:
    """Whether there is nothing in a text, not even a comment."""
    return not text.strip("\ufeff \t\r\n")


def written(way: Sequence[str], table: dict[str, Any], newline: str = "\n") -> str:
    """A table of texts and lists of texts, under its header."""
    lines = [f"[{'.'.join(map(_key, way))}]"]
    lines += [f"{_key(key)} = {_value(one)}" for key, one in table.items()]
    return newline.join(lines) + newline


def inline(table: dict[str, Any]) -> str:
    """The same on one line, in braces."""
    return f"{{{', '.join(f'{_key(key)} = {_value(one)}' for key, one in table.items())}}}"


def has_place(text: str, way: Sequence[str]) -> bool:
    """Whether a table can be put at the end: it cannot be added to one that stands in braces."""
    return _is_toml(f"{text.rstrip()}\n{written(way, {})}")


def add(text: str, way: Sequence[str], table: dict[str, Any]) -> str:
    """Put a table of texts and lists of texts at the end. ValueError when it has no place."""
    newline = _newline(text)
    start = text.rstrip()
    gap = newline * 2 if start.strip("\ufeff") else ""
    new = f"{start}{gap}{written(way, table, newline)}"
    _check(new, text, way, table)
    return new


def remove(text: str, way: Sequence[str]) -> str:
    """Take out a table and those below it. ValueError when it is not written as a table.

    Comments after its last line stay: they are about what follows.
    """
    new, end = text, len(text)
    for start, keys in reversed(_headers(text)):
        if keys[: len(way)] == list(way):
            new = new[:start] + _comments_after(text[start:end]) + new[end:]
        end = start
    new = "" if is_blank(new) else new.rstrip() + _newline(text)
    _check(text, new, way, _at(parse(text), way))
    return new


def _headers(text: str) -> list[tuple[int, list[str]]]:
    """Where each table begins, and the keys that lead to it.

    A line that begins with a bracket is a header when all before it is whole: else it is a part of
    a text or a list of several lines.
    """
    found, start = [], 0
    for bracket in _BRACKET.finditer(text):
        at = bracket.start()
        if _is_toml(text[start:at]):
            found.append((at, _keys(text[at:].split("\n", 1)[0])))
            start = at
    return found


def _keys(header: str) -> list[str]:
    data, keys = parse(f"{header}\n"), []
    while isinstance(data, dict) and data:
        [(key, data)] = data.items()
        keys.append(key)
    return keys


def _comments_after(table: str) -> str:
    """The comments at the end of a table's text."""
    lines = table.split("\n")
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    body = "\n".join(lines)
    return table[len(body) :].lstrip("\r\n") if _is_toml(f"{body}\n") else ""


def _is_toml(text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check(with_it: str, without: str, way: Sequence[str], table: Any) -> None:
    """Whether one text is the other and the table."""
    had, has = parse(with_it), parse(without)
    if _at(had, way) != table or _at(has, way) is not None or _cut(had, way) != _cut(has, way):
        raise ValueError("it is not written as a table of its own")


def _at(data: Any, way: Sequence[str]) -> Any:
    for step in way:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _cut(data: dict[str, Any], way: Sequence[str]) -> dict[str, Any]:
    """The data without what lies at the end of the way, nor what that leaves empty."""
    if way[0] not in data:
        return data
    rest = {key: value for key, value in data.items() if key != way[0]}
    if len(way) > 1 and isinstance(data[way[0]], dict):
        inner = _cut(data[way[0]], way[1:])
        return {**rest, way[0]: inner} if inner else rest
    return rest

"""Small edits of TOML text: one table is put at the end or taken out, all else stays.

Only what can be proved is done: after each edit the text is read again and must say what it said
before, but for the table.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from metier.core.toml import toml_of

_PART = re.compile(
    r'''#[^\n]*|"""(?:[^"\\]|\\.|"{1,2}(?!"))*+"{3,5}|"(?:[^"\\\n]|\\.)*+"'''
    r"|'''(?:[^']|'{1,2}(?!'))*+'{3,5}|'[^'\n]*'"
    r"|(?P<open>(?P<first>^[\ufeff \t]*)?[\[{])|(?P<close>[\]}])",
    re.MULTILINE | re.DOTALL,
)
"""Comments, texts, and brackets outside of them."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    """The value of TOML, numbers with a point as written. ValueError when it is none."""
    return toml_of(text.removeprefix("\ufeff"), parse_float=lambda digits: ("number", digits))


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
    data = parse(text)
    headers = _headers(text)
    starts = [*(start for start, _ in headers), len(text)]
    kept = [text[: starts[0]]]
    for (start, keys), end in zip(headers, starts[1:], strict=True):
        table = text[start:end]
        kept.append(_comments_after(table) if keys[: len(way)] == list(way) else table)
    new = "".join(kept)
    new = "" if is_blank(new) else new.rstrip() + _newline(text)
    _check(text, new, way, _at(data, way))
    return new


def _headers(text: str) -> list[tuple[int, list[str]]]:
    """Where each table begins, and the keys that lead to it; the text is known to be TOML.

    A line that begins with a bracket is a header when all before it is whole: else it is a part of
    a text or a list of several lines.
    """
    found, depth = [], 0
    for part in _PART.finditer(text):
        if part["first"] is not None and not depth:
            end = text.find("\n", part.end())
            found.append((part.start(), _keys(text[part.start() : end if end >= 0 else None])))
        depth += (part["open"] is not None) - (part["close"] is not None)
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

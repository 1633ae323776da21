"""Small edits of TOML text: one table is put at the end or taken out, all else stays.

Only what can be proved is done: after each edit the text is read again and must say what it said
before, but for the table.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

_HEADER = re.compile(r"^[ \t]*\[+[ \t]*([^\]]+?)[ \t]*\]+[ \t]*(?:#.*)?\r?$", re.MULTILINE)


def parse(text: str) -> dict[str, Any]:
    """The value of TOML. ValueError when it is none."""
    return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))


def same(left: str, right: str) -> bool:
    """Whether two texts say the same."""
    return parse(left) == parse(right)


def add(text: str, way: Sequence[str], table: dict[str, Any]) -> str:
    """Put a table of texts and lists of texts at the end. ValueError when it has no place."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(way)}]", *(f"{key} = {_value(one)}" for key, one in table.items())]
    start = text.rstrip()
    gap = newline * 2 if start.strip("\ufeff") else ""
    new = f"{start}{gap}{newline.join(lines)}{newline}"
    _check(new, text, way, table)
    return new


def remove(text: str, way: Sequence[str]) -> str:
    """Take out a table and those below it. ValueError when it is not written as a table."""
    name = ".".join(way)
    new, end = text, len(text)
    for header in reversed(list(_HEADER.finditer(text))):
        if header[1] == name or header[1].startswith(f"{name}."):
            new = new[: header.start()] + new[end:]
        end = header.start()
    new = new.rstrip() + ("\r\n" if "\r\n" in text else "\n") if new.strip("\ufeff \r\n") else ""
    _check(text, new, way, _at(parse(text), way))
    return new


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False)


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

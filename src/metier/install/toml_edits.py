"""Edits of TOML text: one table is added at the end or removed, all else keeps its characters."""

from collections.abc import Sequence
from typing import Any

import tomlkit
from tomlkit.items import Table

from metier.core.toml import toml_of


def parse(text: str) -> dict[str, Any]:
    """Parse TOML; floats stay text. Raises `ValueError`."""
    return toml_of(text.removeprefix("\ufeff"), parse_float=lambda digits: ("number", digits))


def same(left: str, right: str) -> bool:
    """Whether two texts differ in blank lines only."""
    return _lines(left) == _lines(right) and parse(left) == parse(right)


def is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def written(keys: Sequence[str], table: dict[str, Any]) -> str:
    item: Any = tomlkit.item(table)
    for key in reversed(keys):
        outer = tomlkit.table(is_super_table=True)
        outer.append(key, item)
        item = outer
    return str(item.as_string())


def inline(table: dict[str, Any]) -> str:
    made = tomlkit.inline_table()
    made.update(table)
    return made.as_string()


def has_room(text: str, keys: Sequence[str]) -> bool:
    """Whether a table can be added at the end: not to an inline table."""
    try:
        parse(f"{text.rstrip()}\n{written(keys, {})}")
    except ValueError:
        return False
    return True


def add(text: str, keys: Sequence[str], table: dict[str, Any]) -> str:
    """Add a table at the end. Raises `ValueError`."""
    newline, start = _newline(text), text.rstrip()
    gap = newline * 2 if start.strip("\ufeff") else ""
    new = f"{start}{gap}{written(keys, table).replace(chr(10), newline)}"
    parse(new)
    return new


def remove(text: str, keys: Sequence[str]) -> str:
    """Remove a table and its subtables, but not the comments after it. Raises `ValueError`."""
    mark = text[: text.startswith("\ufeff")]
    document = tomlkit.parse(text[len(mark) :])
    parent: Any = document
    for key in keys[:-1]:
        parent = parent[key]
    table = parent[keys[-1]]
    before = document.as_string()
    del parent[keys[-1]]
    after = document.as_string()
    pairs = enumerate(zip(before, after, strict=False))
    differs = next((at for at, (old, new) in pairs if old != new), len(after))
    start = before.rfind("\n", 0, differs) + 1
    end = start + len(before) - len(after)
    cut = before[start:end]
    is_one_part = mark + before == text and before[:start] + before[end:] == after
    if not (isinstance(table, Table) and is_one_part and cut.lstrip().startswith("[")):
        raise ValueError("it is not written as its own table")
    kept = mark + before[:start] if start else ""
    rest = kept + _comments_after(cut) + before[end:]
    return "" if is_blank(rest) else rest.rstrip() + _newline(text)


def _comments_after(table: str) -> str:
    lines = table.split("\n")
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    body = "\n".join(lines)
    try:
        parse(f"{body}\n")
    except ValueError:  # what looks like a comment is in a text of several lines
        return ""
    return table[len(body) :].lstrip("\r\n")


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"

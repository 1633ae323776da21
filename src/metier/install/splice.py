"""Edits of JSON text: all else keeps its characters."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from metier.core.paths import is_utf8
from metier.core.unread import why_not_json

Steps = Sequence[str | int]
"""A path of keys and positions."""
_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
_FIRST_INDENT = re.compile(r"\n([ \t]+)\S")
_DEFAULT_INDENT = "  "


class _Item(NamedTuple):
    """One member of an object, or one value of an array."""

    key: str | None
    start: int
    value: int
    """Where its value starts."""
    end: int


def parse(text: str) -> Any:
    """Parse strict JSON; blank text is an empty object. Raises `ValueError`."""
    if not text.strip("\ufeff \t\r\n"):
        return {}
    try:
        return json.loads(
            text.removeprefix("\ufeff"), object_pairs_hook=_unique, parse_constant=_no_constant
        )
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise ValueError(why_not_json(error, text)) from None


def same(left: str, right: str) -> bool:
    """Whether two texts are the same JSON, in any order of keys, with numbers as written."""
    return bool(_exact(left) == _exact(right))


def add(text: str, path: Steps, value: Any, *, key: str | None = None) -> str:
    """Append `value` to the object (with `key`) or array at `path`, laid out as its neighbours."""
    at = _find(text, path)
    items, close = _items(text, at), _end(text, at) - 1
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = _indent(text)
    if not items:
        outer = _line_indent(text, at)
        member = _member(key, value, indent, newline + outer + indent)
        inner = f"{newline}{outer}{indent}{member}{newline}{outer}"
        return text[: at + 1] + inner + text[close:]
    last = items[-1]
    own = _line_indent(text, last.start)
    line_start = text.rfind("\n", 0, last.start) + 1
    if line_start and not text[line_start : last.start].strip(" \t"):
        added = f",{newline}{own}{_member(key, value, indent, newline + own)}"
    else:
        added = f", {_member(key, value, None, '')}"
    return text[: last.end] + added + text[last.end :]


def replace(text: str, path: Steps, value: Any) -> str:
    """Replace the value at `path`; on one line when the old value was."""
    at = _find(text, path)
    end = _end(text, at)
    if "\n" in text[at:end]:
        newline = "\r\n" if "\r\n" in text else "\n"
        new = _member(None, value, _indent(text), newline + _line_indent(text, at))
    else:
        new = _member(None, value, None, "")
    return text[:at] + new + text[end:]


def remove(text: str, path: Steps) -> str:
    """Remove the member or value at `path`, with its comma."""
    at = _find(text, path[:-1])
    items = _items(text, at)
    index = _position(items, path[-1])
    item = items[index]
    if len(items) == 1:
        start, end = at + 1, _end(text, at) - 1
    elif item is items[-1]:
        start, end = items[index - 1].end, item.end
    else:
        start, end = item.start, items[index + 1].start
    return text[:start] + text[end:]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"the key '{twice}' occurs twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _exact(text: str) -> Any:
    parse(text)
    return json.loads(
        text.strip("\ufeff \t\r\n") or "{}",
        object_pairs_hook=lambda pairs: tuple(sorted(pairs, key=lambda pair: pair[0])),
        parse_int=lambda digits: ("number", digits),
        parse_float=lambda digits: ("number", digits),
    )


_DECODER = json.JSONDecoder()


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _end(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]


def _items(text: str, at: int) -> list[_Item]:
    """The items of the object or array at `at`."""
    found = []
    position = _skip(text, at + 1)
    while text[position] not in "]}":
        start, key = position, None
        if text[at] == "{":
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        end = _end(text, position)
        found.append(_Item(key, start, position, end))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found


def _position(items: Sequence[_Item], step: str | int) -> int:
    if isinstance(step, int):
        return step
    return next(index for index, item in enumerate(items) if item.key == step)


def _find(text: str, path: Steps) -> int:
    at = _skip(text, 0)
    for step in path:
        items = _items(text, at)
        at = items[_position(items, step)].value
    return at


def _indent(text: str) -> str:
    """The indentation of the first indented line."""
    found = _FIRST_INDENT.search(text)
    return found[1] if found else _DEFAULT_INDENT


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _member(key: str | None, value: Any, indent: str | None, newline: str) -> str:
    """A value, after its key if it has a key; further lines begin with `newline`."""
    body = json.dumps(value, indent=indent, ensure_ascii=False)
    if not is_utf8(body):  # half of a surrogate pair can only be written as an escape
        body = json.dumps(value, indent=indent)
    if indent is not None:
        body = body.replace("\n", newline)
    return body if key is None else f"{json.dumps(key)}: {body}"

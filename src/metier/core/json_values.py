"""Values that go into tools and come out of them: JSON and nothing else, of bounded size."""

import json
import math
from typing import Any

DEEPEST = 100
"""Levels of lists and mappings inside each other."""
_MOST_DIGITS = 4_000
"""Python refuses to read or write longer integers as text."""
_MOST_BITS = int(_MOST_DIGITS * math.log2(10))
_LONGEST_ESCAPE = 6
"""Bytes of JSON that one byte of text may need: `\\u001f`."""
_LONGEST_KEY = 100
"""Characters of a key that are shown."""


class NotJsonError(Exception):
    """What is wrong with a value, and where in it."""

    def __init__(self, what: str, *, too_large: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.where = ""
        self.too_large = too_large

    def told(self, root: str) -> str:
        """The problem with the value called `root`."""
        if not self.too_large:
            return f"{root}{self.where}: {self.what}"
        passed = f"; the limit is passed at {root}{self.where}" if self.where else ""
        return f"{root}: {self.what}{passed}"


def json_copy(value: Any, most_bytes: int) -> Any:
    """A copy of `value` in plain JSON types; tuples become lists.

    Raises `NotJsonError` for anything else, for what is too deep, and as soon as it is clear
    that the copy would be too large: of a huge value only the beginning is looked at.
    """
    if type(value) is dict and not value:
        return {}
    copier = _Copier(most_bytes)
    copied = copier.copy(value, 0)
    if copier.used * _LONGEST_ESCAPE > most_bytes and _size(copied) > most_bytes:
        raise copier.too_large()
    return copied


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


class _Copier:
    """Copies one value and counts the bytes that it needs at least."""

    __slots__ = ("most", "used")

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0

    def copy(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if value is None or value is True or value is False:
            self._count(4)
            return value
        if isinstance(value, dict):
            return self._mapping(value, depth + 1)
        if isinstance(value, list | tuple):
            return self._list(value, depth + 1)
        if isinstance(value, int | float):
            return self._number(value)
        raise NotJsonError(f"a {type(value).__name__} is no JSON value")

    def too_large(self) -> NotJsonError:
        return NotJsonError(f"larger than {self.most:,} bytes as JSON", too_large=True)

    def _count(self, size: int) -> None:
        self.used += size
        if self.used > self.most:
            raise self.too_large()

    def _text(self, value: str) -> str:
        self._count(len(value) + 2)
        text = value if type(value) is str else str.__str__(value)
        if not text.isascii():
            try:
                self._count(len(text.encode()) - len(text))
            except UnicodeEncodeError:
                raise NotJsonError("holds half a surrogate pair, which is no text") from None
        return text

    def _number(self, value: int | float) -> int | float:
        self._count(1)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise NotJsonError(f"{float.__repr__(value)} is no JSON number")
            return value if type(value) is float else float.__float__(value)
        if value.bit_length() > _MOST_BITS:
            raise NotJsonError(f"a number of more than {_MOST_DIGITS} digits")
        return value if type(value) is int else int.__int__(value)

    def _list(self, values: "list[Any] | tuple[Any, ...]", depth: int) -> list[Any]:
        self._enter(depth)
        copied: list[Any] = []
        try:
            for value in values:
                copied.append(self.copy(value, depth))
                self.used += 1
        except NotJsonError as error:
            error.where = f"[{len(copied)}]{error.where}"
            raise
        return copied

    def _mapping(self, values: dict[Any, Any], depth: int) -> dict[str, Any]:
        self._enter(depth)
        copied: dict[str, Any] = {}
        key: Any = ""
        try:
            for key, value in values.items():
                if not isinstance(key, str):
                    raise NotJsonError(f"the key is a {type(key).__name__}, not a text")
                copied[self._text(key)] = self.copy(value, depth)
                self.used += 2
        except NotJsonError as error:
            shown = key[:_LONGEST_KEY] if isinstance(key, str) else "?"
            error.where = f".{shown}{error.where}"
            raise
        return copied

    def _enter(self, depth: int) -> None:
        self._count(2)
        if depth > DEEPEST:
            raise NotJsonError(f"nested more than {DEEPEST} levels deep")

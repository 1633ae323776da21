"""What an address asks for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from urllib.parse import quote_plus

from metier.errors import UsageError

LONGEST = 20_000
"""Characters of a value; a longer one is cut, as a prompt may be any text."""
Value = str | int | float | None
Items = tuple[tuple[str, str], ...]


class Query:
    """The part of an address after `?`: names, each with one or more values."""

    def __init__(self, items: Iterable[tuple[str, str]] = ()) -> None:
        self.items: Items = tuple((name, value[:LONGEST]) for name, value in items)

    def text(self, name: str, default: str = "") -> str:
        """The last value of a name, without the space around it."""
        found = self.all(name)
        return found[-1] if found else default

    def all(self, name: str) -> list[str]:
        """Every value of a name that is not empty."""
        return [one.strip() for key, one in self.items if key == name and one.strip()]

    def number(self, name: str, default: int, *, least: int = 0, most: int = 1 << 40) -> int:
        """A whole number. Raises `UsageError`."""
        found = self.text(name)
        if not found:
            return default
        if not found.isascii() or not found.isdecimal() or not least <= int(found) <= most:
            message = f"{name} is not a whole number from {least} to {most}"
            raise UsageError(message, hint=f"{name}={default}")
        return int(found)

    def choice(self, name: str, known: Sequence[str], default: str = "") -> str:
        """One of some values. Raises `UsageError`."""
        found = self.text(name)
        if found and found not in known:
            hint = f"{name} is one of: {', '.join(known)}"
            raise UsageError(f"'{found}' is no {name}", hint=hint)
        return found or default

    def flag(self, name: str) -> bool:
        return self.text(name) in ("1", "on", "true", "yes")

    def replaced(self, changes: Mapping[str, Value]) -> "Query":
        """With other values of some names; None or an empty value removes a name."""
        kept = [(name, value) for name, value in self.items if name not in changes and value]
        added = [(name, str(value)) for name, value in changes.items() if value not in (None, "")]
        return Query([*kept, *added])

    def without(self, name: str, value: str) -> "Query":
        return Query(item for item in self.items if item != (name, value))

    def with_one_more(self, name: str, value: str) -> "Query":
        return Query([*self.items, (name, value)])

    def encoded(self) -> str:
        return encoded(self.items)


_SAFE = re.compile(r"[\w.~:/ -]*", re.ASCII)


def encoded(items: Iterable[tuple[str, str]]) -> str:
    """As `urlencode`; a value that needs no escape is much faster."""
    return "&".join([f"{_quoted(name)}={_quoted(value)}" for name, value in items])


@lru_cache(maxsize=2_048)
def _quoted(text: str) -> str:
    """The links of a page have most values in common."""
    return text.replace(" ", "+") if _SAFE.fullmatch(text) else quote_plus(text)


def address(page: str, query: Query | None = None, /, **values: Value) -> str:
    """The address of a page of ours; empty values are left out."""
    if query is None:
        items = [(name, str(value)) for name, value in values.items() if value not in (None, "")]
    else:
        items = list(query.replaced(values).items)
    return f"/{page}?{encoded(items)}" if items else f"/{page}"

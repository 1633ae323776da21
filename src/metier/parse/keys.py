"""Keys in the spec's spelling, whichever of the three spellings the author used."""

from collections.abc import Mapping
from typing import Any

from metier.core.names import loose_key
from metier.values.checks import Field
from metier.values.fields import spellings
from metier.values.files import KeyPath, Matter
from metier.values.outcomes import Issue


class Respelling:
    """Renames the keys of one document and keeps their positions."""

    def __init__(self, matter: Matter, path: str) -> None:
        self.issues: list[Issue] = []
        self._matter = matter
        self._path = path
        self._written: dict[KeyPath, str] = {}
        self._moved: dict[KeyPath, KeyPath] = {}

    def mapping(
        self, data: Mapping[str, Any], fields: Mapping[str, Field], at: KeyPath = ()
    ) -> dict[str, Any]:
        """`data` with known keys in our spelling; the first of two spellings counts."""
        known = _known.get(id(fields)) or _known.setdefault(id(fields), spellings(fields))
        out: dict[str, Any] = {}
        for key, value in data.items():
            is_known = key in fields or not isinstance(key, str)
            name = key if is_known else known.get(loose_key(key), key)
            if name in out:
                self.twice(self._written.get((*at, name), name), key, (*at, key))
                continue
            if name != key:
                self._written[*at, name] = key
            out[name] = self._value(value, fields.get(name), (*at, name))
        return out

    def position(self, path: KeyPath) -> tuple[int, int]:
        """Line and column of a value that is named in our spelling."""
        for end in range(len(path), 0, -1):
            if path[:end] in self._moved:
                path = self._moved[path[:end]] + path[end:]
                break
        steps = (self._written.get(path[: end + 1], step) for end, step in enumerate(path))
        return self._matter.position(tuple(steps))

    def moved(self, now: KeyPath, before: KeyPath) -> None:
        """Note that the value at `now` was written at `before`."""
        self._moved[now] = before

    def matter(self, data: dict[str, Any]) -> Matter:
        """The document's matter with renamed keys."""
        return self._matter._replace(data=data, position=self.position)

    def _value(self, value: Any, field: Field | None, at: KeyPath) -> Any:
        if field is None:
            return value
        if field.fields is not None and isinstance(value, dict):
            return self.mapping(value, field.fields, at)
        if field.items is not None and isinstance(value, list):
            return [
                self._value(item, field.items, (*at, number)) for number, item in enumerate(value)
            ]
        return value

    def twice(self, first: str, second: str, at: KeyPath) -> None:
        """Report a key that was written in two spellings."""
        line, column = self._matter.position(at)
        message = f"'{first}' and '{second}' are one key; the first one is used"
        self.issues.append(
            Issue("FM105", message, self._path, line, column, "remove one of the two")
        )


_known: dict[int, dict[str, str]] = {}
"""`spellings` of the fixed tables, by their `id`."""

"""JSON values: copies of bounded size, immutable values, and schemas."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, NoReturn

from metier.core.arguments import described
from metier.core.bounded_patterns import check_pattern, without_unbounded
from metier.errors import UsageError

MOST_PROBLEMS = 20
_BEGINNING, _END = 90, 60
"""Characters of a problem that are shown."""
DEEPEST = 100
"""Nested lists and mappings."""
_MOST_DIGITS = 4_000
"""Python refuses to read or write longer integers as text."""
_MOST_BITS = int(_MOST_DIGITS * math.log2(10))
_LONGEST_ESCAPE = 6
"""Bytes of JSON that one byte of text may need: `\\u001f`."""
_LONGEST_KEY = 100


class NotJsonError(Exception):
    """What is wrong with a value, and where in it."""

    def __init__(self, what: str, *, too_large: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.where = ""
        self.too_large = too_large

    def described(self, root: str) -> str:
        if not self.too_large:
            return f"{root}{self.where}: {self.what}"
        passed = f"; the limit is passed at {root}{self.where}" if self.where else ""
        return f"{root}: {self.what}{passed}"


def _no_other(value: Any) -> NoReturn:
    raise NotJsonError(f"{described(value)} is not a JSON value")


def json_copy(value: Any, most_bytes: int, *, converted: Callable[[Any], Any] = _no_other) -> Any:
    """A copy in plain JSON types. Raises `NotJsonError`, also if it is too large or deep.

    `converted` gives the JSON value of an object of another type, or raises `NotJsonError`.
    """
    if type(value) is dict and not value:
        return {}
    copier = _Copier(most_bytes, converted)
    copied = copier.copy(value, 0)
    if copier.used * _LONGEST_ESCAPE > most_bytes and _size(copied) > most_bytes:
        raise copier.too_large()
    return copied


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


class _Copier:
    """Copies a value and counts its bytes."""

    __slots__ = ("converted", "most", "used")

    def __init__(self, most: int, converted: Callable[[Any], Any]) -> None:
        self.most = most
        self.converted = converted
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
        return self.copy(self.converted(value), depth + 1)

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
                raise NotJsonError(
                    "contains half a surrogate pair, which is not valid text"
                ) from None
        return text

    def _number(self, value: int | float) -> int | float:
        self._count(1)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise NotJsonError(f"{float.__repr__(value)} is not a JSON number")
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
                    raise NotJsonError(f"the key is a {type(key).__name__}, not a string")
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


# Schemas


class Schema:
    """A compiled JSON Schema of type object; references are not fetched. Raises `UsageError`."""

    def __init__(self, data: Mapping[str, Any], *, bounded: bool = False) -> None:
        """With `bounded`, patterns that could take long are not checked."""
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend, validator_for
        from referencing import Registry  # comes with jsonschema

        self.data = {"type": "object", **thaw(data)} if isinstance(data, dict) else {}
        if self.data.get("type") != "object":
            raise UsageError("its schema is not a JSON Schema of type object")
        kind = validator_for(self.data, default=Draft202012Validator)
        try:
            kind.check_schema(self.data)
        except Exception as error:  # a schema that refers to itself in odd ways raises anything
            raise UsageError(f"its schema is not valid: {_first_line(error)}") from None
        checked = self.data
        if bounded:
            kind = extend(kind, {"pattern": check_pattern})  # type: ignore[no-untyped-call]  # theirs
            checked = without_unbounded(self.data)
        self._validator = kind(checked, registry=Registry())
        self._takes_nothing = not self._found({})

    def problems(self, args: Mapping[str, Any]) -> list[str]:
        """The first problems, each with its path."""
        if not args and self._takes_nothing:
            return []
        return self._found(args)

    def _found(self, args: Mapping[str, Any]) -> list[str]:
        try:
            errors = list(islice(self._validator.iter_errors(args), MOST_PROBLEMS + 1))
        except Exception as error:  # a reference that leads nowhere
            return [f"arguments: the tool's schema cannot be used: {_first_line(error)}"]
        return listed((error.absolute_path, error.message) for error in errors)


def listed(problems: Iterable[tuple[Iterable[str | int], str]]) -> list[str]:
    """Problems with their paths, as texts."""
    texts = [f"{_path(keys)}: {_short(what)}" for keys, what in problems]
    return texts if len(texts) <= MOST_PROBLEMS else [*texts[:MOST_PROBLEMS], "and more"]


def _path(keys: Iterable[str | int]) -> str:
    steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "arguments" + "".join(steps)


def _short(text: str) -> str:
    return text if len(text) <= _BEGINNING + _END else f"{text[:_BEGINNING]}…{text[-_END:]}"


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return _short(text.splitlines()[0] if text else type(error).__name__)


# Immutable values


def freeze(value: Any) -> Any:
    """An immutable deep copy of `value`."""
    if isinstance(value, dict):
        return FrozenDict({key: freeze(item) for key, item in value.items()}) if value else _EMPTY
    if isinstance(value, list | tuple):
        return FrozenList(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """A mutable deep copy of `value`."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


def _reject(self: Any, *_args: Any, **_kwargs: Any) -> NoReturn:
    raise TypeError(f"a {type(self).__name__} is immutable; copy it first")


class FrozenDict(dict[str, Any]):
    """Equal to, and serialized like, an ordinary dict."""

    __setitem__ = __delitem__ = __ior__ = _reject
    clear = pop = popitem = setdefault = update = _reject

    def __deepcopy__(self, _memo: Any) -> Any:
        return thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


_EMPTY = FrozenDict()


class FrozenList(list[Any]):
    """Equal to, and serialized like, an ordinary list."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _reject
    append = extend = insert = pop = remove = clear = sort = reverse = _reject

    def __deepcopy__(self, _memo: Any) -> Any:
        return thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)

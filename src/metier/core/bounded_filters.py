"""Filters, tests and string methods of Jinja that count what they do and bound what they make."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

from jinja2 import Environment, pass_environment
from jinja2.filters import ignore_case, make_attrgetter
from jinja2.sandbox import SandboxedEscapeFormatter, SandboxedFormatter
from markupsafe import Markup

from metier.core.template_work import CONTAINERS, Work, check_length, crowded, current

# Strings


TEXT_METHODS = frozenset({
    "capitalize", "casefold", "center", "count", "endswith", "expandtabs", "find", "format",
    "format_map", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier",
    "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "join", "ljust",
    "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex",
    "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
    "swapcase", "title", "upper", "zfill",
})  # fmt: skip
"""String methods that a template may call."""
_SEARCHES = {"count", "find", "index", "partition", "replace", "split"}
_SLOW_SEARCHES = {"lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip"}
"""These compare the whole argument at every position."""
_FIELD = 5
"""Work to fill one field of a format."""
_LONGEST_ESCAPE = 80
"""Most characters of one value, as `Work.weight` counts them."""


def check_numbers(values: Iterable[Any]) -> None:
    """Raise `OverflowError` for a number that is too large as a length."""
    for one in values:
        if isinstance(one, int):
            check_length(one)


def check_method(
    work: Work, text: str, name: str, args: Sequence[Any], more: Mapping[str, Any]
) -> None:
    """Count the work of a string method. Raises if the result is too long."""
    work.read(text)
    check_numbers((*args, *more.values()))
    first = args[0] if args else more.get("sep")
    if name in _SEARCHES and isinstance(first, str):
        work.search(text, first)
    elif name in _SLOW_SEARCHES and isinstance(first, str):
        work.search_everywhere(text, first)
    if name == "replace" and len(args) > 1:
        check_replaced(text, args[0], args[1])
    elif name == "join" and args:
        check_joined(text, args[0])
    elif name == "expandtabs":
        width = more.get("tabsize", first)
        check_length(len(text) + text.count("\t") * (8 if width is None else width))


def check_replaced(text: str, old: str, new: str) -> None:
    check_length(len(text) + text.count(old) * (len(new) - len(old)))


def check_joined(between: str, parts: Iterable[Any]) -> None:
    size = 0
    for one in parts:
        size += len(between) + (len(one) if isinstance(one, str) else 0)
        check_length(size - len(between))


# Places that `%` fills

_PLACE = re.compile(r"%(?:\(([^()]*)\))?[#0\- +]*(\*|[0-9]*)(?:\.(\*|[0-9]*))?[hlL]?(.)", re.DOTALL)
"""Key, width, precision and conversion of a field."""


def check_percent(work: Work, text: str, values: Any) -> None:
    """Count the work of `text % values`. Raises if the result is too long."""
    work.read(text)
    work.read(values)
    given = values if isinstance(values, tuple) else (values,)
    size = len(text)
    for place in _PLACE.finditer(text):
        work.spend(_FIELD)
        key, width, precision, kind = place.groups()
        if kind == "(":
            raise ValueError("a key in a format cannot have brackets")
        size += _room(width, given) + _room(precision, given)
        if key is not None and isinstance(values, Mapping):
            size += _longest(work, values.get(key))
        check_length(size)


def _room(said: str | None, values: tuple[Any, ...]) -> int:
    """The length that a width or precision demands; `*` takes it from the values."""
    if said == "*":
        return max((one for one in values if isinstance(one, int)), default=0)
    return int(said) if said else 0


def _longest(work: Work, value: Any) -> int:
    return len(value) if isinstance(value, str) else work.weight(value) * _LONGEST_ESCAPE


# Fields that `format` fills


class _Formatter(SandboxedFormatter):
    """Formats fields one by one, up to the length limit."""

    def __init__(self, environment: Environment, work: Work, **kwargs: Any) -> None:
        super().__init__(environment, **kwargs)
        self._work = work
        self._size = 0

    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, str]:
        self._work.spend(_FIELD + len(field_name))
        return super().get_field(field_name, args, kwargs)

    def convert_field(self, value: Any, conversion: Any) -> Any:
        self._work.read(value)
        return super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        check_length(sum(int(one) for one in re.findall("[0-9]+", format_spec)))
        made: str = super().format_field(value, format_spec)
        self._size += len(made)
        check_length(self._size)
        return made


class _EscapingFormatter(_Formatter, SandboxedEscapeFormatter):
    """The same for `Markup`."""


def filled(
    environment: Environment, work: Work, text: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> str:
    """`text.format(*args, **kwargs)`"""
    work.read(text)
    if isinstance(text, Markup):
        escaped = _EscapingFormatter(environment, work, escape=text.escape)
        return Markup(escaped.vformat(text, args, kwargs))
    return _Formatter(environment, work).vformat(text, args, kwargs)


# Filters


Function = Callable[..., Any]

TURN = "turn of a loop"
"""A filter that counts loop conditions; templates cannot write this name."""
_REMOVED = ("batch", "slice", "wordwrap", "urlize", "xmlattr", "pprint")
"""Filters whose output can be much larger than their input."""
_QUICK = {"attr", "count", "d", "default", "first", "last", "length", "random"}
"""Filters of constant cost."""
_COMPARING = {
    "==": "eq", "eq": "eq", "equalto": "eq", "!=": "ne", "ne": "ne",
    ">": "gt", "gt": "gt", "greaterthan": "gt", ">=": "gteq", "ge": "gteq",
    "<": "lt", "lt": "lt", "lessthan": "lt", "<=": "lteq", "le": "lteq", "in": "in",
}  # fmt: skip
"""Test → operator."""
_READING = ("lower", "upper")
"""Tests of linear cost."""
_COUNTED: tuple[type[Any], ...] = (*CONTAINERS, range)
_FILTER = 5
_MOST_DIGITS = 300


def bounded_filters(given: Mapping[str, Any]) -> dict[str, Function]:
    own: dict[str, Function] = {
        "center": _centered, "format": _formatted, "join": _joined, "replace": _replaced,
        "sum": _summed, "unique": _unique,
    }  # fmt: skip
    known: dict[str, Any] = {**given, **own}
    return {TURN: _turn} | {
        name: _quick(one) if name in _QUICK else _bounded(one, _CHECKS.get(name))
        for name, one in known.items()
        if name not in _REMOVED
    }


def bounded_tests(given: Mapping[str, Any]) -> dict[str, Function]:
    comparing = {name: _comparing(operator) for name, operator in _COMPARING.items()}
    reading = {name: _reading(given[name]) for name in _READING}
    return {**given, **comparing, **reading}


def _quick(given: Function) -> Function:
    @wraps(given)
    def counted(*args: Any, **kwargs: Any) -> Any:
        current().spend(_FILTER + len(args))
        return given(*args, **kwargs)

    return counted


def _bounded(given: Function, check: Function | None) -> Function:
    """A filter that counts its input and output; `check` runs first."""
    first = 1 if hasattr(given, "jinja_pass_arg") else 0

    @wraps(given)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        work = current()
        work.spend(_FILTER + len(args) + len(kwargs))
        for one in (*args[first:], *kwargs.values()):
            _go_through(work, one)
        if check is not None:
            check(work, *args[first:], **kwargs)
        made = given(*args, **kwargs)
        if hasattr(made, "__next__"):
            return _one_by_one(work, made)
        return work.made_anew(made)

    return bounded


def _go_through(work: Work, value: Any) -> None:
    work.read(value)
    if isinstance(value, _COUNTED):
        work.spend(len(value))


def _one_by_one(work: Work, items: Iterator[Any]) -> Iterator[Any]:
    for one in items:
        work.spend(1)
        yield one


def _turn(value: Any, much: int) -> Any:
    current().spend(much)
    return value


def _comparing(operator: str) -> Function:
    def compared(value: Any, other: Any) -> bool:
        return current().compared(value, operator, other)

    return compared


def _reading(given: Function) -> Function:
    def read(value: Any) -> Any:
        return given(current().read(value))

    return read


# What is counted or refused before a filter begins


def _check_indent(_work: Work, text: Any, width: Any = 4, *_args: Any, **_kwargs: Any) -> None:
    width = len(width) if isinstance(width, str) else width
    check_length(len(text) + (1 + len(text.splitlines())) * width)


def _check_json(work: Work, value: Any, indent: Any = None) -> None:
    width = len(indent) if isinstance(indent, str) else indent or 0
    check_length(work.weight(value) * max(1, work.depth(value)) * width)


def _check_round(_work: Work, _value: Any, precision: Any = 0, *_args: Any, **_kwargs: Any) -> None:
    if isinstance(precision, int) and abs(precision) > _MOST_DIGITS:
        raise OverflowError("a precision is too large")


def _check_sorted(work: Work, value: Any, *_args: Any, **_kwargs: Any) -> None:
    """Sorting compares each item about log n times."""
    if isinstance(value, CONTAINERS):
        work.spend((len(value) + work.weight(value) // 4) * len(value).bit_length() // 2)


def _check_tags(work: Work, value: Any) -> None:
    """The text is copied once per tag."""
    text = str(value)
    work.spend(text.count("<") * len(text) // 1_000)


def _check_trimmed(work: Work, value: Any, chars: str | None = None) -> None:
    if isinstance(chars, str):
        work.search_everywhere(str(value), chars)


def _check_slow(work: Work, value: Any) -> None:
    """Each character is handled by Python code."""
    work.spend(len(value) if isinstance(value, str) else work.weight(value) * 8)


_CHECKS: dict[str, Function] = {
    "dictsort": _check_sorted,
    "groupby": _check_sorted,
    "indent": _check_indent,
    "round": _check_round,
    "sort": _check_sorted,
    "striptags": _check_tags,
    "title": _check_slow,
    "tojson": _check_json,
    "trim": _check_trimmed,
    "urlencode": _check_slow,
    "wordcount": _check_slow,
}


# Filters that look before they make anything


def _centered(text: Any, width: int = 80) -> str:
    check_numbers((width,))
    return str(text).center(width)


def _formatted(text: Any, *args: Any, **kwargs: Any) -> str:
    check_percent(current(), str(text), kwargs or args)
    return str(str(text) % (kwargs or args))


@pass_environment
def _joined(
    environment: Any, parts: Iterable[Any], d: str = "", attribute: str | int | None = None
) -> str:
    part = make_attrgetter(environment, attribute)
    texts: list[str] = []
    size = 0
    for one in parts:
        texts.append(str(part(one)))
        size += len(d) + len(texts[-1])
        check_length(size - len(d))
    return d.join(texts)


def _replaced(text: Any, old: str, new: str, count: int = -1) -> str:
    current().search(str(text), old)
    check_replaced(str(text), old, new)
    return str(text).replace(old, new, count)


@pass_environment
def _summed(
    environment: Any, values: Iterable[Any], attribute: str | int | None = None, start: Any = 0
) -> Any:
    part = make_attrgetter(environment, attribute)
    total = start
    for one in values:
        total = environment.call_binop(None, "+", total, part(one))
    return total


@pass_environment
def _unique(
    environment: Any,
    values: Iterable[Any],
    case_sensitive: bool = False,
    attribute: str | int | None = None,
) -> Iterator[Any]:
    work = current()
    part = make_attrgetter(environment, attribute, None if case_sensitive else ignore_case)
    seen: set[Any] = set()
    for one in values:
        key = part(one)
        if not isinstance(key, str):
            work.read(key)
            work.spend(crowded(len(seen)))
        if key not in seen:
            seen.add(key)
            yield one

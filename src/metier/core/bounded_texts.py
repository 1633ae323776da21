"""How long the texts become that templates make: known before they are made."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jinja2 import Environment
from jinja2.sandbox import SandboxedEscapeFormatter, SandboxedFormatter
from markupsafe import Markup

from metier.core.template_work import Work, check_length

TEXT_METHODS = frozenset({
    "capitalize", "casefold", "center", "count", "endswith", "expandtabs", "find", "format",
    "format_map", "index", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier",
    "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "join", "ljust",
    "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex",
    "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
    "swapcase", "title", "upper", "zfill",
})  # fmt: skip
"""Methods of texts that a template may call."""
_SEARCHES = {"count", "find", "index", "partition", "replace", "split"}
_SLOW_SEARCHES = {"lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip"}
"""These compare every place of the text with all that they look for."""
_FIELD = 5
"""Work that it takes to fill one place of a text."""
_LONGEST_ESCAPE = 80
"""Characters that one value, as `Work.weight` counts them, takes at most in a text."""


def check_numbers(values: Iterable[Any]) -> None:
    """Raise `OverflowError` when a text would be too long that is as long as one of these."""
    for one in values:
        if isinstance(one, int):
            check_length(one)


def check_method(
    work: Work, text: str, name: str, args: Sequence[Any], more: Mapping[str, Any]
) -> None:
    """Count what a method of a text will do. Raises when its answer would be too long."""
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
"""The key, the width, the precision and the kind of one place."""


def check_percent(work: Work, text: str, values: Any) -> None:
    """Count what `text % values` will do. Raises when it would be too long."""
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
    """The characters that a width or a precision asks for; `*` takes them from the values."""
    if said == "*":
        return max((one for one in values if isinstance(one, int)), default=0)
    return int(said) if said else 0


def _longest(work: Work, value: Any) -> int:
    """At most how long the text of a value is."""
    return len(value) if isinstance(value, str) else work.weight(value) * _LONGEST_ESCAPE


# Places that `format` fills


class _Places(SandboxedFormatter):
    """Fills the places of a text one by one, as long as it does not become too long."""

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


class _EscapedPlaces(_Places, SandboxedEscapeFormatter):
    """The same for a text that is marked as safe."""


def filled(
    environment: Environment,
    work: Work,
    text: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> str:
    """What `text.format(*args, **kwargs)` gives."""
    work.read(text)
    if isinstance(text, Markup):
        escaped = _EscapedPlaces(environment, work, escape=text.escape)
        return Markup(escaped.vformat(text, args, kwargs))
    return _Places(environment, work).vformat(text, args, kwargs)

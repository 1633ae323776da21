"""A sandboxed Jinja environment in which no expression can fill the memory."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from string import Formatter
from typing import Any

from jinja2 import ChainableUndefined, StrictUndefined, nodes, pass_environment
from jinja2.compiler import CodeGenerator, Frame
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST = 1_000_000
"""Characters that a rendered text, or a text made in an expression, may have."""
_LARGEST_POWER = 10_000
MOST_WORK = 1_000_000
"""Turns of loops, calls, and items that filters go through, in one rendering."""
_CHARACTERS_AS_ONE = 1_000
_CALL = 20
"""A call takes as long as so many turns."""
_COUNTED = "counted"
_REMOVED_FILTERS = ("batch", "slice", "wordwrap", "urlize", "xmlattr", "pprint")
"""Small arguments make very much of little in these."""
_REMOVED_GLOBALS = ("lipsum", "cycler", "joiner")


class Undefined(ChainableUndefined, StrictUndefined):
    """What is not there: it can be asked for and given a default, but not used."""


class _Work:
    """What one rendering may still do."""

    def __init__(self) -> None:
        self.left = MOST_WORK

    def spend(self, much: int) -> None:
        self.left -= much
        if self.left < 0:
            raise OverflowError("it goes on for too long")


_work: ContextVar[_Work] = ContextVar("work")


@contextmanager
def bounded_work() -> Iterator[None]:
    """What is rendered in the block, all together, does no more than `MOST_WORK`."""
    before = _work.set(_Work())
    try:
        yield
    finally:
        _work.reset(before)


def _as_shown(value: Any) -> Any:
    """What stands in a text for a value: JSON for mappings and lists, which everybody can read."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value


class _Generator(CodeGenerator):
    """Has texts joined by `~` through the environment."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.joined((")
        for one in node.nodes:
            self.visit(one, frame)
            self.write(", ")
        self.write("))")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Keys of a mapping come before its methods; what would be too large is an error."""

    code_generator_class = _Generator
    intercepted_binops = frozenset(["*", "**", "%", "+"])

    def __init__(self) -> None:
        super().__init__(undefined=Undefined, keep_trailing_newline=True, finalize=_as_shown)
        for name in _REMOVED_FILTERS:
            del self.filters[name]
        for name in _REMOVED_GLOBALS:
            del self.globals[name]
        own = {
            "center": _centered, "format": _formatted, "join": _joined, "replace": _replaced,
        }  # fmt: skip
        known = {**self.filters, **own}
        self.filters = {name: _bounded(name, one) for name, one in known.items()}
        self.filters[_COUNTED] = _counted

    def _generate(
        self,
        source: nodes.Template,
        name: str | None,
        filename: str | None,
        defer_init: bool = False,
    ) -> str:
        for loop in source.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, _COUNTED, [], [], None, None, lineno=loop.lineno)
        return super()._generate(source, name, filename, defer_init)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def joined(self, parts: Iterable[Any]) -> str:
        """What `~` gives."""
        texts = [str(_as_shown(one)) for one in parts]
        _check(sum(map(len, texts)))
        return "".join(texts)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and (abs(left) > _LARGEST_POWER or abs(right) > _LARGEST_POWER):
            raise OverflowError("a power is too large")
        if operator == "%" and isinstance(left, str):
            _check_percent(left, right if isinstance(right, tuple) else (right,))
        if operator == "+" and hasattr(left, "__len__") and hasattr(right, "__len__"):
            _check(len(left) + len(right))
        for text, times in ((left, right), (right, left)) if operator == "*" else ():
            if hasattr(text, "__len__"):
                _check(len(text) * times)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        _spend(_CALL, *args)
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, str):
            _check_numbers((*args, *kwargs.values()))
            _check(_size(owner, obj.__name__, args))
        return super().call(context, obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None
        format_text: Callable[..., str] = wrapped

        def checked(*args: Any, **kwargs: Any) -> str:
            _check_format(value.__self__, (*args, *kwargs.values()))
            return format_text(*args, **kwargs)

        return checked


def _check(size: int) -> None:
    if size > LONGEST:
        raise OverflowError("a text would be too long")


def _check_numbers(values: Iterable[Any]) -> None:
    for one in values:
        if isinstance(one, int):
            _check(one)


def _check_percent(text: str, values: Iterable[Any]) -> None:
    """Raise `OverflowError` when `text % values` would be very long by its widths."""
    widths = [width for both in _PERCENT.findall(text) for width in both]
    _check_numbers(int(one) for one in widths if one.isdecimal())
    if "*" in widths:
        _check_numbers(values)


_PERCENT = re.compile(r"%(?:\([^)]*\))?[#0\- +]*(\*|[0-9]*)(?:\.(\*|[0-9]*))?")
"""The width and the precision of each place in a text that `%` fills."""


def _check_format(text: str, values: Iterable[Any]) -> None:
    """The same for `text.format(values)`."""
    for _, _, spec, _ in Formatter().parse(text):
        _check_numbers(int(one) for one in re.findall(r"[0-9]+", spec or ""))
        if "{" in (spec or ""):
            _check_numbers(values)


def _size(text: str, method: str, args: tuple[Any, ...]) -> int:
    """At least how long the answer of a method of a text will be."""
    if method == "replace" and len(args) > 1:
        return len(text) + text.count(args[0]) * len(args[1])
    if method == "join" and args:
        return _joined_size(text, args[0])
    if method == "expandtabs":
        return len(text) + text.count("\t") * (args[0] if args else 8)
    if method == "translate":
        raise OverflowError("'translate' cannot be used here")
    return 0


def _joined_size(between: str, parts: Any) -> int:
    known = parts if hasattr(parts, "__len__") else ()
    return len(between) * len(known) + sum(len(one) for one in known if isinstance(one, str))


def _bounded(name: str, given: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that neither takes numbers nor gives texts that are too large."""

    @wraps(given)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if name in _TAKES_NUMBERS:
            first = 2 if hasattr(given, "jinja_pass_arg") else 1
            _check_numbers((*args[first:], *kwargs.values()))
        _spend(1, *args)
        made = given(*args, **kwargs)
        if isinstance(made, str):
            _check(len(made))
        return made

    return checked


def _spend(much: int, *values: Any) -> None:
    """Count a piece of work, and the values that it goes through."""
    work = _work.get(None)
    if work is None:
        return
    for one in values:
        if isinstance(one, str):
            much += len(one) // _CHARACTERS_AS_ONE
        elif isinstance(one, list | tuple | dict | range | set):
            much += len(one)
    work.spend(much)


def _counted(items: Any) -> Any:
    """What a loop goes over, each turn counted; its length stays known."""
    if isinstance(items, Undefined):
        return items
    _spend(0, items)
    if hasattr(items, "__len__"):
        return items
    return _one_by_one(items)


def _one_by_one(items: Iterable[Any]) -> Iterator[Any]:
    for one in items:
        _spend(1)
        yield one


_TAKES_NUMBERS = ("indent", "center", "tojson", "truncate")
"""Filters whose options, what comes after the value, say how long the text becomes."""


@pass_environment
def _joined(
    environment: "BoundedEnvironment",
    parts: Iterable[Any],
    d: str = "",
    attribute: str | int | None = None,
) -> str:
    values = parts if attribute is None else (environment.getitem(one, attribute) for one in parts)
    texts = [str(one) for one in values]
    _check(_joined_size(d, texts))
    return d.join(texts)


def _replaced(text: Any, old: str, new: str, count: int = -1) -> str:
    _check(_size(str(text), "replace", (old, new)))
    return str(text).replace(old, new, count)


def _centered(text: Any, width: int = 80) -> str:
    return str(text).center(width)


def _formatted(text: Any, *args: Any, **kwargs: Any) -> str:
    _check_percent(str(text), (*args, *kwargs.values()))
    return str(str(text) % (kwargs or args))

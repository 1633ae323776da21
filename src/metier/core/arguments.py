"""Arguments of public methods: a wrong one raises `UsageError`, which says what is expected."""

from collections.abc import Callable, Collection, Iterable
from functools import partial, wraps
from os import PathLike
from typing import Any, ParamSpec, TypeVar

from metier.core.nearest import did_you_mean, nearest_few
from metier.errors import UsageError

_LONGEST = 40
_P = ParamSpec("_P")
_T = TypeVar("_T")

Check = Callable[[str, Any], None]
"""Called with the name of an argument and what was given."""


def checked(**checks: Check) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Check the arguments with these names before a function is called."""

    def decorated(function: Callable[_P, _T]) -> Callable[_P, _T]:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]

        @wraps(function)
        def call(*args: _P.args, **more: _P.kwargs) -> _T:
            for name, given in (*zip(names, args, strict=False), *more.items()):
                if name in checks:
                    checks[name](name, given)
            return function(*args, **more)

        return call

    return decorated


def wrong_argument(name: str, wanted: str, given: object, hint: str = "") -> UsageError:
    """The error for an argument: `'task' must be a string, not None`."""
    return UsageError(f"'{name}' must be {wanted}, not {described(given)}", hint=hint)


def described(given: object) -> str:
    """What was given, in a few words: `the string 'abc'`, `a list`, `the class Agent`."""
    if given is None or isinstance(given, bool | int | float):
        return str(given)[:_LONGEST]
    if isinstance(given, str):
        shown = given if len(given) <= _LONGEST else f"{given[:_LONGEST]}…"
        return f"the string {shown!r}"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    kind = "function" if callable(given) and hasattr(given, "__name__") else type(given).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"


def check_text(name: str, given: object, hint: str = "") -> None:
    if not isinstance(given, str):
        raise wrong_argument(name, "a string", given, hint)


def check_optional_text(name: str, given: object, hint: str = "") -> None:
    if given is not None and not isinstance(given, str):
        raise wrong_argument(name, "a string or None", given, hint)


def check_texts(name: str, given: Any, example: str) -> None:
    """Raise `UsageError` unless it is a collection of texts; a single text is not.

    `example` is an entry, for the hint.
    """
    hint = f"{name}=[{given!r}]" if isinstance(given, str) and given else f"{name}=['{example}']"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise wrong_argument(name, "a list of strings", given, hint)
    for one in given if isinstance(given, Collection) else ():
        if not isinstance(one, str):
            message = f"'{name}' must be a list of strings; it contains {described(one)}"
            raise UsageError(message, hint=hint)


def check_count(name: str, given: object, least: int = 0) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise wrong_argument(name, f"a whole number of at least {least}", given)


def check_flag(name: str, given: object) -> None:
    if not isinstance(given, bool):
        raise wrong_argument(name, "True or False", given)


def check_choice(name: str, given: object, choices: Collection[str]) -> None:
    if given not in choices:
        hint = did_you_mean(given, choices) if isinstance(given, str) else ""
        raise wrong_argument(name, f"one of {', '.join(choices)}", given, hint)


def check_known(what: str, given: str, known: Collection[str], otherwise: str) -> None:
    """Raise `UsageError` unless there is a `what` of that name; `otherwise` is for when none is."""
    if given not in known:
        hint = nearest_few(given, known, what) if known else otherwise
        raise UsageError(f"there is no {what} '{given}'", hint=hint)


def check_listener(name: str, given: "Callable[..., Any] | None") -> None:
    """Raise `UsageError` unless it is a function that can be called without `await`, or None."""
    from inspect import iscoroutinefunction  # few commands need it

    if given is None:
        return
    if not callable(given):
        raise wrong_argument(name, "a function", given)
    if iscoroutinefunction(given) or iscoroutinefunction(type(given).__call__):
        hint = "async with catalog.stream(…) as stream: async for event in stream: …"
        raise UsageError(f"'{name}' must not be async: nothing awaits it", hint=hint)


def check_number(name: str, given: Any, least: float, most: float) -> None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not least <= given <= most:
        raise wrong_argument(name, f"a number from {least:g} to {most:g}", given)


def check_path(name: str, given: object) -> None:
    if not isinstance(given, str | PathLike):
        raise wrong_argument(name, "a path", given)


def check_list(name: str, given: Any, wanted: str) -> None:
    """Raise `UsageError` unless it is a collection of objects of the class `wanted`."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise wrong_argument(name, f"a list of {wanted}", given)
    for one in given if isinstance(given, list | tuple) else ():
        kind = type(one)
        if kind.__name__ != wanted and wanted not in (base.__name__ for base in kind.__mro__):
            message = f"'{name}' must be a list of {wanted}; it contains {described(one)}"
            raise UsageError(message)


# For `checked`


def choice(choices: Collection[str]) -> Check:
    return partial(check_choice, choices=choices)


def count(least: int) -> Check:
    return partial(check_count, least=least)


def number(least: float, most: float) -> Check:
    return partial(check_number, least=least, most=most)


def texts(example: str) -> Check:
    return partial(check_texts, example=example)


def list_of(wanted: str) -> Check:
    """`wanted` is the name of the class of the entries, which may take long to load."""
    return partial(check_list, wanted=wanted)


def optional(check: Check) -> Check:
    def call(name: str, given: object) -> None:
        if given is not None:
            check(name, given)

    return call


def instance_with(attribute: str, wanted: str) -> Check:
    """For an object whose class takes long to load."""

    def check(name: str, given: object) -> None:
        if isinstance(given, type) or not hasattr(given, attribute):
            raise wrong_argument(name, wanted, given)

    return check

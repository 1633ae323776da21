"""Arguments of public methods: a wrong one raises `UsageError`, which says what is expected."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from metier.core.nearest import did_you_mean
from metier.errors import UsageError

_LONGEST = 40


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
    """Raise `UsageError` unless it is a collection of texts; one text alone is none.

    `example` is an entry, for the hint.
    """
    hint = f"{name}=[{given!r}]" if isinstance(given, str) and given else f"{name}=['{example}']"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise wrong_argument(name, "a list of strings", given, hint)
    for one in given if isinstance(given, Collection) else ():
        if not isinstance(one, str):
            message = f"'{name}' must be a list of strings; {described(one)} is in it"
            raise UsageError(message, hint=hint)


def check_count(name: str, given: object, least: int = 0) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise wrong_argument(name, f"a whole number from {least} on", given)


def check_flag(name: str, given: object) -> None:
    if not isinstance(given, bool):
        raise wrong_argument(name, "True or False", given)


def check_choice(name: str, given: object, choices: Collection[str]) -> None:
    if given not in choices:
        hint = did_you_mean(given, choices) if isinstance(given, str) else ""
        raise wrong_argument(name, f"one of {', '.join(choices)}", given, hint)


def check_listener(name: str, given: "Callable[..., Any] | None") -> None:
    """Raise `UsageError` unless it is a function that can be called without `await`, or None."""
    from inspect import iscoroutinefunction  # few commands need it

    if given is None:
        return
    if not callable(given):
        raise wrong_argument(name, "a function", given)
    if iscoroutinefunction(given) or iscoroutinefunction(type(given).__call__):
        hint = "async for event in catalog.stream(…)"
        raise UsageError(f"'{name}' must not be async: nothing awaits it", hint=hint)

"""JSON by the interpreter's own C parts: the json module would load `re` and half of the rest."""

from __future__ import annotations

from _json import encode_basestring, make_scanner
from _json import encode_basestring_ascii as quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\n\r"
_ENDS = {"{": "}", "[": "]"}


class _Context:
    strict = False
    """Accept line ends in strings."""
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012  # the scanner's own

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError(f"{name} is not JSON")


def scan(text: str) -> Any:
    """Parse JSON. Raises `ValueError` without a message."""
    stripped = text.strip(_SPACE)
    if _ENDS.get(stripped[:1], stripped[-1:]) != stripped[-1:]:
        raise ValueError("not JSON")  # the scanner would load the json module to say so
    try:
        value, end = make_scanner(_Context)(stripped, 0)  # type: ignore[arg-type]  # has all it needs
    except (StopIteration, SystemError, RecursionError):
        raise ValueError("not JSON") from None
    if end != len(stripped):
        raise ValueError("something follows the JSON value")
    return value


def parse(text: str) -> Any:
    """Parse JSON. Raises `ValueError`."""
    try:
        return scan(text)
    except ValueError:
        from json import loads  # the scanner cannot say it without the json module

    try:
        return loads(text)
    except (ValueError, RecursionError) as error:
        from metier.core.unread import why_not_json

        raise ValueError(why_not_json(error, text)) from None


def quoted_short(text: str) -> str:
    """A JSON string that escapes no letters."""
    made = encode_basestring(text.encode(errors="replace").decode())
    for end in ("\x85", "\u2028", "\u2029"):
        made = made.replace(end, f"\\u{ord(end):04x}")
    return made


def dump(value: Any, quoted: Callable[[str], str] = quoted) -> str:
    """`value` as JSON on one line."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        parts = (f"{quoted(key)}: {dump(one, quoted)}" for key, one in value.items())
        return "{" + ", ".join(parts) + "}"
    return "[" + ", ".join(dump(one, quoted) for one in value) + "]"

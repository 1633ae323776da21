"""Readable reasons why JSON could not be read or written."""

import re
import sys

TOO_DEEP = "it is nested too deeply"
TOO_MANY_DIGITS = "a number with more digits than metier reads"


def why_not_json(error: Exception, text: str | bytes = "") -> str:
    """Explain an error of `json`."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if not has_too_many_digits(error):
        return str(error)
    line, column = locate_digits(text)
    return f"{TOO_MANY_DIGITS}: line {line} column {column}" if line else TOO_MANY_DIGITS


def has_too_many_digits(error: Exception) -> bool:
    return isinstance(error, ValueError) and "set_int_max_str_digits" in str(error)


def locate_digits(text: str | bytes) -> tuple[int, int]:
    """Line and column of the first number that is too long for Python; 0 if unknown."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    digits = f"[0-9]{{{sys.get_int_max_str_digits() + 1},}}"
    tokens = re.finditer(rf'"(?:[^"\\]|\\.)*+"?|(?P<digits>{digits})', text, re.DOTALL)
    start = next((token.start() for token in tokens if token["digits"]), -1)
    if start < 0:
        return 0, 0
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)

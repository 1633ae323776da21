"""Patterns that others wrote, where they cannot take long.

Python's `re` takes exponential time for some patterns. A pattern is used if its worst case is
small: no references, no groups that repeat, and few ways to match a short text.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

LONGEST_TEXT = 1_000
"""Characters of a text that a pattern is tried on."""
LONGEST_PATTERN = 500
_MOST_WAYS = 10_000
_TOKEN = re.compile(
    r"\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?[:=!<P][^)]{0,1})?|\)|\{\d{0,6}(?:,\d{0,6})?\}|[*+?]|[^\\]",
    re.DOTALL,
)
_OTHER_GROUPS = ("(?=", "(?!", "(?<", "(?P")


@cache
def is_bounded(pattern: str) -> bool:
    """Whether a pattern is valid, and fast for every text of up to `LONGEST_TEXT` characters."""
    if len(pattern) > LONGEST_PATTERN:
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    ways, before = 1, ""
    for token in _TOKEN.findall(pattern):
        if token.startswith(_OTHER_GROUPS) or re.fullmatch(r"\\[1-9]", token):
            return False
        repeats = _repeats(token)
        if before == ")" and (token in ("*", "+") or token.startswith("{")):
            return False
        ways *= repeats
        before = token
    return ways <= _MOST_WAYS


def _repeats(token: str) -> int:
    """In how many ways a quantifier can match; 1 for anything else."""
    if token in ("*", "+"):
        return LONGEST_TEXT
    if token == "?":
        return 2
    counts = re.fullmatch(r"\{(\d*)(,?)(\d*)\}", token)
    if counts is None or not counts[2]:
        return 1
    most = min(int(counts[3] or LONGEST_TEXT), LONGEST_TEXT)
    return max(1, most - int(counts[1] or 0) + 1)


def patterns_in(schema: Any) -> Iterator[str]:
    """Every pattern of a JSON Schema."""
    if isinstance(schema, list):
        for inner in schema:
            yield from patterns_in(inner)
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), dict):
            yield from schema["patternProperties"]
        for inner in schema.values():
            yield from patterns_in(inner)


def without_unbounded(schema: Any) -> Any:
    """A copy of a JSON Schema without patterns that could take long, or are for names."""
    if isinstance(schema, list):
        return [without_unbounded(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = set()
    if isinstance(schema.get("pattern"), str) and not is_bounded(schema["pattern"]):
        dropped.add("pattern")
    if isinstance(schema.get("patternProperties"), dict):
        dropped |= {"patternProperties", "additionalProperties", "unevaluatedProperties"}
    return {key: without_unbounded(inner) for key, inner in schema.items() if key not in dropped}


def check_pattern(_validator: Any, pattern: Any, text: Any, _schema: Any) -> Iterator[Any]:
    """The keyword `pattern`, for texts that are not long."""
    from jsonschema import ValidationError

    is_checked = isinstance(text, str) and len(text) <= LONGEST_TEXT
    if is_checked and is_bounded(pattern) and not re.search(pattern, text):
        yield ValidationError(f"{text!r} does not match {pattern!r}")

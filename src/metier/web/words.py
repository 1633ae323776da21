"""How pages write values: text, counts, times, and the tone of a badge."""

from datetime import UTC, datetime
from typing import Any

from metier.core.text import counted as counted
from metier.safety.escapes import visible

_TONES = {
    "good": ("active", "loads", "succeeded", "right", "whole", "fires", "trusted", "resolved"),
    "warn": (
        "warning",
        "shadowed",
        "cut",
        "pending",
        "running",
        "hidden",
        "no-text",
        "untrusted",
        "over-budget",
        "pending-decision",
    ),
    "bad": ("error", "excluded", "failed", "invisible", "wrong", "rollback_incomplete", "aborted"),
}
"""The tone of a badge → the words that have it."""


def shown(value: Any) -> Any:
    """Called with every value that a template prints, before it is escaped."""
    if type(value) is not str:
        return "" if value is None else value
    if value.isascii():
        return value if value.isprintable() else visible(value)
    return visible(value).encode("utf-8", "backslashreplace").decode()


def tone(word: object) -> str:
    return next((tone for tone, words in _TONES.items() if word in words), "")


def moment(seconds: float | None) -> str:
    """A time of day as people read it, in UTC."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def count(value: float) -> str:
    return f"{value:,}"


def cut(text: str, most: int = 200) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"

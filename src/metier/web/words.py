"""How pages write values: text, counts, times, and the tone of a badge."""

import json
import re
from datetime import UTC, datetime
from typing import Any

from metier.core.text import counted as counted
from metier.safety.escapes import escaped_json, visible
from metier.safety.hidden import JOINER, joins_emoji

_FILLING = re.compile("·{8,}")
_PYTHON = re.compile(r" ?\(Python: (?:[^()]|\([^()]*\))*\)")
_IN_BROWSER = (
    (re.compile("metier refresh"), "the button Refresh reads the documents again"),
    (re.compile("metier list (skills|abilities|cards|agents)"), r"the page Catalog lists all \1"),
    (re.compile("metier runs list"), "the page Runs lists all"),
    (re.compile("metier reports list"), "the page Stored reports lists all"),
    (re.compile("with -r, or --for SKILL|with -r"), "in the form"),
)
"""What hints say for a terminal → for a browser."""
_TONES = {
    "good": ("loads", "succeeded", "right", "whole", "fires", "trusted", "resolved"),
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
    "bad": (
        "error",
        "excluded",
        "failed",
        "invisible",
        "wrong",
        "rollback_incomplete",
        "aborted",
        "interrupted",
    ),
}
"""The tone of a badge → the words that have it."""


def shown(value: Any) -> Any:
    """Called with every value that a template prints, before it is escaped."""
    if type(value) is not str:
        return "" if value is None else value
    if value.isascii():
        return value if value.isprintable() else visible(value)
    text = _joined(value) if JOINER in value else visible(value)
    return text.encode("utf-8", "backslashreplace").decode()


def _joined(text: str) -> str:
    """As `visible`, but emoji that are joined to one picture stay joined."""
    first, *parts = text.split(JOINER)
    found, before = [visible(first)], first
    for part in parts:
        found += [JOINER if joins_emoji(before[-1:], part[:1]) else visible(JOINER), visible(part)]
        before = part
    return "".join(found)


def tone(word: object) -> str:
    return next((tone for tone, words in _TONES.items() if word in words), "")


def moment(seconds: float | None) -> str:
    """A time of day as people read it, in UTC."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def count(value: float) -> str:
    return f"{value:,}"


def percent(share: float) -> str:
    """`75%`, `83.3%`."""
    return f"{share:.1%}".replace(".0%", "%")


def in_browser(hint: str) -> str:
    """A hint with pages and buttons instead of the commands that they replace, without Python."""
    text = _PYTHON.sub("", hint)
    for wanted, instead in _IN_BROWSER:
        text = wanted.sub(instead, text)
    return text


def without_filling(text: str) -> str:
    """A listing's line without the dots that stand in for a text of the host's own."""
    return _FILLING.sub("…", text)


def cut(text: str, most: int = 200) -> str:
    """A text cut to this many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def duration(seconds: float | None) -> str:
    """`30 ms`, `2.3 s`, `1 min 5 s`, `2 h 3 min`."""
    if seconds is None:
        return ""
    if seconds < 0.9995:
        return f"{max(seconds, 0) * 1e3:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def dollars(cost: float | None) -> str:
    """Empty if no price is known."""
    if not cost:
        return ""
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


def as_text(value: Any) -> str:
    """Text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    return escaped_json(json.dumps(value, indent=2, ensure_ascii=False))

"""Raw values as typed values; what has another type becomes the default."""

from collections.abc import Mapping
from typing import Any

_NUMBERS = (int, float)


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def scalar_text_of(value: Any) -> str:
    """A text, or a number as it reads: `version: 2` is the text `2`."""
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return ""
    return str(value)


def texts_of(value: Any) -> tuple[str, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(entry for entry in entries if isinstance(entry, str))


def text_or_texts_of(value: Any) -> tuple[str, ...]:
    """The texts of a value that is one text or a list of them."""
    return (value,) if isinstance(value, str) else texts_of(value)


def integer_of(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def number_of(value: Any, default: float) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else default


def is_manual(data: Mapping[str, Any]) -> bool:
    """Whether only the user may start the skill."""
    switch = data.get("disable-model-invocation")
    return switch is not None and str(switch).lower() == "true"


def is_switched_off(data: Mapping[str, Any]) -> bool:
    """Whether a skill says `enabled: false` of itself."""
    return data.get("enabled") is False


def mapping_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def capability_names(value: Any) -> list[str | None]:
    """The names in a `capabilities` value, None for each entry that is not a name."""
    entries = value if isinstance(value, list) else [value]
    names = [
        entry.get("id") or entry.get("name") if isinstance(entry, dict) else entry
        for entry in entries
    ]
    return [name if isinstance(name, str) and name.strip() else None for name in names]

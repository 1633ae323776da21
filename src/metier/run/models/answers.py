"""Reading values out of what a model wrote."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

_FENCE = "```"


def value_of(text: str) -> Any:
    """The JSON value that a text is, within a Markdown fence or without; None when it is none."""
    try:
        return _parse(_inside_fence(text))
    except (ValueError, RecursionError):
        return None


def _inside_fence(text: str) -> str:
    """What stands within a Markdown fence; the text itself where it is in none."""
    opening, _, rest = text.strip().partition("\n")
    is_fenced = opening.rstrip().lower() in (_FENCE, f"{_FENCE}json") and rest.endswith(_FENCE)
    return rest.removesuffix(_FENCE).strip() if is_fenced else text


def arguments_of(args: str | Mapping[str, Any] | None) -> Mapping[str, Any] | str:
    """The arguments of a tool call as a mapping; the text itself when it is no JSON object."""
    if not isinstance(args, str):
        return args or {}
    if not args.strip():
        return {}
    try:
        value = _parse(args)
    except (ValueError, RecursionError):
        return args
    return value if isinstance(value, dict) else args


def _parse(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")

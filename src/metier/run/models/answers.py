"""Reading values out of what a model wrote."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL | re.IGNORECASE)


def value_of(text: str) -> Any:
    """The JSON value that a text is, within a Markdown fence or without; None when it is none."""
    fenced = _FENCED.fullmatch(text.strip())
    try:
        return _parse(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return None


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

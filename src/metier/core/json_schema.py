"""Check arguments against a JSON Schema."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from metier.core.frozen import thaw
from metier.errors import UsageError

MOST_PROBLEMS = 20
_BEGINNING, _END = 90, 60
"""Characters kept of a long message: it starts with the value and ends with the problem."""


class Schema:
    """A JSON Schema of type object; references outside it are not fetched.

    Raises `UsageError` if it is not valid.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import validator_for
        from referencing import Registry  # comes with jsonschema

        self.data = {"type": "object", **thaw(data)} if isinstance(data, dict) else {}
        if self.data.get("type") != "object":
            raise UsageError("its schema is not a JSON Schema of type object")
        kind = validator_for(self.data, default=Draft202012Validator)
        try:
            kind.check_schema(self.data)
        except Exception as error:  # a schema that refers to itself in odd ways raises anything
            raise UsageError(f"its schema is not valid: {_first_line(error)}") from None
        self._validator = kind(self.data, registry=Registry())
        self._accepts_nothing = not self._errors({})

    def problems(self, args: Mapping[str, Any]) -> list[str]:
        """What is invalid, with its path; at most `MOST_PROBLEMS`."""
        return [] if not args and self._accepts_nothing else self._errors(args)

    def _errors(self, args: Mapping[str, Any]) -> list[str]:
        try:
            errors = list(islice(self._validator.iter_errors(args), MOST_PROBLEMS + 1))
        except Exception as error:  # an unresolvable reference
            return [f"arguments: the tool's schema cannot be used: {_first_line(error)}"]
        return listed((error.absolute_path, error.message) for error in errors)


def listed(problems: Iterable[tuple[Iterable[str | int], str]]) -> list[str]:
    """A line for each (path, message)."""
    texts = [f"{_dotted(path)}: {_short(message)}" for path, message in problems]
    return texts if len(texts) <= MOST_PROBLEMS else [*texts[:MOST_PROBLEMS], "and more"]


def _dotted(path: Iterable[str | int]) -> str:
    keys = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return "arguments" + "".join(keys)


def _short(text: str) -> str:
    return text if len(text) <= _BEGINNING + _END else f"{text[:_BEGINNING]}…{text[-_END:]}"


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return _short(text.splitlines()[0] if text else type(error).__name__)

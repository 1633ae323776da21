"""Arguments against a JSON Schema."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from metier.core.frozen import thaw
from metier.errors import UsageError

MOST_PROBLEMS = 20
_BEGINNING, _END = 90, 60
"""Characters of one problem: it begins with the value and ends with what is wrong."""


class Schema:
    """A JSON Schema of type object, made ready once. Raises `UsageError` when it is none.

    What it refers to must be inside it: nothing is fetched.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import validator_for
        from referencing import Registry  # comes with jsonschema

        self.data = {"type": "object", **thaw(data)} if isinstance(data, dict) else {}
        if self.data.get("type") != "object":
            raise UsageError("its schema is no JSON Schema of type object")
        kind = validator_for(self.data, default=Draft202012Validator)
        try:
            kind.check_schema(self.data)
        except Exception as error:  # a schema that refers to itself in odd ways raises anything
            raise UsageError(f"its schema is not valid: {_first_line(error)}") from None
        self._validator = kind(self.data, registry=Registry())
        self._takes_nothing = not self._found({})

    def problems(self, args: Mapping[str, Any]) -> list[str]:
        """Everything that does not fit, each with its place; of very many the first."""
        if not args and self._takes_nothing:
            return []
        return self._found(args)

    def _found(self, args: Mapping[str, Any]) -> list[str]:
        try:
            errors = list(islice(self._validator.iter_errors(args), MOST_PROBLEMS + 1))
        except Exception as error:  # a reference that leads nowhere
            return [f"arguments: the tool's schema cannot be used: {_first_line(error)}"]
        return listed((error.absolute_path, error.message) for error in errors)


def listed(problems: Iterable[tuple[Iterable[str | int], str]]) -> list[str]:
    """Problems, each with the way to its place, as texts."""
    texts = [f"{_place(way)}: {_short(what)}" for way, what in problems]
    return texts if len(texts) <= MOST_PROBLEMS else [*texts[:MOST_PROBLEMS], "and more"]


def _place(way: Iterable[str | int]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in way)
    return "arguments" + "".join(steps)


def _short(text: str) -> str:
    return text if len(text) <= _BEGINNING + _END else f"{text[:_BEGINNING]}…{text[-_END:]}"


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return _short(text.splitlines()[0] if text else type(error).__name__)

"""The smallest JSON value that is valid under a schema."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from metier.core.json_values import thaw
from metier.errors import ModelError

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

MOST_PARTS = 2_000
_ALTERNATIVES = ("anyOf", "oneOf")
_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")


class _ImpossibleError(Exception):
    """This part of the schema has no value."""


def smallest_value(schema: Mapping[str, Any]) -> Any:
    """The shortest valid value among those that are built. Raises `ModelError` without any."""
    from jsonschema import Draft202012Validator  # only a model without a network needs it
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    root = thaw(dict(schema))
    try:
        Draft202012Validator.check_schema(root)
        return _Search(root, Draft202012Validator(root, registry=Registry())).smallest(root, ())
    except SchemaError as error:
        raise _error(f"the output schema is not valid: {error.message}") from None
    except (_ImpossibleError, Unresolvable, RecursionError, re.error):
        raise _error("the offline model finds no value for the output schema") from None


def _error(message: str) -> ModelError:
    return ModelError(" ".join(message.split()), code="MODEL_OUTPUT_SCHEMA")


class _Search:
    """Tries values from the leaves of a schema upwards."""

    def __init__(self, root: Any, validator: "Draft202012Validator") -> None:
        self.root = root
        self.validator = validator
        self.parts = 0

    def smallest(self, schema: Any, refs: tuple[str, ...]) -> Any:
        """Give the shortest valid value; `refs` are the references that lead here."""
        self.parts += 1
        if schema is False or self.parts > MOST_PARTS:
            raise _ImpossibleError
        if schema is True or not schema:
            return None
        check = self.validator.evolve(schema=schema)
        valid = [value for value in self.candidates(schema, refs) if check.is_valid(value)]
        if not valid:
            raise _ImpossibleError
        return min(valid, key=lambda value: len(json.dumps(value)))

    def candidates(self, schema: Mapping[str, Any], refs: tuple[str, ...]) -> Iterator[Any]:
        if "const" in schema:
            yield schema["const"]
        elif "enum" in schema:
            yield from schema["enum"]
        elif "$ref" in schema:
            yield from self.referred(schema, refs)
        elif any(key in schema for key in _ALTERNATIVES):
            yield from self.alternatives(schema, refs)
        else:
            for kind in _kinds(schema):
                with suppress(_ImpossibleError):
                    yield from self.of_kind(kind, schema, refs)

    def referred(self, schema: Mapping[str, Any], refs: tuple[str, ...]) -> Iterator[Any]:
        """Values of the referenced part; none if it needs itself."""
        ref = schema["$ref"]
        if ref not in refs:
            target = _target(self.root, ref)
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            yield from self.attempts([_joined(rest, target)], (*refs, ref))

    def alternatives(self, schema: Mapping[str, Any], refs: tuple[str, ...]) -> Iterator[Any]:
        rest = {key: value for key, value in schema.items() if key not in _ALTERNATIVES}
        branches = [branch for key in _ALTERNATIVES for branch in schema.get(key, ())]
        yield from self.attempts([_joined(rest, branch) for branch in branches], refs)

    def attempts(self, schemas: Iterable[Any], refs: tuple[str, ...]) -> Iterator[Any]:
        for schema in schemas:
            with suppress(_ImpossibleError):
                yield self.smallest(schema, refs)

    def of_kind(self, kind: str, schema: Mapping[str, Any], refs: tuple[str, ...]) -> Sequence[Any]:
        if kind == "object":
            properties = schema.get("properties", {})
            names = schema.get("required", ())
            return [{name: self.smallest(properties.get(name, True), refs) for name in names}]
        if kind == "array":
            return [self.array(schema, refs)]
        if kind == "string":
            return ["-" * min(int(schema.get("minLength", 0)), MOST_PARTS)]
        if kind in ("integer", "number"):
            return _numbers(schema, is_whole=kind == "integer")
        return [False, True] if kind == "boolean" else [None]

    def array(self, schema: Mapping[str, Any], refs: tuple[str, ...]) -> list[Any]:
        first = list(schema.get("prefixItems", ()))
        length = int(schema.get("minItems", 0))
        if length > MOST_PARTS:
            raise _ImpossibleError
        rest = [schema.get("items", True)] * max(length - len(first), 0)
        return [self.smallest(item, refs) for item in [*first, *rest][:length]]


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    """The types that a value may have."""
    kind = schema.get("type")
    if kind is not None:
        return [kind] if isinstance(kind, str) else list(kind)
    if "properties" in schema or "required" in schema:
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema else ["null"]


def _numbers(schema: Mapping[str, Any], *, is_whole: bool) -> list[int | float]:
    """Zero, and the numbers at, beside and between the bounds."""
    bounds = [schema[key] for key in _BOUNDS if key in schema]
    found = [0, *(bound + step for bound in bounds for step in (0, -1, 1))]
    if bounds:
        found.append(sum(bounds) / len(bounds))
    if is_whole:
        return [rounded(number) for number in found for rounded in (math.floor, math.ceil)]
    return found


def _joined(rest: Mapping[str, Any], branch: Any) -> Any:
    return {**rest, **branch} if isinstance(branch, dict) else (rest if branch else False)


def _target(root: Any, ref: str) -> Any:
    """The target of a local reference (`#/$defs/name`)."""
    if not ref.startswith("#"):
        raise _ImpossibleError
    found = root
    for name in ref.removeprefix("#").split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or key not in found:
            raise _ImpossibleError
        found = found[key]
    return found

"""The profile format as a JSON Schema, for editors: made from the same tables as the checks."""

from collections.abc import Mapping
from typing import Any

from metier.values.agents import NESTED_STEPS
from metier.values.checks import Field, texts
from metier.values.fields import AGENT, SELECTION, STEP, STEP_CONFIG
from profile_texts import OF_AGENT, OF_STEP

PATTERNS = {
    "id": "^[a-z][a-z0-9-]*$",
    "kebab": "^[a-z0-9]+(-[a-z0-9]+)*$",
    "version": r"^(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}$",
    "date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "step-id": "^[A-Za-z][A-Za-z0-9_-]*$",
    "model": r"^[A-Za-z0-9_-]+:\S+$",
}
_TYPES = {
    "text": "string",
    "integer": "integer",
    "number": "number",
    "flag": "boolean",
    "list": "array",
    "mapping": "object",
}
_STEP = {"$ref": "#/$defs/step"}
_STEPS = {"type": "array", "items": _STEP}


def profile_schema() -> dict[str, Any]:
    """A schema that takes every profile in the spec's own spelling that metier takes."""
    schema = _object({**AGENT, **SELECTION, "coreAbilities": texts(50, 100)})
    properties = schema["properties"]
    properties["name"] = properties["agentId"]
    core = properties["abilities"]["properties"]["core"]
    properties["abilities"] = {"anyOf": [properties["abilities"], core]}
    properties["workflow"] = {**_STEPS, "maxItems": AGENT["workflow"].longest}
    required = [key for key in schema.pop("required") if key != "agentId"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "metier agent profile",
        **_described(schema, OF_AGENT),
        "required": required,
        "anyOf": [{"required": ["agentId"]}, {"required": ["name"]}],
        "$defs": {"step": _described(_step(), OF_STEP)},
    }


def _described(schema: Any, texts: Mapping[str, str], above: str = "") -> Any:
    """The schema with a description for every property in it."""
    if isinstance(schema, list):
        return [_described(one, texts, above) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            made[key] = {
                name: {
                    "description": texts.get(f"{above}.{name}") or texts[name],
                    **_described(inner, texts, name),
                }
                for name, inner in value.items()
            }
        else:
            made[key] = value if key == "if" else _described(value, texts, above)
    return made


def _step() -> dict[str, Any]:
    schema = _object(STEP)
    schema["properties"]["compensate"] = _STEP
    by_type = []
    for kind, fields in STEP_CONFIG.items():
        config = _object(fields)
        for key in NESTED_STEPS:
            if key in config["properties"]:
                config["properties"][key] = _STEPS
        by_type.append(
            {
                "if": {"properties": {"type": {"const": kind}}, "required": ["type"]},
                "then": {"properties": {"config": config}},
            }
        )
    return {**schema, "allOf": by_type}


def _object(fields: Mapping[str, Field]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: _of(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def _of(field: Field) -> dict[str, Any]:
    if field.type == "any":
        return {}
    if field.type == "mapping" and field.fields is not None:
        return _object(field.fields)
    is_list = field.type == "list"
    found = {
        "type": _TYPES[field.type],
        "enum": list(field.choices) or None,
        "pattern": PATTERNS.get(field.form),
        "minItems" if is_list else "minLength": field.shortest or None,
        "maxItems" if is_list else "maxLength": field.longest,
        "minimum": field.least,
        "maximum": field.most,
        "items": _of(field.items) if field.items is not None else None,
    }
    return {key: value for key, value in found.items() if value is not None}

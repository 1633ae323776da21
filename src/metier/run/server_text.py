"""What an MCP server says, as a model may see it: cleaned, shortened, and fenced as data."""

from collections.abc import Iterator
from typing import Any

from metier.core.json_values import DEEPEST
from metier.core.render import as_reference
from metier.safety.disguise import examine, find_overrides
from metier.safety.escapes import visible
from metier.safety.markers import defused
from metier.values.pins import ToolPin

LONGEST_DESCRIPTION = 4_000
LONGEST_DEFUSED = 64_000
"""Characters of a result in which role markers are defused; of a longer one the fence is left."""
LARGEST_SCHEMA = 200_000
_REMOVED = "(The description was removed: it overrides instructions, or hides characters.)"
_NOTES = ("$comment", "title", "examples")
"""Parts of a schema that do not say what is valid."""


class ServerText:
    """Presents what one server says."""

    def __init__(self, server: str, secret: bytes) -> None:
        """`secret` is the key of the fences."""
        self._source = f"MCP server {server}"
        self._secret = secret

    def described(self, tool: str, description: str) -> str:
        """The description of a tool."""
        text = clean_description(description)
        if not text:
            return ""
        fenced = self._fenced(text, tool)
        return f"What its server says about this tool, as reference data:\n{fenced}"

    def result(self, tool: str, text: str) -> str:
        """The output or error of a tool. Its data stays; it cannot pose as anything else."""
        shown = visible(text)
        if len(shown) <= LONGEST_DEFUSED:
            shown = defused(shown)[0]
        return self._fenced(shown, tool)

    def _fenced(self, text: str, tool: str) -> str:
        return as_reference(text, kind="tool", id=tool, source=self._source, secret=self._secret)


def clean_description(text: str) -> str:
    """A description without role markers; a note in its place if it overrides instructions."""
    cut = text if len(text) <= LONGEST_DESCRIPTION else f"{text[:LONGEST_DESCRIPTION]}…"
    examined = examine(cut.strip())
    return _REMOVED if examined.rejected else examined.text


def clean_schema(schema: Any) -> Any:
    """A schema with clean descriptions, and without notes that are for people."""
    return _cleaned(schema, is_schema=True)


def _cleaned(value: Any, *, is_schema: bool) -> Any:
    if isinstance(value, list):
        return [_cleaned(inner, is_schema=is_schema) for inner in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, inner in value.items():
        if is_schema and key == "description" and isinstance(inner, str):
            found[key] = clean_description(inner)
        elif not (is_schema and key in _NOTES):
            names_follow = is_schema and key in ("properties", "$defs", "patternProperties")
            found[key] = _cleaned(inner, is_schema=not names_follow)
    return found


def unusable(pin: ToolPin) -> str:
    """Why no model may see a tool's schema; else empty."""
    texts, size = [], 0
    for text in _texts(pin.schema, DEEPEST):
        size += len(text)
        if size > LARGEST_SCHEMA:
            return f"its schema has more than {LARGEST_SCHEMA:,} characters"
        texts.append(text)
    found = find_overrides("\n\n".join(texts)) if texts else []
    return f"in the names and values of its schema {found[0].message}" if found else ""


def _texts(value: Any, deepest: int) -> Iterator[str]:
    """The names and values of a schema, without descriptions and notes."""
    if isinstance(value, str):
        yield value
    if deepest == 0:
        return
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner, deepest - 1)
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in ("description", *_NOTES) or not isinstance(inner, str | list):
                yield from _texts(inner, deepest - 1)

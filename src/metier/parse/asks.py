"""What a skill asks its host for: tools, and commands that run when it is loaded."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_TOOLS = ("allowed-tools", "allowed_tools", "tools")
_INLINE = re.compile(r"!`([^`\n]{1,500})`")
"""Claude Code replaces this by the output of the command."""
_DEEPEST = 8


def tools_of(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The tools in the front matter, each once: `Bash(git add:*), Read` are two."""
    found: dict[str, None] = {}
    for key in _TOOLS:
        value = data.get(key)
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, str):
                found.update(dict.fromkeys(_split(entry)))
    return tuple(sorted(found))


def _split(text: str) -> Iterator[str]:
    """Parts between commas and spaces outside of parentheses."""
    part: list[str] = []
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")" and depth > 0)
        if depth == 0 and (char == "," or char.isspace()):
            if part:
                yield "".join(part)
            part = []
        else:
            part.append(char)
    if part:
        yield "".join(part).strip()


def commands_of(data: Mapping[str, Any], body: str) -> tuple[str, ...]:
    """The commands of hooks in the front matter, and those in the text, each once."""
    hooks = (f"hook: {one}" for one in _hook_commands(data.get("hooks"), _DEEPEST))
    return tuple(sorted({*hooks, *_INLINE.findall(body)}))


def _hook_commands(value: Any, deepest: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    if deepest == 0:
        return
    if isinstance(value, list):
        for inner in value:
            yield from _hook_commands(inner, deepest - 1)
    if isinstance(value, dict):
        for key, inner in value.items():
            is_named = isinstance(inner, str) and key not in ("command", "prompt", "url")
            if not is_named:
                yield from _hook_commands(inner, deepest - 1)

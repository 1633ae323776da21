"""Keys of a skill's front matter. Made by tools/make_host_table.py; edit the files in known/."""
# fmt: off

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from metier.hosts.model import KeyType

Row: TypeAlias = "tuple[KeyType, tuple[str, ...], bool]"
"""The fields of `metier.hosts.model.Key`."""

STANDARD_KEYS: dict[str, Row] = {
    "name": ("text", (), True),
    "description": ("text", (), True),
    "license": ("text", (), True),
    "compatibility": ("any", (), False),
    "allowed-tools": ("text-or-texts", (), False),
    "metadata": ("mapping", (), False),
}
"""Those of the Agent Skills format."""
HOST_KEYS: dict[str, Row] = {
    "when_to_use": ("text", (), True),
    "argument-hint": ("text-or-texts", (), True),
    "arguments": ("text-or-texts", (), False),
    "disable-model-invocation": ("flag", (), False),
    "user-invocable": ("flag", (), False),
    "disallowed-tools": ("text-or-texts", (), False),
    "model": ("text", (), False),
    "effort": ("text", ("low", "medium", "high", "xhigh", "max"), False),
    "context": ("text", ("fork",), False),
    "agent": ("text", (), False),
    "hooks": ("mapping", (), False),
    "paths": ("text-or-texts", (), False),
    "shell": ("text", ("bash", "powershell"), False),
    "icon": ("text", (), False),
    "color": ("text", (), False),
    "slash": ("flag", (), False),
    "homepage": ("text", (), False),
    "command-dispatch": ("text", ("tool",), False),
    "command-tool": ("text", (), False),
    "command-arg-mode": ("text", ("raw",), False),
}
"""Those that some host reads beyond them."""

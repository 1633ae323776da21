"""Rules for values of a skill's front matter: what hosts know, and what they replace."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from metier.core.coerce import text_or_texts_of
from metier.core.nearest import did_you_mean
from metier.hosts.key_table import STANDARD_KEYS
from metier.lint.noting import Findings

if TYPE_CHECKING:
    from metier.hosts.model import Host, Values

_OWN_METADATA = frozenset({"capabilities", "contract"})
"""Keys of metadata that metier reads, with findings of their own."""
NESTED_METADATA = frozenset({"openclaw", "clawdbot", "clawdis", "moltbot", "hermes"})
"""Keys of metadata below which a runtime documents its own mapping."""
_KEYS = frozenset({"model", "allowed-tools", "disallowed-tools", "hooks"})
"""Keys whose values a host is known to accept."""
_TOOL = re.compile(r"[^\s,()]+(?:\([^()]*\))?")
_MOST_NAMED = 5


def readers_of(key: str) -> tuple[str, ...]:
    """The hosts that document a key; none for a key of the format, which all accept."""
    if key in STANDARD_KEYS:
        return ()
    from metier.hosts.known import HOSTS

    return tuple(name for name, host in HOSTS.items() if key in host.keys)


@cache
def known_values() -> "list[tuple[Host, Values]]":
    """The hosts whose accepted values are known."""
    from metier.hosts.known import HOSTS  # many skills do not have this key

    return [(host, host.values) for host in HOSTS.values() if host.values is not None]


def lint_values(data: Mapping[str, Any], found: Findings) -> None:
    """Values that have the right type and that a host does not know."""
    if "metadata" in data:
        _check_metadata(data["metadata"], found)
    if _KEYS.isdisjoint(data):
        return
    for host, values in known_values():
        _check_model(data.get("model"), host, values, found)
        for key in ("allowed-tools", "disallowed-tools"):
            if key in data:
                _check_tools(key, data[key], host, values, found)
        if isinstance(data.get("hooks"), dict):
            _check_events(data["hooks"], host, values, found)


def _check_metadata(metadata: Any, found: Findings) -> None:
    if not isinstance(metadata, dict):
        return  # the wrong type has its own finding
    wrong = [key for key, value in metadata.items() if not _is_text(key, value)]
    if wrong:
        message = f"metadata {_named(wrong)} {'is' if len(wrong) == 1 else 'are'} not text"
        hint = "put the value in quotes; write a list as one text, with commas"
        found.add("SK319", message, ("metadata", wrong[0]), hint)


def _is_text(key: Any, value: Any) -> bool:
    if isinstance(value, str) or key in _OWN_METADATA:
        return True
    return isinstance(value, dict) and key in NESTED_METADATA


def _check_model(model: Any, host: "Host", values: "Values", found: Findings) -> None:
    if not isinstance(model, str) or not model or model in values.models:
        return
    if not any(part in model.lower() for part in values.model_parts):
        message = f"{host.title} is not known to accept 'model: {model[:40]}'"
        hint = did_you_mean(model, values.models, f"known: {', '.join(values.models)}")
        found.add("SK316", message, ("model",), hint, (host.name,))


def _check_tools(key: str, value: Any, host: "Host", values: "Values", found: Findings) -> None:
    named = dict.fromkeys(tool.partition("(")[0] for tool in _tools(value))
    unknown = [one for one in named if not _is_tool(one, values)]
    if unknown:
        message = f"{host.title} has no tool {_named(unknown)} ({key})"
        meant = next((tool for tool in values.tools if tool.lower() == unknown[0].lower()), "")
        hint = f"did you mean '{meant}'?" if meant else f"tools of servers begin with {_MCP}"
        found.add("SK320", message, (key,), hint, (host.name,))


_MCP = "mcp__SERVER__"


def _tools(value: Any) -> Iterable[str]:
    return (tool for text in text_or_texts_of(value) for tool in _TOOL.findall(text))


def _is_tool(name: str, values: "Values") -> bool:
    return name in values.tools or name.startswith(values.tool_prefix) or name in ("*", "")


def _check_events(
    hooks: Mapping[Any, Any], host: "Host", values: "Values", found: Findings
) -> None:
    for event in hooks:
        if str(event) not in values.hook_events:
            message = f"{host.title} has no hook event '{str(event)[:40]}'"
            hint = did_you_mean(str(event), values.hook_events, "see its documentation of hooks")
            found.add("SK321", message, ("hooks", event), hint, (host.name,))


def _named(names: list[str]) -> str:
    shown = ", ".join(f"'{str(name)[:40]}'" for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown

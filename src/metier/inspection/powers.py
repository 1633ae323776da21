"""What the settings of metier in a package would do, once the user trusts its workspace."""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from metier.config.layers import layer_of_text
from metier.config.powers import power_settings
from metier.errors import ConfigError
from metier.inspection.packing import noted
from metier.values.inspection import InspectedFile, Noted

_FILES = ("metier.toml", "pyproject.toml")
_WORKSPACE = "/workspace"
"""Stands for wherever the package is put."""
_MOST_NAMED = 200
_FIRST = "once you trust the workspace,"
_WHAT = {
    "tools": "agents that may use it start this tool",
    "mcp": "agents that name it start this MCP server",
    "probes": "this probe runs",
    "encoder": "texts are sent to this encoder, or read by this model",
    "models": "this decides where prompts and keys are sent",
    "state": "runs and reports are kept there",
    "mounts": "skills are read from there",
    "folders": "documents are read from there, outside of it",
    "lint": "this code or rule is used by metier lint",
    "capabilities": "this decides which cards and skills count",
}


def power_findings(file: InspectedFile) -> Iterator[Noted]:
    """A finding for each power in a file of settings."""
    name = posixpath.basename(file.path)
    text = file.content.decode(errors="replace")
    if name not in _FILES or (name == "pyproject.toml" and "metier" not in text):
        return
    try:
        layer = layer_of_text(text, name, is_users=False, is_project=name == "pyproject.toml")
        powers = power_settings([layer], _WORKSPACE)
    except (ConfigError, RecursionError) as error:
        why = getattr(error, "message", "nested too deeply")
        yield noted("IN204", f"settings of metier that metier rejects: {why}", file.path)
        return
    for key, value in list(powers.items())[:_MOST_NAMED]:
        code = "IN203" if key.startswith("mcp.") else "IN204"
        message = f"{_FIRST} {_WHAT.get(key.partition('.')[0], 'this counts')}: {key}"
        yield noted(
            code, f"{message}{_key(value)}", file.path, line_of(key, text), quote=_as(value)
        )


def _key(value: Any) -> str:
    """The variable whose value is sent, if any."""
    variable = value.get("api-key-env") if isinstance(value, Mapping) else None
    return f", with the key in {variable}" if isinstance(variable, str) else ""


def _as(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def line_of(key: str, text: str) -> int:
    """The line of a setting: its table, else its key, else the table around it; else 1."""
    found: dict[int, int] = {}
    above = ""
    for number, line in enumerate(text.split("\n"), start=1):
        table = re.match(r"\s*\[+([^\]]*)\]", line)
        if table:
            above = _plain(table[1]).removeprefix("tool.metier").strip(".")
        given = _plain(line.partition("=")[0]) if "=" in line and not table else ""
        whole = f"{above}.{given}".strip(".") if given else above
        rank = 0 if whole == key else 1 if key.startswith(f"{whole}.") and whole else 2
        found.setdefault(rank, number)
    return found.get(0) or found.get(1) or 1


def _plain(name: str) -> str:
    """A key without quotes and spaces around its dots."""
    return ".".join(part.strip().strip("\"'") for part in name.split("."))

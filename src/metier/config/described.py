"""Powers in words: what a workspace could do, for its user to decide."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from metier.config.powers import Powers


def described(powers: Powers) -> list[tuple[str, str]]:
    """Each power as what it is: what kind, and exactly what would happen."""
    rows = [_setting(key, value, powers) for key, value in powers.settings.items()]
    for path, agent in powers.agents.items():
        rows.append(("agent", _agent(path, agent)))
        rows += [("step", _step(agent["id"], one)) for one in agent["steps"]]
    rows += [("file", f"{path}  sha256:{digest}") for path, digest in powers.files.items()]
    rows += [
        ("key", f"{variable} is sent to {', '.join(hosts)}")
        for variable, hosts in powers.keys().items()
    ]
    return rows


def _setting(key: str, value: Any, powers: Powers) -> tuple[str, str]:
    table, _, name = key.partition(".")
    entry = value if isinstance(value, Mapping) else {}
    if table == "tools" and "argv" in entry:
        asks = name in (powers.settings.get("tools.allow") or ())
        consent = "; asks for your consent" if asks else ""
        where = _folder(entry)
        return "command", f"{name}: {_argv(entry['argv'])}{where}{_variables(entry)}{consent}"
    if table == "mcp" and "command" in entry:
        command = _argv([entry["command"], *(entry.get("args") or ())])
        return "server", f"{name}: {command}{_folder(entry)}{_pairs(entry, 'env')}"
    if table == "mcp":
        return "server", f"{name}: {entry.get('url')}{_pairs(entry, 'headers')}"
    if table == "probes" and "argv" in entry:
        return "probe", f"{name}: {_argv(entry['argv'])}"
    if table == "models" and entry:
        key_env = entry.get("api-key-env")
        key_text = f", key in {key_env}" if key_env else ""
        return "model", f"{name}: {entry.get('base-url') or 'its own address'}{key_text}"
    return "setting", f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _argv(argv: Any) -> str:
    return shlex.join(map(str, argv)) if isinstance(argv, list) else str(argv)


def _variables(entry: Mapping[str, Any]) -> str:
    names = entry.get("environment") or []
    return f"; sees {', '.join(map(str, names))}" if isinstance(names, list) and names else ""


def _folder(entry: Mapping[str, Any]) -> str:
    folder = entry.get("folder")
    return f"; in {folder}" if folder not in (None, "", ".") else ""


def _pairs(entry: Mapping[str, Any], key: str) -> str:
    """`; env: NAME=value`: a value can be as much of a power as a command."""
    table = entry.get(key)
    if not isinstance(table, Mapping) or not table:
        return ""
    return f"; {key}: {', '.join(f'{name}={value}' for name, value in table.items())}"


def _agent(path: str, agent: Mapping[str, Any]) -> str:
    parts = [f"{agent['id']} ({path})"]
    for key in ("tools", "models", "delegates"):
        if agent[key]:
            parts.append(f"{key}: {', '.join(agent[key])}")
    return "; ".join(parts)


def _step(agent: str, step: Mapping[str, Any]) -> str:
    given = json.dumps(step["input"], ensure_ascii=False)
    return f"{step['step']} of {agent} calls {step['tool']} with {given}"


def differences(before: Mapping[str, Any], after: Powers) -> list[str]:
    """What changed between a stored power set and one of now, a line each."""
    lines = []
    now = after.to_json()
    for part in ("settings", "files", "agents"):
        old = before.get(part)
        old = old if isinstance(old, Mapping) else {}
        for key in sorted({*old, *now[part]}):
            if old.get(key) != now[part].get(key):
                lines += [f"- {key} = {_shown(old[key])}"] if key in old else []
                lines += [f"+ {key} = {_shown(now[part][key])}"] if key in now[part] else []
    return lines


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)

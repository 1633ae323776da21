"""Powers in words: what a workspace could do, for its user to decide."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from metier.config.database_url import without_secrets
from metier.config.powers import Powers


def described(powers: Powers) -> list[tuple[str, str]]:
    """Each power: its kind, and what it would do."""
    rows = [_setting(key, value, powers) for key, value in powers.settings.items()]
    for path, agent in powers.agents.items():
        rows.append(("agent", _agent(path, agent)))
        rows += [("step", _step(agent["id"], one)) for one in agent["steps"]]
    for path, digest in powers.files.items():
        rows.append(("file", f"{path}  {'sha256:' if len(digest) == 64 else ''}{digest}"))
    rows += [
        ("link", f"{path} leads to {target}; the skills there are used")
        for path, target in powers.links.items()
    ]
    rows += [
        ("key", f"{variable} is sent to {', '.join(hosts)}")
        for variable, hosts in powers.keys().items()
    ]
    return rows


def _setting(key: str, value: Any, powers: Powers) -> tuple[str, str]:
    table, _, name = key.partition(".")
    entry = value if isinstance(value, Mapping) else {}
    if table == "tools" and {"argv", "function"} & entry.keys():
        asks = name in (powers.settings.get("tools.allow") or ())
        consent = "; asks for your consent" if asks else ""
        what = _argv(entry["argv"]) if "argv" in entry else entry["function"]
        shown = f"{what}{_folder(entry)}{_variables(entry)}{_rest(entry)}"
        return "command" if "argv" in entry else "function", f"{name}: {shown}{consent}"
    if table == "mcp" and "command" in entry:
        command = _argv([entry["command"], *(entry.get("args") or ())])
        more = f"{_folder(entry)}{_pairs(entry, 'env')}{_rest(entry)}"
        return "server", f"{name}: {command}{more}"
    if table == "mcp":
        return "server", f"{name}: {entry.get('url')}{_pairs(entry, 'headers')}{_rest(entry)}"
    if table == "probes" and "argv" in entry:
        return "probe", f"{name}: {_argv(entry['argv'])}{_rest(entry)}"
    if key == "state.url":
        return "state", f"runs, prompts and reports are stored in {without_secrets(str(value))}"
    if table == "models" and entry:
        key_env = entry.get("api-key-env")
        key_text = f", key in {key_env}" if key_env else ""
        address = entry.get("base-url") or "its own address"
        return "model", f"{name}: {address}{key_text}{_rest(entry)}"
    if key == "lint.plugins" and isinstance(value, list):
        return "rules", f"lint runs rules of installed packages: {', '.join(map(str, value))}"
    if key == "encoder" and entry:
        return "encoder", _encoder(entry)
    return "setting", f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _encoder(entry: Mapping[str, Any]) -> str:
    """What reads, or receives, the texts of skills and tasks."""
    rest = {name: one for name, one in entry.items() if name not in ("kind", "file", "url")}
    where = entry.get("url") if entry.get("kind") == "http" else entry.get("file")
    verb = "are sent to" if entry.get("kind") == "http" else "are encoded by"
    return f"texts of skills and tasks {verb} {where}{f'; {_shown(rest)}' if rest else ''}"


def _argv(argv: Any) -> str:
    return shlex.join(map(str, argv)) if isinstance(argv, list) else str(argv)


def _variables(entry: Mapping[str, Any]) -> str:
    names = entry.get("environment") or []
    return f"; sees {', '.join(map(str, names))}" if isinstance(names, list) and names else ""


_SHOWN = {
    "argv", "function", "folder", "environment", "command", "args", "env", "url", "headers",
    "base-url", "api-key-env",
}  # fmt: skip


def _rest(entry: Mapping[str, Any]) -> str:
    """Every other field: any of them can be as much of a power as the command."""
    others = {key: value for key, value in entry.items() if key not in _SHOWN}
    return "".join(f"; {key} = {_shown(value)}" for key, value in sorted(others.items()))


def _folder(entry: Mapping[str, Any]) -> str:
    folder = entry.get("folder")
    return f"; in {folder}" if folder not in (None, "", ".") else ""


def _pairs(entry: Mapping[str, Any], key: str) -> str:
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
    what = f"calls {step['tool']}" if step["tool"] else f"delegates to {step['agent']}"
    when = "".join(f", {one}" for one in (*step["within"], step["condition"]) if one)
    return f"{step['step']} of {agent} {what} with {given}{when}"


def differences(before: Mapping[str, Any], after: Powers) -> list[str]:
    """What changed between stored powers and the current powers."""
    lines = []
    now = after.to_json()
    for part in ("settings", "files", "agents", "links"):
        old, new = before.get(part), now.get(part, {})
        old = old if isinstance(old, Mapping) else {}
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                lines += [f"- {key} = {_shown(old[key])}"] if key in old else []
                lines += [f"+ {key} = {_shown(new[key])}"] if key in new else []
    return lines


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)

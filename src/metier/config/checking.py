"""Values of settings: raw from a file → as `Config` has them. Raises `ConfigError`."""

import math
import os
import re
from typing import Any

from metier.errors import ConfigError
from metier.values.settings import Mount, ProbeSetting


def checked(key: str, value: Any, source: str) -> Any:
    if key == "host-folders":
        if not isinstance(value, bool):
            raise _wrong(key, "true or false", source)
        return value
    if key in ("tokenizer", "state.folder"):
        if not isinstance(value, str):
            raise _wrong(key, "a text", source)
        return value
    if key == "abilities.minSignal":
        return _signal(key, value, source)
    if key == "mounts":
        return _mounts(value, source)
    if key == "probes":
        return _probes(value, source)
    if key == "capabilities":
        from metier.config.capabilities import read_capabilities  # most workspaces set none

        return read_capabilities(value, source)
    if key in ("models", "tools", "mcp"):
        from metier.config.running import READERS  # only for those who run agents

        return READERS[key](value, source)
    if key == "lint.per-file-ignores":
        return _per_file(value, source)
    return _texts(key, value, source)


def _signal(key: str, value: Any, source: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:
        raise _wrong(key, "a number from 0 on", source)
    return float(value)


def _texts(key: str, value: Any, source: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise _wrong(key, "a list of texts", source)
    return tuple(value)


def _per_file(value: Any, source: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise _wrong("lint.per-file-ignores", "a table of patterns and codes", source)
    return {
        pattern: _texts("lint.per-file-ignores", codes, source) for pattern, codes in value.items()
    }


def _probes(value: Any, source: str) -> tuple[ProbeSetting, ...]:
    wanted = "tables [probes.CAPABILITY] with 'argv' and, if you like, 'timeout'"
    if not isinstance(value, dict):
        raise _wrong("probes", wanted, source)
    probes: list[ProbeSetting] = []
    for capability, table in value.items():
        if not isinstance(table, dict) or set(table) - {"argv", "timeout"}:
            raise _wrong("probes", wanted, source)
        argv, timeout = table.get("argv"), table.get("timeout", 10.0)
        if not isinstance(argv, list) or not argv or not all(isinstance(a, str) for a in argv):
            raise _wrong(f"probes.{capability}.argv", "a list of texts, the program first", source)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise _wrong(f"probes.{capability}.timeout", "a number of seconds", source)
        if not 0 < timeout <= 600:
            raise _wrong(f"probes.{capability}.timeout", "between 0 and 600 seconds", source)
        probes.append(ProbeSetting(capability, tuple(argv), float(timeout)))
    return tuple(probes)


def _mounts(value: Any, source: str) -> tuple[Mount, ...]:
    wanted = "a list of tables with 'path' and, if you like, 'label'"
    if not isinstance(value, list):
        raise _wrong("mounts", wanted, source)
    mounts: list[Mount] = []
    for entry in value:
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            raise _wrong("mounts", wanted, source)
        if set(entry) - {"path", "label"}:
            raise _wrong("mounts", wanted, source)
        path = os.path.expanduser(entry["path"])
        label = entry.get("label", _label(path))
        if not isinstance(label, str) or not label or "/" in label:
            raise _wrong("mounts", "given a label without '/'", source)
        mounts.append(Mount(path=path, label=label))
    labels = [mount.label for mount in mounts]
    if len(set(labels)) < len(labels):
        raise ConfigError("two mounts have one label", where=source, hint="give each a 'label'")
    return tuple(mounts)


def _label(path: str) -> str:
    """What a mount is called: after its folder, or the one above all that its pattern matches."""
    first, *others = re.split(r"/(?=[^/]*[*?\[])", path.rstrip("/"), maxsplit=1)
    label = os.path.basename(first)
    return "" if others and label in (".", "..") else label


def _wrong(key: str, wanted: str, source: str) -> ConfigError:
    return ConfigError(f"'{key}' must be {wanted}", where=source)

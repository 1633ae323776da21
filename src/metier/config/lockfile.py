"""`metier.lock`: read and written. It is a proposal of the workspace and grants nothing."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from metier.core.unread import why_not_json
from metier.errors import ConfigError, NotFoundError
from metier.storage.atomic_files import write_atomically
from metier.storage.room import read_regular
from metier.values.locks import SHA256, LockedSkill
from metier.values.reviews import LINK, Contents

LOCK_FILE = "metier.lock"
VERSION = 1
LARGEST = 16 * 1024 * 1024
_DIGEST = re.compile(rf"{SHA256}[0-9a-f]{{64}}")


def lock_path(workspace: str) -> str:
    return os.path.join(workspace, LOCK_FILE)


def write_lock(workspace: str, skills: Mapping[str, LockedSkill]) -> bool:
    """Write the lock if it is not there or differs; whether it was written. Raises `OSError`."""
    path, content = lock_path(workspace), lock_text(skills).encode()
    try:
        if read_regular(path, LARGEST, links=False) == content:
            return False
    except OSError:
        pass
    write_atomically(path, content)
    return True


def lock_text(skills: Mapping[str, LockedSkill]) -> str:
    """The lock as text: sorted, and one line a file, so that a diff shows what changed."""
    entries = {path: one.to_json() for path, one in sorted(skills.items())}
    value = {"lockVersion": VERSION, "skills": entries}
    return json.dumps(value, indent=2) + "\n"


def read_lock(workspace: str) -> dict[str, LockedSkill]:
    """The locked skills by folder. Raises `NotFoundError` without a lock, else `ConfigError`."""
    path = lock_path(workspace)
    try:
        raw = read_regular(path, LARGEST, links=False)
    except FileNotFoundError:
        raise NotFoundError(
            f"there is no {LOCK_FILE}", where=workspace, hint="metier lock writes it"
        ) from None
    except OSError as error:
        raise _invalid(_why(error), path) from None
    try:
        data = json.loads(raw, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"not valid JSON: {why_not_json(error, raw)}", path) from None
    if not isinstance(data, dict) or data.get("lockVersion") != VERSION:
        raise _invalid(f"it is not a lock of version {VERSION}", path)
    skills = data.get("skills")
    if not isinstance(skills, dict):
        raise _invalid("'skills' is not a table", path)
    return {name: _skill(name, entry, path) for name, entry in skills.items()}


def _why(error: OSError) -> str:
    is_link = error.errno == 40  # ELOOP
    return "it is a link" if is_link else error.strerror or str(error)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table; of two equal keys a reader would see one, and metier another."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key appears twice")
    return table


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _skill(name: str, entry: Any, path: str) -> LockedSkill:
    try:
        files = {_text(file): _value(value) for file, value in entry["files"].items()}
        asked = ("scripts", "capabilities", "tools", "commands")
        contents = Contents(files, *(_texts(entry[key]) for key in asked))
        origin = {_text(key): _text(value) for key, value in entry.get("origin", {}).items()}
        return LockedSkill(_text(entry["name"]), _text(entry["source"]), contents, origin)
    except (TypeError, KeyError, AttributeError, ValueError):
        raise _invalid(f"the entry of '{name}' is not valid", path) from None


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):  # a text would be read letter by letter
        raise TypeError(value)
    return tuple(map(_text, value))


def _value(value: Any) -> str:
    text = _text(value)
    if text.startswith(LINK):
        return text
    if not _DIGEST.fullmatch(text):
        raise ValueError(text)
    return text.removeprefix(SHA256)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _invalid(why: str, path: str) -> ConfigError:
    return ConfigError(
        f"the lock cannot be read: {why}",
        code="LOCK_INVALID",
        where=path,
        hint="metier lock writes it again",
    )

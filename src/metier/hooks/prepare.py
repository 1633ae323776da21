"""Bringing a catalogue up to date for hooks: they read, and never wait."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence

from metier.atomic import write_atomically
from metier.catalog import Catalog
from metier.config import user_settings
from metier.config.capabilities import to_json
from metier.hooks.journal import STATE
from metier.index.stems import catch_up
from metier.workspace import SETTINGS_FILE, STATE_FOLDER

MOST_FOLDERS = 100


def prepare(catalog: Catalog) -> int:
    """Refresh, and see to all that a hook reads; how many skills were read in words."""
    catalog.refresh()
    read = catch_up(catalog.store)
    keep_settings(catalog)
    files = [row[0] for row in catalog.store.rows("SELECT file FROM document")]
    _write_watched(os.path.join(catalog.workspace, STATE_FOLDER), _always(catalog), files)
    return read


def _always(catalog: Catalog) -> list[str]:
    """What is watched whether it is there or not: settings, and where documents may come."""
    workspace = catalog.workspace
    settings = [os.path.join(workspace, name) for name in (SETTINGS_FILE, "pyproject.toml")]
    cards = [row[0] for row in catalog.store.rows("SELECT file FROM document WHERE kind = 'card'")]
    return [*settings, user_settings(), *catalog.folders(), *cards[:MOST_FOLDERS]]


def keep_settings(catalog: Catalog) -> None:
    """Put the settings where hooks read them."""
    catalog.store.remember("capabilities", json.dumps(to_json(catalog.config.capabilities)))


def _write_watched(folder: str, always: Sequence[str], documents: Iterable[str]) -> None:
    """Note the times of what is `always` watched and of the folders that most documents lie below.

    One line each: `time path`. `documents` are the files in the catalogue; a skill that comes or
    goes changes the folder above its own.
    """
    above = Counter(os.path.dirname(os.path.dirname(file)) for file in documents)
    above.update(os.path.dirname(file) for file in documents if not file.endswith("SKILL.md"))
    folders = [path for path, _ in sorted(above.most_common(MOST_FOLDERS))]
    watched = dict.fromkeys([*always, *folders])
    lines = [_line(path) for path in watched if "\n" not in path]
    write_atomically(os.path.join(folder, STATE), "\n".join(lines).encode(errors="surrogateescape"))


def _line(path: str) -> str:
    try:
        return f"{os.stat(path).st_mtime_ns} {path}"
    except OSError:
        return f"- {path}"

"""Folders for settings and state of the benchmarks' own: nobody's catalogs are touched."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metier.config import read_settings
from metier.config.record import Entry, TrustRecord
from metier.flow.boundary import power_set, workspace_of


@contextmanager
def own_folders(scratch: Path) -> Iterator[None]:
    """While the block lasts this process, and those that it starts, keep all state in `scratch`."""
    given = {
        "METIER_STATE_DIR": str(scratch / "state"),
        "XDG_CONFIG_HOME": str(scratch / "settings"),
    }
    before = {name: os.environ.get(name) for name in given}
    for path in given.values():
        os.mkdir(path, 0o700)
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def trust(root: Path | str) -> None:
    """Record that the user trusts a workspace as it is now."""
    workspace = workspace_of(root)
    powers = power_set(read_settings(workspace))
    TrustRecord(os.environ, workspace).put(workspace, Entry.of(powers, speak=False))

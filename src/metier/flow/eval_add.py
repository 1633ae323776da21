"""Adds cases to an evaluation file of the workspace."""

import os
from typing import Any

import yaml

from metier.core.paths import is_inside
from metier.errors import UsageError
from metier.storage.atomic_files import write_atomically
from metier.storage.room import read_regular
from metier.values.evals import EvalCase

FILE = os.path.join("evals", "cases.yaml")
_LARGEST = 4 << 20


def add_case(workspace: str, case: EvalCase) -> str:
    """Add a case to `evals/cases.yaml`, unless it has it; the path. Raises `UsageError`."""
    path = os.path.join(workspace, FILE)
    if not is_inside(os.path.realpath(path), workspace) or os.path.islink(path):
        raise UsageError(f"'{FILE}' leads out of the workspace", where=workspace)
    found = _read(path)
    added = case.to_json()
    if added not in found["cases"]:
        found["cases"].append(added)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        text = yaml.safe_dump(found, allow_unicode=True, sort_keys=False, width=100)
        write_atomically(path, text.encode())
    return path


def _read(path: str) -> dict[str, Any]:
    if not os.path.lexists(path):
        return {"cases": []}
    try:
        found = yaml.safe_load(read_regular(path, _LARGEST).decode())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"'{FILE}' cannot be read: {error}", where=path) from None
    if not isinstance(found, dict) or not isinstance(found.get("cases"), list):
        raise UsageError(
            f"'{FILE}' has no list of cases", where=path, hint="begin it with 'cases:'"
        )
    return found

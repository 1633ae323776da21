"""Behavioural cases that stand beside the repository: input and expected output, row by row."""

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "cases"


def binding_rows(file: str, *invariants: str) -> list[Any]:
    """The binding rows for these beginnings of ids; one skipped row where there is no such file."""
    path = FOLDER / file
    if not path.exists():
        return [pytest.param({}, marks=pytest.mark.skip(f"no {file} beside the repository"))]
    return [
        pytest.param(row, id=f"{row['id']} {row['title']}")
        for row in json.loads(path.read_text())
        if row["verdict"] == "binding" and row["invariant"].startswith(invariants)
    ]

"""Behavioural cases that stand beside the repository: input and expected output, row by row."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "cases"


def binding_rows(file: str, *invariants: str) -> list[Any]:
    """The binding rows for these beginnings of ids; one skipped row where there is no such file."""
    return _binding(file, "id", lambda row: row["invariant"].startswith(invariants))


def binding_rows_of(section: str) -> list[Any]:
    """The binding rows of a part of specs 4 and 5; one skipped row where there is no such file."""
    file = "resolution-and-cards.json"
    return _binding(file, "section", lambda row: row["section"].startswith(section))


def _binding(file: str, label: str, is_wanted: Callable[[dict[str, Any]], bool]) -> list[Any]:
    path = FOLDER / file
    if not path.exists():
        return [pytest.param({}, marks=pytest.mark.skip(f"no {file} beside the repository"))]
    return [
        pytest.param(row, id=f"{row[label]} {row['title']}")
        for row in json.loads(path.read_text())
        if row["verdict"] == "binding" and is_wanted(row)
    ]

"""Candidates with a contract, and their rows in a report."""

from typing import Any

from metier.parse.contract import parse_contract
from metier.resolve import Resolution
from metier.values.candidates import Candidate


def skill(name: str, contract: str = "", description: str = "Plain.", **more: Any) -> Candidate:
    """A candidate whose contract is read in best-effort mode."""
    read = parse_contract(contract, "best-effort") if contract else None
    folder = f"skills/{name}"
    return Candidate(name=name, description=description, folder=folder, contract=read, **more)


def row(made: Resolution, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        one for one in made.full_report().data["candidates"] if one["name"] == name
    )
    return found

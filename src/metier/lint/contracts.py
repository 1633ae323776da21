"""Rules for contracts, beyond what their grammar says."""

from collections.abc import Iterator

from metier.values.contracts import Contract
from metier.values.policy import Policy

MOST_FREE_CLAIMS = 20
"""Capabilities that one skill may claim without raising doubts."""


def contract_findings(contract: Contract) -> Iterator[tuple[str, str, str]]:
    """Code, message and hint of each thing that is doubtful in a contract."""
    claims = len(contract.provides)
    if claims > MOST_FREE_CLAIMS:
        message = f"contract: it claims {claims} capabilities; from {MOST_FREE_CLAIMS + 1} on that"
        yield "DC405", f"{message} costs points", "name what it really provides, or split it"
    _, warnings = Policy().with_contract(contract.policy)
    for warning in warnings:
        yield "DC406", f"contract: {warning}", "correct the key or the value in Pol(...)"

"""The skill that asks, and what is asked for."""

from collections.abc import Sequence

from metier.errors import UsageError
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Mode

MOST_REQUIRED = 1_000
"""Capabilities that one run, or one provider in it, may require."""


def contract_of_consumer(consumer: Candidate | None, mode: Mode | None) -> Contract | None:
    """Its contract, if it has one. Raises `UsageError` when that cannot be used."""
    if consumer is None:
        return None
    wanted = mode or (consumer.contract.mode if consumer.contract is not None else "best-effort")
    problem = consumer.refused_in(wanted)
    if problem:
        raise UsageError(
            f"the contract of '{consumer.name}' cannot be used: {problem}",
            where=consumer.folder,
            hint="metier lint shows where; or name what you need with -r",
        )
    return consumer.contract


def asked_for(
    requires: Sequence[str], contract: Contract | None, consumer: Candidate | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The required capabilities, the consumer's own first, and the optional ones.

    Raises `UsageError` when nothing is required, or too much.
    """
    own = contract.requires if contract is not None else ()
    wanted = tuple(dict.fromkeys([*own, *requires]))
    optional = contract.optional if contract is not None else ()
    if not wanted and consumer is not None:
        hint = "its contract has no R(…); name a capability with -r"
        raise UsageError(f"'{consumer.name}' requires nothing", hint=hint)
    if not wanted:
        hint = "name a capability with -r, or --for SKILL; the query only ranks providers"
        raise UsageError("nothing is required", hint=hint)
    count = len(wanted) + len(optional)
    if count > MOST_REQUIRED:
        message = f"{count} capabilities are asked for, at most {MOST_REQUIRED} can be"
        raise UsageError(message, hint="ask for fewer")
    return wanted, optional

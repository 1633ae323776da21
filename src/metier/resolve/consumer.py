"""The skill that asks."""

from metier.errors import UsageError
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Mode


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

"""A skill as the resolver sees it."""

from typing import NamedTuple

from metier.core.names import canonical_id, is_capability_name
from metier.values.contracts import Contract, Mode


class Candidate(NamedTuple):
    """One skill that may be chosen as a provider."""

    name: str
    description: str
    folder: str
    """POSIX, relative to the workspace, or `<label>/…`."""
    source: str = "workspace"
    listed: tuple[str, ...] = ()
    """Its `capabilities` list as written, without the contract."""
    contract: Contract | None = None
    """Its contract, read leniently; None when it has none or an unusable one."""
    contract_problem: str = ""
    """Why its contract cannot be used."""
    compatibility: str | tuple[str, ...] = ""

    @property
    def id(self) -> str:
        return canonical_id(self.name, self.folder)

    @property
    def says_nothing(self) -> bool:
        """Whether it has neither a list nor a contract of any kind."""
        return not self.listed and self.contract is None and not self.contract_problem

    def contract_in(self, mode: Mode) -> Contract | None:
        """The contract that counts in a run of `mode`."""
        if self.contract is None or (mode == "strict" and self.contract.doubts):
            return None
        return self.contract

    def refused_in(self, mode: Mode) -> str:
        """Why its contract does not count in a run of `mode`; empty when it does or has none."""
        if self.contract_problem:
            return self.contract_problem
        if mode == "strict" and self.contract is not None and self.contract.doubts:
            return self.contract.doubts[0].message
        return ""

    def provides_in(self, mode: Mode) -> tuple[str, ...]:
        """What it says to provide, as written: its list, then `P(...)`; a name in both once.

        Beside a contract that does not count, the list counts in best-effort and nothing in
        strict.
        """
        if mode == "strict" and self.refused_in(mode):
            return ()
        contract = self.contract_in(mode)
        provides = contract.provides if contract is not None else ()
        return (*(name for name in self.listed if name not in provides), *provides)

    def is_prose_in(self, mode: Mode) -> bool:
        """Whether only its name and description say what it can do."""
        if mode == "strict" and self.refused_in(mode):
            return False
        return not self.provides_in(mode)

    def invalid_tokens(self) -> int:
        """Values of P, E, R and O that are no capability names, repeated ones too."""
        if self.contract is None:
            return 0
        one = self.contract
        values = (*one.provides, *one.expects, *one.requires, *one.optional)
        return sum(not is_capability_name(value) for value in values)

    def unknown_clauses(self) -> int:
        """Clauses of its contract that nobody knows."""
        return len(self.contract.unknown_clauses) if self.contract is not None else 0

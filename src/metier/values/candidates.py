"""A skill as the resolver sees it."""

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.core.coerce import capability_names, mapping_of, texts_of
from metier.core.names import canonical_id, is_capability_name, team_name
from metier.values.contracts import Contract, Doubt, Mode

if TYPE_CHECKING:
    from metier.values.documents import Skill


class Candidate(NamedTuple):
    """A skill that may be chosen as a provider."""

    name: str
    description: str
    folder: str
    """POSIX, relative to the workspace, or `<label>/…`."""
    source: str = "workspace"
    listed: tuple[str, ...] = ()
    """Its `capabilities` list, without the contract."""
    contract: Contract | None = None
    """None if it has none, or an unusable contract."""
    contract_problem: str = ""
    compatibility: str | tuple[str, ...] = ""
    team: str = ""

    @classmethod
    def stored(
        cls, name: str, folder: str, source: str, claims: str | None, team: str = ""
    ) -> "Candidate":
        """The candidate of a skill in the catalog, without its description."""
        if not claims:
            return cls(name, "", folder, source, team=team)
        listed, compatibility, problem, values = json.loads(claims)
        return cls(
            name,
            "",
            folder,
            source,
            tuple(listed),
            _contract(values) if values else None,
            problem,
            compatibility if isinstance(compatibility, str) else tuple(compatibility),
            team,
        )

    @property
    def id(self) -> str:
        return canonical_id(self.name, self.folder)

    @property
    def handle(self) -> str:
        return team_name(self.team, self.name)

    @property
    def says_nothing(self) -> bool:
        return not self.listed and self.contract is None and not self.contract_problem

    def contract_in(self, mode: Mode) -> Contract | None:
        """The contract that counts in `mode`."""
        if self.contract is None or (mode == "strict" and self.contract.doubts):
            return None
        return self.contract

    def refused_in(self, mode: Mode) -> str:
        """Why its contract does not count in `mode`, if so."""
        if self.contract_problem:
            return self.contract_problem
        if mode == "strict" and self.contract is not None and self.contract.doubts:
            return self.contract.doubts[0].message
        return ""

    def provides_in(self, mode: Mode) -> tuple[str, ...]:
        """What it provides: its list, then `P(...)`; strict rejects both with a bad contract."""
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
        """How many values of P, E, R and O are not capability names."""
        if self.contract is None:
            return 0
        one = self.contract
        values = (*one.provides, *one.expects, *one.requires, *one.optional)
        return sum(not is_capability_name(value) for value in values)

    def unknown_clauses(self) -> int:
        return len(self.contract.unknown_clauses) if self.contract is not None else 0


_CLAIMING = frozenset({"metadata", "capabilities", "compatibility"})


def claims_of(skill: "Skill") -> str:
    """What the catalog stores for `Candidate.stored`; empty when a skill claims nothing."""
    if not (skill.contract or skill.contract_problem or _CLAIMING & skill.data.keys()):
        return ""
    nested = mapping_of(skill.data.get("metadata")).get("capabilities")
    listed = [name for name in capability_names(skill.data.get("capabilities")) if name]
    listed += [name for name in capability_names(nested) if name and name not in set(listed)]
    field = skill.data.get("compatibility")
    compatibility = field if isinstance(field, str) else texts_of(field)
    contract = skill.contract
    if not (listed or compatibility or contract or skill.contract_problem):
        return ""
    values = [getattr(contract, name) for name in _FIELDS] if contract is not None else None
    return json.dumps([listed, compatibility, skill.contract_problem, values])


_FIELDS = tuple(Contract.__dataclass_fields__)


def _contract(values: list[Any]) -> Contract:
    given = dict(zip(_FIELDS, values, strict=True))
    doubts = tuple(Doubt(*doubt) for doubt in given.pop("doubts"))
    lists = {key: tuple(one) for key, one in given.items() if isinstance(one, list)}
    return Contract(**(given | lists), doubts=doubts)

"""Skills by name and by capability (spec 3), over the catalog."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import NamedTuple

from metier.index.capabilities import build_capability_index
from metier.index.documents import find_documents, list_documents
from metier.index.refresh import OnProgress, refresh_documents
from metier.index.store import Store
from metier.values.files import Reading, Root
from metier.values.loads import LoadSummary
from metier.values.rows import Row

Roots = Iterable[Root | str | PathLike[str]]
CapabilityIndex = Mapping[str, frozenset[str]]


class _Declared(NamedTuple):
    name: str
    capabilities: Sequence[str]


class SkillRepository:
    """The skills of one catalog. `read` lists and reads what is on disk."""

    def __init__(self, store: Store, read: Callable[[Roots], Reading]) -> None:
        self._store = store
        self._read = read
        self._capability_index: CapabilityIndex = MappingProxyType({})

    def load_skills_from_disk(
        self, roots: Roots, on_progress: OnProgress | None = None
    ) -> LoadSummary:
        """Bring the catalog's skills up to `roots`, then build the capability index once."""
        roots = list(roots)
        changes = refresh_documents(
            self._store, lambda: self._read(roots), kinds=("skill",), on_progress=on_progress
        )
        index = build_capability_index(self._declared())
        self._capability_index = MappingProxyType(
            {capability: frozenset(names) for capability, names in index.items()}
        )
        return LoadSummary(
            loaded=changes.included["skill"],
            skipped=changes.excluded,
            pruned=changes.removed,
            total_on_disk=changes.discovered,
        )

    def list_skills(
        self, *, search: str | None = None, capability: str | None = None, shadowed: bool = False
    ) -> list[Row]:
        """Active skills by name."""
        return list_documents(
            self._store, "skill", search=search, capability=capability, shadowed=shadowed
        )

    def get_skill(self, wanted: str) -> Row | None:
        """The skill with that id or name; of several with that name the active skill."""
        return next(iter(find_documents(self._store, "skill", wanted)), None)

    def get_capability_index(self) -> CapabilityIndex:
        """Capability → names; empty before the first load. Later loads replace it."""
        return self._capability_index

    def _declared(self) -> list[_Declared]:
        rows = self._store.rows(
            "SELECT name, capability FROM skill_capability JOIN document USING (key)"
            " WHERE state = 'active'"
        )
        return [_Declared(name, (capability,)) for name, capability in rows]

"""The capability index (spec 3): capability → names of the skills that declare it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol


class IndexableSkill(Protocol):
    """All that the index asks of a skill."""

    @property
    def name(self) -> str: ...
    @property
    def capabilities(self) -> Sequence[str]: ...


def build_capability_index(skills: Iterable[IndexableSkill]) -> dict[str, set[str]]:
    """Each capability with the names of the skills that declare it."""
    index: dict[str, set[str]] = {}
    for skill in skills:
        for capability in skill.capabilities:
            index.setdefault(capability, set()).add(skill.name)
    return index


def find_skills_by_capability(index: Mapping[str, AbstractSet[str]], capability: str) -> list[str]:
    """The names under `capability` in ascending order; a new, empty list when it is unknown."""
    return sorted(index.get(capability, ()))

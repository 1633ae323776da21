"""Dependencies and conflicts, settled in the order of the ranking."""

from collections.abc import Container, Iterator, Mapping

from metier.values.documents import Ability
from metier.values.outcomes import Issue
from metier.values.selection import Skipped


class Settling:
    """Takes abilities one by one, best first, each with what it requires, all or nothing."""

    def __init__(
        self,
        known: Mapping[str, Ability],
        admitted: Container[str],
        *,
        with_dependencies: bool,
        with_conflicts: bool,
    ) -> None:
        self.added: dict[str, Ability] = {}
        self.required_by: dict[str, str] = {}
        self.issues: list[Issue] = []
        self.skipped: list[Skipped] = []
        self._known = known
        self._admitted = admitted
        self._with_dependencies = with_dependencies
        self._with_conflicts = with_conflicts
        self._ruled_out: dict[str, str] = {}
        """Id → an ability that is in and names it as a conflict."""

    def add(self, ability: Ability) -> bool:
        """Take `ability` unless it conflicts or misses something; whether it was taken."""
        if ability.id in self.added:
            return False
        group, missing = self._group(ability, self._admitted)
        if missing:
            self._leave_out(ability, "dependency-missing", missing[0])
            return False
        if clash := next(self._clashes(group), ""):
            self._leave_out(ability, "conflict", clash)
            return False
        self._take(group, ability)
        return True

    def add_core(self, ability: Ability) -> None:
        """Take `ability` and what it requires; what speaks against it becomes a warning."""
        if ability.id in self.added:
            return
        group, missing = self._group(ability, self._known)
        for detail in missing:
            self._warn("ABILITY_DEPENDENCY_MISSING", ability, detail)
        for clash in self._clashes(group):
            self._warn("ABILITY_CONFLICT", ability, clash)
        for one in group:
            if one.id not in self._admitted:
                why = "does not apply to this agent" if one.enabled else "is disabled"
                self._warn("ABILITY_CORE_KEPT", one, f"it {why}")
        self._take(group, ability)

    def met(self) -> list[str]:
        """Ids of all that were taken or left out."""
        return [*self.added, *(one.id for one in self.skipped)]

    def _take(self, group: list[Ability], ability: Ability) -> None:
        for one in group:
            self.added[one.id] = one
            if one is not ability:
                self.required_by[one.id] = ability.id
            for other in one.conflicts:
                self._ruled_out.setdefault(other, one.id)

    def _group(self, ability: Ability, admitted: Container[str]) -> tuple[list[Ability], list[str]]:
        """What has to be added with `ability`, dependencies first; and what is missing for it.

        Members of a circle are met once each, so a circle ends like any other chain.
        """
        if not self._with_dependencies:
            return [ability], []
        group: list[Ability] = []
        missing: list[str] = []
        met = {ability.id}
        trail = [(ability, iter(ability.requires))]
        while trail:
            dependent, requires = trail[-1]
            wanted = next(requires, None)
            if wanted is None:
                group.append(dependent)
                trail.pop()
            elif wanted not in met and wanted not in self.added:
                met.add(wanted)
                dependency = self._known.get(wanted)
                if dependency is not None and wanted in admitted:
                    trail.append((dependency, iter(dependency.requires)))
                else:
                    missing.append(_missing(ability, dependent, wanted, dependency))
        return group, missing

    def _clashes(self, group: list[Ability]) -> Iterator[str]:
        """Every conflict between `group` and what is in already, and within `group`."""
        if not self._with_conflicts:
            return
        together = {one.id for one in group}
        for one in group:
            if one.id in self._ruled_out and self._ruled_out[one.id] != one.id:
                yield f"'{one.id}' and '{self._ruled_out[one.id]}' exclude each other"
            for other in one.conflicts:
                if other != one.id and (other in self.added or other in together):
                    yield f"'{one.id}' and '{other}' exclude each other"

    def _leave_out(self, ability: Ability, reason: str, detail: str) -> None:
        code = f"ABILITY_{reason.upper().replace('-', '_')}"
        message = f"ability '{ability.id}' is left out: {detail}"
        self.issues.append(Issue(code, message, ability.path, hint=_HINTS[code]))
        self.skipped.append(Skipped(ability.id, "ability", reason, detail=detail))

    def _warn(self, code: str, ability: Ability, detail: str) -> None:
        message = f"core ability '{ability.id}' is used all the same: {detail}"
        self.issues.append(Issue(code, message, ability.path, hint=_HINTS[code]))


_HINTS = {
    "ABILITY_DEPENDENCY_MISSING": "add what is missing, or take it out of 'requires'",
    "ABILITY_CONFLICT": "take one of the two out of this agent's reach, or drop 'conflicts'",
    "ABILITY_CORE_KEPT": "enable it, or take it out of the core abilities",
}


def _missing(ability: Ability, dependent: Ability, wanted: str, dependency: Ability | None) -> str:
    if dependency is None:
        why = "does not exist"
    else:
        why = "does not apply to this agent" if dependency.enabled else "is disabled"
    through = "" if dependent is ability else f" through '{dependent.id}'"
    return f"it requires '{wanted}'{through}, which {why}"

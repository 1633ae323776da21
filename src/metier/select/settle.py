"""Dependencies and conflicts, settled in the order of the ranking."""

from collections.abc import Container, Iterator, Mapping

from metier.core.order import dependencies_first
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
        """Id → a selected ability that conflicts with it."""
        self._lacking: set[str] = set()
        """Ids of abilities with a missing dependency."""

    def add(self, ability: Ability) -> bool:
        """Take `ability` unless it conflicts or lacks a dependency; whether it was taken."""
        if ability.id in self.added:
            return False
        group, missing = self._group(ability, self._admitted)
        if missing:
            self._exclude(ability, "dependency-missing", missing[0])
            return False
        if clash := next(self._clashes(group), ""):
            self._exclude(ability, "conflict", clash)
            return False
        self._take(group, ability)
        return True

    def add_core(self, ability: Ability) -> None:
        """Take `ability` and what it requires; problems become warnings."""
        if ability.id in self.added:
            return
        group, missing = self._group(ability, self._known)
        for detail in missing:
            self._warn("ABILITY_DEPENDENCY_MISSING", ability, detail)
        for clash in dict.fromkeys(self._clashes(group)):
            self._warn("ABILITY_CONFLICT", ability, clash)
        for one in group:
            if one.id not in self._admitted:
                who = "it" if one is ability else f"'{one.id}', which it requires,"
                self._warn("ABILITY_CORE_KEPT", ability, f"{who} {_why_off(one)}")
        self._take(group, ability)

    def met(self) -> list[str]:
        """Ids of all that were taken or skipped."""
        return [*self.added, *(one.id for one in self.skipped)]

    def _take(self, group: list[Ability], ability: Ability) -> None:
        for one in group:
            self.added[one.id] = one
            if one is not ability:
                self.required_by[one.id] = ability.id
            for other in one.conflicts:
                if other != one.id:
                    self._ruled_out.setdefault(other, one.id)

    def _group(self, ability: Ability, admitted: Container[str]) -> tuple[list[Ability], list[str]]:
        """What has to be added with `ability`, dependencies first; and what is missing for it."""
        if not self._with_dependencies:
            return [ability], []
        missing: list[str] = []

        def requires(dependent: str) -> Iterator[str]:
            for wanted in self._known[dependent].requires:
                if wanted in self.added:
                    continue
                if wanted in admitted and wanted not in self._lacking:
                    yield wanted
                else:
                    missing.append(self._missing(ability.id, dependent, wanted))

        order = dependencies_first(ability.id, requires)
        if missing and admitted is self._admitted:
            self._remember_lacking(order)
        return [self._known[one] for one in order], missing

    def _remember_lacking(self, order: list[str]) -> None:
        """Note which of `order`, dependencies first, can never be added."""
        for one in order:
            for wanted in self._known[one].requires:
                if wanted not in self.added and (
                    wanted not in self._admitted or wanted in self._lacking
                ):
                    self._lacking.add(one)

    def _missing(self, ability: str, dependent: str, wanted: str) -> str:
        dependency = self._known.get(wanted)
        if dependency is None:
            why = "does not exist"
        elif wanted in self._lacking:
            why = "is itself excluded"
        else:
            why = _why_off(dependency)
        through = "" if dependent == ability else f" through '{dependent}'"
        return f"it requires '{wanted}'{through}, which {why}"

    def _clashes(self, group: list[Ability]) -> Iterator[str]:
        """Every conflict between `group` and what is in already, and within `group`."""
        if not self._with_conflicts:
            return
        together = {one.id for one in group}
        for one in group:
            if one.id in self._ruled_out:
                yield _exclude_each_other(one.id, self._ruled_out[one.id])
            for other in one.conflicts:
                if other != one.id and (other in self.added or other in together):
                    yield _exclude_each_other(one.id, other)

    def _exclude(self, ability: Ability, reason: str, detail: str) -> None:
        code = f"ABILITY_{reason.upper().replace('-', '_')}"
        message = f"ability '{ability.id}' is excluded: {detail}"
        self.issues.append(Issue(code, message, ability.path, hint=_HINTS[code]))
        self.skipped.append(Skipped(ability.id, "ability", reason, detail=detail))

    def _warn(self, code: str, ability: Ability, detail: str) -> None:
        message = f"core ability '{ability.id}' is used anyway: {detail}"
        self.issues.append(Issue(code, message, ability.path, hint=_HINTS[code]))


_HINTS = {
    "ABILITY_DEPENDENCY_MISSING": "add what is missing, or remove it from 'requires'",
    "ABILITY_CONFLICT": "exclude one of the two for this agent, or remove 'conflicts'",
    "ABILITY_CORE_KEPT": "let this agent have it, or make another ability core",
}


def _why_off(ability: Ability) -> str:
    return "does not apply to this agent" if ability.enabled else "is disabled"


def _exclude_each_other(ability: str, other: str) -> str:
    first, second = sorted((ability, other))
    return f"'{first}' and '{second}' conflict"

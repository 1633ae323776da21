"""How many findings there are, by rule and by owner."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from metier.findings import Severity
from metier.flow.lint_report import Reported
from metier.values.outcomes import Issue

_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


class RuleCount(NamedTuple):
    code: str
    severity: Severity
    title: str
    findings: int
    files: int
    fixable: int

    def to_json(self) -> dict[str, str | int]:
        return self._asdict()


def by_rule(issues: Iterable[Issue]) -> list[RuleCount]:
    """Counts for each rule: errors first, and the most findings first among equals."""
    groups: dict[str, list[Issue]] = {}
    for issue in issues:
        groups.setdefault(issue.code, []).append(issue)
    counts = [
        RuleCount(
            code, found[0].severity, found[0].finding.title, len(found),
            len({issue.path for issue in found}), sum(issue.fixable for issue in found),
        )
        for code, found in groups.items()
    ]  # fmt: skip
    return sorted(counts, key=lambda one: (_ORDER[one.severity], -one.findings, one.code))


def by_owner(reported: Iterable[Reported]) -> list[tuple[str, int]]:
    """How many findings each owner has, most first; a finding can have several owners."""
    counts = Counter(owner for one in reported for owner in one.owners)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))

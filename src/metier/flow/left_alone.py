"""Why findings stay that `metier lint --fix` repairs elsewhere."""

from collections.abc import Iterable, Mapping

from metier.flow.lint_report import has_repair
from metier.flow.repairing import NAME_CODES, Repair, repair_key
from metier.values.files import Reading
from metier.values.outcomes import Issue

_NOT_RIGHT = "its repair would change something else"


def reasons_left(
    reading: Reading, issues: Iterable[Issue], repairs: Iterable[Repair], refused: Mapping[str, str]
) -> dict[str, str]:
    """Why those of `issues` stay that no repair removes, by path; `refused`: why names do."""
    repaired = {repair_key(issue) for repair in repairs for issue in repair.issues}
    stay: dict[str, dict[str, str]] = {found.path: {} for found in reading.found}
    for issue in issues:
        if issue.path in stay and repair_key(issue) not in repaired and has_repair(issue):
            reason = refused.get(issue.path, "") if issue.code in NAME_CODES else ""
            stay[issue.path][issue.code] = reason or _NOT_RIGHT
    return {
        path: "; ".join(f"{code}: {reason}" for code, reason in reasons.items())
        for path, reasons in stay.items()
        if reasons
    }

"""What a run of `metier lint` does not repair since it is not where that run may write."""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from metier.core.names import is_capability_name
from metier.core.paths import is_inside
from metier.flow.lint_report import has_repair
from metier.values.files import Found, Reading
from metier.values.outcomes import Issue

_NAME_CODES = frozenset({"SK302", "SK303"})
"""Findings whose repair may rename the folder."""


class Reach(NamedTuple):
    """Where a run may write."""

    workspace: str
    """Symlinks resolved."""
    is_workspace: bool
    is_named: bool
    """Whether files were named; else only those of the workspace are repaired."""

    def has(self, found: Found) -> bool:
        return self.is_named or is_inside(found.file, self.workspace)

    def may_rename(self, folder: str) -> bool:
        return self.is_workspace and folder != self.workspace and is_inside(folder, self.workspace)


def unsafe_only(reading: Reading, issues: Iterable[Issue], reach: Reach) -> int:
    """How many findings that are left alone --unsafe may repair where they are."""
    files = {found.path: found for found in reading.found}
    return sum(
        issue.fixable
        and issue.needs_unsafe
        and has_repair(issue)
        and issue.path in files
        and _is_in_reach(issue, files[issue.path], reach)
        for issue in issues
    )


def _is_in_reach(issue: Issue, found: Found, reach: Reach) -> bool:
    folder = os.path.dirname(found.file)
    renames = issue.code == "SK303" or not is_capability_name(os.path.basename(folder))
    if issue.code in _NAME_CODES and renames and not reach.may_rename(folder):
        return False
    return reach.has(found)


class Elsewhere(NamedTuple):
    """Safe repairs of files that a run must not write."""

    findings: int = 0
    folders: Sequence[str] = ()
    """The folders to name, each with the folders of skills in it."""


def elsewhere(reading: Reading, issues: Iterable[Issue], reach: Reach) -> Elsewhere:
    """What a run that names the folders would repair of `issues`."""
    outside = {found.path: found for found in reading.found if not reach.has(found)}
    wanted = [one for one in issues if one.path in outside and one.fixable and not one.needs_unsafe]
    if not wanted:
        return Elsewhere()
    from metier.flow.repairing import plan_repairs, repair_key  # most runs find nothing to repair

    keys = set(map(repair_key, wanted))
    own = reading._replace(found=[outside[path] for path in {one.path: 0 for one in wanted}])
    repairs = plan_repairs(own, wanted, lambda issue: repair_key(issue) in keys)
    folders = {_above(repair.found) for repair in repairs}
    return Elsewhere(sum(len(repair.issues) for repair in repairs), sorted(folders))


def _above(found: Found) -> str:
    """The folder that holds the folder of a skill, or the file of another document."""
    folder = os.path.dirname(found.file)
    return os.path.dirname(folder) if found.kind == "skill" else folder

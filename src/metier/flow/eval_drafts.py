"""Drafts of evaluation cases for the skills of a catalog."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from metier.core.overlap import OnProgress
from metier.evals.drafts import Draft, Subject, drafted
from metier.evals.drafts import as_yaml as as_yaml
from metier.flow.overlap import Compared, compared_skills, why_not_compared
from metier.flow.separating import Separator, triggers
from metier.hosts import nameable_to
from metier.index.pools import pool_of
from metier.index.store import Store
from metier.values.rows import Row
from metier.values.settings_tables import CapabilitiesConfig

NEAR = 0.4
"""The least overlap at which tasks of another skill are near misses."""
TOO_NEAR = 0.9
"""From here on two skills do the same job: a task of one is right for the other."""


class Drafts(NamedTuple):
    """Cases, and why there are none for a skill."""

    cases: Sequence[Draft]
    notes: Sequence[str]


def draft_cases(
    store: Store,
    config: CapabilitiesConfig,
    wanted: Sequence[Row] = (),
    on_progress: OnProgress | None = None,
) -> Drafts:
    """Cases for the `wanted` skills, or for all that a hook may name."""
    condition = nameable_to(None).replace("origin != 'untrusted' AND ", "")
    compared = compared_skills(store, condition, NEAR, on_progress)
    rows = {one.row.path: one.row for group in compared.groups for one in group}
    chosen = wanted or sorted(rows.values(), key=lambda row: (row.handle, row.path))
    pool = pool_of(store, "skill", condition)
    separator = Separator(store, pool, config.skill_threshold, config.skill_suggestions)
    rivals = _rivals(compared)
    subjects = []
    for row in chosen:
        if row.path in rows:
            rival = rivals.get(row.path)
            other = Subject(rival.handle, triggers(rival)) if rival else None
            subjects.append(Subject(row.handle, triggers(row), other))

    def named(task: str) -> list[str]:
        return [rows[path].handle for path in separator.named_for(task)]

    left_out = [row for row in chosen if row.path not in rows]
    notes = [f"no cases for '{row.handle}': {why_not_compared(row)}" for row in left_out]
    return Drafts(drafted(subjects, named), notes)


def _rivals(compared: Compared) -> Mapping[str, Row]:
    """Path of each skill → the skill that overlaps with it most and does another job."""
    found: dict[str, Row] = {}
    for pair in compared.pairs:  # the most first
        if pair.overlap >= TOO_NEAR:
            continue
        for place, other in ((pair.first, pair.second), (pair.second, pair.first)):
            for one in compared.groups[place]:
                found.setdefault(one.row.path, compared.groups[other][0].row)
    return found

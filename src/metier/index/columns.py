"""The skills of the catalog, column by column."""

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

from metier.core.names import canonical_id, team_name
from metier.index.documents import folder_of
from metier.index.store import Store

CLAIMS = "SELECT key, claims FROM document WHERE claims != ''"
TEAMS = "SELECT key, team FROM document WHERE team != ''"


class Skills(NamedTuple):
    """One sequence per column, with an entry for each skill."""

    claims: Mapping[int, str]
    """What skills claim, by key, for `Candidate.stored`."""
    teams: Mapping[int, str]
    """The teams of the skills that have one, by key."""
    names: Sequence[str]
    paths: Sequence[str]
    sources: Sequence[str]
    manual: Sequence[int]
    """Whether only the user starts it."""
    keys: Sequence[int]
    lengths: Sequence[int]
    distinct: Sequence[int]
    """How many stems, and how many different ones, name and description have."""
    distinct_in_label: Sequence[int]
    """How many different ones name and folder have."""

    def ids(self) -> list[str]:
        return list(map(canonical_id, self.names, map(folder_of, self.paths)))

    def handles(self) -> list[str]:
        """The names, each after the name of its team."""
        teams = (self.teams.get(key, "") for key in self.keys)
        return list(map(team_name, teams, self.names))

    def where(self, wanted: Sequence[bool]) -> "Skills":
        columns: Sequence[Sequence[Any]] = self[2:]
        kept = (list(compress(column, wanted)) for column in columns)
        return Skills(self.claims, self.teams, *kept)


NO_SKILLS = Skills({}, {}, *[()] * 8)


def read_skills(store: Store) -> Skills:
    """All active and shadowed skills."""
    rows = store.rows(
        "SELECT name, path, source, manual, key, prose, prose_distinct, label_distinct"
        " FROM document JOIN skill_size USING (key)"
        " WHERE kind = 'skill' AND state IN ('active', 'shadowed')"
    )
    claims, teams = dict(store.rows(CLAIMS)), dict(store.rows(TEAMS))
    return Skills(claims, teams, *zip(*rows, strict=True)) if rows else NO_SKILLS

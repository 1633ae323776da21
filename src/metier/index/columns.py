"""The skills of the catalog, column by column, as a resolution reads them.

The columns are kept in the catalog, packed: reading them is ten times faster than reading rows.
"""

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, compress, count, filterfalse
from typing import Any, NamedTuple, TypeVar

from metier.core.names import canonical_id, team_name
from metier.errors import StoreError
from metier.index.documents import folder_of
from metier.index.stems import STEMS, SkillRows
from metier.index.store import Store
from metier.values.candidates import Candidate

CLAIMS = "SELECT key, claims FROM document WHERE claims != ''"
TEAMS = "SELECT key, team FROM document WHERE team != ''"
_ROWS = """
    SELECT name, path, source, manual, key, prose, prose_distinct, label_distinct
    FROM document JOIN skill_size USING (key)
    WHERE kind = 'skill' AND state IN ('active', 'shadowed')
"""
_KEPT = "SELECT ids, sources, numbers FROM skill_columns"
_ANY = "SELECT 1 FROM skill_columns"
_NUMBER = "q"
T = TypeVar("T")
_JOINT = len(canonical_id("", ""))


class Skills(NamedTuple):
    """One sequence per column, with an entry for each skill, in the order of their ids."""

    speaking: Mapping[int, Candidate]
    """The skills that claim anything, by key."""
    teams: Mapping[int, str]
    """The teams of the skills that have one, by key."""
    ids: Sequence[str]
    """Name and folder, joined by `canonical_id`."""
    name_lengths: Sequence[int]
    sources: Sequence[str]
    manual: Sequence[int]
    """Whether only the user starts it."""
    keys: Sequence[int]
    lengths: Sequence[int]
    distinct: Sequence[int]
    """How many stems, and how many different stems, name and description have."""
    distinct_in_label: Sequence[int]
    """How many different stems name and folder have."""

    def name(self, number: int) -> str:
        return self.ids[number][: self.name_lengths[number]]

    def folder(self, number: int) -> str:
        return self.ids[number][self.name_lengths[number] + _JOINT :]

    def team(self, number: int) -> str:
        return self.teams.get(self.keys[number], "")

    def candidate(self, number: int) -> Candidate:
        speaking = self.speaking.get(self.keys[number])
        return speaking if speaking is not None else self._candidate(number, "")

    def _candidate(self, number: int, claims: str) -> Candidate:
        source, team = self.sources[number], self.team(number)
        return Candidate.stored(self.name(number), self.folder(number), source, claims, team)

    def numbers_of(self, by_key: Mapping[int, T]) -> dict[int, T]:
        """The same values by the number of a skill."""
        if not by_key:
            return {}
        wanted = compress(count(), map(by_key.__contains__, self.keys))
        return {number: by_key[self.keys[number]] for number in wanted}

    def names(self, number: int) -> tuple[str, str, str]:
        """What finds a skill: its id, its name, and its name after that of its team."""
        name = self.name(number)
        return self.ids[number], name, team_name(self.team(number), name)

    def where(self, wanted: Sequence[bool]) -> "Skills":
        columns: Sequence[Sequence[Any]] = self[2:]
        kept = (list(compress(column, wanted)) for column in columns)
        return Skills(self.speaking, self.teams, *kept)

    def with_claims(self, claims: Mapping[int, str]) -> "Skills":
        speaking = {
            self.keys[number]: self._candidate(number, claimed)
            for number, claimed in self.numbers_of(claims).items()
        }
        return self._replace(speaking=speaking)


NO_SKILLS = Skills({}, {}, *[()] * 8)


class SkillReader:
    """Reads the skills of a catalog, and again when it has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._skills = NO_SKILLS
        self._version: tuple[int, ...] | None = None

    @contextmanager
    def snapshot(self) -> Iterator[Skills]:
        """All included skills, shadowed ones too: the same object until the catalog changes.

        New skills get their stems first. All queries of the block see the same catalog.
        """
        with self._store.snapshot():
            if self._version == self._store.version():
                yield self._skills
                return
        catch_up(self._store)
        with self._store.snapshot():
            version = self._store.version()
            if self._version != version:
                self._skills = read_skills(self._store)
                is_complete = _is_caught_up(self._store)  # else a skill was just added
                self._version = version if is_complete else None
            yield self._skills


def excluded_skills(store: Store) -> list[tuple[str, str, int]]:
    """How many skills of each source are excluded for each reason."""
    return store.rows(
        "SELECT source, reason, count(*) FROM document"
        " WHERE kind = 'skill' AND state = 'excluded' GROUP BY 1, 2"
    )


def read_skills(store: Store) -> Skills:
    """All active and shadowed skills."""
    claims, teams = dict(store.rows(CLAIMS)), dict(store.rows(TEAMS))
    kept = store.rows(_KEPT)
    with store.checked():
        skills = _unpacked(*kept[0]) if kept else _selected(store)
        return skills._replace(teams=teams).with_claims(claims)


def catch_up(store: Store) -> int:
    """Add the stems of all skills that have none, and keep the columns; how many had none."""
    added = add_stems(store)
    if not store.rows(_ANY):
        _keep_columns(store)
    return added


def add_stems(store: Store) -> int:
    """Add the stems of all skills that have none; how many there were."""
    if _is_caught_up(store):
        return 0
    with store.transaction() as connection, store.checked():
        return SkillRows(connection).write_missing()


def _is_caught_up(store: Store) -> bool:
    """Whether every skill has its stems."""
    return store.setting(STEMS) != ""


def _keep_columns(store: Store) -> None:
    """Keep the columns until skills change, unless another process writes."""
    with suppress(StoreError), store.without_waiting(), store.transaction() as connection:
        if not store.rows(_ANY):
            with store.checked():
                kept = _packed(_selected(store))
            connection.execute("INSERT INTO skill_columns VALUES (?, ?, ?)", kept)


def _selected(store: Store) -> Skills:
    """The columns of all skills, without claims and teams."""
    rows = [
        (canonical_id(name, folder_of(path)), len(name), *others)
        for name, path, *others in store.rows(_ROWS)
    ]
    rows.sort(key=lambda row: row[0])
    return Skills({}, {}, *zip(*rows, strict=True)) if rows else NO_SKILLS


def _packed(skills: Skills) -> tuple[str, str, bytes]:
    _, _, ids, name_lengths, sources, *others = skills
    known = sorted(set(sources))
    numbered = [known.index(source) for source in sources]
    numbers = array(_NUMBER, chain(numbered, name_lengths, *others))
    return _joined(ids), json.dumps(known), numbers.tobytes()


def _joined(texts: Sequence[str]) -> str:
    """The texts, each after a character that none of them has: splitting is faster than JSON."""
    used = set("".join(texts))
    mark = next(filterfalse(used.__contains__, map(chr, count())))
    return "".join(f"{mark}{text}" for text in texts)


def _unpacked(joined: str, sources_json: str, packed: bytes) -> Skills:
    if not joined and not packed:
        return NO_SKILLS
    ids, known = joined[1:].split(joined[0]), json.loads(sources_json)
    numbers, size = array(_NUMBER, packed), len(ids)
    columns = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    if any(len(column) != size for column in columns):
        raise ValueError("columns of different lengths")
    sources, name_lengths, *others = columns
    return Skills({}, {}, ids, name_lengths, [known[number] for number in sources], *others)

"""The skills of the catalog, column by column, as a resolution reads them.

The columns are kept in the catalog, packed: reading them is ten times faster than reading rows.
"""

import json
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, compress
from typing import Any, NamedTuple

from metier.core.names import canonical_id
from metier.errors import StoreError
from metier.index.documents import folder_of
from metier.index.store import Store

CLAIMS = "SELECT key, claims FROM document WHERE claims != ''"
_ROWS = """
    SELECT name, path, source, manual, key, prose, prose_distinct, label_distinct
    FROM document JOIN skill_size USING (key)
    WHERE kind = 'skill' AND state IN ('active', 'shadowed')
"""
_KEPT = "SELECT texts, numbers FROM skill_columns"
_ANY = "SELECT 1 FROM skill_columns"
_NUMBER = "q"
_JOINT = len(canonical_id("", ""))


class Skills(NamedTuple):
    """One sequence per column, with an entry for each skill, in the order of their ids."""

    claims: Mapping[int, str]
    """What skills claim, by key, for `Candidate.stored`."""
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

    def where(self, wanted: Sequence[bool]) -> "Skills":
        columns: Sequence[Sequence[Any]] = self[1:]
        return Skills(self.claims, *(list(compress(column, wanted)) for column in columns))


NO_SKILLS = Skills({}, *[()] * 8)


def read_skills(store: Store) -> Skills:
    """All active and shadowed skills."""
    claims = dict(store.rows(CLAIMS))
    kept = store.rows(_KEPT)
    with store.checked():
        return _unpacked(claims, *kept[0]) if kept else _selected(store, claims)


def keep_columns(store: Store) -> None:
    """Keep the columns until skills change, unless another process writes."""
    if store.rows(_ANY):
        return
    with suppress(StoreError), store.without_waiting(), store.transaction() as connection:
        if not store.rows(_ANY):
            with store.checked():
                kept = _packed(_selected(store, {}))
            connection.execute("INSERT INTO skill_columns VALUES (?, ?)", kept)


def _selected(store: Store, claims: Mapping[int, str]) -> Skills:
    rows = [
        (canonical_id(name, folder_of(path)), len(name), *others)
        for name, path, *others in store.rows(_ROWS)
    ]
    rows.sort(key=lambda row: row[0])
    return Skills(claims, *zip(*rows, strict=True)) if rows else NO_SKILLS


def _packed(skills: Skills) -> tuple[str, bytes]:
    _, ids, name_lengths, sources, *others = skills
    known = sorted(set(sources))
    numbered = [known.index(source) for source in sources]
    numbers = array(_NUMBER, chain(numbered, name_lengths, *others))
    return json.dumps([ids, known], ensure_ascii=False), numbers.tobytes()


def _unpacked(claims: Mapping[int, str], texts: str, packed: bytes) -> Skills:
    ids, known = json.loads(texts)
    if not ids:
        return NO_SKILLS
    numbers, size = array(_NUMBER, packed), len(ids)
    columns = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    if any(len(column) != size for column in columns):
        raise ValueError("columns of different lengths")
    sources, name_lengths, *others = columns
    return Skills(claims, ids, name_lengths, [known[number] for number in sources], *others)

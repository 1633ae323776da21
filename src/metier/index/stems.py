"""The stems of skills. A refresh forgets changed skills; they are added on first use."""

import sqlite3
from collections import Counter
from typing import NamedTuple

from metier.core.stems import label_stems, prose_stems
from metier.core.text import routing_text
from metier.index.documents import folder_of
from metier.index.postings import LABEL, PROSE, Postings
from metier.values.files import Entry
from metier.values.listings import Stored

STEMS = "stems"
"""A setting: how many skills have stems, and how many stems; absent while some have none."""
_MISSING = """
    SELECT key, name, description, when_to_use, path FROM document LEFT JOIN skill_size USING (key)
    WHERE kind = 'skill' AND handle != '' AND prose IS NULL ORDER BY key
"""


class Size(NamedTuple):
    key: int
    prose: int
    prose_distinct: int
    label_distinct: int


class SkillRows:
    """Changes to the capabilities and stems of skills, written at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._is_new = connection.execute("SELECT 1 FROM skill_size").fetchone() is None
        self._postings = Postings(connection, (PROSE, LABEL), width=3)
        """Of each skill: its key, how often it has the stem, how many stems it has."""
        self._capabilities: list[tuple[str, int]] = []
        self._sizes: list[Size] = []

    def add(self, key: int, entry: Entry) -> None:
        self._capabilities += [(capability, key) for capability in entry.capabilities]

    def remove_all(self) -> None:
        self._postings.remove_all()
        self._connection.execute("DELETE FROM skill_size")
        self._is_new = True

    def remove(self, old: Stored) -> None:
        if self._is_new:
            return
        self._connection.execute("DELETE FROM skill_size WHERE key = ?", (old.key,))
        about = routing_text(old.description, old.when_to_use)
        self._postings.remove(old.key, PROSE, prose_stems(old.name, about))
        self._postings.remove(old.key, LABEL, label_stems(old.name, folder_of(old.path)))

    def write(self) -> None:
        """Write all changes; new skills get stems only where all others have theirs."""
        self._connection.execute("DELETE FROM skill_columns")
        self._connection.executemany(
            "INSERT OR IGNORE INTO skill_capability VALUES (?, ?)", self._capabilities
        )
        known = self._connection.execute("SELECT 1 FROM setting WHERE name = ?", (STEMS,))
        if self._is_new or known.fetchone() is None:
            self._postings.write()
            self._connection.execute("DELETE FROM setting WHERE name = ?", (STEMS,))
        else:
            self.write_missing()

    def write_missing(self) -> int:
        """Add the stems of all skills that have none; how many there were."""
        self._connection.execute("DELETE FROM skill_columns")
        missing = self._connection.execute(_MISSING).fetchall()
        for row in missing:
            self._add_stems(*row)
        self._postings.write()
        self._connection.executemany(
            "INSERT OR REPLACE INTO skill_size VALUES (?, ?, ?, ?)", self._sizes
        )
        self._connection.execute(
            "INSERT OR REPLACE INTO setting"
            " SELECT ?, count(*) || ' ' || coalesce(sum(prose), 0) FROM skill_size",
            (STEMS,),
        )
        return len(missing)

    def _add_stems(
        self, key: int, name: str, description: str, when_to_use: str, path: str
    ) -> None:
        about = routing_text(description, when_to_use)
        found = prose_stems(name, about)
        prose = Counter(found)
        labels = set(label_stems(name, folder_of(path)))
        added = self._postings.added[PROSE]
        for stem, count in prose.items():
            added[stem] += (key, count, len(found))
        added = self._postings.added[LABEL]
        for stem in labels:
            added[stem] += (key, 1, len(labels))
        self._sizes.append(Size(key, len(found), len(prose), len(labels)))

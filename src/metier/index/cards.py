"""Cards in the catalog: what they are chosen by, and their sanitized text.

`metier.hook.cards` reads these tables too, without loading this module.
"""

import json
import sqlite3
from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

from metier.index.store import Store
from metier.values.files import Entry
from metier.values.listings import Stored

if TYPE_CHECKING:  # slow to import, and most commands change no card
    from metier.values.documents import Card

_START = 2
"""Keywords are stored by this many first characters."""


class CardRows:
    """Changes to the cards, written at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows: list[tuple[object, ...]] = []
        self._is_changed = False

    def add(self, key: int, entry: Entry) -> None:
        if entry.reason:
            return
        self._is_changed = True
        card = cast("Card", entry.document)
        facts = {
            "name": card.name,
            "version": card.version,
            "conditions": [
                card.session_types, card.time_of_day, card.user_tier, card.environment_type
            ],
            "match": card.match,
            "keywords": [keyword.casefold() for keyword in card.keywords],
        }  # fmt: skip
        self._rows.append(
            (key, card.id, card.priority, card.confidence_threshold, _dump(facts), entry.card_text)
        )

    def remove(self, old: Stored) -> None:
        self._is_changed = True
        self._connection.execute("DELETE FROM card WHERE key = ?", (old.key,))

    def remove_all(self) -> None:
        self._is_changed = True
        self._connection.execute("DELETE FROM card")

    def write(self) -> None:
        """Write the rows, and the keywords of all active cards."""
        if not self._is_changed:
            return
        self._connection.executemany(
            "INSERT OR REPLACE INTO card VALUES (?, ?, ?, ?, ?, ?)", self._rows
        )
        keys_of: defaultdict[str, list[int]] = defaultdict(list)
        for key, facts in self._connection.execute(
            "SELECT key, facts FROM card JOIN document USING (key)"
            " WHERE state = 'active' AND json_extract(data, '$.enabled') IS NOT 0 ORDER BY key"
        ):
            for keyword in dict.fromkeys(json.loads(facts)["keywords"]):
                keys_of[keyword].append(key)
        by_start: defaultdict[str, list[str]] = defaultdict(list)
        for keyword, keys in sorted(keys_of.items()):
            escaped = keyword.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
            by_start[keyword[:_START]].append(f"{escaped}\t{' '.join(map(str, keys))}")
        self._connection.execute("DELETE FROM card_keyword")
        self._connection.executemany(
            "INSERT INTO card_keyword VALUES (?, ?)",
            [(start, "\n".join(lines)) for start, lines in by_start.items()],
        )


def stored_cards(store: Store) -> "list[Card]":
    """The active cards, by id, without their text."""
    rows = store.rows(
        "SELECT id, path, sha256, description, priority, threshold, facts, data"
        " FROM card JOIN document USING (key) WHERE state = 'active' ORDER BY id"
    )
    with store.checked():
        return [_card(row) for row in rows]


def _card(row: tuple[Any, ...]) -> "Card":
    from metier.values.documents import Card

    id, path, sha256, description, priority, threshold, *texts = row
    facts, data = map(json.loads, texts)
    session_types, time_of_day, user_tier, environment_type = map(tuple, facts["conditions"])
    return Card(
        id=id,
        name=facts["name"],
        description=description,
        keywords=tuple(data["triggers"]["keywords"]),
        estimated_tokens=data.get("estimatedTokens", 0),
        session_types=session_types,
        time_of_day=time_of_day,
        user_tier=user_tier,
        environment_type=environment_type,
        match=facts["match"],
        confidence_threshold=threshold,
        priority=priority,
        version=facts["version"],
        enabled=data.get("enabled") is not False,
        path=path,
        sha256=sha256,
        data=data,
    )


def untrusted_cards(store: Store) -> frozenset[str]:
    """The ids of the active cards from an untrusted workspace."""
    rows = store.rows(
        "SELECT id FROM card JOIN document USING (key)"
        " WHERE state = 'active' AND origin = 'untrusted'"
    )
    return frozenset(row[0] for row in rows)


def text_of_card(store: Store, card_id: str) -> str:
    """The sanitized text of an active card."""
    rows = store.rows(
        "SELECT text FROM card JOIN document USING (key) WHERE id = ? AND state = 'active'",
        (card_id,),
    )
    return str(rows[0][0]) if rows else ""


_dump = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

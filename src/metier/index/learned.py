"""What documents and their users' examples teach: kept examples, and the model made of them."""

import json
import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from metier.core.clauses import split_clauses
from metier.core.learned import MOST_DOCUMENTS, grams
from metier.core.small_talk import SMALL_TALK
from metier.core.terms import plain_words
from metier.core.text import routing_text
from metier.core.word_table import WordTable, shipped_table
from metier.index.store import Store
from metier.values.examples import Example
from metier.values.files import Kind

MOST_LESSONS = 3_000
"""The examples of a logistic model."""
FEWEST_LESSONS = 2
"""Of a document, however many documents there are; its own text is the first."""
_VERSION = 1
"""Raised when equal examples give another model."""


class _Class(NamedTuple):
    """A document with examples."""

    key: int
    texts: Sequence[str]
    """Its own text, then its examples."""


def learn(store: Store, kind: Kind, taught: Sequence[Example], is_wanted: bool = True) -> bool:
    """Fit the model of a kind again if an example has changed; whether it was.

    `taught` are the examples from outside the documents. Without `is_wanted` there is no model.
    """
    classes, nothing = _lessons(store, kind, taught) if is_wanted else ([], [])
    table = shipped_table()
    digest = sha256(repr((_VERSION, len(table or ()), classes, nothing)).encode()).hexdigest()
    [known] = store.rows("SELECT digest FROM learned WHERE kind = ?", (kind,)) or [("",)]
    if known[0] == (digest if classes else ""):
        return False
    with store.transaction() as connection:
        connection.execute("DELETE FROM learned WHERE kind = ?", (kind,))
        connection.execute("DELETE FROM learned_word WHERE kind = ?", (kind,))
        if classes:
            _fit(connection, kind, digest, classes, nothing, table)
    return True


def _lessons(store: Store, kind: Kind, taught: Sequence[Example]) -> tuple[list[_Class], list[str]]:
    """The documents with examples, and the tasks that belong to none."""
    found: dict[int, list[str]] = {}
    usable = "document.kind = ? AND state = 'active' AND origin != 'untrusted'"
    for key, text in store.rows(
        f"SELECT key, text FROM example JOIN document USING (key) WHERE {usable}"
        " ORDER BY path, place",
        (kind,),
    ):
        found.setdefault(key, []).append(text)
    keys = _keys(store, kind, taught)
    for one in taught:
        if one.is_for and one.name in keys:
            found.setdefault(keys[one.name], []).append(one.task)
        elif not one.is_for and one.name in keys:
            found.setdefault(keys[one.name], [])  # its own text is the example
    rows = store.rows(
        "SELECT key, name, description, when_to_use FROM document"
        f" WHERE key IN (SELECT value FROM json_each(?)) AND {usable} ORDER BY path",
        (json.dumps(list(found)), kind),
    )
    most = MOST_LESSONS // max(1, len(rows)) if len(rows) <= MOST_DOCUMENTS else MOST_LESSONS
    most = max(FEWEST_LESSONS, most)
    classes, nothing = [], list(SMALL_TALK)
    for key, name, about, when in rows:
        clauses = split_clauses(routing_text(about, when))
        own = f"{name} {clauses.about}"
        classes.append(_Class(key, list(dict.fromkeys([own, *found[key]]))[:most]))
        nothing += [clauses.against] if clauses.against else []
    against = dict.fromkeys(one.task for one in taught if not one.is_for)
    return classes, [*nothing, *list(against)[:MOST_DOCUMENTS]]


def _keys(store: Store, kind: Kind, taught: Sequence[Example]) -> dict[str, int]:
    """Name → key of the document that is meant."""
    names = json.dumps(list(dict.fromkeys(one.name for one in taught if one.name)))
    rows = store.rows(
        "SELECT value, min(document.key) FROM json_each(?) JOIN document ON value IN (handle, name)"
        " WHERE kind = ? AND state = 'active' GROUP BY value",
        (names, kind),
    )
    return dict(rows)


def _fit(
    connection: sqlite3.Connection,
    kind: Kind,
    digest: str,
    classes: Sequence[_Class],
    nothing: Sequence[str],
    table: WordTable | None,
) -> None:
    from metier.index.fitting import Lesson, fit  # loads numpy

    def lesson(text: str, place: int) -> Lesson:
        vector = table.vector(plain_words(text)) if table else None
        return Lesson(grams(text), vector or None, place)

    texts = [(text, place) for place, one in enumerate(classes) for text in one.texts]
    texts += [(text, -1) for text in nothing]
    fitted = fit([lesson(*one) for one in texts], len(classes))
    connection.execute(
        "INSERT INTO learned VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            kind, digest, array("q", [one.key for one in classes]).tobytes(),
            array("h", fitted.mean).tobytes(), fitted.directions.tobytes(),
            fitted.unknown, fitted.scale, len(classes) <= MOST_DOCUMENTS,
        ),
    )  # fmt: skip
    connection.executemany(
        "INSERT INTO learned_word VALUES (?, ?, ?, ?)", _word_rows(kind, fitted.words)
    )


def _word_rows(
    kind: Kind, words: Mapping[str, tuple[int, bytes]]
) -> Iterator[tuple[str, str, int, bytes]]:
    for gram, (weight, row) in words.items():
        yield kind, gram, weight, row

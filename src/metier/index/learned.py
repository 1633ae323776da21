"""What documents and their users' examples teach: kept examples, and the model made of them."""

import json
import sqlite3
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from metier.core.clauses import split_clauses
from metier.core.learned import MOST_DOCUMENTS, grams
from metier.core.small_talk import SMALL_TALK
from metier.core.terms import plain_words
from metier.core.text import routing_text
from metier.core.word_table import shipped_table
from metier.index.rank_index import meant_text
from metier.index.store import Store
from metier.storage.rank_pool import ENCODED
from metier.values.examples import Example
from metier.values.files import Kind

if TYPE_CHECKING:
    from metier.core.word_table import Vector

MOST_LESSONS = 3_000
"""The examples of a logistic model."""
FEWEST_LESSONS = 2
"""Of a document, however many documents there are; its own text is the first."""
_VERSION = 1
"""Raised when equal examples give another model."""


class Meaning(NamedTuple):
    """What gives texts their vectors."""

    id: str
    vectors: Callable[[Sequence[str]], "Sequence[Vector | None]"]
    is_encoder: bool = False
    """Whether it is the user's encoder, which has its own model."""


def by_words() -> Meaning:
    """By the built-in word table."""
    table = shipped_table()

    def vectors(texts: Sequence[str]) -> "Sequence[Vector | None]":
        return [(table.vector(plain_words(one)) or None) if table else None for one in texts]

    return Meaning(str(len(table or ())), vectors)


class _Class(NamedTuple):
    """A document with examples."""

    key: int
    texts: Sequence[str]
    """Its own text, then its examples."""


def learn(
    store: Store,
    kind: Kind,
    taught: Sequence[Example],
    is_wanted: bool = True,
    meaning: Meaning | None = None,
) -> bool:
    """Fit the model of a kind again if an example has changed; whether it was.

    `taught` are the examples from outside the documents. Without `is_wanted` there is no model.
    Raises what `meaning` raises.
    """
    classes, nothing = _lessons(store, kind, taught) if is_wanted else ([], [])
    meaning = meaning or by_words()
    name = f"{kind} {ENCODED}" if meaning.is_encoder else kind
    digest = sha256(repr((_VERSION, meaning.id, classes, nothing)).encode()).hexdigest()
    [known] = store.rows("SELECT digest FROM learned WHERE kind = ?", (name,)) or [("",)]
    if known[0] == (digest if classes else ""):
        return False
    texts = [(text, place) for place, one in enumerate(classes) for text in one.texts]
    texts += [(text, -1) for text in nothing if classes]
    vectors = meaning.vectors([text for text, _ in texts])
    with store.transaction() as connection:
        connection.execute("DELETE FROM learned WHERE kind = ?", (name,))
        connection.execute("DELETE FROM learned_word WHERE kind = ?", (name,))
        if classes:
            _fit(connection, name, digest, [one.key for one in classes], texts, vectors)
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
        text = routing_text(about, when)
        own, clauses = meant_text(name, text), split_clauses(text)
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
    name: str,
    digest: str,
    keys: Sequence[int],
    texts: Sequence[tuple[str, int]],
    vectors: "Sequence[Vector | None]",
) -> None:
    from metier.index.fitting import Lesson, fit  # loads numpy

    lessons = [
        Lesson(grams(text), vector, place)
        for (text, place), vector in zip(texts, vectors, strict=True)
    ]
    fitted = fit(lessons, len(keys))
    connection.execute(
        "INSERT INTO learned VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            name, digest, array("q", keys).tobytes(),
            array("h", fitted.mean).tobytes(), fitted.directions.tobytes(),
            fitted.unknown, fitted.scale, len(keys) <= MOST_DOCUMENTS,
        ),
    )  # fmt: skip
    connection.executemany(
        "INSERT INTO learned_word VALUES (?, ?, ?, ?)", _word_rows(name, fitted.words)
    )


def _word_rows(
    name: str, words: Mapping[str, tuple[int, bytes]]
) -> Iterator[tuple[str, str, int, bytes]]:
    for gram, (weight, row) in words.items():
        yield name, gram, weight, row

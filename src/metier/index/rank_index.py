"""What is stored to rank documents: postings of terms, bodies, vectors. One writer a kind."""

import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from metier.core.clauses import split_clauses
from metier.core.coerce import texts_of
from metier.core.ranking import AGAINST, DESCRIPTION, EXAMPLES, NAME
from metier.core.terms import Parts, raw_parts, searchable, terms
from metier.core.weights import by_length, stored_weight
from metier.core.word_table import shipped_table
from metier.index.postings import Postings
from metier.safety.naming import may_be_named
from metier.storage.rank_pool import RANK_FIELD
from metier.values.agents import AgentProfile
from metier.values.documents import Ability, Card, Document, Skill
from metier.values.files import Entry, Kind
from metier.values.listings import Stored

LONGEST_BODY = 5_000
"""Characters of a body that are searched."""
MOST_EXAMPLES = 50
TAUGHT: tuple[Kind, ...] = ("skill", "agent")
"""The kinds whose examples teach."""
_MANY = 200
"""From this many documents on, a table is made ready for many."""


class RankText(NamedTuple):
    """The fields of a document that are ranked."""

    name: str
    about: str
    examples: Sequence[str] = ()
    body: str = ""


def rank_text(kind: Kind, document: Document) -> RankText:
    return _TEXTS[kind](document)


def _of_skill(document: Document) -> RankText:
    skill = cast(Skill, document)
    examples = texts_of(skill.data.get("examples"))[:MOST_EXAMPLES]
    return RankText(skill.name, skill.routing_text, examples, skill.body)


def _of_ability(document: Document) -> RankText:
    ability = cast(Ability, document)
    about = " ".join((ability.description, ability.category, *ability.tags))
    return RankText(f"{ability.name} {ability.id}", about, (), ability.content)


def _of_card(document: Document) -> RankText:
    card = cast(Card, document)
    return RankText(card.name, card.description, card.keywords, card.body)


def _of_agent(document: Document) -> RankText:
    agent = cast(AgentProfile, document)
    about = " ".join((agent.description, agent.role, *agent.expertise, *agent.capabilities))
    return RankText(
        f"{agent.name} {agent.id}", about, texts_of(agent.selection.get("exampleTasks"))
    )


_TEXTS = {"skill": _of_skill, "ability": _of_ability, "card": _of_card, "agent": _of_agent}


def meant_text(name: str, about: str) -> str:
    """The name of a document and what it is for: a text that has its meaning."""
    return f"{name} {split_clauses(about).about}"


class RankWords(NamedTuple):
    """What the ranker makes of the fields outside the body."""

    names: Sequence[str]
    """The terms of the name."""
    weights: Mapping[str, float]
    plain: Sequence[str]
    """The words that give the vector."""


class _Fields(NamedTuple):
    """The fields outside the body, taken apart."""

    names: Sequence[Parts]
    about: Sequence[Parts]
    examples: Sequence[Parts]
    against: str

    @classmethod
    def of(cls, text: RankText) -> "_Fields":
        clauses = split_clauses(text.about)
        examples = raw_parts(" ".join(text.examples)) if text.examples else []
        return cls(raw_parts(text.name), raw_parts(clauses.about), examples, clauses.against)

    def weights(self) -> dict[str, float]:
        against = terms(self.against) if self.against else ()
        return field_weights(_terms(self.names), _terms(self.about), _terms(self.examples), against)


def _terms(words: Sequence[Parts]) -> list[str]:
    return [term for one in words for term in one.terms]


def rank_weights(text: RankText) -> dict[str, float]:
    """The weight of each term outside the body."""
    return _Fields.of(text).weights()


def rank_words(text: RankText) -> RankWords:
    fields = _Fields.of(text)
    words = (*fields.names, *fields.about, *fields.examples)
    plain = [word for one in words for word in one.plain]
    return RankWords(_terms(fields.names), fields.weights(), plain)


class RankRows:
    """Changes to what is stored of one kind, written at once."""

    def __init__(self, connection: sqlite3.Connection, kind: Kind) -> None:
        self._connection = connection
        self._kind = kind
        self._field = RANK_FIELD[kind]
        self._postings = Postings(connection, (self._field,), width=2)
        self._rows: list[tuple[object, ...]] = []
        self._examples: list[tuple[int, int, str]] = []
        self._vectors: list[array[int]] = []
        self._codes: dict[float, int] = {}
        """Weight → its stored form, each number once in memory."""
        self._table = shipped_table()
        self._total, self._sums = self._stored_pool()

    def _stored_pool(self) -> tuple[int, "array[int]"]:
        row = self._connection.execute(
            "SELECT total, sums FROM rank_pool WHERE kind = ?", (self._kind,)
        ).fetchone()
        return (row[0], array("q", row[1])) if row else (0, array("q"))

    def add(self, key: int, entry: Entry) -> None:
        if entry.document is None:
            return
        text = rank_text(self._kind, entry.document)
        names, weights, words = rank_words(text)
        added, codes = self._postings.added[self._field], self._codes
        for term, weight in weights.items():
            code = codes.get(weight)
            if code is None:
                code = codes.setdefault(weight, stored_weight(weight))
            added[term] += (key, code)
        vector = self._vector(words)
        is_safe = may_be_named(f"{text.name} {text.about} {entry.found.path}")
        self._rows.append(
            (
                key, self._kind, is_safe, " ".join(dict.fromkeys(names)), " ".join(weights),
                vector.tobytes() if vector else None, *searchable(text.body[:LONGEST_BODY]),
            )
        )  # fmt: skip
        if self._kind in TAUGHT:
            self._examples += [(key, place, one) for place, one in enumerate(text.examples)]
        self._total += 1
        if vector:
            self._vectors.append(vector)

    def _vector(self, words: Sequence[str]) -> "array[int] | None":
        if self._table is None:
            return None
        if self._total == _MANY:
            self._table.expect_many()
        vector = self._table.vector(words)
        return array("h", vector) if vector else None

    def _add_vectors(self, times: int = 1) -> None:
        """Add the vectors that came since the last time to the sums, `times` each."""
        if self._vectors:
            columns = zip(*self._vectors, strict=True)
            before = self._sums or array("q", [0]) * len(self._vectors[0])
            pairs = zip(before, columns, strict=True)
            self._sums = array("q", [one + times * sum(column) for one, column in pairs])
            self._vectors.clear()

    def remove(self, old: Stored) -> None:
        row = self._connection.execute(
            "SELECT terms, vector FROM ranked WHERE key = ?", (old.key,)
        ).fetchone()
        if row is None:
            return
        self._postings.remove(old.key, self._field, row[0].split())
        self._total -= 1
        if row[1]:
            self._add_vectors()
            self._vectors.append(array("h", row[1]))
            self._add_vectors(-1)
        self._connection.execute("DELETE FROM ranked WHERE key = ?", (old.key,))
        self._connection.execute("DELETE FROM example WHERE key = ?", (old.key,))

    def remove_all(self) -> None:
        self._postings.remove_all()
        for table in ("example", "ranked"):
            own = "SELECT key FROM ranked WHERE kind = ?"
            self._connection.execute(f"DELETE FROM {table} WHERE key IN ({own})", (self._kind,))
        self._total, self._sums = 0, array("q")
        self._vectors.clear()

    def write(self) -> None:
        if self._table is not None:
            self._table.forget_many()
        self._postings.write()
        self._connection.execute(
            "INSERT OR REPLACE INTO rank_pool VALUES (?, ?, ?)",
            (self._kind, self._total, self._sums.tobytes()),
        )

    def write_rows(self) -> None:
        """Write the rows of documents that are stored by now; the rest follows with `write`."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO ranked VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            self._rows,
        )
        self._rows.clear()
        self._connection.executemany(
            "INSERT OR REPLACE INTO example VALUES (?, ?, ?)", self._examples
        )
        self._examples.clear()
        self._add_vectors()


def field_weights(
    names: Sequence[str], about: Sequence[str], examples: Sequence[str], against: Sequence[str]
) -> dict[str, float]:
    """The weight of each term outside the body; one that is both for and against counts 0."""
    weights: dict[str, float] = {}
    for field, found, weight in (
        ("name", names, NAME),
        ("about", about, DESCRIPTION),
        ("examples", examples, EXAMPLES),
    ):
        if found:
            part = weight / by_length(field, len(found))
            for term in found:
                weights[term] = weights.get(term, 0.0) + part
    for term in dict.fromkeys(against):
        weights[term] = 0.0 if term in weights else AGAINST
    return weights

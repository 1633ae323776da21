"""Reads what is stored to rank documents. Light: runs for every prompt."""

from __future__ import annotations

from metier.core.bm25 import unpacked
from metier.core.ranking import Document, Pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from metier.core.learned import Model
    from metier.core.ranking import Task
    from metier.core.word_table import Vector

    Rows = Callable[[str, Iterable[Any]], Sequence[tuple[Any, ...]]]
    """Answers a question in SQL."""

_AT_ONCE = 400
"""Values in one statement."""
RANK_FIELD = {kind: f"rank-{kind}" for kind in ("skill", "ability", "card", "agent")}
"""The field of a kind's postings."""
ENCODED = "encoded"
"""After a kind: its sums of vectors and its model are those of the user's encoder."""
_POOL = "SELECT kind, total, sums FROM rank_pool WHERE kind IN (?, ?)"
_JOINED = "FROM document JOIN ranked USING (key)"
_CANDIDATES = f"SELECT key, path, name_terms, vector, body, body_words {_JOINED}"
_ENCODED_CANDIDATES = (
    "SELECT key, path, name_terms, encoded.vector, body, body_words"
    f" {_JOINED} LEFT JOIN encoded USING (key)"
)


class StoredPool(Pool):
    """The documents of one kind in a catalog that meet a condition in SQL."""

    def __init__(
        self,
        rows: Rows,
        kind: str,
        condition: str = "state = 'active'",
        *,
        encoded: bool = False,
    ) -> None:
        """With `encoded`, their vectors are those of the user's encoder."""
        self._rows = rows
        self._field = RANK_FIELD[kind]
        self._kind = kind
        self._condition = condition
        self.encoded = encoded
        self._meant = f"{kind} {ENCODED}" if encoded else kind
        self.total, self.mean, self.counted = 0, None, 0
        self.sums: Vector = ()
        for name, total, sums in rows(_POOL, (kind, self._meant)):
            if name == kind:
                self.total = total
            if name == self._meant and total and sums:
                self.counted = total
                self.sums = memoryview(sums).cast("q")
                self.mean = mean_of(self.sums, total)

    def found(self, terms: Sequence[str]) -> Mapping[str, int]:
        sql = f"SELECT term, found FROM posting WHERE field = '{self._field}' AND term"
        return dict(self._for(sql, terms))

    def postings(self, terms: Sequence[str]) -> Mapping[str, Mapping[int, int]]:
        found = {}
        for term, packed in self.packed(terms):
            numbers = unpacked(packed)
            found[term] = dict(zip(numbers[0::2], numbers[1::2], strict=True))
        return found

    def packed(self, terms: Sequence[str]) -> list[tuple[str, bytes]]:
        """The postings of each term as they are stored: keys and weights in turn, 32 bits each."""
        sql = f"SELECT term, postings FROM posting WHERE field = '{self._field}' AND term"
        return [(term, packed) for term, packed in self._for(sql, terms)]

    def nameable(self, keys: Sequence[int]) -> list[int]:
        sql = f"SELECT key FROM document JOIN ranked USING (key) WHERE {self._condition} AND key"
        kept = {key for (key,) in self._for(sql, keys)}
        return [key for key in keys if key in kept]

    def candidates(self, keys: Sequence[int] | None) -> list[Document]:
        sql = _ENCODED_CANDIDATES if self.encoded else _CANDIDATES
        if keys is None:
            rows = self._rows(f"{sql} WHERE ranked.kind = ? AND {self._condition}", (self._kind,))
        else:
            rows = self._for(f"{sql} WHERE key", keys)
        return [
            Document(key, path, names.split(), _numbers(vector), *body)
            for key, path, names, vector, *body in rows
        ]

    def chances(self, task: Task) -> Mapping[int, float]:
        model = self._model()
        if model is None:
            return {}
        from metier.core.learned import grams  # few catalogs have examples

        wanted = grams(task.text)
        return model.chances(wanted, self._learned_words(wanted), task.vector())

    def _model(self) -> Model | None:
        columns = "keys, mean, directions, unknown, scale, logistic"
        rows = self._rows(f"SELECT {columns} FROM learned WHERE kind = ?", (self._meant,))
        for keys, mean, directions, unknown, scale, is_logistic in rows:
            wide, middle = memoryview(directions).cast("h"), memoryview(mean).cast("h")
            size = len(middle)
            parts = [wide[start : start + size] for start in range(0, len(wide), size or 1)]
            known = memoryview(keys).cast("q")
            from metier.core.learned import Model as Fitted

            return Fitted(known, middle, parts, unknown, scale, bool(is_logistic))
        return None

    def _learned_words(self, wanted: Sequence[str]) -> dict[str, tuple[int, Vector]]:
        sql = "SELECT gram, weight, speaks FROM learned_word"
        found = self._for(f"{sql} WHERE kind = '{self._meant}' AND gram", wanted)
        return {gram: (weight, memoryview(row).cast("h")) for gram, weight, row in found}

    def _for(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows of a query that ends in `IN (…)`, for any number of values."""
        found: list[tuple[Any, ...]] = []
        for start in range(0, len(values), _AT_ONCE):
            some = values[start : start + _AT_ONCE]
            found += self._rows(f"{sql} IN ({','.join('?' * len(some))})", some)
        return found


def mean_of(sums: Vector, total: int) -> Vector:
    return [(2 * number + total) // (2 * total) for number in sums]


def _numbers(vector: bytes | None) -> Vector | None:
    return memoryview(vector).cast("h") if vector else None

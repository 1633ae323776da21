"""A pool that ranks with numpy: the same figures as in plain Python, to the last bit.

Numbers are added in the same order, and products of vectors are of whole numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metier.core.keywords import counts_in_each
from metier.core.ranking import BY_WORDS, Document, Matches
from metier.core.weights import IMPACTS
from metier.index.cached_pools import MOST_POSTINGS, CachedPool

if TYPE_CHECKING:
    from metier.core.ranking import Nameable
    from metier.core.word_table import Vector

Postings = NDArray[np.uint32]
_IMPACTS = np.array(IMPACTS)


class _Arrays:
    """What was read of a pool, until the catalog changes."""

    def __init__(self, nameable: Iterable[int]) -> None:
        keys = np.array(sorted(nameable), dtype=np.intp)
        self.is_nameable = np.zeros(int(keys[-1]) + 1 if len(keys) else 0, dtype=bool)
        """By key."""
        self.is_nameable[keys] = True
        self.postings: dict[str, Postings] = {}
        """Term → the key of each document that has it, and its stored weight."""
        self.size = 0
        self.packed: dict[str, bytes] | None = None
        """All postings as they are stored, unless there are too many."""


class ArrayPool(CachedPool):
    """Answers as `CachedPool`, and faster for large pools."""

    @property
    def _arrays(self) -> _Arrays:
        memory = self._memory
        if memory.arrays is None:
            memory.arrays = _Arrays(self.all_nameable())
            memory.postings.clear()
            self._read_all(memory.arrays)
        found: _Arrays = memory.arrays
        return found

    def _read_all(self, arrays: _Arrays) -> None:
        """Read all postings at once: many questions have many terms."""
        where = "FROM posting WHERE field = ?"
        [(size,)] = self._answer(f"SELECT total(found) {where}", (self._field,))
        if size <= MOST_POSTINGS:
            rows = self._answer(f"SELECT term, found, postings {where}", (self._field,))
            arrays.packed = {term: packed for term, _, packed in rows}
            self._memory.found = {term: found for term, found, _ in rows}

    def found(self, terms: Sequence[str]) -> Mapping[str, int]:
        if self._arrays.packed is None:
            return super().found(terms)
        known = self._memory.found
        return {term: known[term] for term in terms if term in known}

    def packed(self, terms: Sequence[str]) -> list[tuple[str, bytes]]:
        known = self._arrays.packed
        if known is None:
            return super().packed(terms)
        return [(term, known[term]) for term in terms if term in known]

    def matches(self, weights: Mapping[str, float]) -> Matches:
        arrays = self._arrays
        absent = [term for term in weights if term not in arrays.postings]
        if absent:
            if arrays.size > MOST_POSTINGS:
                arrays.postings.clear()
                arrays.size = 0
                absent = list(weights)
            for term, packed in self.packed(absent):
                arrays.postings[term] = np.frombuffer(packed, dtype="<u4").reshape(-1, 2)
                arrays.size += len(arrays.postings[term])
        return _ArrayMatches(arrays, weights)

    def counts(
        self, documents: Sequence[Document], forms: Sequence[str]
    ) -> Iterable[Mapping[int, int]]:
        return counts_in_each(forms, (one.body for one in documents))

    def dots(self, documents: Sequence[Document], vector: "Vector") -> list[int]:
        vectors = [one.vector for one in documents if isinstance(one.vector, memoryview)]
        if len(vectors) < len(documents):
            return super().dots(documents, vector)
        matrix = np.frombuffer(b"".join(vectors), dtype=np.int16).reshape(-1, len(vector))
        found: list[int] = (matrix @ np.array(vector, dtype=np.int64)).tolist()
        return found


class _ArrayMatches(Matches):
    """The documents that have some terms: one after the other, those of a term together."""

    def __init__(self, arrays: _Arrays, weights: Mapping[str, float]) -> None:
        self._terms = [term for term in weights if term in arrays.postings]
        self._weights = weights
        self._is_nameable = arrays.is_nameable
        postings = [arrays.postings[term] for term in self._terms]
        self._sizes = [len(one) for one in postings]
        both = np.concatenate(postings) if postings else np.empty((0, 2), dtype="<u4")
        self._keys = both[:, 0].astype(np.intp)
        self._stored = both[:, 1].astype(np.intp)

    def best(self, _nameable: "Nameable") -> list[int]:
        weights = np.repeat([self._weights[term] for term in self._terms], self._sizes)
        parts = weights * _IMPACTS[self._stored]
        size = len(self._is_nameable)
        scores = np.bincount(self._keys, parts, minlength=size)[:size]
        keys = np.flatnonzero((scores > 0) & self._is_nameable)
        if len(keys) > BY_WORDS:
            scores = scores[keys]
            keys = keys[scores >= np.partition(scores, -BY_WORDS)[-BY_WORDS]]
        found: list[int] = keys.tolist()
        return found

    def of(self, keys: Sequence[int]) -> Mapping[int, Mapping[str, int]]:
        found: dict[int, dict[str, int]] = {key: {} for key in keys}
        is_wanted = np.zeros(1 + max([0, *keys, *self._keys.max(initial=0, keepdims=True)]), bool)
        is_wanted[list(keys)] = True
        places = np.flatnonzero(is_wanted[self._keys])
        terms = np.repeat(np.arange(len(self._terms)), self._sizes)[places]
        columns = (terms, self._keys[places], self._stored[places])
        for term, key, stored in zip(*map(np.ndarray.tolist, columns), strict=True):
            found[key][self._terms[term]] = stored
        return found

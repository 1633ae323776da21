"""Pools in which skills have another description: what an edit would change."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from metier.core.coerce import texts_of
from metier.core.ranking import Document, Matches
from metier.core.weights import stored_weight
from metier.core.word_table import shipped_table
from metier.flow.candidate_pools import AroundPool
from metier.index.rank_index import MOST_EXAMPLES, RankText, rank_words
from metier.index.store import Store
from metier.storage.rank_pool import StoredPool, mean_of
from metier.values.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from metier.core.word_table import Vector

    Encode = Callable[[str, str], Vector | None]
    """The name and the text of a skill → its vector."""


class _Edit(NamedTuple):
    weights: Mapping[str, float]
    vector: "Vector | None"
    before: frozenset[str]
    """The terms that it had."""
    vector_before: "Vector | None"


class EditedPool(AroundPool):
    """A pool in which some skills have another description."""

    def __init__(
        self,
        pool: StoredPool,
        store: Store,
        texts: Sequence[tuple[Row, str]],
        *,
        alone: bool = False,
        encode: "Encode | None" = None,
    ) -> None:
        """`texts` are skills with their new descriptions; with `alone` only they are candidates.

        `encode` gives the vectors of a pool that has those of an encoder; raises what it raises.
        """
        super().__init__(pool)
        self._alone = alone
        self._edits = dict(_edit(store, row, text, pool, encode) for row, text in texts)
        if pool.sums:
            sums = list(pool.sums)
            for edit in self._edits.values():
                before = edit.vector_before or [0] * len(sums)
                after = edit.vector or [0] * len(sums)
                sums = [
                    total - old + new for total, old, new in zip(sums, before, after, strict=True)
                ]
            self.mean = mean_of(sums, pool.counted)

    def found(self, terms: Sequence[str]) -> Mapping[str, int]:
        known = dict(self._pool.found(terms))
        for edit in self._edits.values():
            for term in terms:
                change = (term in edit.weights) - (term in edit.before)
                if change:
                    known[term] = known.get(term, 0) + change
        return {term: count for term, count in known.items() if count > 0}

    def postings(self, terms: Sequence[str]) -> Mapping[str, Mapping[int, int]]:
        known = dict(self._pool.postings(terms))
        found: dict[str, Mapping[int, int]] = {}
        for term in terms:
            new = {
                key: stored_weight(edit.weights[term])
                for key, edit in self._edits.items()
                if term in edit.weights
            }
            old = {} if self._alone else known.get(term, {})
            if new or not self._edits.keys().isdisjoint(old):
                old = {key: code for key, code in old.items() if key not in self._edits}
            found[term] = {**old, **new} if new else old
        return {term: postings for term, postings in found.items() if postings}

    def best(self, matches: Matches) -> list[int]:
        return list(self._edits) if self._alone else super().best(matches)

    def nameable(self, keys: Sequence[int]) -> list[int]:
        known = self._pool.nameable(keys)
        return [key for key in known if key in self._edits] if self._alone else known

    def candidates(self, keys: Sequence[int] | None) -> list[Document]:
        found = self._pool.candidates(list(self._edits) if self._alone else keys)
        return [self._edited(one) if one.key in self._edits else one for one in found]

    def _edited(self, document: Document) -> Document:
        edit = self._edits[document.key]
        return Document(
            document.key,
            document.path,
            document.name_terms,
            edit.vector,
            document.body,
            document.body_words,
        )


def _edit(
    store: Store, row: Row, text: str, pool: StoredPool, encode: "Encode | None"
) -> tuple[int, _Edit]:
    [(key, known, vector)] = store.rows(
        "SELECT key, terms, vector FROM document JOIN ranked USING (key) WHERE path = ?",
        (row.path,),
    )
    examples = texts_of(row.data.get("examples"))[:MOST_EXAMPLES]
    edited = rank_words(RankText(row.name, text, examples))
    if encode is not None:
        [before] = pool.candidates([key])
        new, old = encode(row.name, text), before.vector
        return key, _Edit(edited.weights, new, frozenset(known.split()), old)
    table = shipped_table()
    new = table.vector(edited.plain) if table else None
    old = memoryview(vector).cast("h") if vector else None
    return key, _Edit(edited.weights, new, frozenset(known.split()), old)

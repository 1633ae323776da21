"""Pools of documents in memory: the ranker without a catalog."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metier.core.clauses import split_clauses
from metier.core.ranking import Document, Pool
from metier.core.terms import plain_words, searchable, terms
from metier.core.weights import stored_weight
from metier.core.word_table import shipped_table
from metier.index.rank_index import field_weights


class Text(NamedTuple):
    """What a document says."""

    name: str
    about: str = ""
    body: str = ""
    examples: str = ""


class MemoryPool(Pool):
    """Documents with paths that are their names; `keys` are given in their order."""

    def __init__(self, texts: Iterable[Text], keys: Sequence[int] | None = None) -> None:
        self._documents: dict[int, Document] = {}
        self._postings: dict[str, dict[int, int]] = {}
        self.hidden: set[str] = set()
        """Names of documents that may not be named."""
        given = list(texts)
        for key, text in zip(keys or range(1, len(given) + 1), given, strict=True):
            self._add(key, text)
        self.total = len(given)
        self.mean = _mean([one.vector for one in self._documents.values()], self.total)

    def _add(self, key: int, text: Text) -> None:
        clauses = split_clauses(text.about)
        names = terms(text.name)
        weights = field_weights(
            names, terms(clauses.about), terms(text.examples), terms(clauses.against)
        )
        table = shipped_table()
        assert table is not None
        vector = table.vector(plain_words(f"{text.name} {clauses.about} {text.examples}"))
        distinct = list(dict.fromkeys(names))
        self._documents[key] = Document(key, text.name, distinct, vector, *searchable(text.body))
        for term, weight in weights.items():
            self._postings.setdefault(term, {})[key] = stored_weight(weight)

    def found(self, terms: Sequence[str]) -> Mapping[str, int]:
        return {term: len(self._postings[term]) for term in terms if term in self._postings}

    def postings(self, terms: Sequence[str]) -> Mapping[str, Mapping[int, int]]:
        return {term: self._postings[term] for term in terms if term in self._postings}

    def nameable(self, keys: Sequence[int]) -> list[int]:
        return [key for key in keys if self._documents[key].path not in self.hidden]

    def candidates(self, keys: Sequence[int] | None) -> list[Document]:
        wanted = self.nameable(list(self._documents)) if keys is None else keys
        return [self._documents[key] for key in wanted]


def _mean(vectors: Sequence[Sequence[int] | None], total: int) -> Sequence[int] | None:
    known = [one for one in vectors if one is not None]
    if not known:
        return None
    return [(2 * sum(column) + total) // (2 * total) for column in zip(*known, strict=True)]

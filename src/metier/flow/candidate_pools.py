"""Pools for questions about candidates: those that a host shows, a single one, an edited one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from metier.core.process import without_garbage_collection
from metier.core.ranking import Document, Matches, Pool, Task
from metier.core.weights import stored_weight
from metier.core.word_table import shipped_table
from metier.index.cached_pools import CachedPool, Memory
from metier.index.rank_index import RankText, RankWords, rank_words
from metier.index.store import Store
from metier.storage.rank_pool import StoredPool
from metier.values.which import ShownText

if TYPE_CHECKING:
    from metier.core.word_table import Vector
    from metier.flow.shown_skills import ShownTexts

_READ = "(state = 'active' OR shadowed_by != '') AND safe"
"""A host knows nothing of shadowed skills: its listing says which of several it shows."""


def shown_pool(
    store: Store, shown: "ShownTexts", *, include_untrusted: bool, encoded: bool = False
) -> "ShownPool":
    """The skills that a host shows the model; what is made of its listing is cached.

    Where it shows parts of texts, which no refresh has encoded, the vectors are of the word table.
    """
    with without_garbage_collection():
        cut = store.cached(("cut", shown.host), lambda: CutSkills(store, shown))
    condition = _READ if include_untrusted else f"{_READ} AND origin != 'untrusted'"
    encoded = encoded and not cut
    memory = store.cached(("pool", shown.host, condition, encoded), Memory)
    memory.questions += 1
    return ShownPool(store, condition, memory, cut, encoded=encoded)


class CutSkills:
    """The skills of which a host shows the name and a part of the text, or nothing of it."""

    def __init__(self, store: Store, shown: "ShownTexts") -> None:
        self.visible: set[int] = set()
        """The keys of all skills that it shows."""
        self.postings: dict[str, dict[int, int]] = {}
        self._cut: dict[int, tuple[str, ShownText]] = {}
        self._documents: dict[int, Document] = {}
        for key, path in store.rows("SELECT key, path FROM document WHERE kind = 'skill'"):
            text = shown.texts.get(path)
            if text is not None:
                self.visible.add(key)
                if text.state != "whole":
                    self._add(key, path, text)

    def _add(self, key: int, path: str, text: ShownText) -> None:
        self._cut[key] = path, text
        for term, weight in words_of(text).weights.items():
            self.postings.setdefault(term, {})[key] = stored_weight(weight)

    def __contains__(self, key: int) -> bool:
        return key in self._cut

    def __len__(self) -> int:
        return len(self._cut)

    def document(self, key: int) -> Document:
        """What is left of a skill: neither its examples nor its body."""
        found = self._documents.get(key)
        if found is None:
            path, text = self._cut[key]
            words = words_of(text)
            names = list(dict.fromkeys(words.names))
            found = Document(key, path, names, _vector(words), "", 0)
            self._documents[key] = found
        return found


def words_of(text: ShownText) -> RankWords:
    return rank_words(RankText(text.name, text.text))


def _vector(words: RankWords) -> "Vector | None":
    table = shipped_table()
    return table.vector(words.plain) if table else None


class ShownPool(CachedPool):
    """The skills that a host shows the model, each by what is left of its text.

    How rare a word is, and the mean of meanings, are those of all skills.
    """

    def __init__(
        self,
        store: Store,
        condition: str,
        memory: Memory,
        cut: CutSkills,
        *,
        encoded: bool = False,
    ) -> None:
        super().__init__(store, "skill", condition, memory, encoded=encoded)
        self._cut = cut

    def postings(self, terms: Sequence[str]) -> Mapping[str, Mapping[int, int]]:
        stored, cut = super().postings(terms), self._cut
        if not cut:
            return stored
        return {
            term: {key: one for key, one in stored.get(term, {}).items() if key not in cut}
            | cut.postings.get(term, {})
            for term in terms
        }

    def nameable(self, keys: Sequence[int]) -> list[int]:
        return [key for key in super().nameable(keys) if key in self._cut.visible]

    def all_nameable(self) -> frozenset[int]:
        return super().all_nameable() & self._cut.visible

    def chances(self, task: Task) -> Mapping[int, float]:
        """Without those of skills whose text is cut: their examples do not count."""
        return {key: one for key, one in super().chances(task).items() if key not in self._cut}

    def candidates(self, keys: Sequence[int] | None) -> list[Document]:
        cut = self._cut
        return [
            cut.document(one.key) if one.key in cut else one for one in super().candidates(keys)
        ]


class AroundPool(Pool):
    """A pool that differs from another in a few skills."""

    def __init__(self, pool: StoredPool) -> None:
        self.total, self.mean, self.scale = pool.total, pool.mean, pool.scale
        self._pool = pool

    def found(self, terms: Sequence[str]) -> Mapping[str, int]:
        return self._pool.found(terms)

    def postings(self, terms: Sequence[str]) -> Mapping[str, Mapping[int, int]]:
        return self._pool.postings(terms)

    def nameable(self, keys: Sequence[int]) -> list[int]:
        return self._pool.nameable(keys)

    def chances(self, task: Task) -> Mapping[int, float]:
        return self._pool.chances(task)


class SinglePool(AroundPool):
    """A pool with one candidate, compared with the mean of all."""

    def __init__(self, pool: StoredPool, key: int) -> None:
        super().__init__(pool)
        self._key = key

    def best(self, _matches: Matches) -> list[int]:
        return [self._key]

    def candidates(self, _keys: Sequence[int] | None) -> list[Document]:
        return self._pool.candidates([self._key])

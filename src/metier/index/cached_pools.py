"""A pool that keeps what was read in memory."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metier.core.ranking import SMALL_POOL, Document
from metier.index.store import Store
from metier.storage.rank_pool import StoredPool
from metier.storage.workspace import ENCODED_SCALE

if TYPE_CHECKING:
    from metier.core.learned import Model
    from metier.core.word_table import Vector

MOST_POSTINGS = 1_000_000
_MOST_DOCUMENTS = 20_000
"""Kept in memory until the catalog changes."""
MANY = 4
"""After this many questions all keys are read: a single command has one."""


class Memory:
    """What was read of a pool."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}
        self.postings: dict[str, Mapping[int, int]] = {}
        self.size = 0
        self.documents: dict[int, Document] = {}
        self.nameable: frozenset[int] | None = None
        self.questions = 0
        self.pool: CachedPool | None = None
        """The one that was asked last."""
        self.model: Model | None = None
        self.knows_model = False
        self.grams: frozenset[str] | None = None
        """The words, and pairs of words, that examples have."""
        self.arrays: Any = None
        """What pools with arrays read."""


class CachedPool(StoredPool):
    """Answers as `StoredPool`, and faster the second time."""

    def __init__(
        self, store: Store, kind: str, condition: str, memory: Memory, *, encoded: bool = False
    ) -> None:
        self._store = store
        self._memory = memory
        super().__init__(self._answer, kind, condition, encoded=encoded)
        if encoded:
            self.scale = float(store.setting(ENCODED_SCALE) or 1)

    def _answer(self, sql: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
        return self._store.rows(sql, tuple(values))

    def found(self, terms: Sequence[str]) -> Mapping[str, int]:
        known = self._memory.found
        absent = [term for term in terms if term not in known]
        if absent:
            counts = super().found(absent)
            known.update((term, counts.get(term, 0)) for term in absent)
        return {term: known[term] for term in terms if known[term]}

    def postings(self, terms: Sequence[str]) -> Mapping[str, Mapping[int, int]]:
        memory = self._memory
        absent = [term for term in terms if term not in memory.postings]
        if absent:
            read = super().postings(absent)
            memory.size += sum(map(len, read.values()))
            if memory.size > MOST_POSTINGS:
                memory.postings.clear()
                memory.size = 0
                return {**read, **super().postings([one for one in terms if one not in read])}
            memory.postings.update(read)
        return {term: memory.postings[term] for term in terms if term in memory.postings}

    def nameable(self, keys: Sequence[int]) -> list[int]:
        if self._memory.questions < MANY and self.total > SMALL_POOL:
            return super().nameable(keys)
        kept = self.all_nameable()
        return [key for key in keys if key in kept]

    def all_nameable(self) -> frozenset[int]:
        """The keys of all documents that may be named."""
        if self._memory.nameable is None:
            sql = "SELECT key FROM document JOIN ranked USING (key) WHERE ranked.kind = ?"
            rows = self._answer(f"{sql} AND {self._condition}", (self._kind,))
            self._memory.nameable = frozenset(key for (key,) in rows)
        return self._memory.nameable

    def _model(self) -> "Model | None":
        memory = self._memory
        if not memory.knows_model:
            memory.model, memory.knows_model = super()._model(), True
        return memory.model

    def _learned_words(self, wanted: Sequence[str]) -> "dict[str, tuple[int, Vector]]":
        memory = self._memory
        if memory.grams is None and memory.questions >= MANY:
            rows = self._answer("SELECT gram FROM learned_word WHERE kind = ?", (self._meant,))
            memory.grams = frozenset(gram for (gram,) in rows)
        known = memory.grams
        return super()._learned_words([one for one in wanted if known is None or one in known])

    def candidates(self, keys: Sequence[int] | None) -> list[Document]:
        if keys is None:
            keys = sorted(self.all_nameable())
        known = self._memory.documents
        absent = [key for key in keys if key not in known]
        if absent:
            if len(known) + len(absent) > _MOST_DOCUMENTS:
                known.clear()
                absent = list(keys)
            known.update((one.key, one) for one in super().candidates(absent))
        return [known[key] for key in keys]

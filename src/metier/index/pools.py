"""Pools of documents for programs that ask many questions: what was read once stays in memory."""

from sys import modules

from metier.core.process import loading_numpy
from metier.index.cached_pools import MANY, CachedPool, Memory
from metier.index.store import Store

_WORTH_NUMPY = 25
"""After this many questions arrays save more time than it takes to load numpy."""


def pool_of(
    store: Store, kind: str, condition: str = "state = 'active'", *, encoded: bool = False
) -> CachedPool:
    """The documents of a kind that meet a condition in SQL; `encoded`: by the user's encoder."""
    memory = store.cached(("pool", kind, condition, encoded), Memory)
    memory.questions += 1
    wanted = _pools_for(memory.questions)
    if not isinstance(memory.pool, wanted):
        memory.pool = wanted(store, kind, condition, memory, encoded=encoded)
    return memory.pool


def _pools_for(questions: int) -> type[CachedPool]:
    if questions <= (MANY if "numpy" in modules else _WORTH_NUMPY):
        return CachedPool
    with loading_numpy():
        from metier.index.array_pools import ArrayPool  # most commands ask one question

    return ArrayPool

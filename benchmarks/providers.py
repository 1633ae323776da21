"""Answers through the capability index: as fast among 100,000 skills as among 1,000."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.measure import Bar
from metier.index.documents import list_documents, providers
from metier.index.refresh import refresh_documents
from metier.index.store import Store
from metier.values.documents import Skill
from metier.values.files import Entry, Found, Reading

FLAT_BAR = 2.0
SIZES = (1_000, 10_000, 100_000)
PROVIDERS_OF_EACH = 5


def bars(_scratch: Path) -> Iterator[Bar]:
    times: dict[int, tuple[float, float]] = {}
    for size in SIZES:
        store = _catalogue(size)
        times[size] = _best(store, size, providers), _best(store, size, _list_by_capability)
        store.close()
    for number, name in enumerate(("providers", "list --capability")):
        small, large = times[SIZES[0]][number], times[SIZES[-1]][number]
        figures = ", ".join(f"{times[size][number] * 1e6:.0f} µs at {size:,}" for size in SIZES)
        yield Bar(f"{name}, 100,000 skills", large / small, FLAT_BAR, "× 1,000 skills", figures)


def _list_by_capability(store: Store, capability: str) -> object:
    return list_documents(store, "skill", capability=capability)


def _best(store: Store, size: int, ask: object) -> float:
    """The best of several runs over the same 200 questions, per question."""
    rng = Random(7)
    questions = [f"capability-{rng.randrange(size // PROVIDERS_OF_EACH)}" for _ in range(200)]
    assert callable(ask)
    assert all(len(ask(store, question)) == PROVIDERS_OF_EACH for question in questions)
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        for question in questions:
            ask(store, question)
        best = min(best, (time.perf_counter() - start) / len(questions))
    return best


def _catalogue(size: int) -> Store:
    """A catalogue of synthetic skills; every capability has the same number of providers."""
    store = Store.in_memory()
    found = [
        Found("skill", f"skills/s{number}/SKILL.md", 0, 1, 1, "", "", "workspace", number)
        for number in range(size)
    ]

    def read(one: Found) -> Entry:
        skill = Skill(
            name=f"s{one.inode}",
            description="Synthetic.",
            path=one.path,
            capabilities=(f"capability-{one.inode % (size // PROVIDERS_OF_EACH)}",),
        )
        return Entry(found=one, sha256=json.dumps(one.inode), document=skill, issues=())

    refresh_documents(store, lambda: Reading(found, read), kinds=("skill",))
    return store

"""Answers through the capability index: as fast among 100,000 skills as among 1,000."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from benchmarks.measure import Bar, alternate, cpu, least
from metier.index.documents import list_documents, providers
from metier.index.refresh import refresh_documents
from metier.index.store import Store
from metier.values.documents import Skill
from metier.values.files import Entry, Found, Reading

FLAT_BAR = 2.0
SIZES = (1_000, 10_000, 100_000)
PROVIDERS_OF_EACH = 5
QUESTIONS = 400


def bars(_scratch: Path) -> Iterator[Bar]:
    stores = {size: _catalog(size) for size in SIZES}
    for name, ask in (("providers", providers), ("list --capability", _list_by_capability)):
        rounds = alternate(15, *(_asking(store, size, ask) for size, store in stores.items()))
        costs = least(rounds)
        figures = ", ".join(
            f"{cost * 1e6:.0f} µs at {size:,}" for size, cost in zip(SIZES, costs, strict=True)
        )
        yield Bar(
            f"{name}, 100,000 skills", costs[-1] / costs[0], FLAT_BAR, "× 1,000 skills", figures
        )
    for store in stores.values():
        store.close()


def _list_by_capability(store: Store, capability: str) -> Sequence[object]:
    return list_documents(store, "skill", capability=capability)


def _asking(
    store: Store, size: int, ask: Callable[[Store, str], Sequence[object]]
) -> Callable[[], float]:
    """CPU seconds of one question, over the same questions each time."""
    rng = Random(7)
    questions = [f"capability-{rng.randrange(size // PROVIDERS_OF_EACH)}" for _ in range(QUESTIONS)]
    assert all(len(ask(store, question)) == PROVIDERS_OF_EACH for question in questions)

    def ask_all() -> None:
        for question in questions:
            ask(store, question)

    return lambda: cpu(ask_all) / QUESTIONS


def _catalog(size: int) -> Store:
    """A catalog of synthetic skills; every capability has the same number of providers."""
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

"""Selecting among 10,000 abilities against the least it can cost: one set intersection each."""

import os
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from random import Random

from benchmarks.folders import trust
from benchmarks.measure import Bar, alternate, cpu, least
from metier.catalog import Catalog
from metier.config import Config
from metier.core.text import words
from metier.load import load_abilities
from metier.select.abilities import abilities_for_task

BAR = 3.0
ABILITIES = 10_000
CHARACTERS = 4_096
VOCABULARY = 20_000
ROUNDS = 15
TASKS = 5
AGENT = "reviewer"


def bars(scratch: Path) -> Iterator[Bar]:
    rng = Random(11)
    workspace = scratch / "abilities-workspace"
    vocabulary = _vocabulary(rng)
    _write_abilities(workspace / "abilities", vocabulary, rng)
    tasks = [_text(vocabulary, rng, 90) for _ in range(TASKS)]
    abilities = load_abilities(workspace / "abilities").items
    assert len(abilities) == ABILITIES
    contents = [frozenset(words(ability.content)) for ability in abilities]

    def intersect(task: str) -> object:
        asked = frozenset(words(task))
        return [len(asked & content) for content in contents]

    with _trusted(workspace) as catalog:
        catalog.refresh()
        ours: dict[str, Callable[[str], object]] = {
            "abilities_for_task": lambda task: abilities_for_task(abilities, task, agent=AGENT),
            "Catalog.inject, content read": lambda task: catalog.inject(task, agent=AGENT),
        }
        for name, select in ours.items():
            rounds = alternate(ROUNDS, _cost(intersect, tasks), _cost(select, tasks))
            floor, cost = least(rounds)
            yield Bar(
                f"{name}, {ABILITIES:,} abilities of 4 KB",
                cost / floor,
                BAR,
                "× one set intersection each",
                f"{cost * 1e3:.1f} ms against {floor * 1e3:.1f} ms a task",
            )


def _trusted(workspace: Path) -> Catalog:
    trust(workspace)
    return Catalog.open(workspace, config=Config(host_folders=False))


def _cost(select: Callable[[str], object], tasks: list[str]) -> Callable[[], float]:
    """CPU seconds for one task, once everything is loaded."""
    select(tasks[0])

    def all_tasks() -> None:
        for task in tasks:
            select(task)

    return lambda: cpu(all_tasks) / len(tasks)


class _Vocabulary:
    """Words of which few are common and most are rare, as in any language."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))


def _vocabulary(rng: Random) -> _Vocabulary:
    syllables = [first + second for first in "bcdfghklmnprstvw" for second in "aeiou"]
    return _Vocabulary(["".join(rng.choices(syllables, k=3)) for _ in range(VOCABULARY)])


def _text(vocabulary: _Vocabulary, rng: Random, characters: int) -> str:
    drawn = rng.choices(vocabulary.words, cum_weights=vocabulary.weights, k=characters // 7 + 1)
    return " ".join(drawn)[:characters]


def _write_abilities(folder: Path, vocabulary: _Vocabulary, rng: Random) -> None:
    os.makedirs(folder)
    for number in range(ABILITIES):
        tags = ", ".join(rng.choices(vocabulary.words[:500], k=3))
        category = rng.choice(vocabulary.words[:50])
        requires = f"\nrequires: [a{number - 1:05}]" if number % 10 == 9 else ""
        front = f"tags: [{tags}]\ncategory: {category}\npriority: {rng.randint(1, 100)}{requires}"
        content = _text(vocabulary, rng, CHARACTERS)
        (folder / f"a{number:05}.md").write_text(f"---\n{front}\n---\n{content}\n")

"""Ranking with arrays: never another figure than in plain Python."""

import os
import subprocess
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from conftest import Workspace
from metier import Catalog
from metier.config import Config
from metier.core.ranking import BY_WORDS, SMALL_POOL, Ranked, Task, rank
from metier.index.array_pools import ArrayPool
from metier.index.cached_pools import CachedPool, Memory
from metier.index.store import Store
from metier.storage.rank_pool import StoredPool

pytestmark = pytest.mark.slow

WORDS = [
    "parse", "table", "tables", "invoice", "chart", "deploy", "cloud", "query", "Größe", "数字表",
    "getUserName", "don't", "go", "ai", "report", "security", "image", "weather", "email", "哈哈",
]  # fmt: skip
ACTIVE = "state = 'active'"
HALF = "state = 'active' AND key % 2"
ASKED = """
import sys
from metier import Catalog
from metier.config import Config
with Catalog.open(sys.argv[1], config=Config(host_folders=False)) as catalog:
    for task in sys.argv[2:]:
        for one in catalog.which(task, everything=False).skills:
            print(task, one.path, one.score.hex(), one.evidence.hex())
    print("numpy" in sys.modules, file=sys.stderr)
"""


def fill(workspace: Workspace, count: int, seed: int = 0) -> None:
    random = Random(seed)

    def words(most: int) -> str:
        return " ".join(random.choices(WORDS, k=random.randint(1, most)))

    for number in range(count):
        about = words(8) if number % 3 else "parse a table of the weather"
        body = words(40) if number % 5 else ""
        extra = f"examples: [{words(5)}, {words(5)}]" if number % 9 == 1 else ""
        name = f"{random.choice(WORDS[:7])}-{number}"
        workspace.skill(name, f"{about}. Not for go.", body=body, extra=extra)
    workspace.trust()


@pytest.fixture(params=[40, SMALL_POOL + 250])
def store(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[Store]:
    fill(workspace, request.param)
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        yield catalog.store


def figures(ranked: list[Ranked]) -> list[tuple[Any, ...]]:
    return [
        (
            one.document.path, one.words, one.share, one.cosine, one.matched, one.near,
            one.related, one.evidence, one.score, one.chance,
        )
        for one in ranked
    ]  # fmt: skip


def tasks(seed: int = 1) -> list[str]:
    random = Random(seed)
    made = [" ".join(random.choices(WORDS, k=random.randint(1, 30))) for _ in range(40)]
    return ["parse a table of the weather", "go go go ai", "unheard", "the", "哈哈哈", *made]


@pytest.mark.parametrize("condition", [ACTIVE, HALF, "0"])
def test_order_and_figures_are_those_of_plain_python(store: Store, condition: str) -> None:
    memory = Memory()
    for text in tasks():
        plain = StoredPool(lambda sql, given: store.rows(sql, tuple(given)), "skill", condition)
        cached = CachedPool(store, "skill", condition, memory)
        arrays = ArrayPool(store, "skill", condition, memory)
        expected = figures(rank(Task(text), plain))
        assert figures(rank(Task(text), cached)) == expected
        assert figures(rank(Task(text), arrays)) == expected
    assert condition == "0" or any(arrays.chances(Task("parse a table")).values())


def test_of_equal_documents_all_are_candidates(store: Store) -> None:
    arrays = ArrayPool(store, "skill", ACTIVE, Memory())
    matches = arrays.matches({"weather": 1.0})
    found = arrays.best(matches)
    plain = StoredPool(lambda sql, given: store.rows(sql, tuple(given)), "skill", ACTIVE)
    assert sorted(found) == sorted(plain.best(plain.matches({"weather": 1.0})))
    assert len(found) > BY_WORDS or arrays.total <= SMALL_POOL


def test_postings_that_do_not_fit_into_memory_are_read_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.index.array_pools.MOST_POSTINGS", 50)
    memory = Memory()
    for text in tasks()[:12]:
        arrays = ArrayPool(store, "skill", ACTIVE, memory)
        plain = StoredPool(lambda sql, given: store.rows(sql, tuple(given)), "skill", ACTIVE)
        assert figures(rank(Task(text), arrays)) == figures(rank(Task(text), plain))


def asked(workspace: Workspace, given: list[str], **environment: str) -> tuple[str, str]:
    found = subprocess.run(
        [sys.executable, "-c", ASKED, str(workspace.root), *given],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return found.stdout, found.stderr.strip()


def test_many_questions_load_numpy_and_few_do_not(workspace: Workspace) -> None:
    fill(workspace, SMALL_POOL + 50)
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
    many = tasks()
    answers = {asked(workspace, many, OPENBLAS_CORETYPE=core) for core in ("Haswell", "Prescott")}
    [(lines, loaded)] = answers
    assert loaded == "True"
    few = [asked(workspace, many[start : start + 15]) for start in range(0, len(many), 15)]
    assert {loaded for _, loaded in few} == {"False"}
    assert "".join(text for text, _ in few) == lines

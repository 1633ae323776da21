"""Plain arrays and numpy's give the same reports, and numpy is loaded only where it pays."""

import random
import subprocess
import sys
from typing import Any

import pytest

from conftest import REPOSITORY, Workspace
from metier import Catalog
from metier.config import Config
from metier.core.arrays import PLAIN_WORK, arrays_for, numpy_arrays, plain_arrays
from metier.flow.conformance import run_suite
from metier.parse.contract import parse_contract
from metier.resolve import AliasTable, AliasTables, Pool, Resolution, pool, resolve
from metier.values.candidates import Candidate
from metier.values.contracts import Mode

pytestmark = pytest.mark.slow

NAMES = [
    *("web-search", "web-searching", "web-searcher", "page-fetch"),
    *("pdf-parse", "pdf-parser", "net-lookup", "one"),
]
WORDS = ["web", "search", "page", "fetch", "pdf", "parse", "net", "look", "up", "one", "many", "of"]
HOSTS = ["", "codex", "cursor, martian", "all"]
HINTS = ["", " Pol(max-candidates=1)", " Pol(min-total-score=0.5)", " X(y)"]
ALIASES = AliasTables([AliasTable.of("runtime", "1", {"web-search": ["net-lookup"]})])
OPEN = {"min-total-score": "0", "min-contract-score": "0", "min-required-coverage": "0"}


def a_candidate(rng: random.Random, number: int) -> Candidate:
    provides = rng.sample(NAMES, rng.choice([0, 0, 1, 2, 5])) + ["Not\\ Valid"] * rng.choice([0, 1])
    requires = rng.choice(["", f" R({rng.choice(NAMES)})"])
    text = f"DCI/1 P({','.join(provides)}){requires}{rng.choice(HINTS)}"
    return Candidate(
        name=f"{rng.choice(WORDS)}-{number}",
        description=" ".join(rng.choices(WORDS, k=rng.randint(1, 12))),
        folder=f"skills/{rng.choice(WORDS)}/{number}",
        contract=parse_contract(text, "best-effort") if provides else None,
        compatibility=rng.choice(HOSTS),
    )


def a_question(rng: random.Random, candidates: list[Candidate]) -> dict[str, Any]:
    modes = {"selection-mode": rng.choice(["single", "cover"])}
    limits: dict[str, str] = rng.choice([{}, OPEN, {"min-contract-score": "0.15"}])
    ids = [one.id for one in candidates]
    mode: Mode = rng.choice(["strict", "best-effort"])
    consumers = [one for one in candidates if not one.refused_in(mode)]
    return {
        "requires": rng.sample([*NAMES, "No Name"], rng.randint(1, 5)),
        "query": rng.choice(["", "nothing has it", " ".join(rng.choices(WORDS, k=3))]),
        "mode": mode,
        "policy": {**modes, **limits, "max-candidates": str(rng.randint(1, 12))},
        "aliases": ALIASES,
        "host": rng.choice([None, "codex"]),
        "history": {key: rng.random() for key in rng.sample(ids, len(ids) // 5)},
        "divergence": rng.random() < 0.8,
        "consumer": rng.choice([None, *consumers]) if rng.random() < 0.3 else None,
    }


def reports(made: Resolution) -> tuple[str, str]:
    return made.report.to_json(), made.full_report().to_json()


@pytest.mark.parametrize("seed", range(40))
def test_both_kinds_of_arrays_give_the_same_reports_to_the_last_byte(seed: int) -> None:
    rng = random.Random(seed)
    candidates = [a_candidate(rng, number) for number in range(rng.choice([0, 1, 3, 12, 40, 100]))]
    plain = Pool(candidates, arrays=plain_arrays())
    for _ in range(3):
        question = a_question(rng, candidates)
        expected = reports(resolve(Pool(candidates), **question))
        assert reports(resolve(plain, **question)) == expected
        assert reports(resolve(plain.with_arrays(numpy_arrays()), **question)) == expected


def test_the_conformance_suite_passes_with_plain_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "numpy_arrays", plain_arrays)
    results = list(run_suite(REPOSITORY / "conformance"))
    assert len(results) >= 40
    assert [result.id for result in results if result.differences] == []


# Which of them are used

ASK = """
import sys
from metier import Catalog
from metier.config import Config
with Catalog.open(sys.argv[1], config=Config(host_folders=False)) as catalog:
    catalog.refresh()
    for _ in range(2):
        print(catalog.resolve(["one"]).selected, "numpy" in sys.modules)
    for _ in range(10):
        catalog.resolve(["one"], query="a word " * 500)
    print(catalog.resolve(["one"]).selected, "numpy" in sys.modules)
"""


def test_few_small_questions_of_a_process_load_no_numpy_and_many_do(
    workspace: Workspace,
) -> None:
    workspace.skill("able", extra="capabilities: [one]")
    workspace.skill("other", description="Nothing much.")
    workspace.trust()
    command = [sys.executable, "-c", ASK, str(workspace.root)]
    finished = subprocess.run(command, capture_output=True, check=True, text=True, timeout=300)
    selected = "('able::skills/able',)"
    loaded = ["False", "False", "True"]
    assert finished.stdout.splitlines() == [f"{selected} {one}" for one in loaded]


def test_much_work_is_never_done_with_plain_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy")
    assert arrays_for(PLAIN_WORK) is plain_arrays()
    assert arrays_for(PLAIN_WORK + 1) is numpy_arrays()


def test_what_is_loaded_anyway_is_used() -> None:
    assert arrays_for(1) is numpy_arrays()


def test_a_catalog_answers_the_same_before_and_after_numpy_has_loaded(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(5)
    for number in range(30):
        names = rng.sample(NAMES, rng.randint(0, 2))
        extra = f"capabilities: [{', '.join(names)}]" if names else ""
        words = " ".join(rng.choices(WORDS, k=6))
        workspace.skill(f"s{number}", description=f"{words} x.", extra=extra)
    kinds = iter([plain_arrays(), numpy_arrays()])
    monkeypatch.setattr("metier.flow.resolving.arrays_for", lambda _work: next(kinds))
    found = []
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        for _ in range(2):
            made = catalog.resolve(["web-search", "pdf-parse"], policy=OPEN)
            found.append((made.pool.arrays, made.selected, made.report.data["candidates"]))
    (first, *before), (second, *after) = found
    assert (first, second) == (plain_arrays(), numpy_arrays())
    assert before == after

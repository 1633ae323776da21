"""The same question gives the same report, whatever order, process, locale or cache."""

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from conftest import REPOSITORY, Workspace
from metier import Catalog
from metier.core.arrays import Arrays, numpy_arrays, plain_arrays
from metier.resolve import Pool, Resolution, resolve
from resolve.contracted import skill

pytestmark = pytest.mark.slow

MIXED = [
    skill("searcher", "DCI/1 P(web-search,page-fetch) R(parsing)", "Searches the web."),
    skill("Parser", "DCI/1 P(parsing)", "Parsing of pages.", compatibility="codex, martian"),
    skill("fuzzy", "DCI/1 P(web-searching,web-searcher)", "Nothing much."),
    skill("prose", description="Web search in plain words, größer und schöner."),
    skill("bad", "DCI/1 P(web-search,Not\\ Valid) X(y)", "Odd."),
    skill("broken", description="Web.", contract_problem="unknown version"),
    skill("INDIGO", description="Something else in İstanbul."),
    *(skill(f"able-{n}", f"DCI/1 P(one,x{n})", "One ability.") for n in range(12)),
]
RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strict": {"mode": "strict"},
    "cover": {"requires": ["web-search", "one"], "policy": {"selection-mode": "cover"}},
    "host": {"host": "cli", "history": {"searcher::skills/searcher": 0.5}},
    "consumer": {"consumer": MIXED[0], "requires": ["one"]},
    "unchecked": {"divergence": False, "depth": 0, "query": "größer"},
}
EVERY_RUN = pytest.mark.parametrize("name", RUNS)
DIGESTS = {
    "plain": "5450235d74f1d8e0196ec3c9b95391c2247861baa82c80af36ee40843d4ea156",
    "strict": "a88f400f97c13815641709e52b174314c0ea14444f85dc3cd2a3865c970c4601",
    "cover": "722a983dabe360f99cd73bb21ea010a5c95e0644b0f9abff56ae889078c221f8",
    "host": "2c3f7ce8db936ce9613906f490649acac0f43267603cb45f8588dc8f1ff05cd4",
    "consumer": "4cbd8233f42102000ccf992486087044a2525caf8a960620265ec893a9fdb659",
    "unchecked": "fbd25aace32bc7025e54c3e013a4bc7fc3d2b061fb26093c0034988f25eab668",
}
"""SHA-256 of each full report: Pythons 3.11, 3.12 and 3.13 that pass write the same bytes."""


def asked(pool: Any, name: str) -> Resolution:
    return resolve(pool, **{"requires": ["web-search"], **RUNS[name]})


def rows_of(made: Resolution) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = made.report.data["candidates"]
    return rows


PRINT_REPORTS = """
import random, sys
sys.path.insert(0, sys.argv[2])
from test_report_determinism import MIXED, RUNS, asked
random.Random(sys.argv[1]).shuffle(MIXED)
texts = [asked(MIXED, name).full_report().to_json() for name in RUNS]
sys.stdout.buffer.write(("[" + ",".join(texts) + "]").encode())
"""


def printed(seed: str, **env: str) -> bytes:
    """The reports that another process makes of the same candidates in another order."""
    paths = os.pathsep.join([str(REPOSITORY / "tests"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", PRINT_REPORTS, seed, os.path.dirname(__file__)],
        env={**os.environ, "PYTHONPATH": paths, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=300,
    ).stdout


def test_order_hash_seed_and_locale_do_not_change_a_byte() -> None:
    plain = printed("1", PYTHONHASHSEED="0", LC_ALL="C.UTF-8")
    assert len(json.loads(plain)) == len(RUNS)
    assert printed("2", PYTHONHASHSEED="12345", LC_ALL="C", PYTHONUTF8="0") == plain
    assert printed("3", PYTHONHASHSEED="999", LC_ALL="tr_TR.UTF-8", TZ="Asia/Tokyo") == plain


@pytest.mark.parametrize("arrays", [numpy_arrays, plain_arrays])
@EVERY_RUN
def test_every_version_of_python_writes_the_same_bytes(
    name: str, arrays: Callable[[], Arrays]
) -> None:
    """After a change of the reports that is meant, the digests that pytest shows are the new."""
    report = asked(Pool(MIXED, arrays=arrays()), name).full_report()
    assert (report.data["run_id"], report.data["generated_at"]) == ("", "")
    assert hashlib.sha256(report.to_json().encode()).hexdigest() == DIGESTS[name]


def test_every_run_has_a_digest() -> None:
    assert DIGESTS.keys() == RUNS.keys()


@pytest.mark.parametrize("seed", range(5))
@EVERY_RUN
def test_shuffled_candidates_give_the_same_report(name: str, seed: int) -> None:
    shuffled = random.Random(seed).sample(MIXED, len(MIXED))
    assert asked(shuffled, name).full_report() == asked(MIXED, name).full_report()


@pytest.mark.invariant(id="DCI-CACHE-001")
def test_a_pool_that_has_answered_before_answers_the_same() -> None:
    pool = Pool(MIXED)
    for _ in range(2):
        for name in RUNS:
            assert asked(pool, name).full_report() == asked(MIXED, name).full_report()


@pytest.mark.invariant(id="DCI-CACHE-001")
def test_a_kept_and_a_fresh_catalog_give_the_same_report(workspace: Workspace) -> None:
    for number in range(3):
        workspace.skill(f"s{number}", extra=f"capabilities: [one, x{number}]")
    reports = []
    for _ in range(2):
        with Catalog.open(workspace.root) as catalog:
            catalog.refresh()
            reports += [catalog.resolve(["one"]).report.data for _ in range(2)]
    assert len({report["run_id"] for report in reports}) == 4
    for report in reports:
        report.update(run_id="", generated_at="")
    assert reports == [reports[0]] * 4


@pytest.mark.invariant(id="DCI-CACHE-001")
def test_totals_follow_the_history_and_the_files_within_one_catalog(
    workspace: Workspace,
) -> None:
    workspace.skill("a", extra="capabilities: [one]")
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        before = rows_of(catalog.resolve(["one"]))[0]
        catalog.record_outcome("a", success=False)
        after = rows_of(catalog.resolve(["one"]))[0]
        assert (before["history_multiplier"], after["history_multiplier"]) == (1.0, 0.7)
        assert (before["sample_size"], after["sample_size"]) == (0, 1)
        workspace.skill("b", extra="capabilities: [one]")
        catalog.refresh()
        assert len(rows_of(catalog.resolve(["one"]))) == 2

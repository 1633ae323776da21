"""Resolving among up to 100,000 skills, against SQLite's full-text search for the text alone."""

import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.corpus import unpack
from benchmarks.folders import trust
from benchmarks.measure import Bar, alternate, cpu_of_process, median, peak_megabytes
from metier import Catalog
from metier.config import Config
from metier.core.stems import STOP_WORDS
from metier.parse.contract import parse_contract
from metier.resolve import Pool, resolve
from metier.values.candidates import Candidate
from metier.values.policy import PRESETS

METIER = str(Path(sys.executable).with_name("metier"))
FASTER_THAN_FTS5 = 4.0
FASTER_AT = {1_000: 1.5, 10_000: FASTER_THAN_FTS5, 100_000: FASTER_THAN_FTS5}
COLD_TIMES = 18.0
MEMORY_TIMES = 5.0
QUESTIONS = 25
REQUIRED = 5
_THINGS = """
    web page pdf sql log image video mail code data table report text graph map order file cloud
    test key user event price stock ticket chart form memo note plan team
"""
_ACTIONS = """
    search fetch parse build convert review draw send load write read merge split count check rank
    sort export import translate summarize classify extract compare schedule
"""
_MANY_IN_A_PROCESS = """
from benchmarks.resolve import pool_of, questions
from metier.resolve import resolve
pool = pool_of(100_000)
for question in questions(pool)[:5]:
    resolve(pool, question)
"""
_FTS5_IN_A_PROCESS = """
from benchmarks.resolve import candidates, full_text
database = full_text((one.name, one.description) for one in candidates(100_000))
"""


def bars(scratch: Path) -> Iterator[Bar]:
    yield from _real(scratch)  # first: 100,000 skills leave a heap that slows what follows
    yield from _synthetic()
    yield _memory()


def _synthetic() -> Iterator[Bar]:
    for size, least in FASTER_AT.items():
        pool = pool_of(size)
        asked = questions(pool)
        texts = [(one.name, one.description) for one in pool.candidates]
        ours = _asking(partial(resolve, pool), asked)
        yield _against_fts5(f"resolve, {size:,} skills", ours, texts, asked, least)


def _real(scratch: Path) -> Iterator[Bar]:
    root, what = unpack(scratch / "resolve")
    trust(root)
    with Catalog.open(root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        texts = [(row.name, row.description) for row in catalog.skills(shadowed=True)]
        asked = _questions_in_words([f"{name} {about}" for name, about in texts])
        ours = _asking(lambda names: catalog.resolve(names, policy=PRESETS["prose"]), asked)
        name = f"Catalog.resolve, {len(texts):,} real skills"
        yield _against_fts5(name, ours, texts, asked)
    command = [METIER, "resolve", "-r", "pdf-extraction", "--policy", "prose", "--root", str(root)]
    yield _cold([*command, "--quiet"], what)
    shutil.rmtree(root, ignore_errors=True)


def _cold(command: Sequence[str], what: str) -> Bar:
    """A new process against the start of Python alone; both have their bytecode, as installed."""

    def start(*words: str) -> float:
        return cpu_of_process(words, PYTHONDONTWRITEBYTECODE="")

    start(*command)
    rounds = alternate(
        9, lambda: start(sys.executable, "-I", "-c", "pass"), lambda: start(*command)
    )
    bare, ours = (min(column) for column in zip(*rounds, strict=True))
    detail = f"{ours * 1e3:.0f} ms CPU against {bare * 1e3:.1f} ms, {what}"
    unit = "× the start of Python alone"
    return Bar("`metier resolve`, a new process", ours / bare, COLD_TIMES, unit, detail)


def _against_fts5(
    name: str,
    ours: Callable[[], float],
    texts: Sequence[tuple[str, str]],
    asked: Sequence[Sequence[str]],
    least: float = FASTER_THAN_FTS5,
) -> Bar:
    database = full_text(texts)
    search = _asking(lambda names: _search(database, names), asked)
    rounds = alternate(7, search, ours)
    theirs, cost = (median(column) for column in zip(*rounds, strict=True))
    return Bar(
        f"{name}, speed",
        median(one[0] / one[1] for one in rounds),
        least,
        "× SQLite FTS5 bm25() on the text alone",
        f"{cost * 1e3:.2f} ms against {theirs * 1e3:.2f} ms, median of {REQUIRED} capabilities",
        at_least=True,
    )


def full_text(texts: Iterable[tuple[str, str]]) -> sqlite3.Connection:
    """The same texts in SQLite's full-text search."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE skill USING fts5 (name, description, tokenize = porter)")
    database.executemany("INSERT INTO skill VALUES (?, ?)", texts)
    return database


def _search(database: sqlite3.Connection, names: Sequence[str]) -> list[tuple[int, float]]:
    words = " OR ".join(f'"{word}"' for name in names for word in name.split("-"))
    return database.execute(
        "SELECT rowid, bm25(skill) FROM skill WHERE skill MATCH ? ORDER BY 2 LIMIT 5", (words,)
    ).fetchall()


def _asking(
    ask: Callable[[Sequence[str]], object], asked: Sequence[Sequence[str]]
) -> Callable[[], float]:
    """Seconds of the median question, once everything is loaded."""
    ask(asked[0])

    def one(names: Sequence[str]) -> float:
        start = time.process_time()
        ask(names)
        return time.process_time() - start

    return lambda: median(one(names) for names in asked)


def questions(pool: Pool) -> list[list[str]]:
    """Five capabilities each, three of which one skill provides: somebody passes every gate."""
    rng = Random(3)
    able = [one.contract.provides for one in pool.candidates if one.contract]
    able = [provides[:3] for provides in able if len(provides) >= 3]
    return [
        [*own, *rng.sample([name for name in _names() if name not in own], REQUIRED - len(own))]
        for own in rng.sample(able, QUESTIONS)
    ]


def _questions_in_words(texts: Sequence[str]) -> list[list[str]]:
    """Five capabilities each, out of the first words of a skill: that one matches them all."""
    rng = Random(3)
    first = [list(dict.fromkeys(_words_of(text)))[: 2 * REQUIRED] for text in texts]
    able = [words for words in first if len(words) == 2 * REQUIRED]
    return [
        [f"{left}-{right}" for left, right in zip(words[0::2], words[1::2], strict=True)]
        for words in rng.sample(able, QUESTIONS)
    ]


def _words_of(text: str) -> list[str]:
    return [word for word in re.findall("[a-z]{3,}", text.lower()) if word not in STOP_WORDS]


def _names() -> list[str]:
    return [f"{thing}-{action}" for thing in _THINGS.split() for action in _ACTIONS.split()]


def pool_of(size: int) -> Pool:
    return Pool(candidates(size))


def candidates(size: int) -> Iterator[Candidate]:
    """Synthetic skills with contracts: one to four capabilities each, a sentence about them."""
    rng = Random(size)
    names = _names()
    return (_candidate(number, names, rng) for number in range(size))


def _candidate(number: int, names: Sequence[str], rng: Random) -> Candidate:
    provided = rng.sample(names, rng.randint(1, 4))
    words = " ".join(rng.choices(f"{_THINGS} {_ACTIONS}".split(), k=10))
    about = " and ".join(name.replace("-", " ") for name in provided)
    return Candidate(
        name=f"{provided[0]}-{number}",
        description=f"Does {about} for the team. Use it for {words}.",
        folder=f"skills/{provided[0]}-{number}",
        contract=parse_contract(f"DCI/1 P({','.join(provided)})"),
    )


def _memory() -> Bar:
    ours, theirs = peak_megabytes(_MANY_IN_A_PROCESS), peak_megabytes(_FTS5_IN_A_PROCESS)
    detail = f"resident set of {ours:.0f} MB against {theirs:.0f} MB"
    unit = "× SQLite FTS5 on the text alone"
    return Bar("resolve, 100,000 skills, memory", ours / theirs, MEMORY_TIMES, unit, detail)

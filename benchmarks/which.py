"""`Catalog.which` among 10,000 skills against SQLite's full-text search; a process at 100,000."""

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random

import yaml

from benchmarks.corpus import unpack
from benchmarks.floor import front_matter
from benchmarks.folders import trust
from benchmarks.measure import Bar, alternate, cpu_of_process, least, peak_megabytes
from metier import Catalog
from metier.config import Config
from metier.core.stems import STOP_WORDS
from metier.core.text import words

METIER = str(Path(sys.executable).with_name("metier"))
FASTER_THAN_FTS5 = 2.0
COLD_TIMES = 8.0
MEGABYTES = 500.0
TASKS = 400
ROUNDS = 3
LENGTHS = (6, 12, 24, 48)
"""Words of the tasks, in turn."""
LIMIT = 10
MANY = 100_000
TASK = "extract the tables of a scanned document and write them into a spreadsheet"
_MAIN = """
import contextlib, os, sys
from metier.__main__ import main
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    with contextlib.suppress(SystemExit):
        main()
"""


def bars(scratch: Path) -> Iterator[Bar]:
    root, what = unpack(scratch / "which")
    trust(root)
    yield from _in_process(root, what)
    many = scratch / "which-many"
    _write_many(root, many)
    yield from _cold(many)
    shutil.rmtree(many)
    shutil.rmtree(scratch / "which", ignore_errors=True)


def _in_process(root: Path, what: str) -> Iterator[Bar]:
    rounds = [_in_new_process(root) for _ in range(ROUNDS)]
    count = rounds[0][0]
    costs = [
        [min(pair) for pair in zip(*same, strict=True)]
        for same in zip(*(costs for _, costs in rounds), strict=True)
    ]
    ours, theirs = (sorted(column) for column in zip(*costs, strict=True))
    for name, place in (("median", TASKS // 2), ("95th percentile", TASKS * 95 // 100)):
        yield Bar(
            f"Catalog.which, {count:,} skills, {name}",
            theirs[place] / ours[place],
            FASTER_THAN_FTS5,
            "× SQLite FTS5 bm25() on the same text",
            f"{ours[place] * 1e3:.2f} ms against {theirs[place] * 1e3:.2f} ms; "
            f"{TASKS} tasks of {LENGTHS[0]} to {LENGTHS[-1]} words, the least of {ROUNDS} new"
            f" processes for each; {what}",
            at_least=True,
        )


def _in_new_process(root: Path) -> tuple[int, list[tuple[float, float]]]:
    """What `_costs` gives where nothing is cached yet."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(_costs, root).result()


def _costs(root: Path) -> tuple[int, list[tuple[float, float]]]:
    """How many skills there are, and what each task costs here and there."""
    config = Config(host_folders=False)
    with Catalog.open(root, config=config, home="/nowhere") as catalog:
        catalog.refresh()
        rows = catalog.skills()
        texts = [(row.name, row.description, _body(root / row.path)) for row in rows]
        database = _full_text(texts)
        ask = partial(catalog.which, limit=LIMIT)
        search = partial(_search, database)
        first, *tasks = _tasks([description for _, description, _ in texts])
        ask(first)  # loads what is loaded once
        search(first)
        costs = [(_cost(ask, task), _cost(search, task)) for task in tasks]
    database.close()
    return len(texts), costs


def _cost(call: Callable[[str], object], task: str) -> float:
    start = time.process_time()
    call(task)
    return time.process_time() - start


def _tasks(descriptions: Sequence[str]) -> list[str]:
    """The first words of descriptions, each task once: what a cache saves does not count."""
    able = sorted({text for text in descriptions if len(text.split()) >= LENGTHS[0]})
    return [
        " ".join(text.split()[: LENGTHS[number % len(LENGTHS)]])
        for number, text in enumerate(Random(4).sample(able, TASKS + 1))
    ]


def _full_text(texts: Sequence[tuple[str, str, str]]) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE skill USING fts5"
        " (name, description, body, tokenize = 'porter unicode61')"
    )
    database.executemany("INSERT INTO skill VALUES (?, ?, ?)", texts)
    database.execute("INSERT INTO skill (skill) VALUES ('optimize')")
    return database


def _search(database: sqlite3.Connection, task: str) -> list[tuple[int, float]]:
    kept = (word for word in dict.fromkeys(words(task)) if word not in STOP_WORDS)
    query = " OR ".join(f'"{word}"' for word in kept) or '""'
    return database.execute(
        "SELECT rowid, bm25(skill) FROM skill WHERE skill MATCH ? ORDER BY 2 LIMIT ?",
        (query, LIMIT),
    ).fetchall()


def _body(file: Path) -> str:
    text = file.read_text("utf-8", errors="replace")
    matter = front_matter(text)
    return text[len(matter) + 7 :] if matter else text


def _write_many(source: Path, root: Path) -> None:
    """100,000 skills: half the body of one real skill, half of another, names of their own."""
    files = sorted(source.rglob("SKILL.md"))
    bodies = [_body(file) for file in files]
    heads = [_head(file) for file in files]
    for number in range(MANY):
        place, other = number % len(files), number * 7 // 5 % len(files)
        first, second = bodies[place], bodies[other]
        name, description = heads[place]
        matter = {"name": f"{name}-{number}", "description": description}
        folder = root / "skills" / f"{number // 1_000:03}" / f"{number:06}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\n{yaml.dump(matter, Dumper=yaml.CSafeDumper, allow_unicode=True)}---\n\n"
            f"{first[: len(first) // 2]}\n{second[len(second) // 2 :]}",
            "utf-8",
        )
    (root / "metier.toml").write_text("host-folders = false\n")


def _head(file: Path) -> tuple[str, str]:
    try:
        data = yaml.load(front_matter(file.read_text("utf-8")), yaml.CSafeLoader)
        return str(data["name"]), str(data["description"])
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, KeyError):
        return "unnamed", "A skill without a readable front matter."


def _check_answer(command: Sequence[str]) -> None:
    """Raise unless skills are ranked; whether one fires does not matter."""
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    if answer.returncode not in (0, 1) or "skill" not in answer.stdout:
        raise RuntimeError(f"{' '.join(command)}: {answer.stderr or 'no skill'}")


def _cold(root: Path) -> Iterator[Bar]:
    """A new process with a catalog that is built; it does not look for changed files."""
    trust(root)
    at = ["--root", str(root), "--quiet"]
    cpu_of_process([METIER, "refresh", *at], check=False)
    command = [METIER, "which", TASK, "--no-refresh", *at]
    _check_answer(command)
    rounds = alternate(
        9, lambda: cpu_of_process([METIER, "--help"]), lambda: cpu_of_process(command, check=False)
    )
    helped, ours = least(rounds)
    yield Bar(
        f"`metier which`, a new process, {MANY:,} skills",
        ours / helped,
        COLD_TIMES,
        "× `metier --help`",
        f"{ours * 1e3:.0f} ms CPU against {helped * 1e3:.0f} ms",
    )
    yield Bar(
        f"`metier which`, a new process, {MANY:,} skills, memory",
        peak_megabytes(_MAIN, *command[1:]),
        MEGABYTES,
        "MB resident at most",
        "the whole process",
    )

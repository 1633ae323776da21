"""What is compared: metier with its real catalog, and peers over the same documents."""

import math
import shutil
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.folders import trust
from benchmarks.quality.data import Document, place_of, write_skills
from benchmarks.quality.metrics import DEPTH
from benchmarks.quality.minilm import MiniLM
from metier import Catalog
from metier.core.stems import STOP_WORDS, stems
from metier.core.text import words

K1, B = 1.2, 0.75
RRF_K = 60
MOST_NAMED = 3
"""A hook names at most that many skills."""

Rank = Callable[[str], list[str]]
"""The ids of the best documents for a task, best first."""
Floats = NDArray[np.float64]


class Choice(NamedTuple):
    """One skill of an answer."""

    name: str
    path: str
    score: float
    fires: bool
    evidence: float = 0.0


class Answer(NamedTuple):
    """What metier says to a task."""

    choices: Sequence[Choice]
    """Best first, whether they fire or not."""

    @property
    def named(self) -> list[Choice]:
        """Those that a hook would name."""
        return [one for one in self.choices if one.fires][:MOST_NAMED]


Ask = Callable[[str], Answer]


def ask(catalog: Catalog, task: str) -> Answer:
    """The only place that calls metier."""
    answer = catalog.which(task, limit=DEPTH, everything=False)
    return Answer(
        [
            Choice(one.name, str(one.path), one.score, one.fires, one.evidence)
            for one in answer.skills
        ]
    )


@contextmanager
def asking(root: Path, documents: Sequence[Document], *folders: Path) -> Iterator[Ask]:
    """Ask metier about the documents, and the skills in `folders`, in a temporary workspace."""
    write_skills(root, documents, range(len(documents)))
    for folder in folders:
        shutil.copytree(folder, root / "skills" / folder.name)
    trust(root)
    with Catalog.open(root, home="/nowhere") as catalog:
        catalog.refresh()
        found, expected = len(catalog.skills()), len(documents) + len(folders)
        if found != expected:
            raise RuntimeError(f"the catalog has {found} of {expected} skills")
        yield lambda task: ask(catalog, task)
    shutil.rmtree(root)


def ids(answer: Answer, documents: Sequence[Document]) -> list[str]:
    """The ids of the ranked documents."""
    return [documents[place_of(one.path)].id for one in answer.choices]


def peers(documents: Sequence[Document], model: MiniLM | None) -> dict[str, Rank]:
    """The other systems by name; those with MiniLM only if it is there."""
    names = [document.id for document in documents]
    bm25 = Bm25(documents)
    systems: dict[str, Rank] = {
        "BM25": lambda task: best(bm25.scores(task), names),
        "FTS5": _full_text(documents),
    }
    if model:
        vectors = model.encode([document.text for document in documents])

        def cosines(task: str) -> Floats:
            return np.asarray(vectors @ model.encode([task])[0], dtype=np.float64)

        systems["MiniLM"] = lambda task: best(cosines(task) + 2, names)
        systems["RRF(BM25, MiniLM)"] = lambda task: best(
            fused(bm25.scores(task), cosines(task)), names
        )
    return systems


def best(scores: Floats, names: Sequence[str], depth: int = DEPTH) -> list[str]:
    """The names with the highest scores above 0; the earlier first if equal."""
    order = np.argsort(-scores, kind="stable")[:depth]
    return [names[place] for place in order if scores[place] > 0]


def fused(lexical: Floats, dense: Floats) -> Floats:
    """Reciprocal rank fusion; what has no word of the task has no lexical rank."""
    made = np.where(lexical > 0, 1 / (RRF_K + _ranks(lexical)), 0.0)
    return made + 1 / (RRF_K + _ranks(dense))


def _ranks(scores: Floats) -> Floats:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


class Bm25:
    """BM25 over all text as one field; a word that a task repeats counts once."""

    def __init__(self, documents: Sequence[Document]) -> None:
        found = [Counter(stems(document.text)) for document in documents]
        lengths = np.array([counts.total() for counts in found], dtype=np.float64)
        norms = K1 * (1 - B + B * lengths / lengths.mean())
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, counts in enumerate(found):
            for stem, count in counts.items():
                postings[stem].append((place, count))
        self._size = len(documents)
        self._postings = {stem: self._weighted(rows, norms) for stem, rows in postings.items()}

    def _weighted(
        self, rows: Sequence[tuple[int, int]], norms: Floats
    ) -> tuple[NDArray[np.intp], Floats]:
        places = np.array([place for place, _ in rows])
        counts = np.array([count for _, count in rows], dtype=np.float64)
        idf = math.log(1 + (self._size - len(rows) + 0.5) / (len(rows) + 0.5))
        return places, idf * counts * (K1 + 1) / (counts + norms[places])

    def scores(self, task: str) -> Floats:
        """The score of each document."""
        scores = np.zeros(self._size)
        for stem in dict.fromkeys(stems(task)):
            if stem in self._postings:
                places, weights = self._postings[stem]
                scores[places] += weights
        return scores


def _full_text(documents: Sequence[Document]) -> Rank:
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE skill USING fts5"
        " (name, description, body, examples, tokenize = 'porter unicode61')"
    )
    database.executemany(
        "INSERT INTO skill VALUES (?, ?, ?, ?)",
        [(one.name, one.description, one.body, "\n".join(one.examples)) for one in documents],
    )

    def rank(task: str) -> list[str]:
        found = database.execute(
            "SELECT rowid FROM skill WHERE skill MATCH ? ORDER BY bm25(skill), rowid LIMIT ?",
            (any_word(task), DEPTH),
        )
        return [documents[rowid - 1].id for (rowid,) in found]

    return rank


def any_word(task: str) -> str:
    """The FTS5 query for any word of a task that is no stop word; each word once."""
    kept = [word for word in dict.fromkeys(words(task)) if word not in STOP_WORDS]
    return " OR ".join(f'"{word}"' for word in kept) or '""'

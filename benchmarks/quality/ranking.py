"""Ranking: metier and its peers on the same tasks, compared in pairs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.quality.data import Document, Task
from benchmarks.quality.metrics import (
    Interval,
    Scores,
    hit,
    macro_interval,
    mean_interval,
    ndcg,
)
from benchmarks.quality.report import Bar, points
from benchmarks.quality.systems import Answer, Ask, Rank, ids

METIER = "metier"
LEXICAL = ("BM25", "FTS5")
HYBRID = "RRF(BM25, MiniLM)"
POINTS_ABOVE = 0.02
Metric = Callable[[Sequence[str], Collection[str]], float]


class Ranked(NamedTuple):
    """One set: a value for each system and task."""

    name: str
    documents: int
    ndcg: Mapping[str, Scores]
    hit: Mapping[str, Scores]
    tasks: Sequence[Task]
    answers: Sequence[Answer]
    """Metier's."""
    named: Sequence[Sequence[str]]
    """The ids of the documents that metier's hook would name for each task."""

    def difference(self, other: str) -> Interval:
        """Metier's nDCG@10 minus that of another system."""
        return mean_interval(self.ndcg[METIER] - self.ndcg[other])


def rank_all(
    name: str,
    ask: Ask,
    documents: Sequence[Document],
    systems: Mapping[str, Rank],
    tasks: Sequence[Task],
) -> Ranked:
    answers = [ask(task.text) for task in tasks]
    ranked = {METIER: [ids(answer, documents) for answer in answers]}
    for system, rank in systems.items():
        ranked[system] = [rank(task.text) for task in tasks]
    return Ranked(
        name,
        len(documents),
        {system: _values(ndcg, rows, tasks) for system, rows in ranked.items()},
        {system: _values(hit, rows, tasks) for system, rows in ranked.items()},
        tasks,
        answers,
        [ids(Answer(answer.named), documents) for answer in answers],
    )


def _values(metric: Metric, rows: Iterable[Sequence[str]], tasks: Iterable[Task]) -> Scores:
    pairs = zip(rows, tasks, strict=True)
    return np.array([metric(found, task.relevant) for found, task in pairs])


def bars(sets: Sequence[Ranked], raised: Sequence[str]) -> Iterator[Bar]:
    """`raised` are the sets on which metier must be above its lexical peers."""
    for one in sets:
        stronger = max(LEXICAL, key=lambda system: one.ndcg[system].mean())
        gain = one.difference(stronger)
        if one.name in raised:
            yield Bar(
                f"{one.name}: nDCG@10 above the better of BM25 and FTS5 ({stronger})",
                points(gain),
                f"≥ +{POINTS_ABOVE * 100:g} points",
                gain.figure >= POINTS_ABOVE,
            )
        for system in LEXICAL:
            difference = one.difference(system)
            yield Bar(
                f"{one.name}: nDCG@10 against {system}",
                f"{points(difference)}: {difference.verdict}",
                "not worse",
                difference.verdict != "worse",
            )
    yield _against_hybrid(sets)


def _against_hybrid(sets: Sequence[Ranked]) -> Bar:
    name, limit = f"macro nDCG@10 of {len(sets)} sets against {HYBRID}", "level or better"
    if not all(HYBRID in one.ndcg for one in sets):
        return Bar(name, "skipped: MiniLM is not installed", limit, None)
    macro = macro_interval([one.ndcg[METIER] - one.ndcg[HYBRID] for one in sets])
    return Bar(name, f"{points(macro)}: {macro.verdict}", limit, macro.verdict != "worse")


def table(sets: Sequence[Ranked], macro: Sequence[Ranked]) -> list[list[str]]:
    """nDCG@10 and hit@1 of each system on each set, and the mean over the sets of `macro`."""
    systems = list(dict.fromkeys(system for one in sets for system in one.ndcg))
    rows = [["set", "documents", "tasks", *systems]]
    for one in sets:
        cells = [
            _cell(one.ndcg[name], one.hit[name]) if name in one.ndcg else "–" for name in systems
        ]
        rows.append([one.name, f"{one.documents:,}", f"{len(one.tasks):,}", *cells])
    cells = [
        f"{_mean([one.ndcg[name] for one in macro])} / {_mean([one.hit[name] for one in macro])}"
        if all(name in one.ndcg for one in macro)
        else "–"
        for name in systems
    ]
    rows.append([f"mean of the first {len(macro)}", "", "", *cells])
    return rows


def _cell(ndcg_values: Scores, hits: Scores) -> str:
    return f"{ndcg_values.mean() * 100:.1f} / {hits.mean() * 100:.1f}"


def _mean(sets: Iterable[Scores]) -> str:
    return f"{np.mean([values.mean() for values in sets]) * 100:.1f}"

"""Silence is an answer: how often skills fire on tasks, on chatter and on labelled prompts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from benchmarks.quality.data import Case, Document, Task
from benchmarks.quality.metrics import Scores, macro_interval, mean_interval, share_interval
from benchmarks.quality.ranking import Ranked
from benchmarks.quality.report import Bar, percent, share
from benchmarks.quality.systems import Answer, Ask

SPEAKS, WRONGLY = 0.77, 0.05
FOLLOWUPS = 1
RECALL, FALSE_FIRES = 0.75, 0.20
LABELLED_POOL = 200
DRAWS = 5


class Talk(NamedTuple):
    """How often skills fired on prompts in one pool."""

    pool: str
    spoken: Sequence[tuple[str, str]]
    """The prompts on which one fired, and the first that did."""
    total: int


def talk(pool: str, ask: Ask, prompts: Sequence[Task]) -> Talk:
    answers = [(one.text, ask(one.text).named) for one in prompts]
    return Talk(pool, [(text, named[0].name) for text, named in answers if named], len(prompts))


def on_tasks(pools: Mapping[str, Sequence[Ranked]]) -> Bar:
    """The bar on tasks: the mean of the pools, each with the tasks of some sets."""
    values = {
        name: np.array([bool(named) for one in sets for named in one.named], dtype=float)
        for name, sets in pools.items()
    }
    mean = macro_interval(list(values.values()))
    each = ", ".join(f"{name} {part.mean() * 100:.1f}" for name, part in values.items())
    what = f"speaks on tasks, mean of {len(pools)} pools ({each})"
    return Bar(what, percent(mean), f"≥ {SPEAKS:.0%}", mean.figure >= SPEAKS)


def on_chatter(parts: Sequence[Talk]) -> Bar:
    """The bar on prompts that need no skill: all parts together."""
    counted = sum(len(one.spoken) for one in parts)
    interval = share_interval(counted, sum(one.total for one in parts))
    each = ", ".join(f"{one.pool} {len(one.spoken)} of {one.total}" for one in parts)
    what = f"speaks wrongly among {each}"
    return Bar(what, percent(interval), f"≤ {WRONGLY:.0%}", interval.figure <= WRONGLY)


def on_followups(pools: Sequence[Talk]) -> Iterator[Bar]:
    for one in pools:
        interval = share_interval(len(one.spoken), one.total)
        yield Bar(
            f"speaks on follow-ups, {one.pool}",
            f"{len(one.spoken)} of {one.total} ({interval.low:.0%} to {interval.high:.0%})",
            f"≤ {FOLLOWUPS} of 20",
            len(one.spoken) * 20 <= FOLLOWUPS * one.total,
        )


def table(sets: Sequence[Ranked]) -> list[list[str]]:
    """How often metier speaks on the tasks of each set, and how often a named skill is right."""
    rows = [["set", "speaks", "and is right", "right when it speaks"]]
    for one in sets:
        spoken = np.array([bool(named) for named in one.named])
        right = np.array(
            [
                not task.relevant.isdisjoint(named)
                for task, named in zip(one.tasks, one.named, strict=True)
            ]
        )
        shares = (spoken.mean(), right.mean(), right.sum() / max(1, spoken.sum()))
        rows.append([one.name, *(f"{value * 100:.1f} %" for value in shares)])
    return rows


def others(pool: Sequence[Document], skills: Collection[str], draw: int) -> list[Document]:
    """The skills among which the labelled ones stand: a fixed draw, none of the same name."""
    names = set(skills)
    own = [document for document in pool if document.name not in names]
    unique = list({document.name: document for document in own}.values())
    return Random(draw).sample(unique, LABELLED_POOL - len(names))


def fired(ask: Ask, cases: Sequence[Case]) -> Scores:
    """1 for each prompt for which the labelled skill is among those that a hook names."""
    answers: Mapping[str, Answer] = {text: ask(text) for text in {case.text for case in cases}}
    return np.array(
        [any(one.name == case.skill for one in answers[case.text].named) for case in cases],
        dtype=float,
    )


def on_labelled(cases: Sequence[Case], draws: Sequence[Scores]) -> Iterator[Bar]:
    """The bars on author-labelled prompts: a prompt counts by its mean over the draws."""
    means = np.mean(draws, axis=0)
    wanted = np.array([case.should_fire for case in cases])
    recall, wrong = mean_interval(means[wanted]), mean_interval(means[~wanted])
    where = f"{len(cases)} labelled prompts, {LABELLED_POOL} skills, {len(draws)} draws"
    yield Bar(f"recall, {where}", share(recall), f"≥ {RECALL:g}", recall.figure >= RECALL)
    yield Bar(
        f"false fires, {where}", share(wrong), f"≤ {FALSE_FIRES:g}", wrong.figure <= FALSE_FIRES
    )

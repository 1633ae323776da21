"""What five examples a document teach: who is first, and whether a task is for none of them."""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.folders import trust
from benchmarks.quality.data import Document, Task
from benchmarks.quality.metrics import Scores, mean_interval
from benchmarks.quality.report import Bar, percent
from benchmarks.quality.systems import Ask, Choice, ids
from metier import Catalog

HIT, AGENT_HIT, AUROC = 0.82, 0.80, 0.91


def skill_bars(
    ask: Ask, documents: Sequence[Document], tasks: Sequence[Task], others: Sequence[Task]
) -> Iterator[Bar]:
    """The bars on skills; `others` are tasks that no document fits."""
    answers = [ask(task.text) for task in tasks]
    hits = np.array(
        [
            not task.relevant.isdisjoint(ids(answer, documents)[:1])
            for task, answer in zip(tasks, answers, strict=True)
        ],
        dtype=float,
    )
    interval = mean_interval(hits)
    what = "five examples a skill, hit@1 (CLINC150)"
    yield Bar(what, percent(interval), f"≥ {HIT:.0%}", interval.figure >= HIT)
    inside = np.array([_evidence(answer.choices) for answer in answers])
    outside = np.array([_evidence(ask(task.text).choices) for task in others])
    figure = area(inside, outside)
    what = "five examples a skill, AUROC of tasks against those out of scope"
    yield Bar(what, f"{figure:.3f}", f"≥ {AUROC}", figure >= AUROC)


def _evidence(choices: Sequence[Choice]) -> float:
    return choices[0].evidence if choices else 0.0


def area(inside: Scores, outside: Scores) -> float:
    """How often a task has more evidence than one that is out of scope."""
    more = (inside[:, None] > outside[None, :]).mean()
    return float(more + (inside[:, None] == outside[None, :]).mean() / 2)


def agent_bar(root: Path, documents: Sequence[Document], tasks: Sequence[Task]) -> Bar:
    """The documents as agents, selected by what their example tasks teach."""
    write_agents(root, documents)
    trust(root)
    with Catalog.open(root, home="/nowhere") as catalog:
        catalog.refresh()
        firsts = [catalog.select_agents(task.text, 1)[0].agent_id for task in tasks]
    shutil.rmtree(root)
    names = {_agent_name(document): document.id for document in documents}
    hits = [
        names.get(first, "") in task.relevant for first, task in zip(firsts, tasks, strict=True)
    ]
    interval = mean_interval(np.array(hits, dtype=float))
    what = "five example tasks an agent, `learned`, hit@1 (CLINC150)"
    return Bar(what, percent(interval), f"≥ {AGENT_HIT:.0%}", interval.figure >= AGENT_HIT)


def write_agents(root: Path, documents: Sequence[Document]) -> None:
    (root / "agents").mkdir(parents=True)
    settings = 'host-folders = false\n[selection]\nscorer = "learned"\n'
    (root / "metier.toml").write_text(settings)
    for document in documents:
        name = _agent_name(document)
        about = json.dumps(f"{document.name}: {document.description}")
        selection = json.dumps({"exampleTasks": list(document.examples)})
        head = f"name: {name}\ndescription: {about}\nselectionMetadata: {selection}\n"
        (root / "agents" / f"{name}.md").write_text(f"---\n{head}---\nDo.\n", "utf-8")


def _agent_name(document: Document) -> str:
    return document.name.replace("_", "-")

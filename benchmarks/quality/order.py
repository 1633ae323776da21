"""The same order and scores after a rebuild from other files, and under other BLAS kernels."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

from benchmarks.folders import trust
from benchmarks.quality.data import REPOSITORY, Document, write_skills
from benchmarks.quality.report import Bar
from benchmarks.quality.systems import ask
from metier import Catalog

CORE_TYPES = ("Haswell", "Prescott")
TASKS = 200
_DAY = 86_400


def bar(scratch: Path, documents: Sequence[Document], tasks: Sequence[str]) -> Bar:
    """Four processes, each of which builds its own catalog: two file orders, two core types."""
    root = scratch / "order"
    answers = []
    for build in range(2):
        _write(root, documents, build)
        for core in CORE_TYPES:
            answers.append(_in_a_process(root, scratch / f"state-{build}-{core}", core, tasks))
        shutil.rmtree(root)
    differing = _differing(answers)
    figure = f"{differing} of {len(tasks)} answers differ" if differing else "byte-equal"
    what = (
        f"order and scores of {len(tasks)} tasks among {len(documents):,} documents,"
        f" two file orders, OPENBLAS_CORETYPE {' and '.join(CORE_TYPES)}"
    )
    return Bar(what, figure, "byte-equal", len(set(answers)) == 1)


def _write(root: Path, documents: Sequence[Document], build: int) -> None:
    """The same files, made in another order and with other times for each build."""
    order = list(range(len(documents)))
    rng = Random(build)
    if build:
        rng.shuffle(order)
    write_skills(root, documents, order)
    for file in sorted(root.rglob("SKILL.md")):
        changed = file.stat().st_mtime - rng.randrange(1, 1_000) * _DAY
        os.utime(file, (changed, changed))


def _in_a_process(root: Path, state: Path, core: str, tasks: Sequence[str]) -> bytes:
    state.mkdir(0o700)
    return subprocess.run(
        [sys.executable, "-m", __name__, str(root)],
        check=True,
        cwd=REPOSITORY,
        input=json.dumps(tasks).encode(),
        stdout=subprocess.PIPE,
        env={**os.environ, "METIER_STATE_DIR": str(state), "OPENBLAS_CORETYPE": core},
    ).stdout


def _differing(answers: Sequence[bytes]) -> int:
    """How many lines are not the same in all."""
    lines = zip(*(one.splitlines() for one in answers), strict=True)
    return sum(len(set(same)) > 1 for same in lines)


def main() -> None:
    """Print the answer to each task on standard input, a line of JSON each."""
    root = Path(sys.argv[1])
    trust(root)
    with Catalog.open(root, home="/nowhere") as catalog:
        catalog.refresh()
        for task in json.load(sys.stdin):
            print(json.dumps(ask(catalog, task).choices))


if __name__ == "__main__":
    main()

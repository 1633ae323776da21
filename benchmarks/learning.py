"""Learning from examples: 500 skills with five examples each, against the same steps in numpy."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.folders import trust
from benchmarks.measure import Bar, alternate, cpu, least
from metier import Catalog
from metier.core.learned import NOTHING, STEP, UNIT
from metier.index import fitting
from metier.index.fitting import Floats

TRAINING_BAR = 1.5
SKILLS, EXAMPLES, WORDS = 500, 5, 10
ROUNDS = 2


def bars(scratch: Path) -> Iterator[Bar]:
    root = scratch / "workspace"
    _write(root)
    kept: list[tuple[Floats, fitting.Places, int]] = []
    real = fitting.logistic

    def noted(products: Floats, places: fitting.Places, documents: int) -> Floats:
        kept.append((products, places, documents))
        return real(products, places, documents)

    fitting.logistic = noted
    with Catalog.open(root, home="/nowhere") as catalog:
        catalog.refresh()
        fitting.logistic = real
        [given] = kept

        def learn() -> None:
            with catalog.store.transaction() as connection:
                connection.execute("DELETE FROM learned")
            catalog.store.remember("taught-by", "changed")
            catalog.examples.learn()

        rounds = alternate(ROUNDS, lambda: cpu(learn), lambda: cpu(lambda: _bare(*given)))
        ours, bare = least(rounds)
        yield Bar(
            "learning from 2,500 examples of 500 skills", ours / bare, TRAINING_BAR,
            "× the same steps in bare numpy", f"{ours:.1f} s against {bare:.1f} s of CPU",
        )  # fmt: skip


def _write(root: Path) -> None:
    random = Random(21)
    vocabulary = [f"{a}{b}" for a in _STARTS for b in _ENDS]
    for number in range(SKILLS):
        own = random.sample(vocabulary, 12)
        tasks = [
            " ".join([*random.sample(own, 4), *random.choices(vocabulary, k=WORDS - 4)])
            for _ in range(EXAMPLES)
        ]
        folder = root / "skills" / f"skill-{number}"
        folder.mkdir(parents=True)
        listed = "\n".join(f"  - {task}" for task in tasks)
        about = " ".join(own[:8])
        head = f"name: skill-{number}\ndescription: {about}\nexamples:\n{listed}\n"
        (folder / "SKILL.md").write_text(f"---\n{head}---\nDo it.\n")
    (root / "metier.toml").write_text("host-folders = false\n")
    trust(root)


_STARTS = "read write draw count sort send plan test build ship tune scan".split()  # noqa: SIM905  # reads better
_ENDS = "er ing able ment ster less ful ware book line side work field mark".split()  # noqa: SIM905


def _bare(products: Floats, places: fitting.Places, documents: int) -> Floats:
    """The steps as one would write them, in floating point."""
    kernel = products / UNIT**2
    wanted = np.zeros((len(kernel), documents))
    known = places >= 0
    wanted[np.arange(len(kernel))[known], places[known]] = 1
    rate = 1 / (0.5 * fitting._largest(products) / UNIT**2 + fitting.SHRINK)
    alphas = ahead = np.zeros_like(wanted)
    for _ in range(fitting.STEPS):
        z = kernel @ ahead
        highest = np.maximum(z.max(axis=1, keepdims=True), NOTHING)
        parts = np.exp(z - highest)
        chances = parts / (parts.sum(axis=1, keepdims=True) + np.exp(NOTHING - highest))
        after = ahead - rate * (chances - wanted + fitting.SHRINK * ahead)
        ahead = after + fitting.MOMENTUM * (after - alphas)
        alphas = after
    return alphas * STEP

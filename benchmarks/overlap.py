"""`metier overlap` on 10,000 skills against the cosines of all pairs in bare numpy."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpus import unpack
from benchmarks.folders import trust
from benchmarks.measure import Bar, alternate, cpu, cpu_of_process, least, peak_megabytes
from metier import Catalog
from metier.config import Config
from metier.index.store import Store

METIER = str(Path(sys.executable).with_name("metier"))
TIMES_COSINES = 3.0
TIMES_IDLE = 20.0
MEGABYTES = 240.0
BLOCK = 512
NEAR = 0.8
_MAIN = """
import contextlib, os, sys
from metier.__main__ import main
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    with contextlib.suppress(SystemExit):
        main()
"""


def bars(scratch: Path) -> Iterator[Bar]:
    root, what = unpack(scratch / "overlap")
    trust(root)
    yield _in_process(root, what)
    yield from _as_a_command(root, what)
    shutil.rmtree(scratch / "overlap", ignore_errors=True)


def _in_process(root: Path, what: str) -> Bar:
    config = Config(host_folders=False)
    with Catalog.open(root, config=config, home="/nowhere") as catalog:
        catalog.refresh()
        path = catalog.store.path
        found = catalog.overlap()  # loads what is loaded once

        def ours() -> object:
            with Catalog.open(root, config=config, home="/nowhere") as fresh:
                return fresh.overlap()

        rounds = alternate(7, lambda: cpu(ours), lambda: cpu(lambda: _cosines(path)))
    took, cosines = least(rounds)
    return Bar(
        f"Catalog.overlap, {found.skills:,} skills",
        took / cosines,
        TIMES_COSINES,
        "× cosines of all pairs of stored vectors, numpy",
        f"{took:.2f} s against {cosines:.2f} s CPU; {len(found.overlaps):,} pairs, 10 explained; "
        f"{what}",
    )


def _cosines(path: str) -> int:
    """Read the vectors of all skills, and count the pairs that are near."""
    store = Store.open(path)
    try:
        rows = store.rows(
            "SELECT vector FROM document JOIN ranked USING (key)"
            " WHERE ranked.kind = 'skill' AND state = 'active' AND vector IS NOT NULL"
        )
    finally:
        store.close()
    vectors = np.array([np.frombuffer(row[0], np.int16) for row in rows], np.float32)
    vectors -= vectors.mean(0)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    near = 0
    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK] @ vectors.T
        near += len(np.argwhere(block >= NEAR))
    return near


def _as_a_command(root: Path, what: str) -> Iterator[Bar]:
    at = ["--root", str(root), "--quiet"]
    cpu_of_process([METIER, "refresh", *at], check=False)
    command = [METIER, "overlap", *at]
    rounds = alternate(
        7, lambda: cpu_of_process(command), lambda: cpu_of_process([METIER, "refresh", *at])
    )
    took, idle = least(rounds)
    yield Bar(
        "`metier overlap`, a new process",
        took / idle,
        TIMES_IDLE,
        "× `metier refresh`, nothing changed",
        f"{took:.2f} s against {idle:.2f} s CPU; {what}",
    )
    yield Bar(
        "`metier overlap`, memory",
        peak_megabytes(_MAIN, *command[1:]),
        MEGABYTES,
        "MB resident at most",
        f"the whole process; {what}",
    )

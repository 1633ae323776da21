"""What it costs to start."""

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Bar, alternate, cpu_of_process, least

PYTHON = sys.executable
METIER = str(Path(PYTHON).with_name("metier"))
IMPORT_BAR, HELP_BAR = 4.0, 8.0


def bars(_scratch: Path) -> Iterator[Bar]:
    rounds = alternate(
        21,
        lambda: cpu_of_process([PYTHON, "-c", "pass"]),
        lambda: cpu_of_process([PYTHON, "-c", "import metier"]),
        lambda: cpu_of_process([METIER, "--help"]),
    )
    bare, imported, helped = least(rounds)
    unit = "× bare Python of the same environment"
    base = f"against {bare * 1000:.0f} ms CPU"
    yield Bar(
        "import metier", imported / bare, IMPORT_BAR, unit, f"{imported * 1000:.0f} ms {base}"
    )
    yield Bar("metier --help", helped / bare, HELP_BAR, unit, f"{helped * 1000:.0f} ms {base}")

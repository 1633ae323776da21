"""`python -m benchmarks.peers`: metier and its peers, measured in one run.

Peers are installed into environments of their own; what cannot be installed is listed as skipped.
"""

import argparse
import datetime
import json
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.__main__ import BUSY
from benchmarks.folders import own_folders
from benchmarks.peers.environments import Missing, environment
from benchmarks.peers.inputs import Input, public_sets, some_skills
from benchmarks.peers.known import METIER, PEERS
from benchmarks.peers.measuring import Measuring
from benchmarks.peers.processes import REPOSITORY, Tool
from benchmarks.peers.report import Context, Row, as_json, page, terminal


def main() -> int:
    options = _options()
    is_busy = os.getloadavg()[0] > BUSY if hasattr(os, "getloadavg") else False
    with (
        tempfile.TemporaryDirectory(prefix="metier-peers-") as folder,  # metier keeps no state in
        tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as disk,  # a repository; no tmpfs
        own_folders(Path(folder).resolve()),
    ):
        scratch = Path(folder).resolve()
        names = dict.fromkeys([METIER.name, *(options.peers or PEERS)])
        tools, skipped = installed(list(names), Path(options.environments).resolve(), scratch)
        given, made_of = some_skills(scratch, options.skills)
        context = Context(
            date=datetime.date.today().isoformat(),
            python=platform.python_version(),
            sqlite=sqlite3.sqlite_version,
            system=platform.system(),
            skills=f"{given.size:,} of {made_of}",
            rounds=options.rounds,
            is_busy=is_busy,
        )
        measuring = Measuring(tools, scratch, options.rounds, Path(disk).resolve())
        rows = [*skipped, *until_interrupted(_rows(measuring, given, scratch))]
    print(json.dumps(as_json(rows, context), indent=2) if options.json else terminal(rows, context))
    if options.write:
        Path(options.write).write_text(page(rows, context), "utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    parser.add_argument(
        "peers", nargs="*", metavar="PEER", help=f"of {', '.join(PEERS)} (default: all)"
    )
    parser.add_argument("--skills", type=int, default=1_000, help="how many (default: 1000)")
    parser.add_argument("--rounds", type=int, default=3, help="the least of them counts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", metavar="FILE", help="write the tables as a Markdown page")
    parser.add_argument(
        "--environments",
        default=REPOSITORY / ".venv-peers",
        help="where the peers are installed (default: .venv-peers)",
    )
    options = parser.parse_args()
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    return options


def installed(names: Sequence[str], folder: Path, scratch: Path) -> tuple[list[Tool], list[Row]]:
    """The peers that can be used, and a row for each that cannot."""
    tools, skipped = [], []
    for name in names:
        found = environment(PEERS[name], folder)
        if isinstance(found, Missing):
            print(f"skipped: {name} ({found.reason})", file=sys.stderr)
            skipped.append(Row("not installed", name, "", {"skipped": found.reason}))
        else:
            home = scratch / f"home-{name}"
            home.mkdir()
            tools.append(Tool(PEERS[name], found, home))
    return tools, skipped


def until_interrupted(rows: Iterable[Row]) -> list[Row]:
    """The rows that are measured before Ctrl-C: with many skills a run takes long."""
    found = []
    try:
        for row in rows:
            found.append(row)
    except KeyboardInterrupt:
        print("interrupted: what follows was measured before", file=sys.stderr)
    return found


def _rows(measuring: Measuring, given: Input, scratch: Path) -> Iterator[Row]:
    """Every measurement; says on standard error which one runs."""
    sets = list(public_sets(scratch))
    measurements: dict[str, Callable[[], Iterable[Row]]] = {
        "index": lambda: measuring.index(given),
        "search": lambda: measuring.search(given),
        "quality": lambda: measuring.quality(sets),
        "lint": lambda: measuring.lint(given),
        "steps": measuring.steps,
        "kill -9": measuring.kills,
        "bad files": measuring.bad_files,
    }
    for name, rows in measurements.items():
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        yield from rows()


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks`: every bar, its figure, and whether it holds; exit 1 when one does not.

`--write FILE` writes the same table as a page.
"""

import argparse
import compileall
import gc
import math
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import metier
from benchmarks import (
    abilities,
    hooks,
    inspect,
    learning,
    lint,
    listing,
    lsp,
    mcp,
    overlap,
    postgres,
    providers,
    refresh,
    resolve,
    runs,
    sanitize,
    start,
    usage,
    web,
    which,
    workers,
)
from benchmarks.folders import own_folders
from benchmarks.measure import Bar

SUITES = {
    "start": start,
    "refresh": refresh,
    "providers": providers,
    "abilities": abilities,
    "resolve": resolve,
    "which": which,
    "overlap": overlap,
    "learning": learning,
    "hooks": hooks,
    "listing": listing,
    "lint": lint,
    "sanitize": sanitize,
    "inspect": inspect,
    "usage": usage,
    "runs": runs,
    "postgres": postgres,
    "workers": workers,
    "mcp": mcp,
    "lsp": lsp,
    "web": web,
}


BUSY = 0.5
BUSY_NOTE = "The machine was busy with other work when the run began."


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], help="default: all")
    parser.add_argument("--write", metavar="FILE", help="write the table as a Markdown page")
    options = parser.parse_args()
    results: list[tuple[str, Bar]] = []
    is_busy = _load() > BUSY
    compileall.compile_dir(str(Path(metier.__file__).parent), quiet=1)
    with (
        tempfile.TemporaryDirectory(prefix="metier-bench-") as scratch,
        own_folders(Path(scratch)),
    ):
        for name in options.suites or SUITES:
            gc.collect()
            gc.freeze()  # what other suites left is not looked through in this one
            for bar in SUITES[name].bars(Path(scratch)):
                print(_line(bar), flush=True)
                results.append((name, bar))
    if options.write:
        Path(options.write).write_text(page(results, is_busy=is_busy))
    return int(not all(bar.holds for _, bar in results))


def _line(bar: Bar) -> str:
    verdict = "holds" if bar.holds else "FAILS"
    sign = "≥" if bar.at_least else "≤"
    figure = f"{bar.figure:.2f} {bar.unit} (bar {sign} {bar.limit:g})"
    return f"{verdict}  {bar.name}: {figure}, {_margin(bar)}; {bar.detail}"


def _margin(bar: Bar) -> str:
    if not bar.holds:
        return "**fails**"
    return "exact" if bar.margin in (0.0, math.inf) else f"{bar.margin:.0%} margin"


def _load() -> float:
    """How many processes wanted a processor in the last minute, on average; 0 if unknown."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def page(results: Sequence[tuple[str, Bar]], *, is_busy: bool = False) -> str:
    """The figures as a page; each comes with the name of its suite."""
    lines = [
        "# Benchmarks",
        "",
        "Every time is a ratio to a baseline that is measured in the same run, so that the machine",
        "does not matter; absolute figures say what one machine showed once and promise nothing.",
        "Baseline and metier take turns, and the least that each took is compared: what else the",
        "machine does then disturbs neither. CPU is user plus system time. `make bench` measures",
        "everything anew and fails when a bar does not hold.",
        "",
        "The margin is by how much the figure may get worse until its bar fails. The command",
        "measures that bar and the others of its suite.",
        "",
        f"One run: Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{platform.system()}. This page: `python -m benchmarks --write docs/benchmarks.md`.",
        *((BUSY_NOTE,) if is_busy else ()),
        "",
        "| what | figure | bar | margin | measured | command |",
        "|---|---|---|---|---|---|",
    ]
    for suite, bar in results:
        sign = "≥" if bar.at_least else "≤"
        lines.append(
            f"| {bar.name} | {bar.figure:.2f} {bar.unit} | {sign} {bar.limit:g} "
            f"| {_margin(bar).removesuffix(' margin')} | {bar.detail} "
            f"| `python -m benchmarks {suite}` |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

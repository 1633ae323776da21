"""`python -m benchmarks`: every bar, its figure, and whether it holds; exit 1 when one does not.

`--write FILE` writes the same table as a page.
"""

import argparse
import compileall
import gc
import platform
import sqlite3
import sys
import tempfile
from pathlib import Path

import metier
from benchmarks import abilities, hooks, mcp, providers, refresh, resolve, runs, sanitize, start
from benchmarks.folders import own_folders
from benchmarks.measure import Bar

SUITES = {
    "start": start,
    "refresh": refresh,
    "providers": providers,
    "abilities": abilities,
    "resolve": resolve,
    "hooks": hooks,
    "sanitize": sanitize,
    "runs": runs,
    "mcp": mcp,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], help="default: all")
    parser.add_argument("--write", metavar="FILE", help="write the table as a Markdown page")
    options = parser.parse_args()
    results: list[Bar] = []
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
                results.append(bar)
    if options.write:
        Path(options.write).write_text(page(results))
    return int(not all(bar.holds for bar in results))


def _line(bar: Bar) -> str:
    verdict = "holds" if bar.holds else "FAILS"
    sign = "≥" if bar.at_least else "≤"
    figure = f"{bar.figure:.2f} {bar.unit} (bar {sign} {bar.limit:g})"
    return f"{verdict}  {bar.name}: {figure}; {bar.detail}"


def page(results: list[Bar]) -> str:
    lines = [
        "# Benchmarks",
        "",
        "Ratios within one run, so that the machine does not matter; the absolute figures say what",
        "one machine showed once and promise nothing. `make bench` measures anew and fails when a",
        "bar does not hold. CPU is user plus system time; each ratio is the median over several",
        "rounds in which baseline and metier take turns.",
        "",
        f"One run: Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{platform.system()}. Command: `python -m benchmarks --write docs/benchmarks.md`.",
        "",
        "| what | figure | bar | holds | measured |",
        "|---|---|---|---|---|",
    ]
    for bar in results:
        sign = "≥" if bar.at_least else "≤"
        verdict = "yes" if bar.holds else "**no**"
        lines.append(
            f"| {bar.name} | {bar.figure:.2f} {bar.unit} | {sign} {bar.limit:g} | {verdict} "
            f"| {bar.detail} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

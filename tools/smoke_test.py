"""Try the stories of the README with a wheel alone, in an environment that has nothing else.

    python tools/smoke_test.py dist/metier-*.whl

`make smoke` builds the wheel first. It needs a package index for the dependencies, prints the size
of the installation, and ends with 1 at the first command that fails.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

SKILL = """---
name: pdf-tables
description: Extracts tables from PDF files. Use it when a table has to leave a PDF.
---
Open the file, find the tables, write them as CSV.
"""
BROKEN = """---
name: haiku
description: Writes haiku: about the seasons.
---
Count syllables.
"""
STORIES: tuple[tuple[tuple[str, ...], int], ...] = (
    (("--version",), 0),
    (("init",), 0),
    (("refresh",), 0),
    (("which", "get the tables out of this PDF file"), 0),
    (("listing", "--host", "claude-code"), 0),
    (("lint",), 1),
    (("lint", "--fix"), 0),
    (("run", "standard", "say hello"), 0),
    (("runs", "list"), 0),
    (("resolve", "-r", "no-such-capability", "--policy", "on-missing-required=hard-fail"), 1),
    (("doctor",), 0),
)
"""A command of metier, and its exit code."""


def main(wheel: str) -> None:
    with tempfile.TemporaryDirectory(prefix="metier-smoke-") as folder:
        root = Path(folder)
        venv.create(root / "env", with_pip=True)
        python = root / "env" / "bin" / "python"
        before = _megabytes(root / "env")
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
        print(f"installed: {_megabytes(root / 'env') - before:.0f} MB")
        workspace = _workspace(root)
        environ = {"PATH": os.environ["PATH"], "HOME": str(root / "home"), "LANG": "C.UTF-8"}
        for arguments, wanted in STORIES:
            command = [str(python.with_name("metier")), *arguments]
            done = subprocess.run(
                command, cwd=workspace, env=environ, capture_output=True, text=True, check=False
            )
            print(f"exit {done.returncode}: metier {' '.join(arguments)}")
            if done.returncode != wanted or "Traceback" in done.stderr:
                sys.exit(f"error: exit {wanted} was expected\n{done.stdout}{done.stderr}")


def _workspace(root: Path) -> Path:
    workspace = root / "work"
    for name, text in (("pdf-tables", SKILL), ("haiku", BROKEN)):
        file = workspace / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    (root / "home").mkdir()
    return workspace


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


if __name__ == "__main__":
    main(*sys.argv[1:])

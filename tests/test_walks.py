"""The walks of five requests: as short as they should be, and as docs/architecture.md says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from reference import DOCS, check

pytestmark = pytest.mark.slow

TRACE = Path(__file__).parents[1] / "tools" / "trace_request.py"
PAGE = DOCS / "architecture.md"
BETWEEN_THREADS = 3
"""Jumps that come and go with the order in which the threads of a server run."""


def walk(request: str) -> tuple[int, int]:
    """How many files a request visits, and how many jumps it makes between them."""
    finished = subprocess.run(
        [sys.executable, str(TRACE), request], capture_output=True, text=True, check=True
    )
    found = re.fullmatch(rf"{request}: (\d+) files, (\d+) jumps, .*\n", finished.stdout)
    assert found, finished.stdout
    return int(found[1]), int(found[2])


@pytest.mark.parametrize(
    ("request_name", "files", "jumps"), [("resolve", 30, 50), ("run", 30, None)]
)
def test_a_request_is_read_in_few_files(request_name: str, files: int, jumps: int | None) -> None:
    visited, jumped = walk(request_name)
    assert visited <= files
    assert jumps is None or jumped <= jumps


@pytest.mark.parametrize("request_name", ["refresh", "resolve", "hook", "run", "skill_list"])
def test_the_page_of_the_architecture_has_the_figures_of_every_walk(request_name: str) -> None:
    files, jumps = walk(request_name)
    row = rf"(?m)^(\| `{request_name}`.*? \| .*? \|) (\d+) \| (\d+) \|"
    text = PAGE.read_text()
    said = re.search(row, text)
    assert said
    far = max(abs(files - int(said[2])), abs(jumps - int(said[3])))
    if request_name == "skill_list" and far <= BETWEEN_THREADS:
        return
    check(PAGE, re.sub(row, rf"\1 {files} | {jumps} |", text))

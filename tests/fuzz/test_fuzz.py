"""The committed inputs hold for every fuzz target; `make soak` searches for more with atheris."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fuzz.targets import CORPUS, TARGETS

SECONDS = 30
"""How long `make soak` fuzzes each target."""
INPUTS = [
    pytest.param(name, file, id=f"{name}-{file.name}")
    for name in TARGETS
    for file in sorted((CORPUS / name).iterdir())
]


@pytest.mark.parametrize(("name", "file"), INPUTS)
def test_a_committed_input_holds(name: str, file: Path) -> None:
    TARGETS[name](file.read_bytes())


def test_every_target_has_inputs() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


@pytest.mark.soak
@pytest.mark.parametrize("name", TARGETS)
def test_fuzzing_finds_nothing(name: str, tmp_path: Path) -> None:
    if find_spec("atheris") is None:
        pytest.skip("atheris is not installed: it has no wheel for this Python or machine")
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.fuzzing", name, f"-max_total_time={SECONDS}", "-timeout=20"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]

"""What `metier inject` reads from and writes to the streams it is given."""

import os
import subprocess
import sys

import pytest

from conftest import Workspace

pytestmark = pytest.mark.slow

TEXT = "Wörter und 数 sind Text."


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    workspace.write("abilities/words.md", f"---\ntags: [database]\n---\n{TEXT}\n")
    return workspace


def inject(
    workspace: Workspace,
    *arguments: str,
    task: str = "x",
    given: bytes = b"",
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "metier", "inject", "--task", task, "-q", *arguments],
        cwd=workspace.root,
        env={**os.environ, **(env or {})},
        input=given,
        capture_output=True,
        check=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_the_text_is_utf8_whatever_the_locale(filled: Workspace, env: dict[str, str]) -> None:
    assert inject(filled, env=env).stdout == TEXT.encode()


def test_a_task_can_come_from_standard_input_however_long(filled: Workspace) -> None:
    task = b"word " * 300_000 + b"database"
    shown = inject(filled, "--explain", task="-", given=task).stdout.decode()
    assert shown.splitlines()[1].split("\t")[:3] == ["words", "0", "10"]

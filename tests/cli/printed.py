"""What a command printed, for all tests that run one in this process."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

from conftest import Workspace, state_of, trust
from flow.decisions import text_of
from metier.cli import run
from metier.errors import ConfigError
from metier.storage.hook_files import DECISIONS as FILE

Finished = subprocess.CompletedProcess[str]


def looked_at(root: Path | str) -> None:
    """Trust a workspace as it is now, as far as its settings can be read."""
    with suppress(ConfigError):
        trust(root)


def run_here(root: Path, *arguments: str, **environment: str) -> Finished:
    """What a command did in `root`: as in a process of its own, but run in this one."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        open(os.devnull) as nothing,
        pytest.MonkeyPatch.context() as patch,
        mock.patch.dict(os.environ),  # a command may set variables for its process
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patch.chdir(root)
        patch.setattr(sys, "stdin", nothing)
        for name, value in environment.items():
            patch.setenv(name, value)
        code = run(arguments)
    return Finished(list(arguments), code, _text_of(out), _text_of(err))


def _text_of(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def write_log(root: Path, *lines: Any, name: str = FILE) -> Path:
    """Write a file of lines into the state of a workspace."""
    file = state_of(root) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text_of(lines))
    return file


class Printed(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Metier = Callable[..., Printed]
Lint = Callable[..., Printed]


@pytest.fixture
def call(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Metier:
    """Run `metier` in the workspace, which its user has not looked at."""

    def call(*arguments: str) -> Printed:
        code = run([*arguments, "--root", str(workspace.root)])
        return Printed(code, *capsys.readouterr())

    return call


@pytest.fixture
def lint(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Lint:
    """Run `metier lint` in the workspace, which its user has looked at."""

    def call(*arguments: str) -> Printed:
        monkeypatch.chdir(workspace.root)
        looked_at(workspace.root)
        return Printed(run(["lint", *arguments]), *capsys.readouterr())

    return call

"""What a command printed, for all tests that run one in this process."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from conftest import Workspace
from metier.cli import run


class Printed(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Lint = Callable[..., Printed]


@pytest.fixture
def lint(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Lint:
    """Run `metier lint` in the workspace."""

    def call(*arguments: str) -> Printed:
        monkeypatch.chdir(workspace.root)
        return Printed(run(["lint", *arguments]), *capsys.readouterr())

    return call

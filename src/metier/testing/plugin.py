"""The pytest plugin: fixtures for tests of skills and agents."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from metier.testing import RecordedModel, Workspace
    from metier.values.models import Model


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("metier")
    group.addoption(
        "--metier-record",
        action="store_true",
        help="Ask real models, and record their replies in cassettes.",
    )


@pytest.fixture
def metier_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Iterator[Workspace]":
    """An empty, trusted workspace; its home folder and its state are empty as well."""
    from metier.testing.workspace import Workspace  # load it only where it is used

    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("METIER_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    workspace = Workspace(tmp_path / "workspace", home)
    yield workspace
    workspace.close()


@pytest.fixture
def metier_cassette(
    request: pytest.FixtureRequest,
) -> "Iterator[Callable[[Callable[[], Model]], RecordedModel]]":
    """`metier_cassette(lambda: model)`: replies from `cassettes/TEST.json` beside the test.

    With --metier-record, the model is made and asked, and its replies are recorded.
    """
    from metier.testing.cassettes import RecordedModel

    folder = request.path.parent / "cassettes"
    path = folder / f"{request.path.stem}.{request.node.name}.json"
    opened: list[RecordedModel] = []

    def recorded(model: "Callable[[], Model]") -> RecordedModel:
        is_recording = request.config.getoption("--metier-record")
        opened.append(RecordedModel(path, model() if is_recording else None))
        return opened[-1]

    yield recorded
    for one in opened:
        one.close()

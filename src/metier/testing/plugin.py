"""The pytest plugin: fixtures for tests of skills and agents."""

import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path, PurePath
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
    """`metier_cassette(lambda: model)`: replies from `cassettes/FILE.TEST.json` beside the test.

    With --metier-record, the model is made and asked, and its replies are recorded. A second model
    of a test has a cassette of its own.
    """
    from metier.core.arguments import wrong_argument
    from metier.testing.cassettes import RecordedModel

    folder = request.path.parent / "cassettes"
    opened: list[RecordedModel] = []

    def recorded(model: "Callable[[], Model]") -> RecordedModel:
        if not callable(model):
            hint = "metier_cassette(lambda: model)"
            raise wrong_argument("model", "a function that makes a model", model, hint)
        is_recording = request.config.getoption("--metier-record")
        path = folder / _cassette_file(request.node.nodeid, len(opened))
        opened.append(RecordedModel(path, model() if is_recording else None))
        return opened[-1]

    yield recorded
    for one in opened:
        one.close()


def _cassette_file(test: str, number: int) -> str:
    """`FILE.TEST.json`, with the class of the test if it has one, and `.2` for its second model.

    Whatever cannot be in the name of a file becomes `-`, and a digest tells such tests apart.
    """
    file, _, name = test.partition("::")
    whole = f"{PurePath(file).stem}.{name.replace('::', '.')}"
    safe = re.sub(r"[^\w.,=+@()\[\] -]", "-", whole)[:_LONGEST_NAME]
    parts = [safe]
    if safe != whole:
        parts.append(sha256(whole.encode()).hexdigest()[:8])
    if number:
        parts.append(str(number + 1))
    return ".".join([*parts, "json"])


_LONGEST_NAME = 150

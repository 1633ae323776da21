"""Tests see nothing of the person, terminal or shell that started them."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from surroundings import KEPT, forget_the_user, restore_signals, workspace_around

pytestmark = pytest.mark.slow

ASK = "import signal, sys; print(signal.getsignal(int(sys.argv[1])) is signal.SIG_IGN)"


@pytest.fixture(params=[signal.SIGHUP, signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def ignored(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal that whoever started the tests had ignored."""
    number: signal.Signals = request.param
    before = signal.signal(number, signal.SIG_IGN)
    yield number
    signal.signal(number, before)


def test_a_started_process_heeds_a_signal_that_the_tests_were_told_to_ignore(
    ignored: signal.Signals,
) -> None:
    restore_signals()
    asked = [sys.executable, "-S", "-c", ASK, str(int(ignored))]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_tests_themselves_go_on_ignoring_it(ignored: signal.Signals) -> None:
    restore_signals()
    assert callable(signal.getsignal(ignored))
    os.kill(os.getpid(), ignored)  # would end the tests


def test_a_blocked_signal_reaches_started_processes_again() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    restore_signals()
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_variables_of_the_user_are_forgotten_and_all_others_stay() -> None:
    kept = {"PATH": "/bin", "HOME": "/home/ada", "TMPDIR": "/var/tmp", KEPT[0]: "corpus"}
    personal = {
        "METIER_TRUST": "1",
        "XDG_STATE_HOME": "/elsewhere",
        "LC_ALL": "tr_TR.UTF-8",
        "TERM": "dumb",
        "https_proxy": "http://127.0.0.1:9",
        "SOME_API_KEY": "secret",
    }
    environ = {**kept, **personal}
    forget_the_user(environ)
    assert environ == kept


def test_no_test_sees_a_variable_of_the_user() -> None:
    seen = dict(os.environ)
    forget_the_user(seen)
    assert set(os.environ) - set(seen) == set()


@pytest.mark.parametrize("mark", [".git", "metier.toml"])
def test_a_temporary_folder_inside_of_a_workspace_is_noticed(tmp_path: Path, mark: str) -> None:
    (tmp_path / mark).touch()
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert workspace_around(deep) == tmp_path / mark


def test_the_temporary_folder_of_the_tests_is_in_no_workspace(tmp_path: Path) -> None:
    assert workspace_around(Path(tempfile.gettempdir())) is None
    assert workspace_around(tmp_path) is None


@pytest.mark.parametrize("mark", [".git", "metier.toml", ".metier"])
def test_the_tests_run_whatever_lies_above_the_temporary_folder(tmp_path: Path, mark: str) -> None:
    (tmp_path / mark).mkdir()
    (tmp_path / "temporary").mkdir()
    file = "tests/test_surroundings.py::test_the_temporary_folder_of_the_tests_is_in_no_workspace"
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file],
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout

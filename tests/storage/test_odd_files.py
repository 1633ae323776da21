"""Odd files in the places of state and settings: nothing hangs, and nothing is a traceback."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Workspace, record_of
from metier.cli import run
from metier.storage.places import config_folder, user_room

pytestmark = pytest.mark.slow

ENOUGH = 120.0
COMMANDS = """
import sys
from metier.cli import run
for words in sys.argv[2:]:
    code = run([*words.split(), "--root", sys.argv[1]])
    assert code in (0, 1, 2, 3), words
"""
USED = (
    "list",
    "resolve -r x",
    "report list",
    "runs list",
    "hook stats",
    "doctor",
    "refresh --background",
)
ASKED = '{"hook_event_name":"UserPromptSubmit","prompt":"do one thing"}'


@pytest.fixture
def used(workspace: Workspace, capfd: pytest.CaptureFixture[str]) -> Workspace:
    """A workspace in which metier has been used; its text may be put into prompts."""
    workspace.write("metier.toml", "")
    workspace.skill("one", extra="capabilities: [x]")
    workspace.trust(speak=True)
    for words in ("refresh", "resolve -r x", "run standard hello --model offline"):
        assert run([*words.split(), "--root", str(workspace.root), "-q"]) == 0
    capfd.readouterr()
    return workspace


def assert_nothing_hangs(used: Workspace) -> None:
    """Raises `TimeoutExpired` when a command or a hook waits for ever."""
    for command, given in (
        (["-c", COMMANDS, str(used.root), *USED], ""),
        (["-m", "metier", "hook", "claude-code"], ASKED),
    ):
        done = subprocess.run(
            [sys.executable, *command],
            input=given,
            capture_output=True,
            text=True,
            timeout=ENOUGH,
            cwd=used.root,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "INTERNAL" not in done.stderr


def make_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


STATE = (
    "metier.db", "metier.db-wal", "runs.db", "hook.state", "hook.log", "hook.lock", "speak.trust",
    "secret.state", "decisions.jsonl", "monitor.flag",
)  # fmt: skip


@pytest.mark.parametrize("name", STATE)
def test_a_pipe_in_the_state_folder_hangs_nothing(used: Workspace, name: str) -> None:
    file = used.state / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    assert_nothing_hangs(used)


@pytest.mark.parametrize("make", [os.mkfifo, make_socket], ids=["pipe", "socket"])
def test_nor_does_one_in_the_place_of_the_users_own_files(
    used: Workspace, make: Callable[[Path], None]
) -> None:
    for file in (
        record_of(used.root),
        Path(config_folder(), "trust.json"),
        Path(config_folder(), "metier.toml"),
        Path(user_room().file("metier.db")),
        used.state / "reports",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.rename(f"{file}.old") if file.exists() else None
        make(file)
        assert_nothing_hangs(used)
        file.unlink()


DEEP = 20_000
TOML = {
    "deep": f"disabled = {'[' * DEEP}{']' * DEEP}",
    "deep in the state": f"[state]\nfolder = {'[' * DEEP}",
    "a number of 5,000 digits": f"disabled = [{'1' * 5000}]",
    "a number of 5,000 digits in the state": f"[state]\nfolder = {'1' * 5000}",
    "half of a surrogate pair": 'disabled = ["\\ud800"]',
}


@pytest.mark.parametrize("whose", ["user", "workspace"])
@pytest.mark.parametrize("text", list(TOML.values()), ids=list(TOML))
def test_odd_settings_are_one_clear_line(
    workspace: Workspace, text: str, whose: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = Path(config_folder() if whose == "user" else workspace.root, "metier.toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    code = run(["list", "--root", str(workspace.root)])
    told = capfd.readouterr().err.splitlines()
    assert code == 2
    assert told[0].startswith("error: ")
    assert told[0].endswith("(CONFIG_INVALID)")
    assert told[1] == f"  {file}"
    assert run(["refresh", "--background", "--root", str(workspace.root)]) == (
        2 if whose == "user" else 0
    )
    assert "INTERNAL" not in capfd.readouterr().err


RECORDS = {
    "deep": "[" * 100_000,
    "a number of 5,000 digits": f'{{"version": {"1" * 5000}}}',
    "half of a surrogate pair": '{"version": 1, "workspaces": {"\\ud800": {"digest": "\\ud800"}}}',
}


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("text", list(RECORDS.values()), ids=list(RECORDS))
def test_an_odd_trust_record_trusts_nothing_and_is_no_traceback(
    workspace: Workspace, text: str, is_shared: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    file = Path(config_folder(), "trust.json") if is_shared else record_of(workspace.root)
    file.parent.mkdir(parents=True)
    file.write_text(text)
    for words in ("list", "trust --show", "trust --revoke"):
        assert run([*words.split(), "--root", str(workspace.root)]) in (0, 2)
        assert "INTERNAL" not in capfd.readouterr().err


@pytest.mark.parametrize(
    "given",
    [
        "[" * 100_000,
        '{"prompt":"do one thing","n":' + "1" * 5000 + "}",
        json.dumps({"prompt": "do \ud800", "workspace_roots": ["\ud800"]}),
        json.dumps({"prompt": "do it", "cwd": "\ud800", "session_id": "\udfff"}),
    ],
    ids=["deep", "digits", "root", "folder"],
)
def test_odd_input_of_a_hook_ends_well(workspace: Workspace, given: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "metier", "hook", "codex"],
        input=given,
        capture_output=True,
        text=True,
        timeout=ENOUGH,
        cwd=workspace.root,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr

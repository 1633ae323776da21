"""`metier lint --watch`: checks again after a change, and ends with Ctrl-C."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import IO

import pytest

from cli.terminals import environment, piped
from conftest import Workspace
from metier.cli.lint_watch import Pause, follow
from metier.config import Config
from metier.errors import ConfigError
from metier.flow.linting import Choice, Linter, LintRequest


class StopError(Exception):
    """Ends an endless loop."""


def watched(stamps: list[object], then: Callable[[], None] | None = None) -> int:
    """How often a change was noticed while `stamps` were seen one after the other."""
    checks: list[int] = []

    def wait() -> None:
        if not stamps:
            raise StopError
        if then is not None:
            then()

    with pytest.raises(StopError):
        follow(lambda: stamps.pop(0), lambda: checks.append(1), wait)
    return len(checks)


def test_it_checks_once_and_then_only_after_a_change() -> None:
    assert watched(["a", "a", "a"]) == 1
    assert watched(["a", "b", "b", "a"]) == 3


def test_settings_that_cannot_be_read_are_looked_at_again() -> None:
    stamps: list[object] = ["a", ConfigError("broken"), ConfigError("broken"), "a"]
    checks: list[int] = []

    def stamp() -> object:
        now = stamps.pop(0)
        if isinstance(now, ConfigError):
            raise now
        return now

    def wait() -> None:
        if not stamps:
            raise StopError

    with pytest.raises(StopError):
        follow(stamp, lambda: checks.append(1), wait)
    assert len(checks) == 3


@pytest.mark.parametrize(("spent", "slept"), [(0.0, 1.0), (0.05, 1.0), (0.5, 5.0)])
def test_looking_takes_at_most_a_tenth_of_the_time(spent: float, slept: float) -> None:
    times = iter([10.0, 10.0 + spent, 20.0])
    pauses: list[float] = []
    Pause(pauses.append, lambda: next(times)).wait()
    assert pauses == [pytest.approx(slept)]


def linter(workspace: Workspace) -> Linter:
    request = LintRequest(str(workspace.root), Config(host_folders=False), Choice())
    return Linter(request, lambda file, _: file)


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "skills/one/SKILL.md").write_text("other"),
        lambda root: (root / "skills/one/SKILL.md").unlink(),
        lambda root: (root / "AGENTS.md").write_text("new"),
        lambda root: (root / "metier.toml").write_text("disabled = ['one']"),
        lambda root: (root / "skills/two").mkdir() or (root / "skills/two/SKILL.md").write_text(""),
    ],
)
def test_a_changed_new_or_removed_file_is_a_change(
    workspace: Workspace, change: Callable[[object], object]
) -> None:
    workspace.skill("one")
    before = linter(workspace).stamp()
    assert linter(workspace).stamp() == before
    change(workspace.root)
    assert linter(workspace).stamp() != before


def until(stream: IO[str], text: str) -> str:
    """What comes up to a line with `text`."""
    seen = ""
    for line in stream:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"{text!r} did not come: {seen!r}")


def test_it_checks_again_and_ends_cleanly(workspace: Workspace) -> None:
    file = workspace.write("skills/one/SKILL.md", "---\nname: one\n---\n\nDo it.\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "metier", "lint", "--watch"],
        cwd=workspace.root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    until(process.stderr, "waiting for changes")
    workspace.skill("one")
    os.utime(file)
    assert "1 file checked, no problems found" in until(process.stderr, "waiting for changes")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip()) == (130, "stopped")


def test_a_first_check_that_cannot_be_made_ends_it(workspace: Workspace) -> None:
    workspace.skill("one")
    workspace.write("metier.toml", "[lint]\nselct = []\n")
    done = piped(workspace, "lint", "--watch")
    assert done.returncode == 2
    assert b"hint: did you mean 'lint.select'?" in done.stderr

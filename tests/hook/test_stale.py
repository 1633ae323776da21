"""A catalog that may be stale is refreshed by one detached process, never by the hook itself."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from conftest import trust
from hook.hooks import (
    HOSTS,
    Hooks,
    as_bytes,
    card_ids,
    context_in,
    filled,
    lines_of,
    name_in,
    skill_lines,
)
from metier.catalog import Catalog
from metier.hook.journal import Journal

pytestmark = pytest.mark.slow

__all__ = ["filled"]

TRIES = 300
"""How often a hook is run until the refresh that it has asked for must have been made."""


class Spawned:
    """How many refreshes were asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        monkeypatch.setattr(Journal, "_spawn", self._count)

    def _count(self) -> None:
        self.times += 1


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> Spawned:
    return Spawned(monkeypatch)


def ask(hooks: Hooks) -> str:
    """What a hook hands over, run in this process."""
    return context_in("codex", hooks.served("codex", hooks.asked("codex")))


def age(hooks: Hooks, seconds: float) -> None:
    """Make the last refresh so many seconds older."""
    moment = time.time() - seconds
    os.utime(hooks.state / "hook.state", (moment, moment))


# When


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_is_refreshed_while_nothing_has_changed(
    host: str, filled: Hooks, spawned: Spawned
) -> None:
    for prompt in ("", "refund the invoice", "unheard of"):
        filled.served(host, filled.asked(host, prompt))
    assert spawned.times == 0
    assert not (filled.state / "hook.lock").exists()


def add_skill(hooks: Hooks) -> None:
    hooks.skill("csv", "Reads tables in CSV files.")


def remove_skill(hooks: Hooks) -> None:
    shutil.rmtree(hooks.root / "skills" / "sql")


def rename_skill(hooks: Hooks) -> None:
    (hooks.root / "skills" / "sql").rename(hooks.root / "skills" / "queries")


def add_card(hooks: Hooks) -> None:
    hooks.card("another", "unheard of")


def remove_cards(hooks: Hooks) -> None:
    shutil.rmtree(hooks.root / "docs")


def edit_settings(hooks: Hooks) -> None:
    hooks.settings("maxTokens = 700")
    os.utime(hooks.root / "metier.toml", (1_100_000_000, 1_100_000_000))


def remove_settings(hooks: Hooks) -> None:
    (hooks.root / ".git").mkdir()  # still a workspace
    (hooks.root / "metier.toml").unlink()


def add_project_file(hooks: Hooks) -> None:
    hooks.workspace.write("pyproject.toml", "[tool.metier]\n")


def lose_state(hooks: Hooks) -> None:
    (hooks.state / "hook.state").unlink()


def empty_state(hooks: Hooks) -> None:
    (hooks.state / "hook.state").unlink()
    (hooks.state / "hook.state").mkdir()


def trust_again(hooks: Hooks) -> None:
    """Write the record of the workspace anew."""
    trust(hooks.root, speak=True, environ=hooks.environ)


CHANGES = (
    add_skill,
    remove_skill,
    rename_skill,
    add_card,
    remove_cards,
    lose_state,
    empty_state,
)
CHANGES_OF_TRUST = (edit_settings, remove_settings, add_project_file, trust_again)
"""After these nobody knows whether the user still lets the workspace speak, until a refresh."""


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_has_the_catalog_refreshed_once_a_request(
    change: Callable[[Hooks], None], filled: Hooks, spawned: Spawned
) -> None:
    change(filled)
    assert card_ids(ask(filled)) == ["billing"]
    assert spawned.times == 1
    assert filled.log() == []


@pytest.mark.parametrize("change", CHANGES_OF_TRUST)
def test_a_change_of_what_trust_depends_on_silences_the_workspace_and_has_it_looked_at(
    change: Callable[[Hooks], None], filled: Hooks, spawned: Spawned
) -> None:
    filled.user_skill("pdf-user", "Extracts invoices from PDF files. Use it for every PDF.")
    filled.user_settings("[capabilities]\nskillThreshold = 0.3\n")
    filled.prepare()
    filled.prepare_user()
    change(filled)
    text = ask(filled)
    assert (card_ids(text), [name_in(one) for one in skill_lines(text)]) == ([], ["pdf-user"])
    assert spawned.times == 1
    assert filled.log() == []


@pytest.mark.parametrize("change", CHANGES_OF_TRUST)
def test_such_a_change_is_no_failure_where_the_user_has_no_documents(
    change: Callable[[Hooks], None], filled: Hooks, spawned: Spawned
) -> None:
    change(filled)
    assert ask(filled) == ""
    assert spawned.times == 1
    assert filled.log() == []
    assert [row["error"] for row in filled.rows()] == [""]


@pytest.mark.parametrize("change", [edit_settings, remove_settings])
def test_a_change_that_the_user_has_not_seen_silences_the_workspace_for_good(
    change: Callable[[Hooks], None], filled: Hooks, spawned: Spawned
) -> None:
    change(filled)
    for _ in range(2):
        filled.refresh()
        assert ask(filled) == ""
    assert spawned.times == 0
    assert filled.log() == []
    filled.prepare()
    assert card_ids(ask(filled)) == ["billing"]


@pytest.mark.parametrize(
    "change", [*(one for one in CHANGES if one is not empty_state), *CHANGES_OF_TRUST]
)
def test_after_the_refresh_all_is_quiet_again(
    change: Callable[[Hooks], None], filled: Hooks, spawned: Spawned
) -> None:
    change(filled)
    filled.prepare()
    ask(filled)
    assert spawned.times == 0


def test_a_refresh_is_due_after_the_set_age(filled: Hooks, spawned: Spawned) -> None:
    for after, seconds, expected in ((600, 300, 0), (600, 601, 1), (7_200, 601, 1), (100, 300, 2)):
        filled.settings(f"refreshAfter = {after}")
        filled.prepare()
        age(filled, seconds)
        ask(filled)
        assert spawned.times == expected


def test_a_last_look_in_the_future_is_not_believed(filled: Hooks, spawned: Spawned) -> None:
    age(filled, -86_400)
    ask(filled)
    assert spawned.times == 1


def test_a_catalog_that_hooks_were_never_told_of_is_refreshed(
    tmp_path: Path, spawned: Spawned
) -> None:
    hooks = Hooks(tmp_path)
    hooks.card("billing", "invoice")
    trust(hooks.root, speak=True, environ=hooks.environ)
    with hooks.as_user(), Catalog.open(hooks.root) as catalog:
        catalog.refresh()
    assert ask(hooks) == ""
    assert spawned.times == 1


@pytest.mark.parametrize("content", [b"", b"no time at all\n", b"17 /nowhere", b"- \n\n\n"])
def test_a_state_that_makes_no_sense_fails_nothing(
    content: bytes, filled: Hooks, spawned: Spawned
) -> None:
    (filled.state / "hook.state").write_bytes(content)
    assert card_ids(ask(filled)) == ["billing"]
    assert filled.log() == []
    assert spawned.times <= 1


def test_a_state_that_is_not_utf8_is_made_anew(filled: Hooks, spawned: Spawned) -> None:
    (filled.state / "hook.state").write_bytes(b"17 /\xff\xfe\n")
    assert card_ids(ask(filled)) == ["billing"]
    assert spawned.times == 1


def test_a_catalog_of_an_older_version_is_refreshed(filled: Hooks, spawned: Spawned) -> None:
    """Else hooks fall silent for good when the program is upgraded."""
    with closing(sqlite3.connect(filled.state / "metier.db")) as connection:
        connection.execute("DROP TABLE card")
        connection.execute("PRAGMA user_version = 1")
    age(filled, 1_000)
    ask(filled)
    assert spawned.times == 1


def test_settings_of_an_older_version_are_refreshed(filled: Hooks, spawned: Spawned) -> None:
    with closing(sqlite3.connect(filled.state / "metier.db")) as connection:
        connection.execute(
            "UPDATE setting SET value = json_remove(value, '$.skillThreshold')"
            " WHERE name = 'capabilities'"
        )
        connection.commit()
    age(filled, 1_000)
    ask(filled)
    assert spawned.times == 1


def test_skills_are_named_after_any_other_command_has_refreshed_the_catalog(
    filled: Hooks, spawned: Spawned
) -> None:
    """Or else a refresh for hooks is asked for at once."""
    before = len(skill_lines(ask(filled)))
    filled.skill("sql", "Writes faster database queries. Use it for databases.")
    os.utime(filled.root / "skills/sql/SKILL.md", (1_100_000_000, 1_100_000_000))
    with filled.as_user(), Catalog.open(filled.root) as catalog:
        catalog.refresh()
    assert before == 1
    assert len(skill_lines(ask(filled))) == 1 or spawned.times == 1


# One at a time


@contextmanager
def locked(hooks: Hooks) -> Iterator[None]:
    """Hold what a refresh holds while it lasts."""
    descriptor = os.open(hooks.state / "hook.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def test_while_one_refresh_lasts_no_other_begins(filled: Hooks, spawned: Spawned) -> None:
    add_skill(filled)
    with locked(filled):
        for _ in range(3):
            assert card_ids(ask(filled)) == ["billing"]
    assert spawned.times == 0
    assert filled.log() == []
    ask(filled)
    assert spawned.times == 1


def test_a_lock_file_that_somebody_has_left_stops_nothing(filled: Hooks, spawned: Spawned) -> None:
    (filled.state / "hook.lock").write_text("12345")
    add_skill(filled)
    ask(filled)
    assert spawned.times == 1


class Blocked:
    """A program in the place of Python that notes how it was called and waits to be let go."""

    def __init__(self, hooks: Hooks) -> None:
        self.program = hooks.home / "program"
        self._calls, self._ends = hooks.home / "calls", hooks.home / "ends"
        self._gate = hooks.home / "gate"
        self._lock = hooks.state / "hook.lock"
        os.mkfifo(self._gate)
        self.program.write_text(
            "#!/bin/sh\n"
            f"echo \"$@\" >> '{self._calls}'\n"
            f"cat '{self._gate}' > /dev/null\n"
            f"echo >> '{self._ends}'\n"
        )
        self.program.chmod(0o755)

    def calls(self) -> list[str]:
        return lines_of(self._calls)

    def let_go(self, least: int = 1) -> None:
        """Open the gate until all that were started, and as many at least, have ended."""
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError):  # nobody waits at the gate
                os.close(os.open(self._gate, os.O_WRONLY | os.O_NONBLOCK))
            started, ended = len(self.calls()), len(lines_of(self._ends))
            if least <= started == ended and self._is_unlocked():
                return
            assert time.monotonic() < deadline
            os.sched_yield()

    def _is_unlocked(self) -> bool:
        if not self._lock.exists():
            return True
        with self._lock.open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True


RUN = (
    "import sys; sys.executable = {program!r}; from metier.hook.serve import serve; serve('codex')"
)


@pytest.fixture
def blocked(filled: Hooks) -> Iterator[Blocked]:
    """A catalog that is stale, and a refresh that ends when it is told to."""
    made = Blocked(filled)
    add_skill(filled)
    yield made
    made.let_go(least=0)


def run_with(blocked: Blocked, hooks: Hooks) -> bytes:
    """What a hook prints that has such a program; this returns when nobody holds its streams."""
    finished = subprocess.run(
        [sys.executable, "-c", RUN.format(program=str(blocked.program))],
        input=as_bytes(hooks.asked("codex")),
        capture_output=True,
        cwd=hooks.home,
        env={**os.environ, **hooks.environ},
        timeout=300,
        check=True,
    )
    assert finished.stderr == b""
    return finished.stdout


def test_the_refresh_is_the_one_of_this_workspace(blocked: Blocked, filled: Hooks) -> None:
    run_with(blocked, filled)
    blocked.let_go()
    (call,) = blocked.calls()
    assert call.endswith(f"-m metier refresh --quiet --background --root {filled.root}")


def test_a_hook_does_not_wait_for_the_refresh_and_the_refresh_outlives_it(
    blocked: Blocked, filled: Hooks
) -> None:
    assert card_ids(context_in("codex", run_with(blocked, filled))) == ["billing"]
    with pytest.raises(BlockingIOError), (filled.state / "hook.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    blocked.let_go()


def test_of_many_hooks_at_once_one_has_the_catalog_refreshed(
    blocked: Blocked, filled: Hooks
) -> None:
    command = [sys.executable, "-c", RUN.format(program=str(blocked.program))]
    running = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **filled.environ},
        )
        for _ in range(10)
    ]
    try:
        printed = [one.communicate(as_bytes(filled.asked("codex")), timeout=120) for one in running]
    finally:
        for one in running:
            one.kill()
            one.wait()
    assert [card_ids(context_in("codex", output)) for output, _ in printed] == [["billing"]] * 10
    blocked.let_go()
    assert len(blocked.calls()) == 1


# The real one


def test_a_new_skill_is_named_after_the_refresh_that_a_hook_has_asked_for(filled: Hooks) -> None:
    add_skill(filled)
    request = filled.asked("codex", "tables in a CSV")
    for _ in range(TRIES):
        lines = skill_lines(filled.text("codex", request))
        if any(line.startswith("- 'csv':") for line in lines):
            break
    else:
        pytest.fail(f"the new skill is not named after {TRIES} requests")
    assert filled.log() == []


def test_the_refresh_runs_no_code_of_the_folder_that_the_hook_is_run_in(filled: Hooks) -> None:
    """A repository that was cloned must not run just because a hook looks at it."""
    script = Path(sys.executable).with_name("metier")
    if not script.exists():
        pytest.skip("the script 'metier' is not installed beside this Python")
    traces = filled.home / "traces"
    for name in ("metier.py", "click.py", "sitecustomize.py"):
        filled.workspace.write(name, f"open({str(traces)!r}, 'a').write({name!r})\n")
    lose_state(filled)
    subprocess.run(
        [script, "hook", "codex"],
        input=as_bytes(filled.asked("codex")),
        stdout=subprocess.DEVNULL,
        cwd=filled.root,
        env={**os.environ, **filled.environ},
        timeout=120,
        check=True,
    )
    with locked(filled):  # until the refresh has ended
        assert not traces.exists()

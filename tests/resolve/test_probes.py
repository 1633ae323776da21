"""Probes: commands without a shell, bounded in time and output, that leave nothing behind."""

import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.resolve.probes import MOST_OUTPUT, CommandProbe
from metier.values.candidates import Candidate
from metier.values.resolution import ProbeResult
from metier.values.settings import ProbeSetting

pytestmark = pytest.mark.slow

CANDIDATE = Candidate(name="one", description="", folder="skills/one")
ENOUGH = 300.0
"""Seconds that no probe here needs, unless it hangs."""
TIMES = (0.5, 2.0, 8.0, 32.0)
"""For processes that hang: the next if they had not started by then, on a busy machine."""
SOON = 20.0
"""Far less than a probe that hangs would take, and far more than a slow machine needs."""


def probe(folder: Path, code: str, *more: str, timeout: float = ENOUGH) -> ProbeResult:
    """Run Python code as a probe."""
    argv = (sys.executable, "-S", "-c", code, *more)
    return CommandProbe(argv, timeout, str(folder))(CANDIDATE, "web-search")


class Witness:
    """A pipe with a name that processes write to and keep open as long as they live."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.code = f"import os; os.write(os.open({str(path)!r}, os.O_WRONLY), b'x'); "
        """What a process does to be seen."""
        self._reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def was_met(self) -> bool:
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        return bool(poll.poll(0))

    def started(self) -> int:
        """How many processes were there, once the last of them is gone."""
        poll = select.poll()
        poll.register(self._reader, select.POLLHUP)
        assert poll.poll(SOON * 1000), "a process is still alive"
        return len(os.read(self._reader, 100))

    def close(self) -> None:
        os.close(self._reader)


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    one = Witness(tmp_path / "alive")
    yield one
    one.close()


def hanging(folder: Path, code: str, witness: Witness, processes: int) -> tuple[ProbeResult, float]:
    """Run a probe that hangs, with more time until all its processes were there to be stopped."""
    for timeout in TIMES:
        start = time.monotonic()
        found = probe(folder, code, timeout=timeout)
        assert timeout <= time.monotonic() - start < timeout + SOON
        if witness.was_met() and witness.started() == processes:
            return found, timeout
    raise AssertionError("its processes did not start")


# Verdicts


@pytest.mark.invariant(id="DCI-PRB-003")
@pytest.mark.parametrize("code", [0, 1, 2, 77, 255])
def test_exit_code_0_passes_and_every_other_fails(code: int, tmp_path: Path) -> None:
    found = probe(tmp_path, f"print('said'); raise SystemExit({code})")
    expected = ProbeResult(CANDIDATE.id, "web-search", code == 0, f"exit code {code}", "said\n")
    assert found == expected


@pytest.mark.invariant(id="DCI-PRB-003")
def test_a_probe_that_a_signal_ends_fails(tmp_path: Path) -> None:
    found = probe(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert (found.passed, found.detail) == (False, "exit code -9")


@pytest.mark.invariant(id="DCI-PRB-003")
@pytest.mark.parametrize(
    "argv", [("no-such-program-anywhere",), ("/",), ("/dev/null",), ("a\0b",), ("",)]
)
def test_a_program_that_cannot_be_started_fails(argv: tuple[str, ...], tmp_path: Path) -> None:
    found = CommandProbe(argv, ENOUGH, str(tmp_path))(CANDIDATE, "web-search")
    assert not found.passed
    assert found.detail.startswith("cannot be started: ")


def test_a_workspace_that_is_gone_fails(tmp_path: Path) -> None:
    found = probe(tmp_path / "gone", "")
    assert not found.passed
    assert found.detail.startswith("cannot be started: ")


# What it is given


@pytest.mark.invariant(id="DCI-PRB-003")
def test_no_shell_reads_the_arguments(tmp_path: Path) -> None:
    words = ["$HOME", "`id`", "a; touch made", "> made", "| cat", "*", "'", '"', "~", "&&", ""]
    found = probe(tmp_path, "import sys; print(ascii(sys.argv[1:]))", *words)
    assert found.output == f"{words!a}\n"
    assert list(tmp_path.iterdir()) == []


def test_it_learns_of_the_candidate_by_its_environment(tmp_path: Path) -> None:
    names = ["METIER_CANDIDATE", "METIER_CANDIDATE_FOLDER", "METIER_CAPABILITY"]
    found = probe(tmp_path, f"import os; print(*(os.environ[name] for name in {names}))")
    assert found.output == "one::skills/one skills/one web-search\n"
    assert "METIER_CAPABILITY" not in os.environ


def test_it_sees_no_more_of_the_environment_than_commands_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "of the user")
    monkeypatch.setenv("LANG", "C.UTF-8")
    found = probe(tmp_path, "import os; print(*sorted(set(os.environ) - {'LC_CTYPE'}))")
    own = {name for name in ("PATH", "HOME", "LANG") if name in os.environ}
    told = {"METIER_CANDIDATE", "METIER_CANDIDATE_FOLDER", "METIER_CAPABILITY"}
    assert found.output.split() == sorted(own | told)


def test_it_runs_in_the_workspace_with_nothing_to_read(tmp_path: Path) -> None:
    found = probe(tmp_path, "import os, sys; print(os.getcwd(), ascii(sys.stdin.read()))")
    assert found.output == f"{os.path.realpath(tmp_path)} ''\n"


# Output


@pytest.mark.parametrize("size", [MOST_OUTPUT - 1, MOST_OUTPUT, MOST_OUTPUT + 1, 1_000_000])
def test_the_first_bytes_of_the_output_are_kept(size: int, tmp_path: Path) -> None:
    found = probe(tmp_path, f"print(('0123456789' * {size})[:{size}], end='')")
    assert found.passed
    assert found.output == ("0123456789" * size)[: min(size, MOST_OUTPUT)]


def test_errors_are_part_of_the_output_and_bad_bytes_are_replaced(tmp_path: Path) -> None:
    found = probe(tmp_path, "import os; os.write(2, b'bad '); os.write(1, b'\\xff\\n')")
    assert found.output == "bad \ufffd\n"


@pytest.mark.invariant(id="DCI-PRB-003")
def test_a_probe_that_prints_without_end_is_stopped(tmp_path: Path, witness: Witness) -> None:
    code = witness.code + "\nwhile True: os.write(1, b'y' * 65536)"
    found, timeout = hanging(tmp_path, code, witness, 1)
    assert (found.passed, found.detail) == (False, f"stopped after {timeout:g} s")
    assert found.output == "y" * MOST_OUTPUT


# Time

HANG = "import time; time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
SILENT = "import os; os.close(1); os.close(2); "


@pytest.mark.invariant(id="DCI-PRB-003")
@pytest.mark.parametrize("before", ["", STUBBORN, SILENT], ids=["plain", "stubborn", "silent"])
def test_a_probe_that_hangs_is_stopped(before: str, tmp_path: Path, witness: Witness) -> None:
    found, timeout = hanging(tmp_path, witness.code + before + HANG, witness, 1)
    assert (found.passed, found.detail) == (False, f"stopped after {timeout:g} s")


@pytest.mark.invariant(id="DCI-PRB-003")
@pytest.mark.parametrize("last", ["os._exit(0)", "os._exit(3)"])
def test_a_child_that_keeps_the_output_open_is_not_waited_for_and_not_left(
    last: str, tmp_path: Path, witness: Witness
) -> None:
    code = f"""
import os, time
ready, done = os.pipe()
if os.fork() == 0:
    {witness.code}
    os.write(done, b'x')
    time.sleep(600)
os.read(ready, 1)
print('said', flush=True)
{last}
"""
    start = time.monotonic()
    found = probe(tmp_path, code)
    assert time.monotonic() - start < SOON
    assert (found.passed, found.output) == ("(0)" in last, "said\n")
    assert witness.started() == 1


@pytest.mark.invariant(id="DCI-PRB-003")
def test_children_of_a_probe_that_hangs_are_stopped_with_it(
    tmp_path: Path, witness: Witness
) -> None:
    code = f"import os; os.fork(); os.fork(); {witness.code}{HANG}"
    found, timeout = hanging(tmp_path, code, witness, 4)
    assert found.detail == f"stopped after {timeout:g} s"


def test_it_stays_no_zombie(tmp_path: Path) -> None:
    found = probe(tmp_path, "import os; print(os.getpid())")
    with pytest.raises(ChildProcessError):
        os.waitpid(int(found.output), os.WNOHANG)


# Where probes come from


@pytest.mark.invariant(id="DCI-PRB-003")
def test_a_probe_exists_only_where_the_settings_define_one(workspace: Workspace) -> None:
    argv = [sys.executable, "-c", "open('ran', 'w').close()"]
    own = f"capabilities: [web-search]\nprobes: {{web-search: {{argv: {argv!r}}}}}"
    workspace.skill("one", "Search the web.", extra=f"{own}\nmetadata:\n  probe: touch ran")
    configured = ProbeSetting("web-search", tuple(argv), ENOUGH)
    for probes in ((), (ProbeSetting("other", tuple(argv), ENOUGH),), (configured,)):
        config = Config(host_folders=False, probes=probes)
        with Catalog.open(workspace.root, config=config) as catalog:
            catalog.refresh()
            run = catalog.resolve(["web-search"], mode="strict")
        assert run.selected == ("one::skills/one",)
        is_probed = probes == (configured,)
        assert [one.passed for one in run.probes] == ([True] if is_probed else [])
        assert (workspace.root / "ran").exists() == is_probed

"""kill -9 at random moments: what was acknowledged is kept, and nothing of it is done again."""

import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY
from metier.run.store import RunStore
from metier.values.runs import DONE
from run.killed import KID, opened, profiles, when_gone
from run.random_plans import digest, facts
from run.world import World
from soak import SOAK

ROUNDS = 200 if SOAK else 6
MOST_LIVES = 20
LONGEST = 120.0


class Victim:
    """A folder in which processes run plans and are killed."""

    def __init__(self, folder: Path, seed: int, *postgres: str) -> None:
        self.folder = folder
        self.postgres = postgres
        self.seed = seed
        self.kills = 0

    def live(self, words: int | None) -> bool:
        """One life, killed after so many words of it; whether it ended by itself."""
        before = self._size()
        path = os.pathsep.join([str(REPOSITORY / "tests"), *sys.path])
        environment = {**os.environ, "PYTHONPATH": path}
        command = [sys.executable, "-m", "run.killed", str(self.folder), str(self.seed)]
        command += self.postgres
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
        try:
            if words is not None and self._has_said(process, before + words):
                process.send_signal(signal.SIGKILL)
                self.kills += 1
            _, errors = process.communicate(timeout=LONGEST)
        finally:
            process.kill()
        assert process.returncode in (0, -signal.SIGKILL), errors.decode()
        return process.returncode == 0

    def _has_said(self, process: "subprocess.Popen[bytes]", size: int) -> bool:
        """Wait until it has; whether it still lives."""
        deadline = time.monotonic() + LONGEST
        while self._size() < size:
            assert time.monotonic() < deadline
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.001)
                return False
        return True

    def _size(self) -> int:
        side = self.folder / "side.txt"
        return side.read_bytes().count(b"\n") if side.exists() else 0

    def lines(self, kind: str) -> list[tuple[str, ...]]:
        side = self.folder / "side.txt"
        if not side.exists():
            return []
        told = [tuple(line.split()) for line in side.read_text().splitlines()]
        return [line[1:] for line in told if line[0] == kind]

    def store(self) -> RunStore:
        return opened(str(self.folder), *self.postgres)


def check_after_a_kill(victim: Victim) -> None:
    """Everything that was acknowledged is there, and no run stays at work."""
    store = victim.store()
    store.recover(when_gone(*victim.postgres))
    try:
        assert store.runs(state="running") == []
        kept = {
            (run.run_id, step.id): step.state
            for run in store.runs(limit=1_000)
            for step in store.steps(run.key)
        }
    finally:
        store.close()
    for run_id, step_id in victim.lines("acknowledged"):
        assert kept.get((run_id, step_id)) in DONE, (run_id, step_id)


def expected(seed: int) -> dict[int, Any]:
    """How each run ends when nobody is killed."""
    ends = {}
    for number, profile in enumerate(profiles(seed)):
        ends[number] = facts(World(KID, act=digest).run(profile, "t", input=number))["steps"]
    return ends


def times_begun(victim: Victim) -> None:
    """A step begins again only if it was in flight when the process was killed."""
    side = (victim.folder / "side.txt").read_text().splitlines()
    acknowledged: set[tuple[str, str]] = set()
    in_life: Counter[tuple[str, str]] = Counter()
    for line in side:
        kind, *words = line.split()
        if kind == "alive":
            in_life.clear()
        elif kind == "acknowledged":
            acknowledged.add((words[0], words[1]))
        elif kind == "begun":
            step = words[0], words[1]
            assert step not in acknowledged, f"{step} ran again"
            in_life[step] += 1
            assert in_life[step] == 1, f"{step} ran twice in one life"


@pytest.mark.slow
@pytest.mark.invariant(id="INV-CP-002")
def test_whenever_it_is_killed_every_acknowledged_step_is_kept_and_none_runs_again(
    tmp_path: Path,
) -> None:
    kill_often(tmp_path, ROUNDS)


@pytest.mark.slow
@pytest.mark.invariant(id="INV-CP-002")
def test_the_same_holds_for_runs_in_postgres(tmp_path: Path, postgres: str) -> None:
    kill_often(tmp_path, ROUNDS // 2, postgres)


def kill_often(tmp_path: Path, rounds: int, address: str = "") -> None:
    kills = seed = 0
    by = random.Random()
    while kills < rounds:
        seed += 1
        folder = tmp_path / str(seed)
        folder.mkdir()
        shared = (address, f"killed-{secrets.token_hex(6)}") if address else ()
        victim = Victim(folder, seed, *shared)
        for _ in range(MOST_LIVES):
            if victim.live(by.randint(1, 25)):
                break
            check_after_a_kill(victim)
        else:
            assert victim.live(None)
        kills += victim.kills
        times_begun(victim)
        store = victim.store()
        ends = {}
        for run in store.runs(limit=1_000):
            assert run.state in ("succeeded", "failed")
            if not run.parent_run:
                steps = store.steps(run.key)
                ends[run.request["input"]] = {one.id: (one.state, one.output) for one in steps}
        store.close()
        assert ends == expected(seed)

"""A run that crashed anywhere, once or often, and was resumed ends like one that did not crash."""

import asyncio
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from metier.run.checkpoints import CheckpointStore, resume_context
from metier.run.store import RunStore
from metier.values.agents import AgentProfile
from metier.values.runs import DONE, RunResult
from run.random_plans import FAR_AWAY, CrashedError, DyingStore, Plans, digest, facts
from run.world import World

SEEDS = st.randoms(use_true_random=False)
CRASHES = st.lists(st.integers(1, 12), min_size=1, max_size=3)


class Trial:
    """One run in a file, with crashes."""

    def __init__(self, profile: AgentProfile, folder: Path) -> None:
        self.profile = profile
        self.folder = folder
        self.calls: list[list[str]] = []
        """What was called, by life of the process."""
        self.ended_before_the_last_life = False

    def uninterrupted(self) -> RunResult:
        return self._world(RunStore.in_memory()).run(self.profile, "t", input=[1])

    def crashed(self, crashes: Sequence[int], *, at_once: bool) -> dict[str, Any]:
        """What came of a run whose process died so often; memory only while it still had one."""
        path = str(self.folder / f"{time.monotonic_ns()}.db")
        result = None
        for most in [*crashes, None]:
            store = DyingStore.open(path)
            try:
                result = self._life(store, most, at_once)
            finally:
                store.close()
            if result is not None:
                break
        assert result is not None
        return facts(result)

    def _life(self, store: DyingStore, most: int | None, at_once: bool) -> RunResult | None:
        """One process: resumes what it finds or begins; nothing when it died."""
        store.recover(time.time() + 1_000)
        runs = store.runs()
        assert "running" not in [one.state for one in runs]
        acknowledged = self._acknowledged(store)
        store.commits, store.most, store.at_once = 0, most, at_once
        world = self._world(store)
        try:
            if runs and runs[0].state == "succeeded":
                self.ended_before_the_last_life = True
            if runs:
                return world.resume(runs[0].run_id)
            return world.run(self.profile, "t", input=[1])
        except CrashedError:
            return None
        finally:
            self.calls.append(world.calls)
            assert acknowledged.isdisjoint(world.calls), "an acknowledged step ran again"

    def _acknowledged(self, store: RunStore) -> set[str]:
        return {one.id for run in store.runs() for one in store.steps(run.key) if one.state in DONE}

    def _world(self, store: RunStore) -> World:
        world = World(act=digest)
        world.store = store
        return world


@pytest.fixture(scope="module", autouse=True)
def far_away() -> Any:
    """Processes of these tests look like those of another machine, whose lease runs out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metier.run.runner._OWNER", FAR_AWAY)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.mark.invariant(id="INV-CP-002")
@settings(max_examples=60)
@given(SEEDS, CRASHES, st.booleans(), st.booleans())
def test_a_resumed_run_ends_like_an_uninterrupted_one_and_repeats_nothing(
    folder: Path, by: random.Random, crashes: list[int], at_once: bool, failing: bool
) -> None:
    trial = Trial(Plans(by, failing=failing).profile(), folder)
    expected = facts(trial.uninterrupted())
    found = trial.crashed(crashes, at_once=at_once)
    if trial.ended_before_the_last_life:
        expected["memory"] = {}
    assert found == expected


@settings(max_examples=60, phases=[Phase.generate])
@given(SEEDS, CRASHES)
def test_what_steps_inside_containers_gave_is_restored_too(
    folder: Path, by: random.Random, crashes: list[int]
) -> None:
    trial = Trial(Plans(by, inner=True).profile(), folder)
    expected = facts(trial.uninterrupted())
    assert trial.crashed(crashes, at_once=False) == expected


@pytest.mark.invariant(id="INV-CP-002")
@settings(max_examples=30)
@given(SEEDS, st.integers(0, 20))
def test_a_fork_from_any_checkpoint_goes_on_after_it_and_ends_the_same(
    by: random.Random, which: int
) -> None:
    world = World(act=digest)
    profile = Plans(by).profile()
    result = world.run(profile, "t", input=[1])
    records = CheckpointStore(world.store).list(result.run_id)
    assume(records)
    record = records[which % len(records)]
    world.calls.clear()
    forked = world.fork(result.run_id, record.checkpoint_id)
    assert facts(forked) == facts(result)
    assert set(world.calls).isdisjoint(record.step_outputs)
    going_on = resume_context(record)
    top = [one.step_id for one in profile.workflow]
    done = {*going_on.step_outputs, *going_on.skipped_step_ids}
    assert set(top[: going_on.resume_from_step]) <= done
    assert going_on.resume_from_step == len(top) or top[going_on.resume_from_step] not in done


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 10), st.integers(2, 4))
def test_runs_that_were_saved_together_crash_and_go_on_together(
    folder: Path, by: random.Random, most: int, count: int
) -> None:
    path = str(folder / f"{time.monotonic_ns()}.db")
    profiles = [Plans(by).profile() for _ in range(count)]
    expected = {}
    for number, profile in enumerate(profiles):
        result = World(act=digest).run(profile, "t", input=number)
        expected[number] = facts(result)["steps"]
    store = DyingStore.open(path)
    store.commits, store.most = 0, most
    world = World(act=digest)
    world.store = store

    async def begin() -> None:
        runner = world.runner()
        runs = [runner.run(one, "t", input=number) for number, one in enumerate(profiles)]
        await asyncio.gather(*runs, return_exceptions=True)

    asyncio.run(begin())
    store.close()
    after = World(act=digest)
    after.store = RunStore.open(path)
    after.store.recover(time.time() + 1_000)
    for run in after.store.runs():
        assert run.state in ("pending", "succeeded")
        done = {one.id for one in after.store.steps(run.key) if one.state in DONE}
        after.calls.clear()
        found = after.resume(run.run_id)
        assert found.success
        assert facts(found)["steps"] == expected[run.request["input"]]
        assert done.isdisjoint(after.calls)
    after.store.close()

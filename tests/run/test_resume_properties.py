"""A run that crashed anywhere, once or often, and was resumed ends like one that did not crash."""

import asyncio
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from metier.run.checkpoints import CheckpointStore, resume_context
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import RunStore
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile
from metier.values.runs import DONE, RunResult
from run.random_plans import (
    FAR_AWAY,
    CrashedError,
    DyingStore,
    Plans,
    digest,
    digest_of,
    facts,
)
from run.stores import PostgresStores, SqliteStores, Stores
from run.world import Act, Data, World, agent, choose, do, loop, parallel
from soak import examples

pytestmark = pytest.mark.slow

SEEDS = st.randoms(use_true_random=False)
CRASHES = st.lists(st.integers(1, 12), min_size=1, max_size=3)


class Trial:
    """One run in a file, with crashes."""

    def __init__(self, profile: AgentProfile, stores: Stores) -> None:
        self.profile = profile
        self.stores = stores.anew()
        self.act: Act = digest
        self.last: RunResult | None = None
        self.calls: list[list[str]] = []
        """What was called, by life of the process."""

    def uninterrupted(self) -> RunResult:
        return self._world(SqliteRunStore.in_memory()).run(self.profile, "t", input=[1])

    def crashed(self, crashes: Sequence[int], *, at_once: bool) -> dict[str, Any]:
        """What came of a run whose process died so often."""
        result = None
        for most in [*crashes, None]:
            store = self.stores.dying()
            try:
                result = self._life(store, most, at_once)
            finally:
                store.close()
            if result is not None:
                break
        assert result is not None
        self.last = result
        return facts(result)

    def ended(self, crashes: Sequence[int]) -> RunResult:
        """The same run with its steps, and what it remembers."""
        self.crashed(crashes, at_once=False)
        assert self.last is not None
        return self.last

    def told_again(self) -> RunResult:
        """What a later process hears of the run that has ended."""
        store = self.stores.dying()
        try:
            return self._world(store).resume(store.runs()[0].run_id)
        finally:
            store.close()

    def _life(self, store: Any, most: int | None, at_once: bool) -> RunResult | None:
        """One process: resumes what it finds or begins; nothing when it died."""
        store.recover(time.time() + 1_000)
        runs = store.runs()
        assert "running" not in [one.state for one in runs]
        acknowledged = self._acknowledged(store)
        store.commits, store.most, store.at_once = 0, most, at_once
        world = self._world(store)
        try:
            if runs and runs[0].state == "rolled_back":
                return RunResult(runs[0], store.steps(runs[0].key), {})
            if runs:
                return world.resume(runs[0].run_id)
            return world.run(self.profile, "t", input=[1])
        except CrashedError:
            return None
        finally:
            self.calls.append(world.calls)
            assert acknowledged.isdisjoint(world.calls), "an acknowledged step ran again"

    def _acknowledged(self, store: RunStore) -> set[str]:
        steps = [one for run in store.runs() for one in store.steps(run.key)]
        return {one.id for one in steps if one.state in DONE and not one.id.startswith("undo_")}

    def _world(self, store: RunStore) -> World:
        return World(act=self.act, store=store)


@pytest.fixture(scope="module", autouse=True)
def far_away() -> Any:
    """Processes of these tests look like those of another machine, whose lease runs out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metier.run.runner.this_process", lambda: FAR_AWAY)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def in_files(folder: Path) -> Stores:
    return SqliteStores(str(folder / "runs.db"))


@pytest.fixture(scope="module")
def in_postgres(postgres: str) -> Stores:
    return PostgresStores(postgres)


@pytest.mark.invariant(id="INV-CP-002")
@examples(30)
@given(SEEDS, CRASHES, st.booleans(), st.booleans(), st.booleans())
def test_a_resumed_run_ends_like_an_uninterrupted_one_and_repeats_nothing(
    in_files: Stores,
    by: random.Random,
    crashes: list[int],
    at_once: bool,
    failing: bool,
    inner: bool,
) -> None:
    trial = Trial(Plans(by, failing=failing, inner=inner).profile(), in_files)
    expected = facts(trial.uninterrupted())
    assert trial.crashed(crashes, at_once=at_once) == expected


@pytest.mark.invariant(id="INV-CP-002")
@examples(5)
@given(SEEDS, CRASHES, st.booleans(), st.booleans(), st.booleans())
def test_a_run_in_postgres_that_is_resumed_ends_like_an_uninterrupted_one_and_repeats_nothing(
    in_postgres: Stores,
    by: random.Random,
    crashes: list[int],
    at_once: bool,
    failing: bool,
    inner: bool,
) -> None:
    trial = Trial(Plans(by, failing=failing, inner=inner).profile(), in_postgres)
    expected = facts(trial.uninterrupted())
    assert trial.crashed(crashes, at_once=at_once) == expected


@examples(20)
@given(SEEDS, CRASHES)
def test_a_resumed_run_remembers_what_the_last_step_to_end_gave(
    in_files: Stores, by: random.Random, crashes: list[int]
) -> None:
    trial = Trial(Plans(by, shared=True).profile(), in_files)
    trial.act = in_any_order
    result = trial.ended(crashes)
    names = writers_of(trial.profile.data["workflow"])
    ended = [one for one in result.steps if one.state == "succeeded"]
    writers = [one for one in ended if one.id.partition("[")[0] in names]
    last = max(writers, key=lambda one: one.seq, default=None)
    assert result.outputs.get("shared") == (last.output if last else None)
    assert trial.told_again().outputs == result.outputs


@pytest.mark.invariant(id="INV-CP-002")
@examples(15)
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


@examples(15)
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
    after.store = SqliteRunStore.open(path)
    after.store.recover(time.time() + 1_000)
    runs = after.store.runs()
    assert len(runs) <= count
    for run in runs:
        assert run.state in ("pending", "succeeded")
        done = {one.id for one in after.store.steps(run.key) if one.state in DONE}
        after.calls.clear()
        found = after.resume(run.run_id)
        assert found.success
        assert facts(found)["steps"] == expected[run.request["input"]]
        assert done.isdisjoint(after.calls)
    after.store.close()


@examples(30)
@given(SEEDS, st.integers(0, 60), st.booleans())
def test_whenever_a_run_is_cancelled_it_can_go_on_to_the_same_end(
    by: random.Random, turns: int, beside_another: bool
) -> None:
    profile = Plans(by, inner=True).profile()
    expected = facts(World(act=digest).run(profile, "t", input=[1]))
    assert expected["state"] == "succeeded"
    world = World(act=slowly)

    async def main() -> str:
        runner = world.runner()
        other = asyncio.create_task(runner.run(profile, "other")) if beside_another else None
        task = asyncio.create_task(runner.run(profile, "this", input=[1]))
        for _ in range(turns):
            await asyncio.sleep(0)
        mine = [one.run_id for one in world.store.runs() if one.task == "this"]
        if mine and not task.done():
            runner.cancel(mine[0])
        else:
            task.cancel()
        await asyncio.gather(task, *([other] if other else []), return_exceptions=True)
        return mine[0] if mine else ""

    run_id = asyncio.run(main())
    assert world.store.runs(state="running") == []
    if not run_id:
        return
    run = world.store.run(run_id)
    assert run.state in ("cancelled", "succeeded")
    done = {one.id for one in world.store.steps(run.key) if one.state in DONE}
    world.calls.clear()
    assert facts(world.resume(run_id)) == expected
    assert done.isdisjoint(world.calls)


async def slowly(args: Data, context: ToolContext) -> str:
    """As `digest`, but not at once."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return await digest(args, context)


def writers_of(steps: Sequence[Any]) -> set[str]:
    """The steps that remember what they give, wherever they are."""
    found = {one["stepId"] for one in steps if one.get("outputs")}
    inner = [one["config"].get(key) or () for one in steps for key in ("then", "else", "steps")]
    return found.union(*(writers_of(some) for some in inner))


async def in_any_order(args: Data, context: ToolContext) -> str:
    """As `digest`, but some are slower than others that began later."""
    given = digest_of(args, context)
    for _ in range(int(given, 16) % 4):
        await asyncio.sleep(0)
    return given


def undone(name: str) -> Data:
    return do(name, compensate=do(f"undo_{name}", input={"of": f"{{{{ steps.{name}.output }}}}"}))


@st.composite
def rollbacks(draw: st.DrawFn) -> AgentProfile:
    """Profiles of which one step fails, and everything before it can be undone."""
    steps: list[Data] = []
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["leaf", "loop", "parallel", "branch"]))
        inner = [undone(f"s{number}"), undone(f"t{number}")]
        made = {
            "leaf": inner[:1],
            "loop": [loop(f"c{number}", "[1, 2]", *inner)],
            "parallel": [parallel(f"c{number}", *inner)],
            "branch": [choose(f"c{number}", "true", inner)],
        }
        steps += made[kind]
    steps.insert(draw(st.integers(1, len(steps))), do("bad"))
    return agent(*steps, failureStrategy="rollback")


@examples(20)
@given(rollbacks(), CRASHES, st.booleans())
def test_wherever_a_run_crashes_that_is_to_be_undone_all_of_it_is_undone_in_the_end(
    in_files: Stores, profile: AgentProfile, crashes: list[int], at_once: bool
) -> None:
    check_rollback(Trial(profile, in_files), crashes, at_once)


@examples(4)
@given(rollbacks(), CRASHES, st.booleans())
def test_a_rollback_in_postgres_is_finished_too(
    in_postgres: Stores, profile: AgentProfile, crashes: list[int], at_once: bool
) -> None:
    check_rollback(Trial(profile, in_postgres), crashes, at_once)


def check_rollback(trial: Trial, crashes: list[int], at_once: bool) -> None:
    expected = facts(trial.uninterrupted())
    found = trial.crashed(crashes, at_once=at_once)
    calls = [one for life in trial.calls for one in life]
    for name in {one for one in calls if not one.startswith(("undo_", "bad"))}:
        last = max(place for place, one in enumerate(calls) if one == name)
        assert f"undo_{name}" in calls[last:], (name, calls)
    began = next((place for place, one in enumerate(calls) if one.startswith("undo_")), len(calls))
    assert all(one.startswith("undo_") for one in calls[began:]), "it went forward again"
    assert found["state"] == expected["state"] == "rolled_back"
    assert {name: state for name, (state, _) in found["steps"].items()} == {
        name: state for name, (state, _) in expected["steps"].items()
    }

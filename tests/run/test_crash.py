"""Runs whose process died: set free, resumed by one process at a time, nothing done twice."""

import asyncio
import time
from typing import Any

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.errors import StoreError, UsageError
from metier.run.store import LEASE_SECONDS, SILENT_SECONDS, is_gone, this_process
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile
from metier.values.runs import RunResult
from run.random_plans import FAR_AWAY, CrashedError, DyingStore
from run.stores import Stores
from run.world import BROKEN, Data, World, agent, delegate, do, outputs

pytestmark = pytest.mark.slow


@pytest.fixture
def far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes look like those of another machine, of which only the lease is known."""
    monkeypatch.setattr("metier.run.runner.this_process", lambda: FAR_AWAY)


class Lives:
    """A world whose process dies after so many commits, and lives again."""

    def __init__(self, stores: Stores, *profiles: AgentProfile) -> None:
        self.stores = stores
        self.world = World(*profiles)

    def run_until(self, commits: int, profile: AgentProfile) -> None:
        store = self.stores.dying()
        store.most = commits
        self.world.store.close()
        self.world.store = store
        with pytest.raises(CrashedError):
            self.world.run(profile)
        store.close()
        self.world.store = self.stores.open()

    def resume(self) -> RunResult:
        store = self.world.store
        root = next(one for one in store.runs() if not one.parent_run)
        return self.world.resume(root.run_id)


def test_a_run_whose_process_is_gone_is_set_free_and_says_so(
    stores: Stores, far_away: None
) -> None:
    lives = Lives(stores)
    lives.run_until(2, agent(do("a"), do("b")))
    store = lives.world.store
    (run,) = store.runs()
    assert run.state == "running"
    assert store.recover(time.time()) == []
    assert store.recover(time.time() + LEASE_SECONDS + 1) == [run.run_id]
    (run,) = store.runs()
    assert run.failure is not None
    assert (run.state, run.failure.code, run.is_resumable) == ("pending", "RUN_INTERRUPTED", True)
    assert lives.resume().success
    assert lives.world.calls == ["a", "b", "b"]


def test_a_crash_in_a_rollback_leaves_nothing_done_and_not_undone(
    stores: Stores, far_away: None
) -> None:
    lives = Lives(stores)
    lives.world.acts["bad"] = BROKEN
    steps = [do(name, compensate=do(f"undo_{name}")) for name in "abc"]
    profile = agent(*steps, do("bad"), failureStrategy="rollback")
    for commits in range(5, 9):
        lives.world.calls.clear()
        lives.stores = stores.anew()
        lives.run_until(commits, profile)
        lives.world.store.recover(time.time() + 1_000)
        lives.resume()
        lives.stores.close()
        calls = lives.world.calls
        for name in "abc":
            last = max(place for place, one in enumerate(calls) if one.endswith(name))
            assert calls[last] == f"undo_{name}", (commits, calls)


def test_a_compensation_that_was_acknowledged_is_not_done_again(
    stores: Stores, far_away: None
) -> None:
    lives = Lives(stores)
    lives.world.acts["bad"] = BROKEN
    step = do("a", compensate=do("undo"))
    lives.run_until(5, agent(step, do("bad"), failureStrategy="rollback"))
    assert lives.world.calls == ["a", "bad", "undo"]
    assert lives.world.kept(lives.world.store.runs()[0])["undo"] == "succeeded"
    lives.world.store.recover(time.time() + 1_000)
    assert lives.resume().state == "rolled_back"
    assert lives.world.calls == ["a", "bad", "undo"]


def test_a_delegate_goes_on_after_a_crash_though_nobody_set_the_runs_free(
    stores: Stores, far_away: None
) -> None:
    lives = Lives(stores, agent(do("x"), do("y"), agent_id="kid"))
    lives.run_until(3, agent(delegate("d", "kid")))
    now = time.time()
    assert [one.state for one in lives.world.store.runs()] == ["running", "running"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metier.run.runner.time.time", lambda: now + 1_000)
        assert lives.resume().success
    assert lives.world.calls == ["x", "y", "y"]
    assert len(lives.world.store.runs()) == 2


def test_a_run_that_ended_with_an_error_of_the_store_can_be_resumed_in_the_same_process() -> None:
    world = World()
    store = DyingStore.in_memory()
    store.most = store.commits + 2
    world.store = store
    with pytest.raises((CrashedError, StoreError)):
        world.run(agent(do("a"), do("b")))
    store.most = None
    assert world.resume(store.runs()[0].run_id).success


def test_opening_a_catalog_sets_the_runs_of_dead_processes_free(workspace: Workspace) -> None:
    workspace.write("metier.toml", "")
    workspace.trust()
    host, pid, started, _ = this_process().rsplit("/", 3)
    owners = [f"{host}/{pid}/{int(started) - 1}/x", f"{host}/{pid}/{started}/y"]
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        results = [catalog.run_sync("standard", "t", model="offline") for _ in owners]
        store = catalog.agency.local_store()
        back = "UPDATE run SET state = 'running', owner = ?, lease = 1e12 WHERE id = ?"
        for owner, one in zip(owners, results, strict=True):
            store.connection.execute(back, (owner, one.run_id))
        store.close()
    with Catalog.open(workspace.root) as catalog:
        states = [catalog.agency.store.run(one.run_id).state for one in results]
    assert states == ["pending", "running"]


# One at a time


def test_a_run_that_is_at_work_elsewhere_cannot_be_resumed() -> None:
    world = World()

    async def main() -> RunResult:
        release = asyncio.Event()

        async def wait(_args: Data, _context: ToolContext) -> str:
            await release.wait()
            return "done"

        world.acts["a"] = wait
        task = asyncio.create_task(world.runner().run(agent(do("a")), "t"))
        await World.pause()
        with pytest.raises(UsageError, match="is already running in this process") as raised:
            await world.runner().resume(world.store.runs()[0].run_id)
        assert raised.value.code == "RUN_BUSY"
        release.set()
        return await task

    assert outputs(asyncio.run(main())) == {"a": "done"}
    assert world.calls == ["a"]


def test_a_run_that_is_being_resumed_cannot_be_resumed_by_the_same_runner() -> None:
    world = World()
    world.acts["b"] = BROKEN
    result = world.run(agent(do("a"), do("b")))

    async def slowly(_args: Data, _context: ToolContext) -> None:
        await World.pause()

    world.acts["b"] = slowly

    async def main() -> list[Any]:
        runner = world.runner()
        both = [runner.resume(result.run_id) for _ in range(2)]
        return list(await asyncio.gather(*both, return_exceptions=True))

    first, second = asyncio.run(main())
    assert first.success
    assert isinstance(second, UsageError)
    assert world.calls == ["a", "b", "b"]


def test_a_run_belongs_to_the_process_that_claimed_it_until_its_lease_is_over() -> None:
    world = World()
    world.acts["b"] = iter([BROKEN, 1])
    run_id = world.run(agent(do("a"), do("b"))).run_id
    now = time.time()
    claimed = world.store.claim(run_id, FAR_AWAY, now)
    for other in ("elsewhere/1//y", this_process()):
        with pytest.raises(UsageError) as raised:
            world.store.claim(run_id, other, now + 1)
        assert raised.value.code == "RUN_BUSY"
    with pytest.raises(UsageError, match="is already running in another process"):
        world.resume(run_id)
    assert world.calls == ["a", "b"]
    renewed = world.store.renew(FAR_AWAY, [claimed.claim], now + LEASE_SECONDS)
    assert asyncio.run(renewed) == ([], [])
    with pytest.raises(UsageError):
        world.store.claim(run_id, this_process(), now + LEASE_SECONDS + 1)
    world.store.claim(run_id, this_process(), now + 2 * LEASE_SECONDS + 1)
    assert world.store.run(run_id).state == "running"


def test_this_process_lives_and_one_that_began_at_another_time_does_not() -> None:
    owner = this_process()
    host, pid, started, _ = owner.rsplit("/", 3)
    assert not is_gone(owner, None, 1e12)
    assert not is_gone(owner, 0.0, SILENT_SECONDS)
    assert is_gone(owner, 0.0, SILENT_SECONDS + 1)
    assert is_gone(f"{host}/{pid}/{int(started) - 1}/x", 1e12, 0.0)
    assert is_gone(f"{host}/{2**22 + 1}/{started}/x", 1e12, 0.0)
    assert is_gone(None, None, 0.0)
    assert is_gone(FAR_AWAY, 10.0, 10.5)
    assert not is_gone(FAR_AWAY, 10.0, 9.5)

"""One heartbeat for all runs that execute through a store."""

import asyncio
import time
from collections.abc import Iterable

import pytest

from metier.errors import RunLostError
from metier.flow.running import Agency
from metier.run.leases import Leases
from metier.run.runner import Runner
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import LEASE_SECONDS, SILENT_SECONDS, Renewed
from metier.run.tool import ToolContext
from metier.values.runs import Claim, RunResult
from run.office import Office, office
from run.world import Data, World, agent, do

__all__ = ["office"]
OTHER = "elsewhere/1//y"
LATER = LEASE_SECONDS + SILENT_SECONDS + 1


class CountingStore(SqliteRunStore):
    """Keeps how many leases each heartbeat renewed."""

    beats: list[int]

    async def renew(self, owner: str, claims: Iterable[Claim], now: float) -> Renewed:
        given = list(claims)
        self.beats.append(len(given))
        return await super().renew(owner, given, now)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("metier.run.leases.HEARTBEAT_SECONDS", 0.001)
    store = CountingStore.in_memory()
    store.beats = []
    return World(store=store)


def together(world: World, count: int) -> "list[RunResult | BaseException]":
    """Run an agent on so many runners that share their leases."""

    async def main() -> "list[RunResult | BaseException]":
        leases = Leases(world.store)
        runners = [Runner(world.store, world, leases) for _ in range(count)]
        runs = [runner.run(agent(do("a")), "t") for runner in runners]
        return await asyncio.gather(*runs, return_exceptions=True)

    return asyncio.run(main())


def test_one_heartbeat_renews_the_runs_of_all_runners(world: World) -> None:
    async def wait(_args: Data, _context: ToolContext) -> None:
        before = len(world.store.beats)
        while len(world.store.beats) < before + 5 or 3 not in world.store.beats:
            await asyncio.sleep(0.001)

    world.acts["a"] = wait
    results = together(world, 3)
    assert all(isinstance(one, RunResult) and one.success for one in results)
    assert set(world.store.beats[1:4]) == {3}


def test_a_lost_run_of_one_runner_stops_and_those_of_the_others_go_on(world: World) -> None:
    gone = asyncio.Event()

    async def wait(_args: Data, context: ToolContext) -> None:
        if context.run_id == min(one.run_id for one in world.store.runs()):
            world.store.claim(context.run_id, OTHER, time.time() + LATER)
            gone.set()
            await asyncio.Event().wait()
        await gone.wait()
        before = len(world.store.beats)
        while len(world.store.beats) < before + 3:
            await asyncio.sleep(0.001)

    world.acts["a"] = wait
    results = together(world, 3)
    assert sum(isinstance(one, RunLostError) for one in results) == 1
    assert sum(isinstance(one, RunResult) and one.success for one in results) == 2


def test_agencies_of_one_run_share_the_leases_of_their_agency(office: Office) -> None:
    agency: Agency = office.catalog.agency
    assert agency.for_one_run().leases is agency.leases
    assert agency.for_one_run().runner._leases is agency.leases

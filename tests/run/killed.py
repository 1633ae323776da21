"""A process that runs plans by chance until it is killed.

    python -m run.killed FOLDER SEED [ADDRESS NAMESPACE]

Each tool writes its step to a side file when it begins, and each acknowledgement is written there
too, after the store has given it; a second life resumes what the first one left.
"""

import asyncio
import os
import random
import sys
import time
from typing import Any

from metier.run.postgres_store import PostgresRunStore
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import LEASE_SECONDS, RunStore
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile
from metier.values.runs import Event
from run.random_plans import Plans, digest
from run.world import Data, World, agent, delegate, do

AT_ONCE = 3
KID = agent(do("k1"), do("k2"), do("k3"), agent_id="kid")


def profiles(seed: int) -> list[AgentProfile]:
    """What a process with that seed runs side by side."""
    by = random.Random(seed)
    made = [Plans(by, failing=by.random() < 0.3).profile() for _ in range(AT_ONCE)]
    return [*made, agent(do("before"), delegate("d", "kid"), do("after"))]


def opened(folder: str, *postgres: str) -> RunStore:
    """The store that all lives share: in a file, or at an address and a namespace."""
    if postgres:
        return PostgresRunStore(*postgres)
    return SqliteRunStore.open(os.path.join(folder, "runs.db"))


def when_gone(*postgres: str) -> float:
    """From when on a killed process counts as gone; PostgreSQL only knows its lease."""
    return time.time() + (LEASE_SECONDS + 1 if postgres else 0)


class Life:
    """One life of the process."""

    def __init__(self, folder: str, seed: int, *postgres: str) -> None:
        self._seed = seed
        self._side = os.open(
            os.path.join(folder, "side.txt"), os.O_WRONLY | os.O_APPEND | os.O_CREAT
        )
        self._by = random.Random(time.time_ns())
        store = opened(folder, *postgres)
        self.world = World(KID, act=self._work, store=store)
        store.recover(when_gone(*postgres))

    def say(self, *words: str) -> None:
        os.write(self._side, f"{' '.join(words)}\n".encode())

    async def _work(self, args: Data, context: ToolContext) -> Any:
        self.say("begun", context.run_id, context.step_id)
        await asyncio.sleep(self._by.random() * 0.004)
        return await digest(args, context)

    def _look(self, event: Event) -> None:
        if event.kind in ("step.succeeded", "step.skipped"):
            self.say("acknowledged", event.run_id, event.step_id)
        if event.kind == "run.finished":
            self.say("finished", event.run_id, str(event.data["state"]))

    async def run(self) -> None:
        """Begin runs, or go on with those that are not over, until all are."""
        runner = self.world.runner()
        roots = [one for one in self.world.store.runs(limit=1_000) if not one.parent_run]
        self.say("alive", *(one.run_id for one in roots))
        if roots:
            again = [one for one in roots if one.state == "pending"]
            await asyncio.gather(*(runner.resume(one.run_id, on_event=self._look) for one in again))
            started = {one.request["input"] for one in roots}
        else:
            started = set()
        todo = [one for one in enumerate(profiles(self._seed)) if one[0] not in started]
        await asyncio.gather(
            *(runner.run(one, "t", input=number, on_event=self._look) for number, one in todo)
        )
        self.say("done")


if __name__ == "__main__":
    life = Life(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
    try:
        asyncio.run(life.run())
    finally:
        life.world.store.close()

"""Workflows by chance, and a store that dies: what resuming is tried with."""

import hashlib
import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metier.run.sqlite_store import SqliteRunStore
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile
from run.world import BROKEN, Data, agent, choose, do, loop, parallel

FAR_AWAY = "far-away/1//x"
"""The name of a process on another machine, of which one only knows when its lease runs out."""


class CrashedError(Exception):
    """The process is gone."""


class DyingStore(SqliteRunStore):
    """A store that dies after so many commits: the next one is not made, nor any later."""

    commits = 0
    most: int | None = None
    at_once = False
    """Whether it dies with the last commit itself, or when the next one is wanted."""

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        if self.most is not None and self.commits >= self.most:
            raise CrashedError
        with super().transaction() as connection:
            yield connection
        self.commits += 1
        if self.at_once and self.commits == self.most:
            raise CrashedError


def digest_of(args: Data, context: ToolContext) -> str:
    """What the tool gives for these arguments in this step, always the same."""
    said = json.dumps([context.step_id, args], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:6]


async def digest(args: Data, context: ToolContext) -> str:
    if context.step_id.startswith("bad"):
        raise BROKEN
    return digest_of(args, context)


class Plans:
    """Makes valid profiles. All that a step sees comes from what it depends on."""

    def __init__(
        self,
        by: random.Random,
        *,
        failing: bool = False,
        inner: bool = False,
        shared: bool = False,
    ) -> None:
        """`failing`: with steps that fail; `inner`: outputs inside containers are used outside;
        `shared`: several steps remember what they give under the same name."""
        self._by = by
        self._failing = failing
        self._inner = inner
        self._shared = shared
        self._count = 0
        self._inside: dict[str, list[str]] = {}
        """The steps that are right inside each container."""

    def profile(self) -> AgentProfile:
        is_parallel = self._by.random() < 0.5
        return agent(
            *self._siblings(self._by.randint(2, 5), depth=2, is_parallel=is_parallel),
            execution="parallel" if is_parallel else "sequential",
            maxConcurrency=self._by.randint(1, 4),
            failureStrategy="continueOnError" if self._failing else "failFast",
            checkpoint={"interval": self._by.choice([0, 1, 2, 3]), "maximum": 100},
        )

    def _siblings(self, count: int, depth: int, *, is_parallel: bool) -> list[Data]:
        steps: list[Data] = []
        names = depth == 2 or self._inner
        for _ in range(count):
            earlier = [one["stepId"] for one in steps]
            waits = self._by.sample(earlier, self._by.randint(0, min(2, len(earlier))))
            steps.append(self._step(waits, depth, names=names))
        if is_parallel:
            self._by.shuffle(steps)
        return steps

    def _step(self, waits: list[str], depth: int, *, names: bool) -> Data:
        kind = self._by.choice(["do", "do", "do", "loop", "while", "choose", "parallel"])
        if kind == "do" or not depth:
            return self._leaf(waits, names=names)
        name = self._name("c")
        inner = self._siblings(self._by.randint(1, 3), depth - 1, is_parallel=kind == "parallel")
        made = self._container(kind, name, inner)
        if kind != "choose" and not self._failing:
            self._inside[name] = _leaves(inner)
        if waits:
            made["dependencies"] = waits
        return self._perhaps_skipped(made)

    def _container(self, kind: str, name: str, inner: list[Data]) -> Data:
        if kind == "loop":
            return loop(name, json.dumps([1, "x", [2]][: self._by.randint(1, 3)]), *inner)
        if kind == "while":
            return loop(name, None, *inner, while_=f"index < {self._by.randint(1, 2)}")
        if kind == "choose":
            return choose(
                name, self._by.choice(["true", "false"]), inner, [self._leaf([], names=False)]
            )
        how = "continueOnError" if self._failing else "failFast"  # else: whoever is first decides
        return parallel(name, *inner, maxConcurrency=self._by.randint(1, 3), failureStrategy=how)

    def _leaf(self, waits: list[str], *, names: bool) -> Data:
        is_bad = self._failing and self._by.random() < 0.25
        name = self._name("bad" if is_bad else "s")
        spoken_of = list(waits)
        if self._inner:
            spoken_of += [one for container in waits for one in self._inside.get(container, ())]
        seen: Data = {
            one: f"{{{{ (steps.{one} | default({{}})).output | default('none') }}}}"
            for one in spoken_of
        }
        remembered = "shared" if self._shared else f"of_{name}"
        writes = self._by.random() < 0.4 if self._shared else names
        more: Data = {"outputs": [remembered]} if writes else {}
        return self._perhaps_skipped(do(name, *waits, input=seen, **more))

    def _perhaps_skipped(self, step: Data) -> Data:
        return {**step, "condition": "false"} if self._by.random() < 0.15 else step

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"


def _leaves(steps: list[Data]) -> list[str]:
    return [one["stepId"] for one in steps if one["type"] == "tool"]


def facts(result: Any) -> dict[str, Any]:
    """What an interrupted run and one that was not have in common."""
    return {
        "state": result.state,
        "output": result.output,
        "memory": dict(result.outputs),
        "steps": {one.id: (one.state, one.output) for one in result.steps},
    }

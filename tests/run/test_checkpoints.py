"""Checkpoints: all five parts, when they are written, how many are kept, and for how long."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from metier.errors import MetierError, NotFoundError
from metier.run.checkpoints import CheckpointStore, checkpoint_problems
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile, Checkpoint, CheckpointSettings
from metier.values.runs import RunResult
from run.world import BROKEN, Data, World, agent, choose, do, loop, parallel


def records(world: World, result: RunResult) -> list[Checkpoint]:
    return CheckpointStore(world.store).list(result.run_id)


def written(world: World, result: RunResult) -> list[tuple[int, str]]:
    return [(one.step_index, one.completed_step_id) for one in records(world, result)]


# The parts


@pytest.mark.invariant(id="INV-CP-001")
def test_a_record_holds_position_outputs_context_and_memory() -> None:
    world = World()
    world.acts = {"a": {"x": 1}, "c": [2]}
    steps = [do("a", outputs=["x"]), do("b", condition="false"), do("c", outputs=["y"])]
    result = world.run(agent(*steps), "the task", input={"i": 1})
    first, second = records(world, result)
    assert first.step_outputs == {"a": {"x": 1}}
    assert (first.step_index, first.completed_step_id, first.skipped_step_ids) == (0, "a", ())
    assert first.memory_snapshot == [{"key": "x", "value": 1}]
    assert second.step_outputs == {"a": {"x": 1}, "c": [2]}
    assert (second.step_index, second.completed_step_id, second.skipped_step_ids) == (
        2,
        "c",
        ("b",),
    )
    assert second.memory_snapshot == [{"key": "x", "value": 1}, {"key": "y", "value": [2]}]
    for one in (first, second):
        assert one.context["input"] == {"i": 1}
        assert (one.run_id, one.agent_id, one.schema_version) == (result.run_id, "worker", "1")
        assert checkpoint_problems(one) == []
        assert CheckpointStore(world.store).load(one.checkpoint_id) == one
        json.dumps(one.to_json())


def test_the_memory_is_empty_never_absent() -> None:
    world = World()
    (record,) = records(world, world.run(agent(do("a"))))
    assert list(record.memory_snapshot) == []
    assert record.to_json()["memorySnapshot"] == []


def ordered(*names: str, skip: tuple[str, ...] = ()) -> tuple[World, RunResult]:
    """A parallel run whose steps end in the order given, in the order a, b, c, d of the profile."""
    world = World()
    gates = {name: asyncio.Event() for name in names}

    def act(name: str) -> Callable[[Data, ToolContext], Any]:
        async def work(_args: Data, _context: ToolContext) -> str:
            place = names.index(name)
            if place:
                await gates[names[place - 1]].wait()
                await World.pause()
            gates[name].set()
            return name

        return work

    world.acts = {name: act(name) for name in names}
    steps = [do(name, **({"condition": "false"} if name in skip else {})) for name in "abcd"]
    return world, world.run(agent(*steps, execution="parallel"))


@pytest.mark.invariant(id="INV-CP-001")
@pytest.mark.parametrize(
    ("order", "skip", "expected"),
    [
        ("abcd", (), [(0, "a"), (1, "b"), (2, "c"), (3, "d")]),
        ("dcba", (), [(-1, "d"), (-1, "c"), (-1, "b"), (3, "a")]),
        ("badc", (), [(-1, "b"), (1, "a"), (1, "d"), (3, "c")]),
        ("cab", ("d",), [(-1, "c"), (0, "a"), (3, "b")]),
        ("db", ("a", "c"), [(0, "d"), (3, "b")]),
    ],
)
def test_the_step_index_is_the_end_of_the_longest_beginning_that_is_done(
    order: str, skip: tuple[str, ...], expected: list[tuple[int, str]]
) -> None:
    world, result = ordered(*order, skip=skip)
    assert written(world, result) == expected
    found = records(world, result)
    for number, one in enumerate(found, start=1):
        assert list(one.step_outputs) == list(order[:number])
    assert set(found[-1].skipped_step_ids) == set(skip)


def test_steps_inside_cause_records_that_point_to_the_workflow_s_own_steps() -> None:
    world = World()
    steps = [do("a"), loop("l", "[1, 2]", do("i")), choose("c", "false", [do("n")]), do("z")]
    result = world.run(agent(*steps))
    assert written(world, result) == [
        (0, "a"),
        (0, "i[0]"),
        (0, "i[1]"),
        (1, "l"),
        (2, "c"),
        (3, "z"),
    ]
    assert records(world, result)[2].step_outputs == {"a": "a", "i[0]": "i[0]", "i[1]": "i[1]"}


def test_a_failed_step_causes_no_record() -> None:
    world = World()
    world.acts["b"] = BROKEN
    steps = [do("a"), do("b"), do("c", "b"), do("d")]
    result = world.run(agent(*steps, failureStrategy="continueOnError"))
    assert {one for _, one in written(world, result)} == {"a", "d"}
    assert [one for one, _ in written(world, result)] == [0, 0]


# When


@pytest.mark.parametrize(
    ("interval", "causes"),
    [
        (0, ["a", "b", "c", "d", "e"]),
        (1, ["a", "b", "c", "d", "e"]),
        (2, ["b", "d", "e"]),
        (3, ["c", "e"]),
        (5, ["e"]),
        (9, ["e"]),
    ],
)
def test_a_record_is_written_after_every_nth_success_and_at_the_end(
    interval: int, causes: list[str]
) -> None:
    world = World()
    result = world.run(agent(*map(do, "abcde"), checkpoint={"interval": interval}))
    assert [one for _, one in written(world, result)] == causes


def test_skipped_and_failed_steps_do_not_count_for_the_interval() -> None:
    world = World()
    world.acts["c"] = BROKEN
    steps = [do("a"), do("b", condition="false"), do("c"), do("d"), do("e")]
    profile = agent(*steps, checkpoint={"interval": 2}, failureStrategy="continueOnError")
    assert [one for _, one in written(world, world.run(profile))] == ["d", "e"]


@pytest.mark.parametrize(
    ("settings", "marks", "causes"),
    [
        ({"interval": 9}, {"b": True}, ["b", "d"]),
        ({"interval": 1}, {"b": False}, ["a", "c", "d"]),
        ({"interval": 1}, {"d": False}, ["a", "b", "c", "d"]),
        ({"enabled": False}, {}, []),
        ({"enabled": False}, {"b": True}, []),
    ],
)
def test_a_step_may_ask_for_a_record_or_for_none(
    settings: Data, marks: dict[str, bool], causes: list[str]
) -> None:
    world = World()
    steps = [do(name, **({"checkpoint": marks[name]} if name in marks else {})) for name in "abcd"]
    result = world.run(agent(*steps, checkpoint=settings))
    assert [one for _, one in written(world, result)] == causes


@pytest.mark.parametrize("ending", ["failed", "cancelled"])
def test_a_run_that_ends_early_but_in_order_leaves_a_last_record(ending: str) -> None:
    world = World()

    async def stop(_args: Data, _context: ToolContext) -> None:
        if ending == "failed":
            raise BROKEN
        runner.cancel(world.store.runs()[0].run_id)
        await asyncio.Event().wait()

    world.acts["c"] = stop

    async def main() -> RunResult:
        return await runner.run(agent(*map(do, "abcd"), checkpoint={"interval": 9}), "t")

    runner = world.runner()
    result = asyncio.run(main())
    assert (result.state, written(world, result)) == (ending, [(1, "b")])


def test_a_run_in_which_nothing_succeeded_has_no_record() -> None:
    world = World()
    world.acts["a"] = BROKEN
    assert written(world, world.run(agent(do("a"), do("b")))) == []


def test_outputs_are_durable_without_any_record() -> None:
    world = World()
    result = world.run(agent(do("a"), do("b"), checkpoint={"enabled": False}))
    assert [one.output for one in world.store.steps(result.run.key)] == ["a", "b"]


def test_the_defaults_are_every_step_24_hours_and_10_records() -> None:
    assert AgentProfile.of({}).checkpoint == CheckpointSettings(True, 1, 24, 10)


def undoing_groups(count: int) -> tuple[World, list[Data]]:
    """Groups that undo themselves at the same time."""
    world = World()
    waiting: list[str] = []
    all_there = asyncio.Event()

    async def undo(_args: Data, context: ToolContext) -> None:
        waiting.append(context.step_id)
        if len(waiting) == count:
            all_there.set()
        await all_there.wait()

    groups = []
    for number in range(count):
        world.acts |= {f"undo{number}": undo, f"bad{number}": BROKEN}
        first = do(f"x{number}", compensate=do(f"undo{number}"))
        bad = do(f"bad{number}", f"x{number}")
        groups.append(parallel(f"g{number}", first, bad, failureStrategy="rollback"))
    return world, groups


@pytest.mark.parametrize(
    ("groups", "interval"),
    [
        (1, 1),
        (2, 1),
        (1, 9),
        (3, 1),
    ],
)
def test_a_group_that_undoes_itself_does_not_keep_others_from_their_records(
    groups: int, interval: int
) -> None:
    world, steps = undoing_groups(groups)
    last = {**do("last"), "dependencies": ["beside"]}

    async def beside(_args: Data, _context: ToolContext) -> None:
        await World.pause()
        await World.pause()

    world.acts["beside"] = beside
    how: Data = {"execution": "parallel", "failureStrategy": "continueOnError"}
    settings = {"interval": interval, "maximum": 100}
    result = world.run(agent(*steps, do("beside"), last, checkpoint=settings, **how))
    causes = [one for _, one in written(world, result)]
    assert causes[-1] == "last"
    assert ("beside" in causes) == (interval == 1)


# How many, how long


@pytest.mark.parametrize(("maximum", "steps"), [(1, 3), (2, 12), (10, 12), (10, 25), (100, 12)])
def test_only_the_newest_are_kept(maximum: int, steps: int) -> None:
    world = World()
    names = [f"s{number}" for number in range(steps)]
    result = world.run(agent(*map(do, names), checkpoint={"maximum": maximum}))
    assert [one for _, one in written(world, result)] == names[-maximum:]
    newest = records(world, result)[-1]
    assert list(newest.step_outputs) == names


def test_the_maximum_holds_over_a_resume() -> None:
    world = World()
    world.acts["s3"] = iter([BROKEN, 1])
    names = [f"s{number}" for number in range(5)]
    result = world.run(agent(*map(do, names), checkpoint={"maximum": 2}))
    world.resume(result.run_id)
    assert [one for _, one in written(world, result)] == ["s3", "s4"]


def test_the_maximum_holds_while_the_run_is_at_work() -> None:
    world = World()
    counts: list[int] = []

    async def count(_args: Data, context: ToolContext) -> None:
        counts.append(len(CheckpointStore(world.store).list(context.run_id)))

    world.acts = {f"s{number}": count for number in range(15)}
    world.run(agent(*map(do, world.acts), checkpoint={"maximum": 2}))
    assert max(counts) == 2


def test_a_record_is_kept_as_many_hours_as_the_profile_says() -> None:
    world = World()
    before = time.time()
    result = world.run(agent(do("a"), checkpoint={"retentionHours": 2}))
    store = CheckpointStore(world.store)
    (record,) = store.list(result.run_id)
    end = before + 2 * 3600
    assert record.expires_at is not None
    assert store.load(record.checkpoint_id, now=end - 1) == record
    assert store.latest(result.run_id, now=end - 1) == record
    with pytest.raises(MetierError) as raised:
        store.load(record.checkpoint_id, now=end + 3600)
    assert raised.value.code == "CHECKPOINT_EXPIRED"
    assert store.latest(result.run_id, now=end + 3600) is None
    assert store.list(result.run_id, now=end + 3600) == []
    assert store.prune(now=end - 1) == 0
    assert store.prune(now=end + 3600) == 1
    with pytest.raises(NotFoundError):
        store.load(record.checkpoint_id)


def test_equal_context_and_memory_are_stored_once() -> None:
    world = World()
    big = "x" * 10_000
    names = [f"s{number}" for number in range(20)]
    profile = agent(*map(do, names), checkpoint={"maximum": 100})
    world.run(profile, input=big)
    rows = world.store.rows("SELECT data FROM blob WHERE data LIKE ?", (f"%{big}%",))
    assert len(rows) == 1
    world.run(profile, input=big)
    assert len(world.store.rows("SELECT key FROM blob WHERE data LIKE ?", (f"%{big}%",))) == 1

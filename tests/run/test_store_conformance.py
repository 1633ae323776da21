"""What every store of runs does, whatever database it uses."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metier.errors import NotFoundError, RunLostError, UsageError
from metier.run.store import LEASE_SECONDS, CheckpointMark, RunStore
from metier.values.agents import Checkpoint
from metier.values.runs import Failure, RunRecord, RunsAsked, StepRecord, Usage
from run.stores import Stores
from soak import SOAK

pytestmark = pytest.mark.slow

MINE, OTHER = "here/1//x", "elsewhere/1//y"
LATER = LEASE_SECONDS + 1
WHY = Failure("X", "it broke", "timeout", True, "a", "try again")
HOUR = 3600.0


@pytest.fixture
def store(stores: Stores) -> RunStore:
    return stores.open()


def wait_for(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


_numbers = iter(range(1, sys.maxsize))


def begun(store: RunStore, run_id: str = "", **more: Any) -> RunRecord:
    """A run that `MINE` executes."""
    run = made(store, run_id, **{"state": "running", "epoch": 1, **more})
    wait_for(store.begin(run, MINE))
    return run


def added(store: RunStore, run_id: str = "", *steps: StepRecord, **more: Any) -> RunRecord:
    """A pending run."""
    run = made(store, run_id, **more)
    store.add(run, steps)
    return run


def made(store: RunStore, run_id: str = "", **more: Any) -> RunRecord:
    number = next(_numbers)
    values = {
        "run_id": run_id or f"run-{number:05}", "agent_id": "worker", "task": "do it",
        "state": "pending", "created": time.time() + number / 1e6, "request": {"input": None},
        "profile": {"agentId": "worker"}, "key": store.new_key(), **more,
    }  # fmt: skip
    return RunRecord(**values)


def taken(store: RunStore, run: RunRecord) -> RunRecord:
    """The run as another process has claimed it, after this one was silent for long."""
    return store.claim(run.run_id, OTHER, time.time() + LATER)


def step(name: str, seq: int = 0, **more: Any) -> StepRecord:
    state = "succeeded" if seq else "running"
    return StepRecord(name, **{"state": state, "seq": seq, "started": 5.0, **more})


def save(store: RunStore, run: RunRecord, *steps: StepRecord) -> None:
    for one in steps:
        wait_for(store.save_step(run.claim, one))


def checkpointed(store: RunStore, run: RunRecord, count: int, **memory: Any) -> None:
    for seq in range(1, count + 1):
        one = step(f"s{seq}", seq, finished=time.time(), output=seq)
        wait_for(store.save_step(run.claim, one, CheckpointMark(seq - 1, memory)))


# Runs and steps


def test_a_run_is_read_as_it_was_written(store: RunStore) -> None:
    run = made(
        store,
        request={"input": {"x": [1, None]}, "chain": ["worker"]},
        parent_run="above",
        parent_step="s[2]",
        forked_from="above:3",
        created=1794842036.989353,
        epoch=1,
        state="running",
    )
    wait_for(store.begin(run, MINE))
    assert store.run(run.run_id) == run


def test_a_run_that_was_added_is_pending_and_has_its_steps(store: RunStore) -> None:
    run = added(store, "", step("a", 1, output=1), step("b", 2))
    assert store.run(run.run_id).state == "pending"
    assert [one.id for one in store.steps(run.key)] == ["a", "b"]


def test_keys_increase_and_differ_between_processes(stores: Stores) -> None:
    here, there = stores.open(), stores.open()
    mine = [here.new_key() for _ in range(150)]
    others = [there.new_key() for _ in range(150)]
    assert mine == sorted(set(mine))
    assert set(mine).isdisjoint(others)


def test_a_step_is_read_as_it_was_written(store: RunStore) -> None:
    run = begun(store)
    whole = StepRecord(
        "a[1]", "failed", 3, 2, {"prompt": "x"}, {"y": [1.5]}, WHY, Usage(1, 2, 0.1, 3, 4),
        1794842036.123456, 1794842037.7, 2,
    )  # fmt: skip
    save(store, run, whole)
    assert store.steps(run.key) == [whole]


def test_steps_come_in_the_order_in_which_they_ended_then_the_others(store: RunStore) -> None:
    run = begun(store)
    save(store, run, step("late", 2), step("b"), step("a"), step("first", 1))
    save(store, run, step("earlier", started=1.0))
    assert [one.id for one in store.steps(run.key)] == ["first", "late", "earlier", "a", "b"]


def test_a_step_that_is_saved_again_is_replaced(store: RunStore) -> None:
    run = begun(store)
    save(store, run, step("a"), step("a", 1, output="done"))
    (found,) = store.steps(run.key)
    assert (found.state, found.output) == ("succeeded", "done")


def test_a_noted_step_is_stored_with_the_next_write_as_it_was_last(store: RunStore) -> None:
    run = begun(store)
    store.note(run.claim, step("a"))
    store.note(run.claim, step("b"))
    store.note(run.claim, step("b", attempts=2))
    assert store.steps(run.key) == []
    save(store, run, step("a", 1))
    assert [(one.id, one.state, one.attempts) for one in store.steps(run.key)] == [
        ("a", "succeeded", 0),
        ("b", "running", 2),
    ]


def test_the_end_of_a_run_is_stored_with_its_last_checkpoint(store: RunStore) -> None:
    run = begun(store)
    save(store, run, step("a", 1, output=7))
    ended = run._replace(
        state="failed", finished=9.5, failure=WHY, usage=Usage(5, 6, 0.25, 1, 2), output=[7]
    )
    mark = CheckpointMark(0, {"k": 1}, "a", 2, time.time() + HOUR)
    wait_for(store.end_run(ended, mark))
    assert store.run(run.run_id) == ended
    (last,) = store.checkpoints(run.run_id, time.time())
    assert (last.checkpoint_id, last.completed_step_id) == (f"{run.run_id}:2", "a")
    assert (last.step_outputs, last.memory_snapshot) == ({"a": 7}, [{"key": "k", "value": 1}])


def test_the_end_of_a_cancelled_run_is_stored_without_a_loop(store: RunStore) -> None:
    run = begun(store)
    store.note(run.claim, step("a", state="cancelled"))
    store.end_run_now(run._replace(state="cancelled"))
    assert store.run(run.run_id).state == "cancelled"
    assert [one.state for one in store.steps(run.key)] == ["cancelled"]


def test_that_a_rollback_began_is_stored_and_outlives_a_claim(store: RunStore) -> None:
    run = begun(store)
    wait_for(store.begin_rollback(run.claim, WHY))
    assert store.run(run.run_id).rollback == WHY
    assert taken(store, run).rollback == WHY


def test_writes_of_several_live_runs_are_all_stored(store: RunStore) -> None:
    count = 30
    store.live = count
    runs = [made(store, state="running", epoch=1) for _ in range(count)]

    async def execute(run: RunRecord) -> None:
        await store.begin(run, MINE)
        for seq in range(1, 4):
            store.note(run.claim, step(f"n{seq}"))
            mark = CheckpointMark(seq, {"k": run.run_id})
            await store.save_step(run.claim, step(f"s{seq}", seq, finished=1.0), mark)
            assert [one.id for one in store.steps(run.key) if one.seq] == [
                f"s{number}" for number in range(1, seq + 1)
            ], "a step was acknowledged before it was stored"
        await store.end_run(run._replace(state="succeeded"))

    async def main() -> None:
        await asyncio.gather(*map(execute, runs))

    wait_for(main())
    assert {one.state for one in store.runs(limit=count)} == {"succeeded"}
    assert all(len(store.steps(run.key)) == 6 for run in runs)


def test_what_a_run_cannot_save_does_not_stop_the_others(store: RunStore) -> None:
    store.live = 3
    good, lost, other = begun(store), begun(store), begun(store)
    taken(store, lost)

    async def main() -> list[Any]:
        saves = [store.save_step(run.claim, step("a", 1)) for run in (good, lost, other)]
        return await asyncio.gather(*saves, return_exceptions=True)

    first, second, third = wait_for(main())
    assert (first, third) == (None, None)
    assert isinstance(second, RunLostError)
    assert [len(store.steps(run.key)) for run in (good, lost, other)] == [1, 0, 1]


def test_another_process_sees_what_was_acknowledged(stores: Stores) -> None:
    here, there = stores.open(), stores.open()
    run = begun(here)
    save(here, run, step("a", 1))
    assert there.run(run.run_id) == here.run(run.run_id)
    assert there.steps(run.key) == here.steps(run.key)


# Odd values

ODD = [
    "a\0b",
    "\ud800 alone",
    "😀 \u2028",
    {"\0": {"\udfff": None}},
    2**200,
    -(2**63),
    0.1 + 0.2,
    5e-324,
    1.7976931348623157e308,
    -0.0,
    True,
    "",
    [],
    {},
    [[[[[["deep"]]]]]],
]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_any_json_value_is_read_as_it_was_written(store: RunStore, value: Any) -> None:
    run = begun(store, request={"input": value}, profile={"agentId": "worker", "x": value})
    one = step("a", 1, input={"x": value}, output=value, finished=1.0)
    wait_for(store.save_step(run.claim, one, CheckpointMark(0, {"m": value})))
    wait_for(store.end_run(run._replace(state="succeeded", output=value)))
    found = store.run(run.run_id)
    (saved,) = store.steps(run.key)
    checkpoint = store.checkpoint(f"{run.run_id}:1")
    assert checkpoint is not None
    read = [
        found.request["input"], found.profile["x"], found.output, saved.output,
        saved.input["x"], checkpoint.memory_snapshot[0]["value"], checkpoint.step_outputs["a"],
    ]  # fmt: skip
    assert [repr(one) for one in read] == [repr(value)] * len(read)


def test_deeply_nested_json_is_kept(store: RunStore) -> None:
    value: Any = "end"
    for _ in range(300):
        value = {"in": [value]}
    run = begun(store)
    save(store, run, step("a", 1, output=value))
    assert store.steps(run.key)[0].output == value


def test_a_task_may_hold_any_character(store: RunStore) -> None:
    run = begun(store, task="a\0b\n'\"\\ %s 😀")
    assert store.run(run.run_id).task == run.task


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"x"], ids=str)
def test_a_request_that_is_not_json_is_refused_and_leaves_nothing(
    store: RunStore, value: Any
) -> None:
    with pytest.raises(UsageError, match="the input is not JSON"):
        begun(store, request={"input": value})
    assert store.runs() == []


@pytest.mark.parametrize("value", [float("nan"), float("-inf")], ids=str)
def test_an_output_that_is_not_json_is_refused(store: RunStore, value: float) -> None:
    run = begun(store)
    with pytest.raises(ValueError, match="JSON"):
        save(store, run, step("a", 1, output=value))
    assert store.steps(run.key) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(
    max_examples=200 if SOAK else 15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=JSON)
def test_whatever_a_step_gives_is_read_as_json_reads_it(store: RunStore, value: Any) -> None:
    run = begun(store)
    save(store, run, step("a", 1, input=[value], output={"of": value}))
    (found,) = store.steps(run.key)
    assert found.output == {"of": json.loads(json.dumps(value))}
    assert repr(found.input) == repr([value])


# Fencing

WRITES: dict[str, Callable[[RunStore, RunRecord], Coroutine[Any, Any, None]]] = {
    "step": lambda store, run: store.save_step(run.claim, step("new", 9)),
    "step-with-checkpoint": lambda store, run: store.save_step(
        run.claim, step("new", 9, finished=1.0), CheckpointMark(0, {"k": 1})
    ),
    "end": lambda store, run: store.end_run(run._replace(state="succeeded")),
    "end-with-checkpoint": lambda store, run: store.end_run(
        run._replace(state="failed", finished=1.0), CheckpointMark(0, {"x": 1}, "a", 9, 9e9)
    ),
    "rollback": lambda store, run: store.begin_rollback(run.claim, WHY),
}


def everything(store: RunStore) -> list[Any]:
    return [(run, store.steps(run.key), store.checkpoints(run.run_id, 0.0)) for run in store.runs()]


@pytest.mark.parametrize("others", [0, 2], ids=["alone", "with-others"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_write_with_an_old_claim_is_refused_and_changes_nothing(
    stores: Stores, write: Callable[[RunStore, RunRecord], Any], others: int
) -> None:
    store, there = stores.open(), stores.open()
    run = begun(store)
    save(store, run, step("a", 1))
    claimed = taken(there, run)
    assert claimed.epoch == run.epoch + 1
    before = everything(there)
    store.live = others
    with pytest.raises(RunLostError) as raised:
        wait_for(write(store, run))
    assert raised.value.code == "RUN_LOST"
    assert everything(there) == before
    wait_for(write(there, claimed))
    assert everything(there) != before


def test_an_old_claim_can_neither_end_now_nor_release(stores: Stores) -> None:
    store, there = stores.open(), stores.open()
    run = begun(store)
    taken(there, run)
    before = everything(there)
    with pytest.raises(RunLostError):
        store.end_run_now(run._replace(state="cancelled"))
    store.release(run.claim, WHY)
    assert everything(there) == before


def test_what_was_noted_with_an_old_claim_is_not_stored(stores: Stores) -> None:
    store = stores.open()
    run, other = begun(store), begun(store)
    taken(stores.open(), run)
    store.note(run.claim, step("late"))
    save(store, other, step("a", 1))
    assert store.steps(run.key) == []
    assert len(store.steps(other.key)) == 1


def child_of(store: RunStore, run: RunRecord, **more: Any) -> RunRecord:
    """A run that a step of `run` delegates to, not stored yet."""
    parent = {"parent_run": run.run_id, "parent_step": "d"}
    return made(store, **{**parent, "state": "running", "epoch": 1, **more})


def test_a_child_run_begins_while_the_claim_of_its_parent_is_the_latest(store: RunStore) -> None:
    run = begun(store)
    child = child_of(store, run)
    wait_for(store.begin(child, MINE, run.claim))
    assert store.children(run.run_id) == [child]


@pytest.mark.parametrize("others", [0, 2], ids=["alone", "with-others"])
def test_a_child_run_is_not_stored_with_an_old_claim_of_its_parent(
    stores: Stores, others: int
) -> None:
    store, there = stores.open(), stores.open()
    run = begun(store)
    claimed = taken(there, run)
    before = everything(there)
    store.live = others
    with pytest.raises(RunLostError) as raised:
        wait_for(store.begin(child_of(store, run), MINE, run.claim))
    assert raised.value.code == "RUN_LOST"
    assert everything(there) == before
    child = child_of(there, run)
    wait_for(there.begin(child, OTHER, claimed.claim))
    assert there.children(run.run_id) == [child]


@pytest.mark.parametrize("others", [0, 2], ids=["alone", "with-others"])
@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "rolled_back"])
def test_a_child_run_is_not_stored_once_its_parent_has_ended(
    store: RunStore, state: Any, others: int
) -> None:
    run = begun(store)
    wait_for(store.end_run(run._replace(state=state)))
    store.live = others
    with pytest.raises(RunLostError):
        wait_for(store.begin(child_of(store, run), MINE, run.claim))
    assert store.children(run.run_id) == []


def test_a_child_run_that_is_refused_does_not_stop_what_others_begin(store: RunStore) -> None:
    store.live = 4
    good, lost = begun(store), begun(store)
    taken(store, lost)
    child, late, other = child_of(store, good), child_of(store, lost), made(store, epoch=1)

    async def main() -> list[Any]:
        begins = [
            store.begin(child, MINE, good.claim),
            store.begin(late, MINE, lost.claim),
            store.begin(other, MINE),
            store.save_step(good.claim, step("a", 1)),
        ]
        return await asyncio.gather(*begins, return_exceptions=True)

    first, second, third, fourth = wait_for(main())
    assert (first, third, fourth) == (None, None, None)
    assert isinstance(second, RunLostError)
    assert store.children(good.run_id) == [child]
    assert store.children(lost.run_id) == []
    assert store.run(other.run_id).state == "running"
    assert len(store.steps(good.key)) == 1


def test_a_child_run_is_not_claimed_with_an_old_claim_of_its_parent(stores: Stores) -> None:
    store, there = stores.open(), stores.open()
    run = begun(store)
    child = child_of(store, run, state="pending", epoch=0)
    store.add(child)
    claimed = taken(there, run)
    with pytest.raises(RunLostError):
        store.claim(child.run_id, MINE, time.time(), run.claim)
    assert there.run(child.run_id) == child
    assert there.claim(child.run_id, OTHER, time.time(), claimed.claim).epoch == 1
    wait_for(there.end_run(claimed._replace(state="failed")))
    with pytest.raises(RunLostError):
        there.claim(child.run_id, OTHER, time.time(), claimed.claim)


def test_a_claim_is_checked(store: RunStore) -> None:
    run = begun(store)
    wait_for(store.check(run.claim))
    taken(store, run)
    with pytest.raises(RunLostError):
        wait_for(store.check(run.claim))


# Owning a run


def test_a_run_belongs_to_its_owner_until_the_lease_is_over(stores: Stores) -> None:
    here, there = stores.open(), stores.open()
    run, now = begun(here), time.time()
    for moment in (now, now + LEASE_SECONDS - 1):
        with pytest.raises(UsageError) as raised:
            there.claim(run.run_id, OTHER, moment)
        assert raised.value.code == "RUN_BUSY"
    claimed = there.claim(run.run_id, OTHER, now + LATER)
    assert (claimed.state, claimed.epoch) == ("running", 2)
    assert here.run(run.run_id) == claimed


def test_the_owner_itself_may_claim_a_run_again(store: RunStore) -> None:
    run = begun(store)
    assert store.claim(run.run_id, MINE, time.time()).epoch == 2


def test_a_renewed_lease_lasts_longer(store: RunStore) -> None:
    run, now = begun(store), time.time()
    renewed = wait_for(store.renew(MINE, [run.claim], now + LEASE_SECONDS))
    assert renewed == ([], [])
    with pytest.raises(UsageError):
        store.claim(run.run_id, OTHER, now + LATER)
    assert store.claim(run.run_id, OTHER, now + LEASE_SECONDS + LATER).epoch == 2


def test_renewing_tells_which_runs_are_lost_and_which_to_cancel(store: RunStore) -> None:
    kept, lost, cancelled, both = (begun(store) for _ in range(4))
    taken(store, lost)
    for run in (cancelled, both):
        assert store.request_cancel(run.run_id, time.time())
    taken(store, both)
    claims = [run.claim for run in (kept, lost, cancelled, both)]
    renewed = wait_for(store.renew(MINE, claims, time.time()))
    assert renewed.cancelled == [cancelled.run_id]
    assert sorted(renewed.lost) == sorted([lost.run_id, both.run_id])
    assert wait_for(store.renew(MINE, [], time.time())) == ([], [])


def test_a_run_without_owner_becomes_pending_once_its_lease_is_over(store: RunStore) -> None:
    run, done = begun(store), begun(store)
    wait_for(store.end_run(done._replace(state="succeeded")))
    assert store.recover(time.time()) == []
    assert store.recover(time.time() + LATER) == [run.run_id]
    found = store.run(run.run_id)
    assert found.failure is not None
    assert (found.state, found.failure.code) == ("pending", "RUN_INTERRUPTED")
    assert store.recover(time.time() + LATER) == []


def test_a_recovered_run_that_nobody_claimed_is_taken_back_by_its_heartbeat(
    store: RunStore,
) -> None:
    run = begun(store)
    store.recover(time.time() + LATER)
    assert wait_for(store.renew(MINE, [run.claim], time.time())) == ([], [])
    found = store.run(run.run_id)
    assert (found.state, found.failure) == ("running", None)
    save(store, run, step("a", 1))


def test_a_released_run_can_be_claimed_at_once(stores: Stores) -> None:
    here, there = stores.open(), stores.open()
    run = begun(here)
    here.release(run.claim, WHY)
    found = there.run(run.run_id)
    assert (found.state, found.failure) == ("pending", WHY)
    claimed = there.claim(run.run_id, OTHER, time.time())
    assert (claimed.epoch, claimed.failure) == (2, None)


@pytest.mark.parametrize("state", ["succeeded", "rolled_back", "rollback_incomplete"])
def test_a_run_that_has_ended_for_good_cannot_be_claimed(store: RunStore, state: Any) -> None:
    run = begun(store)
    wait_for(store.end_run(run._replace(state=state)))
    with pytest.raises(UsageError) as raised:
        store.claim(run.run_id, OTHER, time.time())
    assert raised.value.code == "RUN_NOT_RESUMABLE"
    assert store.run(run.run_id).state == state


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_run_that_failed_or_was_cancelled_can_be_claimed(store: RunStore, state: Any) -> None:
    run = begun(store)
    wait_for(store.end_run(run._replace(state=state, finished=1.0, failure=WHY)))
    claimed = store.claim(run.run_id, OTHER, time.time())
    assert (claimed.state, claimed.failure, claimed.finished) == ("running", None, None)


def test_only_one_of_several_processes_claims_a_run(stores: Stores) -> None:
    opened = [stores.open() for _ in range(4)]
    run = added(opened[0])

    def claim(number: int) -> int:
        try:
            return opened[number].claim(run.run_id, f"p{number}/1//x", time.time()).epoch
        except UsageError:
            return 0

    async def main() -> list[int]:
        return await asyncio.gather(*(asyncio.to_thread(claim, number) for number in range(4)))

    assert sorted(wait_for(main())) == [0, 0, 0, 1]


def test_a_running_run_is_asked_to_cancel_and_a_waiting_one_is_cancelled(store: RunStore) -> None:
    running, waiting, dead = begun(store), added(store), begun(store)
    now = time.time()
    assert store.request_cancel(running.run_id, now)
    assert store.run(running.run_id).state == "running"
    assert not store.request_cancel(waiting.run_id, now)
    assert not store.request_cancel(dead.run_id, now + LATER)
    assert not store.request_cancel(dead.run_id, now)
    for run in (waiting, dead):
        assert store.run(run.run_id).state == "cancelled"
        failure = store.run(run.run_id).failure
        assert failure is not None
        assert failure.code == "RUN_CANCELLED"
    with pytest.raises(RunLostError):
        save(store, dead, step("a", 1))


def test_the_lease_of_a_run_ends_unless_it_is_renewed(store: RunStore) -> None:
    run, now = begun(store), time.time()
    assert 0 < store.lease_left(run, now) <= LEASE_SECONDS + 1
    assert store.lease_left(run, now + LATER) == 0
    assert store.lease_left(added(store), now) == 0


def test_a_run_that_its_own_idle_process_holds_is_cancelled(store: RunStore) -> None:
    run = begun(store)
    assert not store.request_cancel(run.run_id, time.time(), MINE)
    assert store.run(run.run_id).state == "cancelled"


def test_cancelling_a_run_that_is_being_rolled_back_leaves_it_incomplete(store: RunStore) -> None:
    run = begun(store)
    wait_for(store.begin_rollback(run.claim, WHY))
    assert not store.request_cancel(run.run_id, time.time() + LATER)
    found = store.run(run.run_id)
    assert (found.state, found.failure) == ("rollback_incomplete", WHY)


def test_a_new_claim_forgets_that_a_cancel_was_requested(store: RunStore) -> None:
    run = begun(store)
    store.request_cancel(run.run_id, time.time())
    claimed = taken(store, run)
    assert wait_for(store.renew(OTHER, [claimed.claim], time.time())) == ([], [])


# Reading


def test_a_run_is_found_by_its_id_or_by_a_unique_prefix(store: RunStore) -> None:
    for run_id in ("2026-a", "2026-ab", "2026-b1", "2027_1", "2027%1"):
        added(store, run_id)
    for wanted, run_id in {
        "2026-a": "2026-a", "2026-ab": "2026-ab", "2026-b": "2026-b1", "2027_": "2027_1",
        "2027%": "2027%1",
    }.items():  # fmt: skip
        assert store.run(wanted).run_id == run_id


@pytest.mark.parametrize(
    "wanted", ["", "2026", "2026-c", "026", "*", "?", "2026-?", "[2]026-b", "%", "_026-b", "x\0"]
)
def test_no_run_is_found_by_anything_else(store: RunStore, wanted: str) -> None:
    for run_id in ("2026-a", "2026-b"):
        added(store, run_id)
    find: list[Callable[[], object]] = [
        lambda: store.run(wanted),
        lambda: store.claim(wanted, OTHER, time.time()),
        lambda: store.request_cancel(wanted, time.time()),
    ]
    for one in find:
        with pytest.raises(NotFoundError, match="no run is called"):
            one()


def test_runs_are_listed_newest_first_by_state_and_without_delegates(store: RunStore) -> None:
    first = added(store)
    second = begun(store, parent_run=first.run_id, parent_step="d")
    third = added(store, "z", created=second.created)

    def listed(**which: Any) -> list[str]:
        return [one.run_id for one in store.runs(**which)]

    assert listed() == [third.run_id, second.run_id, first.run_id]
    assert listed(limit=2) == [third.run_id, second.run_id]
    assert listed(state="running") == [second.run_id]
    assert listed(state="pending", limit=1) == [third.run_id]
    assert listed(delegated=False) == [third.run_id, first.run_id]
    assert listed(limit=0) == []
    assert listed(state="failed") == []
    assert store.count_runs() == 3
    assert store.count_runs(delegated=False) == 2
    assert store.count_runs(state="running") == 1
    assert store.count_runs(state="running", delegated=False) == 0


def test_runs_are_browsed_by_state_text_and_page_in_any_order(store: RunStore) -> None:
    cheap = begun(store, task="Apples and pears", agent_id="zoe")
    dear = begun(store, task="pears")
    added(store, task="plums")
    added(store, task="apples", parent_run=cheap.run_id)
    for run, cost in ((cheap, 0.5), (dear, 2.0)):
        done = run._replace(state="succeeded", finished=run.created + 1 / cost)
        wait_for(store.end_run(done._replace(usage=Usage(1, 2, cost, 1, 0))))

    def tasks(**asked: Any) -> list[str]:
        rows, total = store.browse(RunsAsked(**asked))
        assert len(rows) == total
        return [one.task for one in rows]

    assert tasks() == ["plums", "pears", "Apples and pears"]
    assert tasks(delegated=True, descending=False)[-1] == "apples"
    assert tasks(state="succeeded") == ["pears", "Apples and pears"]
    assert tasks(text="APPLES") == ["Apples and pears"]
    assert tasks(agent="zoe", text="zo") == ["Apples and pears"]
    assert tasks(order="cost") == ["pears", "Apples and pears", "plums"]
    assert tasks(order="seconds", descending=False) == ["pears", "Apples and pears", "plums"]
    assert tasks(order="agent")[0] == "Apples and pears"
    assert tasks(text="a\x00") == []
    rows, total = store.browse(RunsAsked(limit=1, offset=1))
    assert (rows[0].task, rows[0].usage.cost, total) == ("pears", 2.0, 3)


def test_a_run_is_abandoned_when_its_process_is_gone(store: RunStore) -> None:
    run = begun(store)
    assert not store.is_abandoned(run, time.time())
    assert store.is_abandoned(run, time.time() + 1_000)
    assert not store.is_abandoned(added(store), time.time() + 1_000)


def test_a_list_says_which_runs_are_abandoned(store: RunStore) -> None:
    run, _ = begun(store), added(store)

    def abandoned() -> list[bool]:
        return [one.is_abandoned for one in store.browse(RunsAsked(descending=False))[0]]

    assert abandoned() == [False, False]
    store.claim(run.run_id, MINE, time.time() - 1_000)
    assert abandoned() == [True, False]


def test_the_children_of_a_run_are_listed_oldest_first(store: RunStore) -> None:
    top = added(store)
    kids = [added(store, parent_run=top.run_id, parent_step=where) for where in ("a", "b[1]", "a")]

    def listed(*which: Any) -> list[str]:
        return [one.run_id for one in store.children(*which)]

    assert listed(top.run_id) == [one.run_id for one in kids]
    assert listed(top.run_id, "a") == [kids[0].run_id, kids[2].run_id]
    assert listed(top.run_id, "c") == listed(kids[0].run_id) == listed("") == []


# Checkpoints


def test_a_step_and_its_checkpoint_are_saved_together(store: RunStore) -> None:
    run = begun(store, request={"input": 5})
    one = step("a", 1, output=1, finished=100.5)
    wait_for(store.save_step(run.claim, one, CheckpointMark(0, {"k": [1]})))
    save(store, run, step("b", 2, state="skipped"))
    found = store.checkpoint(f"{run.run_id}:1")
    assert found is not None
    assert found == Checkpoint(
        checkpoint_id=f"{run.run_id}:1", run_id=run.run_id, agent_id="worker", step_index=0,
        completed_step_id="a", step_outputs={"a": 1}, context={"input": 5},
        memory_snapshot=[{"key": "k", "value": [1]}], created_at=found.created_at,
        expires_at=found.expires_at,
    )  # fmt: skip
    assert found.created_at.startswith("1970-01-01T00:01:40.5")
    assert found.expires_at is not None
    assert found.expires_at.startswith("1970-01-02T00:01:40.5")


def test_a_step_keeps_its_checkpoint_while_it_keeps_its_number(store: RunStore) -> None:
    run = begun(store)
    mark = CheckpointMark(0, {"k": 1})
    wait_for(store.save_step(run.claim, step("a", 1, finished=1.0), mark))
    save(store, run, step("a", 1, state="compensated", finished=1.0))
    found = store.checkpoint(f"{run.run_id}:1")
    assert found is not None
    assert found.memory_snapshot == [{"key": "k", "value": 1}]
    save(store, run, step("a", 2, finished=2.0))
    assert store.checkpoints(run.run_id, 0.0) == []


def test_only_as_many_checkpoints_count_as_the_profile_keeps(store: RunStore) -> None:
    run = begun(store, profile={"agentId": "worker", "checkpoint": {"maximum": 2}})
    checkpointed(store, run, 4)
    now = time.time()
    assert [one.step_index for one in store.checkpoints(run.run_id, now)] == [2, 3]
    assert [one.step_index for one in store.checkpoints(run.run_id, now, only_latest=True)] == [3]
    assert store.checkpoint(f"{run.run_id}:1") is None
    assert store.checkpoint(f"{run.run_id}:4") is not None


def test_checkpoints_expire_as_the_profile_says(store: RunStore) -> None:
    settings = {"retentionHours": 2}
    run = begun(store, profile={"agentId": "worker", "checkpoint": settings})
    checkpointed(store, run, 2)
    now = time.time()
    assert len(store.checkpoints(run.run_id, now + HOUR)) == 2
    assert store.checkpoints(run.run_id, now + 2 * HOUR + 60) == []


WHOLE = Checkpoint(
    checkpoint_id="cp-1", run_id="run-1", agent_id="agent-1", step_index=1,
    completed_step_id="b", step_outputs={"a": 1, "b": {"x": [None, "\0"]}},
    context={"input": "x"}, memory_snapshot=[{"key": "k", "value": 1}],
    created_at="2026-01-02T03:04:05.678+00:00", skipped_step_ids=("c",),
)  # fmt: skip


def test_a_checkpoint_that_is_saved_by_hand_is_read_as_it_was(store: RunStore) -> None:
    later = replace(WHOLE, checkpoint_id="cp-2", expires_at="2026-01-03T00:00:00.000+00:00")
    for one in (WHOLE, later):
        store.save_checkpoint(one)
    assert store.checkpoint("cp-1") == WHOLE
    assert store.checkpoint("cp-2") == later
    assert store.checkpoints("run-1", 1e12) == [WHOLE]
    assert store.checkpoints("run-1", 0.0, only_latest=True) == [later]
    assert store.run("run-1").agent_id == "agent-1"


def test_a_checkpoint_of_the_same_name_replaces_the_earlier_one(store: RunStore) -> None:
    changed = replace(WHOLE, step_outputs={"a": 2})
    store.save_checkpoint(WHOLE)
    store.save_checkpoint(changed)
    assert store.checkpoints("run-1", 0.0) == [changed]


def test_a_checkpoint_by_hand_takes_the_next_number_of_its_run(store: RunStore) -> None:
    run = begun(store)
    checkpointed(store, run, 2)
    assert store.last_numbers(run.key) == (2, 2)
    store.save_checkpoint(replace(WHOLE, run_id=run.run_id))
    assert store.last_numbers(run.key) == (3, 2)
    assert len(store.checkpoints(run.run_id, 0.0)) == 3
    assert store.last_numbers(begun(store).key) == (0, 0)


@pytest.mark.parametrize("wanted", ["", ":", "x", "x:1", ":0", f"x:{10**30}", "x\0", "run-1:x"])
def test_an_unknown_checkpoint_is_not_there(store: RunStore, wanted: str) -> None:
    store.save_checkpoint(WHOLE)
    assert store.checkpoint(wanted) is None
    assert store.checkpoints(wanted, 0.0) == []


def test_pruning_deletes_what_has_expired_and_all_but_the_newest(store: RunStore) -> None:
    run, other = begun(store), begun(store)
    for one in (run, other):
        checkpointed(store, one, 4)
    store.save_checkpoint(replace(WHOLE, run_id=run.run_id, expires_at=WHOLE.created_at))
    now = time.time()
    assert store.prune_checkpoints(None, None, now) == 1
    assert store.prune_checkpoints(run.run_id, 3, now) == 1
    assert [one.step_index for one in store.checkpoints(run.run_id, now)] == [1, 2, 3]
    assert len(store.checkpoints(other.run_id, now)) == 4
    assert store.prune_checkpoints(run.run_id, 0, now) == 3
    assert store.prune_checkpoints(None, None, now + 25 * HOUR) == 4
    assert [one.output for one in store.steps(run.key)] == [1, 2, 3, 4]
    with pytest.raises(NotFoundError):
        store.prune_checkpoints("unknown", 1, now)


@pytest.fixture(autouse=True)
def _no_leftovers(stores: Stores) -> Iterator[None]:
    """A store may be closed twice."""
    yield
    stores.close()

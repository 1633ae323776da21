"""Every type of step really does its work: order, conditions, outputs, branches and loops."""

from typing import Any

import pytest

from metier.run.models import ScriptedModel
from metier.values.agents import AgentProfile
from run.world import (
    BROKEN,
    World,
    agent,
    choose,
    delegate,
    do,
    loop,
    outputs,
    parallel,
    prompt,
    states,
)

# Order


@pytest.mark.invariant(id="INV-AGT-003")
def test_steps_run_one_by_one_in_the_order_of_the_profile() -> None:
    at_work: set[str] = set()

    async def alone(args: dict[str, Any], context: Any) -> str:
        assert not at_work
        at_work.add(context.step_id)
        await world.pause()
        at_work.remove(context.step_id)
        return str(context.step_id)

    world = World()
    names = ["d", "b", "a", "c"]
    world.acts = dict.fromkeys(names, alone)
    result = world.run(agent(*map(do, names)))
    assert result.success
    assert world.calls == names
    assert [one.id for one in result.steps] == names
    assert [one.seq for one in result.steps] == [1, 2, 3, 4]


@pytest.mark.invariant(id="INV-AGT-003")
def test_the_call_may_ask_for_parallel_execution_and_for_order() -> None:
    started: list[str] = []

    async def together(args: dict[str, Any], context: Any) -> int:
        started.append(context.step_id)
        await world.pause()
        return len(started)

    profile = agent(do("a"), do("b"))
    world = World()
    world.acts = {"a": together, "b": together}
    assert outputs(world.run(profile)) == {"a": 1, "b": 2}
    started.clear()
    assert outputs(world.run(profile, execution="parallel")) == {"a": 2, "b": 2}
    started.clear()
    own = agent(do("a"), do("b"), execution="parallel")
    assert outputs(world.run(own, execution="sequential")) == {"a": 1, "b": 2}


def test_a_step_sees_input_task_agent_and_earlier_outputs() -> None:
    world = World()
    world.acts["a"] = {"list": [1, 2]}
    given = {
        "input": "{{ input.x }}",
        "task": "{{ task }}",
        "agent": "{{ agent.agentId }}",
        "earlier": "{{ steps.a.output.list }}",
        "text": "{{ steps.a.output.list | length }} found, {{ steps.a.state }}",
    }
    world.run(agent(do("a"), do("b", input=given)), "the task", input={"x": [True]})
    assert world.given["b"] == {
        "input": [True],
        "task": "the task",
        "agent": "worker",
        "earlier": [1, 2],
        "text": "2 found, succeeded",
    }


def test_a_tool_knows_for_whom_it_works() -> None:
    world = World()
    result = world.run(agent(do("a"), loop("l", "[7]", do("b"))))
    assert [
        (one.run_id, one.step_id, one.agent_id, one.attempt, one.idempotency_key)
        for one in world.contexts
    ] == [(result.run_id, step, "worker", 1, f"{result.run_id}/{step}") for step in ("a", "b[0]")]


def test_the_output_of_a_run_is_that_of_the_last_step_of_its_workflow_that_succeeded() -> None:
    world = World()
    result = world.run(agent(do("a"), do("b"), do("c", condition="false")))
    assert result.output == "b"
    assert result.state == "succeeded"


def test_an_agent_that_is_only_a_prompt_answers_the_task() -> None:
    model = ScriptedModel(["the answer"])
    profile = AgentProfile.of({"agentId": "p", "description": "d", "systemPrompt": "Be brief."})
    result = World(model=model).run(profile, "the task")
    assert (result.output, states(result)) == ("the answer", {"answer": "succeeded"})
    (request,) = model.requests
    assert (request.system, request.messages[0].text) == ("Be brief.", "the task")


# Conditions


@pytest.mark.invariant(id="INV-AGT-003")
@pytest.mark.parametrize("execution", ["sequential", "parallel"])
@pytest.mark.parametrize("condition", ["false", "input.x > 1", "input.y is defined", "''", "[]"])
def test_a_false_condition_skips_a_step_and_satisfies_what_depends_on_it(
    condition: str, execution: Any
) -> None:
    world = World()
    profile = agent(do("a", condition=condition), do("b", "a"), do("c", "b"))
    result = world.run(profile, input={"x": 1}, execution=execution)
    assert states(result) == {"a": "skipped", "b": "succeeded", "c": "succeeded"}
    assert world.calls == ["b", "c"]
    assert result.success


@pytest.mark.parametrize("condition", ["true", "input.x == 1", "steps.z.output == 'z'", "task"])
def test_a_true_condition_lets_it_run(condition: str) -> None:
    world = World()
    world.run(agent(do("z"), do("a", condition=condition)), input={"x": 1})
    assert world.calls == ["z", "a"]


def test_a_condition_on_a_name_that_is_not_there_fails_the_step() -> None:
    world = World()
    result = world.run(agent(do("a", condition="input.nothing"), do("b", "a")), input={})
    assert states(result) == {"a": "failed", "b": "blocked"}
    assert world.calls == []
    assert result.run.failure is not None
    assert (result.run.failure.code, result.run.failure.step) == ("EXPRESSION_FAILED", "a")


def test_a_template_that_fails_fails_the_step_before_the_tool_is_called() -> None:
    world = World()
    result = world.run(agent(do("a", input={"x": "{{ input.nothing }}"})), input={})
    assert result.run.failure is not None
    assert result.run.failure.code == "EXPRESSION_FAILED"
    assert world.calls == []


def test_a_skipped_step_has_a_state_and_no_output() -> None:
    world = World()
    told = {"state": "{{ steps.a.state }}", "output": "{{ steps.a.output | default('none') }}"}
    result = world.run(agent(do("a", condition="false"), do("b", input=told)))
    assert world.given["b"] == {"state": "skipped", "output": "none"}
    assert result.success


# Outputs by name


def test_one_name_remembers_the_whole_output_or_its_own_key() -> None:
    world = World()
    world.acts = {"a": 7, "b": {"x": 1, "y": 2}, "c": {"z": 3}}
    profile = agent(
        do("a", outputs=["a"]),
        do("b", outputs=["x"]),
        do("c", outputs=["all"]),
        do("d", input={"seen": "{{ memory }}"}),
    )
    result = world.run(profile)
    assert result.outputs == {"a": 7, "x": 1, "all": {"z": 3}}
    assert world.given["d"] == {"seen": {"a": 7, "x": 1, "all": {"z": 3}}}


def test_several_names_are_keys_of_the_output_and_one_that_lacks_fails_the_step() -> None:
    world = World()
    world.acts = {"a": {"x": 1, "y": 2, "z": 3}, "b": {"x": 5}}
    result = world.run(agent(do("a", outputs=["x", "y"]), do("b", outputs=["x", "w"])))
    assert states(result) == {"a": "succeeded", "b": "failed"}
    assert result.run.failure is not None
    assert (result.run.failure.code, result.run.failure.step) == ("STEP_OUTPUT_MISSING", "b")


def test_a_step_that_fails_for_a_missing_name_remembers_nothing() -> None:
    world = World()
    world.acts = {"a": {"x": 1}, "b": {"x": 5}}
    profile = agent(do("a", outputs=["x"]), do("b", outputs=["x", "w"]))
    assert world.run(profile).outputs == {"x": 1}


# Branches


@pytest.mark.parametrize(("flag", "taken", "other"), [(True, "yes", "no"), (False, "no", "yes")])
def test_a_conditional_runs_one_branch_and_gives_its_outputs_by_step(
    flag: bool, taken: str, other: str
) -> None:
    world = World()
    world.acts = {"yes": 1, "no": 2}
    profile = agent(
        choose("c", "input.flag", [do("yes"), do("more", condition="false")], [do("no")]),
        do("after", "c"),
    )
    result = world.run(profile, input={"flag": flag})
    assert world.calls == [taken, "after"]
    assert other not in states(result)
    assert outputs(result)["c"] == {taken: world.acts[taken]}


def test_a_conditional_without_else_does_nothing_when_false() -> None:
    result = World().run(agent(choose("c", "false", [do("yes")])))
    assert (states(result), result.output) == ({"c": "succeeded"}, {})


def test_a_failure_in_a_branch_is_the_failure_of_the_conditional() -> None:
    world = World()
    world.acts["bad"] = BROKEN
    result = world.run(agent(choose("c", "true", [do("bad"), do("rest")]), do("after", "c")))
    assert states(result) == {
        "bad": "failed",
        "rest": "cancelled",
        "c": "failed",
        "after": "blocked",
    }
    assert result.run.failure is not None
    assert result.run.failure.step == "bad"


# Loops


def test_a_loop_goes_over_items_in_order_with_item_index_and_a_name() -> None:
    world = World()
    world.acts["s"] = iter([10, 20])
    told = {"item": "{{ item }}", "row": "{{ row }}", "index": "{{ index }}"}
    body = [do("s", input=told), do("t", input={"s": "{{ steps.s.output }}"})]
    result = world.run(agent(loop("l", "input", *body, as_="row")), input=["x", {"y": 1}])
    assert world.calls == ["s[0]", "t[0]", "s[1]", "t[1]"]
    assert world.given["s[0]"] == {"item": "x", "row": "x", "index": 0}
    assert world.given["s[1]"] == {"item": {"y": 1}, "row": {"y": 1}, "index": 1}
    assert (world.given["t[0]"], world.given["t[1]"]) == ({"s": 10}, {"s": 20})
    assert result.output == [{"s": 10, "t": "t[0]"}, {"s": 20, "t": "t[1]"}]
    assert list(states(result)) == ["s[0]", "t[0]", "s[1]", "t[1]", "l"]


def test_a_loop_goes_on_while_its_condition_holds() -> None:
    world = World()
    world.acts["s"] = iter([1, 2, 3, 4])
    again = "steps.s is not defined or steps.s.output < 3"
    result = world.run(agent(loop("l", None, do("s"), while_=again)))
    assert result.output == [{"s": 1}, {"s": 2}, {"s": 3}]


def test_over_and_while_together_stop_at_whichever_ends_first() -> None:
    world = World()
    result = world.run(agent(loop("l", "[5, 6, 7, 8]", do("s"), while_="item < 7")))
    assert world.calls == ["s[0]", "s[1]"]
    assert result.success
    world.run(agent(loop("l", "[5, 6]", do("s"), while_="item < 7")))
    assert len(world.calls) == 4


def test_a_loop_over_nothing_gives_an_empty_list() -> None:
    result = World().run(agent(loop("l", "[]", do("s"))))
    assert (result.output, states(result)) == ([], {"l": "succeeded"})


@pytest.mark.parametrize("over", ["input", "[1] | length", "'text'", "{'a': 1}"])
def test_a_loop_over_what_is_no_list_fails(over: str) -> None:
    world = World()
    result = world.run(agent(loop("l", over, do("s"))), input={"a": 1})
    assert result.run.failure is not None
    assert result.run.failure.code == "EXPRESSION_FAILED"
    assert world.calls == []


@pytest.mark.parametrize(("most", "turns"), [(2, 0), (3, 3), (4, 3)])
def test_a_loop_over_more_items_than_turns_does_not_begin(most: int, turns: int) -> None:
    world = World()
    result = world.run(agent(loop("l", "[1, 2, 3]", do("s"), maxIterations=most)))
    assert len(world.calls) == turns
    code = result.run.failure.code if result.run.failure else ""
    assert code == ("" if turns else "LOOP_LIMIT_EXCEEDED")


@pytest.mark.parametrize(("more", "most"), [({"maxIterations": 4}, 4), ({}, 100)])
def test_a_loop_without_end_stops_at_its_limit(more: dict[str, int], most: int) -> None:
    world = World()
    result = world.run(agent(loop("l", None, do("s"), while_="true", **more)))
    assert len(world.calls) == most
    assert result.run.failure is not None
    assert result.run.failure.code == "LOOP_LIMIT_EXCEEDED"


def test_a_loop_that_ends_exactly_at_its_limit_succeeds() -> None:
    result = World().run(agent(loop("l", None, do("s"), while_="index < 4", maxIterations=4)))
    assert result.success


def test_a_failing_turn_ends_the_loop() -> None:
    world = World()
    world.acts["s[1]"] = BROKEN
    result = world.run(agent(loop("l", "[1, 2, 3]", do("s"), do("t", "s")), do("after")))
    assert states(result) == {
        "s[0]": "succeeded",
        "t[0]": "succeeded",
        "s[1]": "failed",
        "t[1]": "blocked",
        "l": "failed",
        "after": "cancelled",
    }


# Nesting


def test_containers_nest_and_each_inner_step_is_durable_under_its_full_id() -> None:
    inner = loop("rows", "item", do("cell", input={"v": "{{ item }}/{{ index }}"}))
    grid = loop("grid", "[[1, 2], [3]]", choose("c", "index < 5", [parallel("p", inner)]))
    world = World()
    result = world.run(agent(grid))
    assert world.calls == ["cell[0][0]", "cell[0][1]", "cell[1][0]"]
    assert world.given["cell[1][0]"] == {"v": "3/0"}
    turn = [{"cell": "cell[0][0]"}, {"cell": "cell[0][1]"}]
    assert result.output == [
        {"c": {"p": {"rows": turn}}},
        {"c": {"p": {"rows": [{"cell": "cell[1][0]"}]}}},
    ]
    kept = world.kept(result.run)
    assert {"cell[0][1]", "rows[1]", "p[0]", "c[1]", "grid"} <= set(kept)
    assert set(kept.values()) == {"succeeded"}


def test_all_six_types_run_in_one_workflow() -> None:
    world = World(agent(do("k"), agent_id="kid"), model=ScriptedModel(["said"]))
    profile = agent(
        prompt("p", "{{ task }}"),
        do("t", input={"p": "{{ steps.p.output }}"}),
        delegate("d", "kid", task="for {{ steps.t.output }}"),
        choose("c", "true", [do("x")]),
        loop("l", "[1]", do("y")),
        parallel("g", do("z")),
    )
    assert outputs(world.run(profile)) == {
        "p": "said",
        "t": "t",
        "d": "k",
        "x": "x",
        "c": {"x": "x"},
        "y[0]": "y[0]",
        "l": [{"y": "y[0]"}],
        "z": "z",
        "g": {"z": "z"},
    }


def test_what_is_told_and_what_is_kept_of_a_run_are_the_same() -> None:
    world = World()
    result = world.run(agent(do("a", outputs=["x"]), do("b", condition="false")), "t", input=[1])
    kept = world.store.run(result.run_id)
    assert kept == result.run
    assert world.store.steps(kept.key) == list(result.steps)
    assert kept.request["input"] == [1]
    assert kept.profile["agentId"] == "worker"

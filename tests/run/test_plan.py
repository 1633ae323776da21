"""The order of a workflow: layers, circles, and what a sequence may depend on."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UsageError
from metier.run.plan import check_order, plan_layers, ready
from metier.values.agents import AgentProfile, WorkflowStep
from run.world import World, agent, do

pytestmark = pytest.mark.slow

Graph = dict[str, list[str]]


def steps(graph: Graph) -> list[WorkflowStep]:
    return [WorkflowStep.of(do(name, *waits)) for name, waits in graph.items()]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Dependencies without a circle, the steps in any order."""
    names = [f"s{number}" for number in range(draw(st.integers(0, 8)))]
    graph: Graph = {
        name: draw(st.lists(st.sampled_from(names[:place]), unique=True)) if place else []
        for place, name in enumerate(names)
    }
    order = draw(st.permutations(names))
    return {name: graph[name] for name in order}


@pytest.mark.invariant(id="INV-PE-002")
@given(graphs())
def test_each_step_stands_in_the_first_layer_after_all_that_it_waits_for(graph: Graph) -> None:
    layers = plan_layers(graph)
    layer_of = {step: number for number, layer in enumerate(layers) for step in layer}
    assert sorted(layer_of) == sorted(graph)
    for step, waits in graph.items():
        assert layer_of[step] == 1 + max((layer_of[one] for one in waits), default=-1)


@given(graphs())
def test_steps_and_mappings_give_the_same_layers_in_the_order_of_the_profile(graph: Graph) -> None:
    layers = plan_layers(steps(graph))
    assert layers == plan_layers(graph)
    place = {name: number for number, name in enumerate(graph)}
    for layer in layers:
        assert layer == sorted(layer, key=place.__getitem__)


@given(graphs(), st.integers())
def test_one_edge_too_many_is_a_circle_that_is_printed_from_step_to_step(
    graph: Graph, seed: int
) -> None:
    edges = [(step, one) for step, waits in graph.items() for one in waits]
    if not edges:
        return
    step, one = random.Random(seed).choice(edges)
    graph[one] = [*graph[one], step]
    with pytest.raises(UsageError, match="depend on each other: ") as raised:
        plan_layers(graph)
    circle = raised.value.message.rpartition(": ")[2].split(" → ")
    assert circle[0] == circle[-1]
    assert len(circle) > 2
    for waiting, awaited in pairwise(circle):
        assert awaited in graph[waiting]


@pytest.mark.invariant(id="INV-PE-002")
@pytest.mark.parametrize(
    ("graph", "told"),
    [
        ({"a": ["c"], "b": ["a"], "c": ["b"]}, "depend on each other"),
        ({"a": ["a"]}, "a → a"),
        ({"a": ["ghost"]}, "'a' depends on 'ghost', which does not exist"),
    ],
)
def test_an_order_that_cannot_be_is_refused_before_anything_runs(graph: Graph, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        plan_layers(graph)
    data = {
        "agentId": "a",
        "description": "d",
        "execution": "parallel",
        "workflow": [do(name, *waits) for name, waits in graph.items()],
    }
    world = World()
    with pytest.raises(UsageError, match=told):
        world.run(AgentProfile.of(data))
    assert world.calls == []
    assert world.store.runs() == []


def test_an_id_that_is_used_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="'a' is used twice"):
        plan_layers([*steps({"a": []}), *steps({"a": []})])


def test_a_diamond_has_three_layers() -> None:
    diamond = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    assert plan_layers(diamond) == [["a"], ["b", "c"], ["d"]]
    assert plan_layers({}) == []
    assert plan_layers({"a": [], "b": [], "c": []}) == [["a", "b", "c"]]


@given(graphs())
def test_a_sequence_may_depend_only_on_what_comes_before(graph: Graph) -> None:
    seen: set[str] = set()
    fits = True
    for name, waits in graph.items():
        fits = fits and seen.issuperset(waits)
        seen.add(name)
    if fits:
        check_order(steps(graph))
        return
    with pytest.raises(UsageError, match="a later step"):
        check_order(steps(graph))


def test_the_order_is_checked_again_when_the_call_says_otherwise() -> None:
    profile = agent(do("a", "b"), do("b"), execution="parallel")
    world = World()
    assert world.run(profile).success
    with pytest.raises(UsageError, match="'a' depends on 'b', a later step"):
        world.run(profile, execution="sequential")
    assert len(world.store.runs()) == 1


def test_only_two_ways_of_execution_are_known() -> None:
    with pytest.raises(UsageError, match="'random' is not an execution mode"):
        ready(agent(do("a")), "random")  # type: ignore[arg-type]  # what is tried

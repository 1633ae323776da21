"""Chains of delegation: how deep, and never round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.run.delegation import DelegationChain
from metier.values.agents import AgentProfile, DelegationSettings

names = st.sampled_from([f"agent-{number}" for number in range(8)])


def chain_of(length: int, max_depth: int) -> DelegationChain:
    return DelegationChain(tuple(f"agent-{number}" for number in range(length)), max_depth)


def test_a_root_has_depth_0() -> None:
    chain = DelegationChain.root("one")
    assert (chain.depth, chain.agents, chain.max_depth) == (0, ("one",), 5)
    assert chain.is_in_chain("one")
    assert not chain.is_in_chain("two")


def test_a_delegate_is_one_deeper_and_keeps_the_agents_above_it() -> None:
    chain = DelegationChain.root("one").extend("two").extend("three")
    assert (chain.depth, chain.agents) == (2, ("one", "two", "three"))


@pytest.mark.invariant(id="INV-DT-001")
@given(st.integers(0, 10), st.integers(1, 12))
def test_a_delegation_is_refused_exactly_when_the_depth_has_reached_the_limit(
    max_depth: int, length: int
) -> None:
    check = chain_of(length, max_depth).can_delegate("new")
    assert check.allowed == (length - 1 < max_depth)
    if not check.allowed:
        assert check.code == "DELEGATION_MAX_DEPTH_EXCEEDED"
        assert str(max_depth) in check.message
        assert "'new'" in check.message


@pytest.mark.invariant(id="INV-DT-001")
def test_with_the_default_the_sixth_nested_delegation_is_refused() -> None:
    chain = DelegationChain.root("agent-0", DelegationSettings().max_depth)
    for number in range(1, 6):
        assert chain.can_delegate(f"agent-{number}").allowed
        chain = chain.extend(f"agent-{number}")
    assert chain.depth == 5
    assert chain.can_delegate("agent-6").code == "DELEGATION_MAX_DEPTH_EXCEEDED"


@pytest.mark.invariant(id="INV-DT-002")
@given(st.lists(names, min_size=1, max_size=5, unique=True), names)
def test_nobody_in_the_chain_is_delegated_to_again(agents: list[str], to: str) -> None:
    check = DelegationChain(tuple(agents), 10).can_delegate(to)
    assert check.allowed == (to not in agents)
    if not check.allowed:
        assert check.code == "DELEGATION_CIRCULAR"
        assert check.message.endswith(" → ".join([*agents, to]))


def test_depth_is_tested_before_circles() -> None:
    assert chain_of(2, 1).can_delegate("agent-0").code == "DELEGATION_MAX_DEPTH_EXCEEDED"
    assert chain_of(2, 2).can_delegate("agent-0").code == "DELEGATION_CIRCULAR"


@pytest.mark.parametrize(
    ("own_depth", "allowed_below"),
    [(None, 4), (0, 0), (1, 1), (4, 4), (10, 4)],
)
def test_a_delegate_that_states_its_own_limit_bounds_only_what_is_below_it(
    own_depth: int | None, allowed_below: int
) -> None:
    chain = DelegationChain.root("root", 5).extend("delegate", own_depth)
    deeper = 0
    while chain.can_delegate(f"below-{deeper}").allowed:
        chain = chain.extend(f"below-{deeper}")
        deeper += 1
    assert deeper == allowed_below


def test_a_limit_in_a_profile_is_known_as_stated() -> None:
    assert not AgentProfile.of({}).delegation.states_depth
    assert AgentProfile.of({"delegation": {"maxDepth": 5}}).delegation.states_depth
    assert AgentProfile.of({"delegation": {"maxDepth": 0}}).delegation.max_depth == 0
    assert AgentProfile.of({}).delegation.to is None
    assert AgentProfile.of({"delegation": {"to": []}}).delegation.to == ()

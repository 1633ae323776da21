"""The registry of agents: whole profiles only, each id once, changes only on purpose."""

import json
from dataclasses import replace
from typing import Any

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.errors import InvalidDocumentError, NotFoundError, UsageError
from metier.index.agents import STANDARD_PROFILE, AgentRegistry, stored_agents
from metier.values.agents import STANDARD, AgentProfile
from metier.values.profiles import profile_flaws
from run.world import agent, do, prompt


def profile(agent_id: str = "one", /, **data: Any) -> AgentProfile:
    return AgentProfile.of({"agentId": agent_id, "description": "Does things.", **data})


@pytest.mark.invariant(id="INV-AGT-001")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"agentId": ""}, "agentId"),
        ({"agentId": "Upper"}, "agentId"),
        ({"agentId": "with_underscore"}, "agentId"),
        ({"agentId": "a" * 51}, "agentId"),
        ({"description": ""}, "description"),
        ({"bogus": 1}, "bogus"),
        ({"priority": 101}, "priority"),
        ({"maxConcurrency": 11}, "maxConcurrency"),
        ({"failureStrategy": "failSafe"}, "failureStrategy"),
        ({"workflow": [{"stepId": "s", "type": "prompt", "config": {}}]}, "prompt"),
        ({"workflow": [{"stepId": "s", "type": "tool", "config": {}}]}, "tool"),
        ({"workflow": [{"stepId": "s", "type": "delegate", "config": {}}]}, "targetAgent"),
        ({"workflow": [do("a"), do("a")]}, "used twice"),
        ({"workflow": [do("a", condition="input.")]}, "cannot be read"),
        ({"workflow": [do("a", "b"), do("b", "a")], "execution": "parallel"}, "→"),
        ({"selectionMetadata": {"exampleTasks": ["x"] * 11}}, "exampleTasks"),
    ],
)
def test_an_invalid_profile_is_refused_with_what_is_wrong_and_nothing_is_kept(
    data: dict[str, Any], told: str
) -> None:
    registry = AgentRegistry()
    with pytest.raises(InvalidDocumentError, match=told) as raised:
        registry.register(AgentProfile.of({"agentId": "one", "description": "d", **data}))
    assert raised.value.code == "AGENT_INVALID"
    assert list(registry) == []
    assert registry.get("one") is None


@pytest.mark.invariant(id="INV-AGT-001")
def test_every_flaw_is_told_at_once() -> None:
    data = {"agentId": "A", "priority": 0, "bogus": 1, "workflow": [do("1"), do("s", "x")]}
    flaws = [one.message for one in profile_flaws({"description": "", **data})]
    assert len(flaws) == 6
    with pytest.raises(InvalidDocumentError) as raised:
        AgentRegistry().register(AgentProfile.of(data))
    for flaw in flaws:
        assert flaw in raised.value.message


def test_the_fields_of_a_profile_made_by_hand_are_checked_too() -> None:
    with pytest.raises(InvalidDocumentError, match="agentId"):
        AgentRegistry().register(AgentProfile(agent_id="Not Legal", description="d"))
    with pytest.raises(InvalidDocumentError, match="description"):
        AgentRegistry().register(AgentProfile(agent_id="legal", description=""))


@pytest.mark.invariant(id="INV-AGT-002")
def test_a_second_registration_raises_and_keeps_the_first() -> None:
    first, second = profile("one", role="first"), profile("one", role="second")
    registry = AgentRegistry([first])
    with pytest.raises(UsageError, match="'one' is already registered"):
        registry.register(second)
    assert registry.get("one") is first
    assert len(registry) == 1


@pytest.mark.invariant(id="INV-AGT-002")
def test_update_replaces_in_place_and_only_what_is_there() -> None:
    registry = AgentRegistry([profile("a"), profile("b"), profile("c")])
    changed = profile("b", role="changed")
    registry.update(changed)
    assert registry.get("b") is changed
    assert [one.agent_id for one in registry] == ["a", "b", "c"]
    with pytest.raises(NotFoundError, match="no agent is called 'd'"):
        registry.update(profile("d"))
    assert not registry.exists("d")


def test_an_invalid_update_changes_nothing() -> None:
    first = profile("a")
    registry = AgentRegistry([first])
    with pytest.raises(InvalidDocumentError):
        registry.update(profile("a", bogus=1))
    assert registry.get("a") is first


def test_of_several_profiles_none_after_the_bad_one_is_taken_silently() -> None:
    with pytest.raises(InvalidDocumentError):
        AgentRegistry([profile("a"), profile("b", bogus=1), profile("c")])


def test_an_unknown_id_gives_nothing() -> None:
    registry = AgentRegistry([profile("a")])
    assert registry.get("b") is None
    assert not registry.exists("b")
    assert not registry.remove("b")
    assert registry.remove("a")
    assert len(registry) == 0


def test_the_list_is_filtered_by_team_and_by_being_enabled() -> None:
    registry = AgentRegistry(
        [profile("a", team="x"), profile("b", enabled=False, team="x"), profile("c")]
    )

    def ids(**filters: Any) -> list[str]:
        return [one.agent_id for one in registry.list(**filters)]

    assert ids() == ["a", "b", "c"]
    assert ids(team="x") == ["a", "b"]
    assert ids(team="x", enabled=True) == ["a"]
    assert ids(enabled=False) == ["b"]


def test_a_profile_cannot_be_changed_after_registration() -> None:
    one = profile("a")
    with pytest.raises(AttributeError):
        one.agent_id = "b"  # type: ignore[misc]  # what is tried
    assert replace(one, agent_id="b").agent_id == "b"


def test_the_bundled_standard_is_valid() -> None:
    registry = AgentRegistry([STANDARD_PROFILE])
    assert registry.exists(STANDARD)
    assert STANDARD_PROFILE.enabled
    assert STANDARD_PROFILE.system_prompt


# Of a catalog


def catalog_with(workspace: Workspace, **files: str) -> Catalog:
    for name, text in files.items():
        workspace.write(f"agents/{name}.yaml", text)
    workspace.write("metier.toml", "")
    workspace.trust()
    catalog = Catalog.open(workspace.root)
    catalog.refresh()
    return catalog


@pytest.mark.invariant(id="INV-AGT-SEL-004")
def test_a_catalog_always_has_standard_its_own_or_the_bundled_one(workspace: Workspace) -> None:
    with catalog_with(workspace, other="agentId: other\ndescription: d\n") as catalog:
        agents = {one.agent_id: one for one in stored_agents(catalog.store)}
        assert set(agents) == {"other", STANDARD}
        assert agents[STANDARD] == STANDARD_PROFILE
        workspace.write("agents/mine.yaml", "agentId: standard\ndescription: Mine.\n")
        catalog.refresh()
        replaced = catalog.agency.require(STANDARD)
        assert replaced.description == "Mine."
        assert [one.agent_id for one in stored_agents(catalog.store)].count(STANDARD) == 1


@pytest.mark.invariant(id="INV-AGT-SEL-004")
def test_an_untrusted_workspace_does_not_replace_standard(workspace: Workspace) -> None:
    workspace.write("agents/mine.yaml", "agentId: standard\ndescription: Mine.\n")
    workspace.write("agents/other.yaml", "agentId: other\ndescription: d\n")
    with Catalog.open(workspace.root, trust="none") as catalog:
        catalog.refresh()
        agents = {one.agent_id: one for one in stored_agents(catalog.store)}
    assert set(agents) == {"other", STANDARD}
    assert agents[STANDARD] == STANDARD_PROFILE


def test_an_invalid_file_is_left_out_as_a_whole_and_the_error_says_so(workspace: Workspace) -> None:
    bad = "agentId: bad\ndescription: d\nbogus: 1\n"
    with catalog_with(workspace, bad=bad, good="agentId: good\ndescription: d\n") as catalog:
        assert catalog.agency.profile("bad") is None
        assert catalog.agency.profile("good") is not None
        with pytest.raises(NotFoundError, match="'bad' is excluded: unknown key 'bogus'"):
            catalog.agency.require("bad")
        with pytest.raises(NotFoundError, match="no agent is called 'goood'") as raised:
            catalog.agency.require("goood")
        assert "'good'" in raised.value.hint


def test_a_file_with_an_unreadable_condition_does_not_stop_the_others(workspace: Workspace) -> None:
    bad = f"agentId: bad\ndescription: d\nworkflow: {json.dumps([do('a', condition='input.')])}\n"
    with catalog_with(workspace, bad=bad, good="agentId: good\ndescription: d\n") as catalog:
        assert {one.agent_id for one in catalog.agency.profiles()} == {"good", STANDARD}
        assert "AG707" in {one.code for one in catalog.issues()}


def test_a_file_with_an_unknown_filter_does_not_stop_the_others(workspace: Workspace) -> None:
    steps = json.dumps([prompt("a", "{{ task | nope }}")])
    bad = f"agentId: bad\ndescription: d\nworkflow: {steps}\n"
    with catalog_with(workspace, bad=bad, good="agentId: good\ndescription: d\n") as catalog:
        assert {one.agent_id for one in catalog.agency.profiles()} == {"good", STANDARD}


def test_a_profile_from_a_file_keeps_everything_that_it_says(workspace: Workspace) -> None:
    text = "agent_id: a\ndescription: d\nfailure-strategy: rollback\nmax_concurrency: 2\n"
    with catalog_with(workspace, a=text) as catalog:
        found = catalog.agency.require("a")
    assert (found.failure_strategy, found.max_concurrency) == ("rollback", 2)


def test_world_profiles_are_valid_for_the_registry() -> None:
    assert AgentRegistry([agent(do("a"))]).get("worker") is not None

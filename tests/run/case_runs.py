"""How the cases about steps, checkpoints and delegation are read: what our functions give."""

from typing import Any

from metier.errors import UsageError
from metier.run.checkpoints import CheckpointStore, resume_context
from metier.run.delegation import DelegationChain
from metier.run.plan import plan_layers
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile, Checkpoint
from run.world import Data, World, agent, delegate, do, prompt, states

Given = dict[str, Any]

# Steps


def read_step(text: str) -> tuple[Data, Any]:
    """A step and its act from a few words: `step-1`, `prompt a`, `a condition 'false'`, …"""
    first, *rest = text.split()
    kinds = {"prompt": prompt, "tool": do, "delegate": None}
    if first in kinds:
        name = rest[0]
        made = delegate(f"to-{name}", name) if first == "delegate" else kinds[first](name)  # type: ignore[misc]
        return made, None
    more: Data = {}
    if "depends" in rest:
        more["dependencies"] = [rest[-1]]
    if "condition" in rest:
        more["condition"] = rest[-1].strip("'")
    error = text.split('"')[1] if '"' in text else "failed"
    fails = "fails" in rest or "raises" in rest
    return {**do(first), **more}, RuntimeError(error) if fails else None


def of_words(texts: list[str], *, given: Given) -> Given:
    """A run of steps that are described in words."""
    read = [read_step(one) for one in texts]
    kids = {one["config"]["targetAgent"] for one, _ in read if one["type"] == "delegate"}
    steps = [one for one, _ in read]
    if kids:  # the same target twice: steps of their own
        steps = [{**one, "stepId": f"d{number}"} for number, one in enumerate(steps)]
    world = World(*(agent(do("k"), agent_id=one) for one in kids))
    world.acts = {one["stepId"]: act for one, act in read if act is not None}
    strategy = given.get("failureStrategy", "failFast")
    result = world.run(
        agent(*steps, failureStrategy={"failSafe": "continueOnError"}.get(strategy, strategy))
    )
    found = states(result)
    failed = [one for one in result.steps if one.state == "failed"]
    facts: Given = {
        "success": [one.state == "succeeded" for one in result.steps] if kids else result.success,
        "stepIds": [one.id for one in result.steps],
        "stepCount": len(result.steps),
        "executed": world.calls,
        "skipped": [name for name, state in found.items() if state == "skipped"],
        "results": len(result.steps),
        "allSucceeded": result.success,
        "failedCount": len(failed),
        "raises": False,
    }
    for one in result.steps:
        facts[one.id] = one.state
        facts[f"{one.id}Executed"] = one.id in world.calls
        if one.failure:
            message = one.failure.message
            facts[f"{one.id}Error"] = message.rpartition(": ")[2]
    return facts


def of_named_tasks(given: Given) -> Given:
    texts = [f"{name} {words}" for name, words in given["tasks"].items()]
    found = of_words(texts, given=given)
    return {name: {"status": found[name]} for name in given["tasks"]}


def of_counted_tasks(given: Given) -> Given:
    at_work, peak = 0, 0

    async def work(_args: Data, _context: ToolContext) -> None:
        nonlocal at_work, peak
        at_work += 1
        peak = max(peak, at_work)
        await World.pause()
        at_work -= 1

    world = World(act=work)
    limit = given["maxConcurrency"]
    steps = [do(f"s{number}") for number in range(given["tasks"])]
    result = world.run(agent(*steps, execution="parallel", maxConcurrency=limit))
    assert peak == limit
    return {
        "executed": len(world.calls),
        "allSucceeded": result.success,
        "peakConcurrencyMax": peak,
    }


def of_layers(given: Given) -> Given:
    try:
        return {"layers": plan_layers(given["steps"]), "valid": True, "rejected": False}
    except UsageError:
        return {"valid": False, "rejected": True}


def of_defaults(_given: Given) -> Given:
    profile = agent(do("a"))
    settings = AgentProfile.of({}).checkpoint
    return {
        "maxConcurrency": profile.max_concurrency,
        "failureStrategy": profile.failure_strategy,
        "enabled": settings.enabled,
        "interval": settings.interval,
        "retentionHours": settings.retention_hours,
        "maximum": settings.maximum,
        "maxDepth": AgentProfile.of({}).delegation.max_depth,
        "maxAbilityTokens": profile.ability_tokens,
    }


# Checkpoints


def checkpoint(index: int, step: str, outputs: Given, number: int = 1, **more: Any) -> Checkpoint:
    fields: Data = {"context": {}, "memory_snapshot": (), "agent_id": "agent-1", **more}
    return Checkpoint(
        checkpoint_id=f"cp-{number}",
        run_id="session-1",
        step_index=index,
        completed_step_id=step,
        step_outputs=outputs,
        created_at=f"2026-01-01T00:00:0{number}+00:00",
        **fields,
    )


def of_one_checkpoint(given: Given) -> Given:
    store = CheckpointStore()
    store.save(
        checkpoint(
            given["stepIndex"],
            given["stepId"],
            given["outputs"],
            context=given["context"],
            agent_id=given["agentId"],
        )
    )
    return store.load("cp-1").to_json()


def of_interval(given: Given) -> Given:
    world = World()
    names = [f"s{number}" for number in given["stepIndexes"]]
    result = world.run(agent(*map(do, names), checkpoint={"interval": given["intervalSteps"]}))
    records = CheckpointStore(world.store).list(result.run_id)
    return {"should": [name in [one.completed_step_id for one in records] for name in names]}


def of_several_checkpoints(given: Given) -> Given:
    store = CheckpointStore()
    empty = store.latest("session-1")
    for number, (index, step, outputs) in enumerate(given["create"], start=1):
        store.save(checkpoint(index, step, outputs, number))
    latest = store.latest("session-1")
    assert latest is not None
    found = {"stepIndex": latest.step_index, "outputs": dict(latest.step_outputs)}
    return {"latest": found, "latestWhenEmpty": empty}


def of_memory(given: Given) -> Given:
    store = CheckpointStore()
    store.save(checkpoint(0, "s", {}, memory_snapshot=given["memorySnapshot"]))
    assert store.load("cp-1").memory_snapshot == given["memorySnapshot"]
    return {"stored": ["memorySnapshot"], "forIncludeMemory": given["includeMemory"]}


def of_resume_position(given: Given) -> Given:
    steps = [read_step(one.removesuffix(" ok")) for one in given["workflow"]]
    world = World()
    world.acts = {one["stepId"]: act for one, act in steps if act is not None}
    interval = {"interval": given["intervalSteps"]}
    result = world.run(agent(*(one for one, _ in steps), checkpoint=interval))
    latest = CheckpointStore(world.store).latest(result.run_id)
    assert latest is not None
    return {"resumeStartsAt": resume_context(latest).resume_from_step}


def of_parallel_resume(given: Given) -> Given:
    world = World()
    world.acts["s1"] = iter([RuntimeError("once"), 1])
    steps = [do("s0"), do("s1", "s0")]
    result = world.run(agent(*steps), execution="parallel")
    world.calls.clear()
    assert world.resume(result.run_id).success
    return {"s0Executed": given["checkpointAfter"] in world.calls}


# Delegation


def chain_of(given: Given) -> DelegationChain:
    if "parent" in given:
        above = given["parent"]
        parent = DelegationChain(tuple(above["delegationChain"]), above["maxDepth"])
        return parent.extend(given["agentId"])
    if "chain" in given:
        return DelegationChain(tuple(given["chain"]), given["maxDepth"])
    return DelegationChain.root(given["agentId"], given["maxDepth"])


def of_chain(given: Given) -> Given:
    chain = chain_of(given)
    facts: Given = {
        "currentDepth": chain.depth,
        "maxDepth": chain.max_depth,
        "delegationChain": list(chain.agents),
    }
    if "to" in given:
        check = chain.can_delegate(given["to"])
        facts |= {"allowed": check.allowed, "code": check.code, "message": check.message or None}
    return {**facts, "raises": False}


def of_depths(given: Given) -> Given:
    def allowed(depth: int) -> bool:
        chain = DelegationChain(tuple(f"a{n}" for n in range(depth + 1)), given["maxDepth"])
        return chain.can_delegate("new").allowed

    return {"allowed": [allowed(one) for one in given["currentDepths"]]}


def of_unknown_target(given: Given) -> Given:
    result = World().run(agent(delegate("d", given["to"])))
    assert result.run.failure is not None
    return {"success": result.success, "errorCode": result.run.failure.code, "raises": False}

"""The six kinds of steps: what each of them does."""

import itertools
import json
from collections.abc import Collection
from hashlib import blake2b
from typing import Any

from metier.run.live import Attempt, LiveRun
from metier.run.prompt import ask_model
from metier.run.services import StepFailedError
from metier.run.tool import ToolContext
from metier.run.undo import roll_back
from metier.run.workflow import DEFAULT_ITERATIONS, Group, ReadyStep
from metier.values.agents import ToolResult
from metier.values.models import Usage
from metier.values.runs import Failure

_KINDS_OF_TOOL_FAILURE = {"TOOL_TIMEOUT": "timeout"}
_ONE_TOOL_CALL = Usage(tool_calls=1)


async def prompt(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, attempt: int
) -> Any:
    """Ask the model, with what the step needs before the system prompt."""
    key = one.id + suffix
    asked = one.body(names)
    prepared = await live.prepared(one, key, asked)
    wanted = one.step.config.get("tools")
    may_call = live.plan.offered if wanted is None else _both(wanted, live.tools)
    offered = live.services.tools.specs(may_call)
    names_offered = [tool.name for tool in offered]
    calls = itertools.count(1)
    return await ask_model(
        live.services.model(live.run.request.get("model") or live.profile.model),
        live.profile,
        one.step.config,
        f"{prepared.text}\n\n{live.profile.system_prompt}".strip(),
        asked,
        offered,
        call=lambda name, args: _call(
            live, key, name, args, attempt, names_offered, _which(next(calls), name, args)
        ),
        used=lambda usage: live.ledger.add_usage(key, usage),
        tell=lambda kind, **data: live.tell(kind, key, **data),
    )


async def tool(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, attempt: int
) -> Any:
    key = one.id + suffix
    if live.requires or one.step.requires:
        await live.prepared(one, key, live.run.task)
    result = await _call(live, key, one.step.config["tool"], one.body(names), attempt, live.tools)
    if not result.success:
        raise StepFailedError(_of_tool(result))
    return result.output


async def conditional(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, _attempt: int
) -> Any:
    assert one.test is not None
    await _required(live, one, suffix)
    branch = one.groups["then" if one.test(names) else "else"]
    return await _children(live, one, branch, names, suffix)


async def parallel(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, _attempt: int
) -> Any:
    await _required(live, one, suffix)
    return await _children(live, one, one.groups["steps"], names, suffix)


async def loop(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, _attempt: int
) -> Any:
    """One turn for each item, or as long as the condition holds; what each turn gave."""
    config, group = one.step.config, one.groups["steps"]
    await _required(live, one, suffix)
    most = config.get("maxIterations", DEFAULT_ITERATIONS)
    items = _items(live, one, names, suffix, most)
    live.ledger.forget(one)
    turns: list[Any] = []
    while items is None or len(turns) < len(items):
        turn = len(turns)
        inner = live.names_of_turn(one, names, turn, items)
        if one.test is not None and not one.test(inner):
            break
        if turn >= most:
            raise StepFailedError(Failure("LOOP_LIMIT_EXCEEDED", f"more than {most} turns"))
        live.ledger.forget(one)
        turns.append(await _children(live, one, group, inner, suffix, f"[{turn}]"))
    return turns


def _items(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, most: int
) -> list[Any] | None:
    """What a loop goes over, the same in every try; None for one that has only a condition."""
    key = one.id + suffix
    if one.over is None or (known := live.ledger.items(key)) is not None:
        return None if one.over is None else known
    items = one.over(names)
    if not isinstance(items, list | tuple):
        message = f"'over' gives {type(items).__name__}, not a list"
        raise StepFailedError(Failure("EXPRESSION_FAILED", message))
    if len(items) > most:
        message = f"{len(items)} items, at most {most} turns"
        raise StepFailedError(Failure("LOOP_LIMIT_EXCEEDED", message))
    live.ledger.keep_items(key, items)
    return list(items)


async def _required(live: LiveRun, one: ReadyStep, suffix: str) -> None:
    """See to it that what a step with steps inside requires is provided."""
    if one.step.requires:
        await live.prepared(one, one.id + suffix, live.run.task)


async def _children(
    live: LiveRun,
    one: ReadyStep,
    group: Group,
    names: dict[str, Any],
    suffix: str,
    turn: str = "",
) -> Any:
    """Run the steps inside a step, of a loop in one turn; their outputs by id."""
    inner = suffix + turn
    failure = _being_undone(live, one, group, suffix, inner)
    failure = failure or await live.group(group, names, inner)
    if failure is not None:
        if group.strategy == "rollback":
            await _undo(live, one, group, suffix, inner, failure)
        raise StepFailedError(failure)
    records = {child.id: live.ledger.records.get(child.id + inner) for child in group.steps}
    return {
        step: record.output
        for step, record in records.items()
        if record is not None and record.state == "succeeded"
    }


def _being_undone(
    live: LiveRun, one: ReadyStep, group: Group, suffix: str, inner: str
) -> Failure | None:
    """Why these steps are being undone, if an earlier try had begun to."""
    failure = live.ledger.records[one.id + suffix].failure
    if failure is None:
        return None
    name, bracket, rest = failure.step.partition("[")
    is_here = name in _inside(group) and f"{bracket}{rest}".startswith(inner)
    return failure if is_here else None


async def _undo(
    live: LiveRun, one: ReadyStep, group: Group, suffix: str, inner: str, failure: Failure
) -> None:
    key = one.id + suffix
    if live.ledger.records[key].failure is None:
        await live.ledger.begin_rollback(key, failure)
    await roll_back(live, group, inner)
    live.ledger.end_rollback(key, _inside(group), inner)


def _inside(group: Group) -> set[str]:
    return {step.id for child in group.steps for step in child.walk()}


# What steps share


async def _call(
    live: LiveRun,
    key: str,
    name: str,
    args: Any,
    attempt: int,
    allow: Collection[str],
    which: str = "",
) -> ToolResult:
    """Call a tool; `which` tells the calls of one step apart."""
    live.ledger.check_claim()
    run, generation = live.run, live.ledger.records[key].generation
    undone = f"/{generation}" if generation else ""
    work = f"{run.run_id}/{key}{undone}{which}"
    context = ToolContext(run.run_id, key, run.agent_id, attempt, work)
    if live.look is not None:
        live.tell("tool.called", key, tool=name)
    result = await live.services.tools.execute(name, args, context=context, allow=allow)
    live.ledger.add_usage(key, _ONE_TOOL_CALL)
    if live.look is not None:
        said = {"error": result.error, "errorCode": result.error_code} if result.error else {}
        took = result.duration_ms
        live.tell("tool.returned", key, tool=name, success=result.success, durationMs=took, **said)
    return result


def _which(number: int, name: str, args: Any) -> str:
    """Tells the calls of a model in one step apart: the same in every attempt is the same work."""
    said = json.dumps([name, args], sort_keys=True, default=repr)
    return f"/{number}-{blake2b(said.encode(), digest_size=4).hexdigest()}"


def _both(wanted: Collection[str], allowed: Collection[str]) -> list[str]:
    return [name for name in wanted if name in allowed]


def _of_tool(result: ToolResult) -> Failure:
    code = result.error_code or "TOOL_EXECUTION_ERROR"
    kind = _KINDS_OF_TOOL_FAILURE.get(code, "")
    return Failure(code, result.error or "", kind=kind, retryable=result.retryable)


def kinds(delegate: Attempt) -> dict[str, Attempt]:
    """Every kind of step by its name; delegating takes a runner."""
    return {
        "prompt": prompt,
        "tool": tool,
        "conditional": conditional,
        "loop": loop,
        "parallel": parallel,
        "delegate": delegate,
    }

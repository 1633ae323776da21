"""The six kinds of steps: what each of them does."""

from collections.abc import Collection, Mapping
from typing import Any

from metier.run.live import Attempt, LiveRun
from metier.run.prompt import ask_model
from metier.run.services import Prepared, StepFailedError
from metier.run.tool import ToolContext
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
    prepared = await _prepared(live, one, key, asked)
    wanted = one.step.config.get("tools")
    offered = live.services.tools.specs(live.tools if wanted is None else _both(wanted, live.tools))
    try:
        answer = await ask_model(
            live.services.model(live.run.request.get("model") or live.profile.model),
            live.profile,
            one.step.config,
            f"{prepared.text}\n\n{live.profile.system_prompt}".strip(),
            asked,
            offered,
            call=lambda name, args: _call(live, key, name, args, attempt),
            used=lambda usage: live.ledger.add_usage(key, usage),
            tell=lambda kind, **data: live.tell(kind, key, **data),
        )
    except StepFailedError:
        _record(live, prepared, success=False)
        raise
    _record(live, prepared, success=True)
    return answer


async def tool(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, attempt: int
) -> Any:
    key = one.id + suffix
    prepared = await _prepared(live, one, key, live.run.task) if one.step.requires else None
    result = await _call(live, key, one.step.config["tool"], one.body(names), attempt)
    if prepared is not None:
        _record(live, prepared, success=result.success)
    if not result.success:
        raise StepFailedError(_of_tool(result))
    return result.output


async def conditional(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, _attempt: int
) -> Any:
    assert one.test is not None
    branch = one.groups["then" if one.test(names) else "else"]
    return await _children(live, branch, names, suffix)


async def parallel(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, _attempt: int
) -> Any:
    return await _children(live, one.groups["steps"], names, suffix)


async def loop(
    live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, _attempt: int
) -> Any:
    """One turn for each item, or as long as the condition holds; what each turn gave."""
    config, group = one.step.config, one.groups["steps"]
    most = config.get("maxIterations", DEFAULT_ITERATIONS)
    items = _items(one, names, most)
    called = config.get("as") or "item"
    turns: list[Any] = []
    while items is None or len(turns) < len(items):
        turn = len(turns)
        inner = {**names, "index": turn}
        if items is not None:
            inner["item"] = inner[called] = items[turn]
        if one.test is not None and not one.test(inner):
            break
        if turn >= most:
            raise StepFailedError(Failure("LOOP_LIMIT_EXCEEDED", f"more than {most} turns"))
        turns.append(await _children(live, group, inner, f"{suffix}[{turn}]"))
    return turns


def _items(one: ReadyStep, names: dict[str, Any], most: int) -> list[Any] | None:
    """What a loop goes over; None for one that has only a condition."""
    if one.over is None:
        return None
    items = one.over(names)
    if not isinstance(items, list | tuple):
        message = f"'over' gives {type(items).__name__}, not a list"
        raise StepFailedError(Failure("EXPRESSION_FAILED", message))
    if len(items) > most:
        message = f"{len(items)} items, at most {most} turns"
        raise StepFailedError(Failure("LOOP_LIMIT_EXCEEDED", message))
    return list(items)


async def _children(live: LiveRun, group: Group, names: dict[str, Any], suffix: str) -> Any:
    """Run the steps inside a step; their outputs by id."""
    failure = await live.group(group, names, suffix)
    if failure is not None:
        if group.strategy == "rollback":
            await live.roll_back(group, suffix)
        raise StepFailedError(failure._replace(retryable=failure.retryable))
    records = {one.id: live.ledger.records.get(one.id + suffix) for one in group.steps}
    return {
        step: record.output
        for step, record in records.items()
        if record is not None and record.state == "succeeded"
    }


# What steps share


async def _prepared(live: LiveRun, one: ReadyStep, key: str, task: str) -> Prepared:
    """What the step is handed: what it was handed before, if it was."""
    kept = live.ledger.records[key].input
    if isinstance(kept, Mapping):
        record = {name: value for name, value in kept.items() if name != "text"}
        return Prepared(kept["text"], record, tuple(record.get("providers") or ()))
    prepared = live.services.prepare(live.profile, one.step, task)
    if prepared.failure is not None:
        raise StepFailedError(prepared.failure)
    if prepared.text or prepared.record:
        await live.ledger.keep_input(key, prepared)
        live.tell("step.prepared", key, **prepared.record)
    return prepared


def _record(live: LiveRun, prepared: Prepared, *, success: bool) -> None:
    for one in prepared.providers:
        live.services.record_outcome(one, success=success)


async def _call(live: LiveRun, key: str, name: str, args: Any, attempt: int) -> ToolResult:
    run = live.run
    context = ToolContext(run.run_id, key, run.agent_id, attempt, f"{run.run_id}/{key}")
    if live.look is not None:
        live.tell("tool.called", key, tool=name)
    result = await live.services.tools.execute(name, args, context=context, allow=live.tools)
    live.ledger.add_usage(key, _ONE_TOOL_CALL)
    if live.look is not None:
        said = {"error": result.error, "errorCode": result.error_code} if result.error else {}
        live.tell("tool.returned", key, tool=name, success=result.success, **said)
    return result


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

"""One step: its attempts, and the work of each kind of step."""

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from metier.core.templates import OverdueError, TemplateError
from metier.errors import MetierError, StoreError
from metier.run.ledger import is_inside
from metier.run.live import LiveRun, Names, time_limit
from metier.run.plan import DEFAULT_ITERATIONS, Group, ReadyStep
from metier.run.prompt import ask_model
from metier.run.services import Prepared, RunStoppedError, StepFailedError
from metier.run.tool import ToolContext
from metier.values.agents import ToolResult
from metier.values.runs import Failure, StepRecord, StepState, Usage

Work = Callable[[LiveRun, ReadyStep, Names, str, int], Awaitable[Any]]
"""One attempt at one kind of step; raises `StepFailedError`."""
_GRACE_SECONDS = 1.0
_LONGEST_TEXT = 300
_LONGEST_ARGS = 4_000
_ONE_TOOL_CALL = Usage(tool_calls=1)


class StepRunner:
    """Executes steps of all kinds, with conditions, attempts and time limits."""

    def __init__(self, delegate: Work, more: Mapping[str, Work]) -> None:
        """`more` are kinds of steps that no profile in a file has."""
        self._kinds: dict[str, Work] = {
            **more,
            "prompt": _prompt,
            "tool": _tool,
            "conditional": _conditional,
            "loop": _loop,
            "parallel": _parallel,
            "delegate": delegate,
        }

    async def __call__(
        self, live: LiveRun, step: ReadyStep, names: Names, suffix: str
    ) -> Failure | None:
        """Run a step with all its attempts; why it failed, or None."""
        key = step.id + suffix
        ledger = live.ledger
        if suffix:
            live.scopes[key] = names
        if ledger.done(key) is not None:
            live.restore_step(step, names, suffix)
            return None
        try:
            ledger.count()
        except RunStoppedError:
            live.mark(key, "cancelled")
            raise
        fresh = ledger.fresh(key, "running")
        try:
            if step.condition is not None and not step.condition(names):
                await _end(live, step, fresh, "skipped")
                return None
        except OverdueError:
            return await _wait_for_timeout()  # type: ignore[no-any-return]
        except TemplateError as error:
            failure = Failure("EXPRESSION_FAILED", f"condition of '{key}': {error}", step=key)
            await _end(live, step, fresh, "failed", failure=failure)
            return failure
        ledger.begin(fresh)
        live.emit("step.started", key, type=step.kind)
        result = await self._attempts(live, step, names, suffix)
        if step.kind == "prompt" or step.declared.requires:
            _record_outcome(live, key, success=not result)
        return result

    async def _attempts(
        self, live: LiveRun, step: ReadyStep, names: Names, suffix: str
    ) -> Failure | None:
        key, policy = step.id + suffix, step.declared.retry
        attempt = 1
        while (failure := await self._attempt(live, step, names, suffix, attempt)) is not None:
            if attempt >= policy.max_attempts or not failure.may_retry(policy.retry_on):
                break
            wait = policy.backoff_ms / 1e3 * policy.backoff_multiplier ** (attempt - 1)
            live.emit("step.retried", key, attempt=attempt, wait=wait, error=failure.to_json())
            await _interruptible(live, key, asyncio.sleep(wait))
            attempt += 1
        if failure is None:
            return None
        failure = failure._replace(step=failure.step or key)
        record = live.ledger.records[key]
        await _end(live, step, record, "failed", attempt, failure=failure)
        return failure

    async def _attempt(
        self, live: LiveRun, step: ReadyStep, names: Names, suffix: str, attempt: int
    ) -> Failure | None:
        key = step.id + suffix
        limit: asyncio.Timeout | None = None
        if live.ledger.is_lease_over:
            await live.ledger.check_claim()
        try:
            work = self._kinds[step.kind](live, step, names, suffix, attempt)
            if step.timeout is None:
                output = await _interruptible(live, key, work)
            else:
                async with time_limit(step.timeout) as limit:
                    output = await _interruptible(live, key, work)
            live.ledger.remember(step, output)
        except RunStoppedError as error:
            record = live.ledger.records[key]
            attempt += record.attempts
            ended = live.ledger.timed(
                record, state="failed", attempts=attempt, output=None, failure=error.failure
            )
            live.ledger.note(ended)
            live.emit("step.failed", key, durationMs=None, error=error.failure.to_json())
            raise
        except StoreError:
            raise
        except Exception as error:
            is_over = limit is not None and limit.expired()
            return _failure_of(error, key, step.timeout if is_over else None)
        record = live.ledger.records[key]
        await _end(live, step, record, "succeeded", attempt, output)
        return None


async def _interruptible(live: LiveRun, key: str, work: Awaitable[Any]) -> Any:
    try:
        try:
            return await work
        except OverdueError:
            return await _wait_for_timeout()
    except asyncio.CancelledError:
        live.ledger.note(live.ledger.timed(live.ledger.records[key], state="cancelled"))
        live.emit("step.cancelled", key)
        raise


async def _wait_for_timeout() -> Any:
    """Wait for the time limit that a template has exceeded: rendering cannot be stopped."""
    await asyncio.sleep(_GRACE_SECONDS)
    raise TimeoutError


async def _end(
    live: LiveRun,
    step: ReadyStep,
    before: StepRecord,
    state: StepState,
    attempts: int = 0,
    output: Any = None,
    failure: Failure | None = None,
) -> None:
    """Store the end of a step; `before` is its record so far."""
    record, is_checkpoint = await live.ledger.end(step, before, state, attempts, output, failure)
    if live.on_event is not None:
        error, took = record.failure and record.failure.to_json(), record.duration_ms
        live.emit(f"step.{record.state}", record.id, durationMs=took, error=error)
        if is_checkpoint:
            checkpoint = f"{live.run.run_id}:{record.seq}"
            live.emit("checkpoint.saved", record.id, checkpointId=checkpoint)


def _failure_of(error: Exception, step: str, timeout: float | None) -> Failure:
    """`timeout` is the step's own limit, if it is over."""
    if isinstance(error, StepFailedError):
        return error.failure
    if isinstance(error, MetierError):
        return Failure(error.code, error.message)
    if isinstance(error, TemplateError):
        return Failure("EXPRESSION_FAILED", f"'{step}': {error}")
    is_late = isinstance(error, TimeoutError)
    if is_late and timeout is not None:
        message = f"'{step}' took more than {timeout:g} seconds"
        return Failure("STEP_TIMEOUT", message, kind="timeout", retryable=True)
    text = " ".join(str(error).split())[:_LONGEST_TEXT]
    message = f"'{step}': {type(error).__name__}: {text}".removesuffix(": ")
    return Failure("STEP_FAILED", message, kind="timeout" if is_late else "", retryable=is_late)


# What is injected


async def prepared(live: LiveRun, step: ReadyStep, key: str, text: str) -> Prepared:
    """What is injected into a step that asks `text`; on a resume, the same as before."""
    stored = live.ledger.records[key].input
    if isinstance(stored, dict) and "text" in stored and "refused" not in stored:
        return Prepared(stored["text"], stored, tuple(stored.get("providers") or ()))
    found = live.services.prepare(live.profile, step.declared, text, live.run.task)
    rejected = {"refused": found.failure.code} if found.failure is not None else {}
    asked = {"prompt": text} if step.kind == "prompt" else {}
    await live.ledger.keep_input(key, {**found.record, **rejected, **asked, "text": found.text})
    live.emit("step.prepared", key, **found.record)
    if found.failure is not None:
        raise StepFailedError(found.failure)
    return found


def _record_outcome(live: LiveRun, key: str, *, success: bool) -> None:
    """Add the outcome of a step to the history of the providers whose text was injected."""
    stored = live.ledger.records[key].input
    record = stored if isinstance(stored, dict) else {}
    left_out = record.get("providersLeftOut") or ()
    for one in record.get("providers") or ():
        if one not in left_out:
            with suppress(Exception):  # a history that cannot be written stops no run
                live.services.record_outcome(one, success=success)


# The kinds of steps


async def _prompt(live: LiveRun, step: ReadyStep, names: Names, suffix: str, attempt: int) -> Any:
    key = step.id + suffix
    asked = step.body(names)
    injected = await prepared(live, step, key, asked)
    wanted = step.declared.config.get("tools")
    named = live.plan.offered if wanted is None else wanted
    offered = live.tools.specs(name for name in named if name in live.plan.tools)
    allowed = [tool.name for tool in offered]
    calls = itertools.count(1)
    return await ask_model(
        live.services.model(
            live.run.request.get("model") or live.profile.model, live.profile.agent_id
        ),
        live.profile,
        step.declared.config,
        f"{injected.text}\n\n{live.profile.system_prompt}".strip(),
        asked,
        offered,
        call=lambda name, args: _noted_call(
            live, key, name, args, attempt, allowed, _call_id(next(calls), name, args)
        ),
        shown=live.tools.shown,
        used=lambda usage: live.ledger.add_usage(key, usage),
        emit=lambda kind, **data: _note_model(live, key, kind, data),
    )


def _note_model(live: LiveRun, key: str, kind: str, data: Mapping[str, Any]) -> None:
    """Tell listeners what a model does, and record its answers and failures."""
    if kind in ("model.answered", "model.failed"):
        live.ledger.add_call(key, {**data, "at": time.time()})
    live.emit(kind, key, **data)


async def _tool(live: LiveRun, step: ReadyStep, names: Names, suffix: str, attempt: int) -> Any:
    key, name = step.id + suffix, step.declared.config["tool"]
    if live.plan.requires or step.declared.requires:
        await prepared(live, step, key, live.run.task)
    result = await _call(live, key, name, step.body(names), attempt, live.plan.tools)
    if result.success:
        return result.output
    code, message = result.error_code or "TOOL_EXECUTION_ERROR", result.error or ""
    kind = "timeout" if code == "TOOL_TIMEOUT" else ""
    denied = name if code == "TOOL_PERMISSION_DENIED" else ""
    raise StepFailedError(Failure(code, message, kind, result.retryable, tool=denied))


async def _conditional(
    live: LiveRun, step: ReadyStep, names: Names, suffix: str, _attempt: int
) -> Any:
    assert step.test is not None
    if step.declared.requires:
        await prepared(live, step, step.id + suffix, live.run.task)
    branch = step.groups["then" if step.test(names) else "else"]
    return await _children(live, step, branch, names, suffix)


async def _parallel(
    live: LiveRun, step: ReadyStep, names: Names, suffix: str, _attempt: int
) -> Any:
    if step.declared.requires:
        await prepared(live, step, step.id + suffix, live.run.task)
    return await _children(live, step, step.groups["steps"], names, suffix)


async def _loop(live: LiveRun, step: ReadyStep, names: Names, suffix: str, _attempt: int) -> Any:
    """One iteration for each item, or while the condition holds; the output of each."""
    if step.declared.requires:
        await prepared(live, step, step.id + suffix, live.run.task)
    most = step.declared.config.get("maxIterations", DEFAULT_ITERATIONS)
    items = _items(live, step, names, suffix, most)
    live.ledger.forget(step)
    outputs: list[Any] = []
    while items is None or len(outputs) < len(items):
        number = len(outputs)
        inner = live.names_of_iteration(step, names, number, items)
        if step.test is not None and not step.test(inner):
            break
        if number >= most:
            raise StepFailedError(Failure("LOOP_LIMIT_EXCEEDED", f"more than {most} iterations"))
        live.ledger.forget(step)
        group = step.groups["steps"]
        outputs.append(await _children(live, step, group, inner, suffix, f"[{number}]"))
    return outputs


def _items(
    live: LiveRun, step: ReadyStep, names: Names, suffix: str, most: int
) -> list[Any] | None:
    """What a loop iterates over, the same in every attempt; None for a `while` loop."""
    key = step.id + suffix
    if step.over is None or (known := live.ledger.items(key)) is not None:
        return None if step.over is None else known
    items = step.over(names)
    if not isinstance(items, list | tuple):
        message = f"'over' gives {type(items).__name__}, not a list"
        raise StepFailedError(Failure("EXPRESSION_FAILED", message))
    if len(items) > most:
        message = f"{len(items)} items, at most {most} iterations"
        raise StepFailedError(Failure("LOOP_LIMIT_EXCEEDED", message))
    live.ledger.keep_items(key, items)
    return list(items)


async def _children(
    live: LiveRun, step: ReadyStep, group: Group, names: Names, suffix: str, iteration: str = ""
) -> Any:
    """Run the steps inside a step; their outputs by id."""
    key, inner, ledger = step.id + suffix, suffix + iteration, live.ledger
    before = ledger.records[key].failure  # of an attempt that was rolling these steps back
    failure = before if before and is_inside(before.step, _ids(group), inner) else None
    failure = failure or await live.group(group, names, inner)
    if failure is not None:
        if group.strategy == "rollback":
            if ledger.records[key].failure is None:
                await ledger.begin_rollback(key, failure)
            await live.roll_back(group, inner)
            ledger.end_rollback(key, _ids(group), inner)
        raise StepFailedError(failure)
    records = {child.id: ledger.records.get(child.id + inner) for child in group.steps}
    return {
        step: record.output
        for step, record in records.items()
        if record is not None and record.state == "succeeded"
    }


def _ids(group: Group) -> set[str]:
    return {step.id for child in group.steps for step in child.walk()}


# Tool calls


async def _call(
    live: LiveRun,
    key: str,
    name: str,
    args: Any,
    attempt: int,
    allow: Collection[str],
    call_id: str = "",
) -> ToolResult:
    """Call a tool; `call_id` tells the calls of one step apart."""
    if live.ledger.is_lease_over:
        await live.ledger.check_claim()
    run, generation = live.run, live.ledger.records[key].generation
    again = f"/{generation}" if generation else ""
    context = ToolContext(
        run.run_id, key, run.agent_id, attempt, f"{run.run_id}/{key}{again}{call_id}"
    )
    if live.on_event is not None:
        live.emit("tool.called", key, tool=name)
    result = await live.tools.execute(name, args, context=context, allow=allow)
    live.ledger.add_usage(key, _ONE_TOOL_CALL)
    if live.on_event is not None:
        error = {"error": result.error, "errorCode": result.error_code} if result.error else {}
        took, success = result.duration_ms, result.success
        live.emit("tool.returned", key, tool=name, success=success, durationMs=took, **error)
    return result


async def _noted_call(
    live: LiveRun,
    key: str,
    name: str,
    args: Any,
    attempt: int,
    allow: Collection[str],
    call_id: str,
) -> ToolResult:
    """Call a tool that a model wants, and record the call."""
    result = await _call(live, key, name, args, attempt, allow, call_id)
    facts = {"tool": name, "args": _short(args), "success": result.success}
    error = {"error": result.error} if result.error else {}
    call = {**facts, "durationMs": result.duration_ms, **error, "at": time.time()}
    live.ledger.add_call(key, call)
    return result


def _short(args: Any) -> str:
    """Arguments as JSON; the beginning of very long ones."""
    text = json.dumps(args, ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST_ARGS else f"{text[:_LONGEST_ARGS]}…"


def _call_id(number: int, name: str, args: Any) -> str:
    """The same in every attempt."""
    text = json.dumps([name, args], sort_keys=True, default=repr)
    return f"/{number}-{blake2b(text.encode(), digest_size=4).hexdigest()}"

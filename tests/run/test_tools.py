"""The executor: every outcome of a tool is a value that nobody can change."""

import asyncio
from typing import Any

import pytest

from metier.errors import UsageError
from metier.run.tool import Tool, ToolContext, ToolError, function_tool, schema_tool
from metier.run.tools import ToolExecutor
from metier.values.agents import ToolResult
from run.sample_tools import Recorder, giving

PERSON = {"properties": {"name": {"type": "string"}}, "required": ["name"]}


def run(
    tool: Any, args: Any, *, name: str | None = None, allow: Any = None, consent: Any = ()
) -> ToolResult:
    """The result of one call of one tool."""
    executor = ToolExecutor(consent=consent)
    added = executor.register(tool)
    return asyncio.run(executor.execute(name or added.name, args, allow=allow))


def raising(error: BaseException) -> Tool:
    async def fail() -> None:
        raise error

    return function_tool(fail)


def nothing(args: dict[str, Any]) -> None:
    """Do nothing."""


# Which tools there are


def test_a_function_becomes_a_tool_under_its_name() -> None:
    executor = ToolExecutor()

    async def greet(name: str) -> str:
        """Says hello."""
        return f"Hello {name}"

    executor.register(greet)
    (spec,) = executor.specs()
    assert (spec.name, spec.description) == ("greet", "Says hello.")
    assert asyncio.run(executor.execute("greet", {"name": "Ada"})).output == "Hello Ada"


def test_a_name_that_is_taken_is_refused_and_the_first_tool_stays() -> None:
    executor = ToolExecutor()
    executor.register(giving(1))
    with pytest.raises(UsageError, match="already a tool 'give'"):
        executor.register(giving(2))
    assert asyncio.run(executor.execute("give", {})).output == 1


@pytest.mark.parametrize("name", ["", "a b", "a/b", "é", "a\n", "x" * 65, "a.b"])
def test_a_name_that_models_do_not_accept_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid tool name"):
        schema_tool(name, {}, nothing)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": 7},
        {"properties": 3},
        {"properties": {"a": {"type": "text"}}},
        {"properties": {"a": {"pattern": "("}}},
        ["type"],
    ],
)
def test_a_schema_that_is_none_is_refused(schema: Any) -> None:
    with pytest.raises(UsageError, match="tool 'one': its schema"):
        schema_tool("one", schema, nothing)


def test_a_tool_is_available_when_it_is_registered_and_the_agent_lists_it() -> None:
    executor = ToolExecutor()
    executor.register(giving(1))
    assert executor.is_tool_available("give")
    assert executor.is_tool_available("give", ["give"])
    assert not executor.is_tool_available("give", [])
    assert not executor.is_tool_available("take")


def test_what_is_lent_stays_until_the_last_lender_takes_it_back() -> None:
    executor = ToolExecutor()
    one, two = schema_tool("x", {}, lambda _args: 1), schema_tool("x", {}, lambda _args: 2)
    assert (executor.lend(one), executor.lend(two)) == (True, True)
    executor.take_back(one)
    assert executor.is_tool_available("x")
    assert asyncio.run(executor.execute("x", {})).output == 2
    executor.take_back(two)
    assert not executor.is_tool_available("x")


def test_a_tool_that_is_registered_is_not_hidden_by_one_that_is_lent() -> None:
    executor = ToolExecutor()
    executor.register(schema_tool("x", {}, lambda _args: "own"))
    assert not executor.lend(schema_tool("x", {}, lambda _args: "lent"))
    assert asyncio.run(executor.execute("x", {})).output == "own"


def test_specs_come_in_the_order_asked_for_without_unknown_names() -> None:
    executor = ToolExecutor()
    for name in ("a", "b", "c"):
        executor.register(schema_tool(name, {}, nothing))
    assert [one.name for one in executor.specs(["c", "x", "a", "c"])] == ["c", "a"]
    assert [one.name for one in executor.specs()] == ["a", "b", "c"]


def test_nobody_can_change_the_schema_of_a_tool() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    tool = schema_tool("one", schema, nothing)
    schema["properties"]["a"]["type"] = "integer"
    with pytest.raises(TypeError):
        tool.schema["properties"]["a"]["type"] = "integer"
    assert run(tool, {"a": "text"}).success


@pytest.mark.invariant(id="INV-TOOL-003")
@pytest.mark.parametrize("name", ["nope", "", "x" * 100_000, "\ud800", None, 7, ["give"]])
def test_an_unknown_tool_is_an_error_value_with_its_name(name: Any) -> None:
    executor = ToolExecutor()
    executor.register(giving(1))
    result = asyncio.run(executor.execute(name, {}))
    assert (result.success, result.error_code) == (False, "TOOL_NOT_FOUND")
    assert result.error is not None
    assert (
        not isinstance(name, str) or name[:100].encode("utf-8", "ignore").decode() in result.error
    )
    assert len(result.error.encode()) < 20_000


def test_the_nearest_name_that_the_agent_may_call_is_suggested() -> None:
    executor = ToolExecutor()
    executor.register(giving(1))
    assert "did you mean 'give'?" in str(asyncio.run(executor.execute("giev", {})).error)
    hidden = asyncio.run(executor.execute("giev", {}, allow=["other"]))
    assert "did you mean" not in str(hidden.error)


# Failures


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("boom"), "'fail': ValueError: boom"),
        (ValueError("boom\nand\x1b[31m more"), "ValueError: boom and\\x1b[31m more"),
        (KeyError(), "'fail': KeyError"),
        (ExceptionGroup("both", [ValueError("x")]), "both"),
        (SystemExit(3), "SystemExit: 3"),
        (StopIteration(), "StopIteration"),
        (TimeoutError("its own"), "TimeoutError: its own"),
        (RecursionError("deep"), "RecursionError: deep"),
        (MemoryError(), "MemoryError"),
        (MuteError(), "MuteError"),
        (ValueError("x" * 1_000_000), "xxx"),
        (ValueError("\ud800"), "\\ud800"),
        (asyncio.CancelledError("by itself"), "CancelledError: by itself"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
@pytest.mark.invariant(id="INV-TOOL-003")
def test_a_tool_that_raises_gives_an_error_value_that_may_pass(
    error: BaseException, told: str
) -> None:
    result = run(raising(error), {})
    assert (result.error_code, result.retryable) == ("TOOL_EXECUTION_ERROR", True)
    assert told in str(result.error)
    assert len(str(result.error).splitlines()) == 1
    assert len(str(result.error)) < 5_000


def test_a_tool_may_say_itself_how_it_failed() -> None:
    result = run(raising(ToolError("not today", code="TOOL_PERMISSION_DENIED")), {})
    assert (result.error_code, result.error, result.retryable) == (
        "TOOL_PERMISSION_DENIED",
        "not today",
        False,
    )


def test_the_interruption_by_a_person_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(raising(KeyboardInterrupt()), {})


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_time_limit_is_above_zero(limit: float) -> None:
    with pytest.raises(UsageError, match="above 0"):
        schema_tool("one", {}, nothing, timeout=limit)


async def forever() -> None:
    await asyncio.Event().wait()


async def stubborn() -> str:
    try:
        await forever()
    except asyncio.CancelledError:
        return "late"
    return ""


async def broken() -> None:
    try:
        await forever()
    finally:
        raise ValueError("while cleaning up")


@pytest.mark.parametrize("work", [forever, stubborn, broken])
def test_an_async_tool_over_its_time_is_cancelled(work: Any) -> None:
    result = run(function_tool(work, timeout=0.01), {})
    assert (result.error_code, result.retryable) == ("TOOL_TIMEOUT", True)
    assert result.error == f"'{work.__name__}': stopped after 0.01 s"


def test_the_cancellation_of_the_caller_passes_through() -> None:
    ended = []

    async def wait() -> None:
        try:
            await forever()
        finally:
            ended.append(True)

    async def main() -> None:
        executor = ToolExecutor()
        executor.register(function_tool(wait, timeout=1_000))
        task = asyncio.create_task(executor.execute("wait", {}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert ended == [True]


def test_a_time_limit_of_the_caller_is_the_callers() -> None:
    async def main() -> ToolResult:
        executor = ToolExecutor()
        executor.register(forever)
        async with asyncio.timeout(0.01):
            return await executor.execute("forever", {})

    with pytest.raises(TimeoutError):
        asyncio.run(main())


# Permissions


def test_an_agent_calls_only_what_its_list_allows() -> None:
    recorder = Recorder({})
    denied = run(recorder.tool, {}, allow=("other",))
    assert (denied.error_code, denied.retryable) == ("TOOL_PERMISSION_DENIED", False)
    assert "'person'" in str(denied.error)
    assert recorder.calls == []
    assert run(recorder.tool, {}, allow=("person",)).success


async def risky(args: dict[str, Any]) -> str:
    return "done"


RISKY = schema_tool("risky", PERSON, risky, needs_consent=True)


async def async_yes(tool: Tool, args: Any, context: ToolContext) -> bool:
    return True


def no(tool: Tool, args: Any, context: ToolContext) -> bool:
    return False


def nearly_yes(tool: Tool, args: Any, context: ToolContext) -> Any:
    return 1


def if_risky(tool: Tool, args: Any, context: ToolContext) -> bool:
    return tool.name == "risky"


def broken_consent(tool: Tool, args: Any, context: ToolContext) -> bool:
    raise OSError("no terminal")


@pytest.mark.parametrize("consent", [(), {"other"}, no, nearly_yes, broken_consent])
def test_a_tool_that_needs_consent_does_not_run_without_and_says_how_to_give_it(
    consent: Any,
) -> None:
    result = run(RISKY, {"name": "a"}, consent=consent)
    assert (result.error_code, result.retryable) == ("TOOL_PERMISSION_DENIED", False)
    told = "run with --allow-tool risky (in Python catalog.allow_tools('risky')), or allow it in"
    assert str(result.error).endswith(f"{told} your own settings")


@pytest.mark.parametrize("consent", [["risky"], {"risky"}, if_risky])
def test_consent_lets_it_run(consent: Any) -> None:
    assert run(RISKY, {"name": "a"}, consent=consent).output == "done"


def test_an_answer_that_nobody_waited_for_is_no_consent() -> None:
    async def main() -> ToolResult:
        pending: list[Any] = []

        def ask(tool: Tool, args: Any, context: ToolContext) -> bool:
            pending.append(async_yes(tool, args, context))
            return pending[0]  # type: ignore[no-any-return]  # the mistake under test

        executor = ToolExecutor(consent=ask)
        executor.register(RISKY)
        result = await executor.execute("risky", {"name": "a"})
        assert await pending[0]
        return result

    assert asyncio.run(main()).error_code == "TOOL_PERMISSION_DENIED"


def test_who_is_asked_for_consent_sees_arguments_that_fit_and_cannot_change_them() -> None:
    asked: list[Any] = []

    def ask(tool: Tool, args: Any, context: ToolContext) -> bool:
        asked.append(args)
        with pytest.raises(TypeError):
            args["name"] = "other"
        return True

    assert run(RISKY, {"name": 1}, consent=ask).error_code == "TOOL_VALIDATION_ERROR"
    assert asked == []
    assert run(RISKY, {"name": "a"}, consent=ask).success
    assert asked == [{"name": "a"}]


def test_who_is_asked_for_consent_is_told_for_which_agent() -> None:
    def ask(tool: Tool, args: Any, context: ToolContext) -> bool:
        return context.agent_id == "careful"

    async def main() -> list[bool]:
        executor = ToolExecutor(consent=ask)
        executor.register(RISKY)
        contexts = [ToolContext(agent_id="careful"), ToolContext(agent_id="other"), None]
        results = [await executor.execute("risky", {"name": "a"}, context=one) for one in contexts]
        return [one.success for one in results]

    assert asyncio.run(main()) == [True, False, False]


def test_consent_is_not_a_text() -> None:
    with pytest.raises(UsageError):
        ToolExecutor(consent="risky")


def test_the_allow_list_counts_also_with_consent() -> None:
    result = run(RISKY, {"name": "a"}, consent=["risky"], allow=[])
    assert result.error_code == "TOOL_PERMISSION_DENIED"


def test_a_context_is_optional() -> None:
    async def whose(context: ToolContext) -> list[Any]:
        return list(context)

    assert run(whose, {}).output == ["", "", "", 1, ""]

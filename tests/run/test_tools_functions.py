"""Functions as tools: schemas from signatures, and sync work that can be stopped."""

import asyncio
import contextvars
import dataclasses
import datetime
import enum
import functools
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from metier.errors import UsageError
from metier.run.tool import ToolContext, function_tool, schema_tool
from metier.run.tool_threads import in_thread
from metier.run.tools import ToolExecutor
from metier.values.agents import ToolResult

SOON = 20.0
"""Far more than a slow machine needs, and far less than what hangs would take."""
CONTEXT = ToolContext("run-1", "step-2", "reviewer", 3, "key-4")


def run(tool: Any, args: Any, context: ToolContext | None = None) -> ToolResult:
    executor = ToolExecutor()
    name = executor.register(tool).name
    return asyncio.run(executor.execute(name, args, context=context))


# Schemas


class Place(BaseModel):
    city: str
    zip_code: int = 0


def forecast(
    place: Place,
    day: datetime.date,
    unit: Literal["c", "f"] = "c",
    hours: Annotated[int, Field(ge=1, le=24)] = 24,
    *,
    notes: list[str] | None = None,
) -> dict[str, Any]:
    """Tell the weather.

    It may be wrong.

    Args:
        place: Where it is,
            in words.
        unit (str): Of the temperature.

    Returns:
        unit: this is not a parameter.
    """
    return {"city": place.city, "day": day.isoformat(), "unit": unit, "hours": hours}


def test_the_schema_comes_from_annotations_and_docstring() -> None:
    tool = function_tool(forecast)
    assert tool.description == "Tell the weather.\n\nIt may be wrong."
    assert tool.schema["required"] == ["place", "day"]
    assert tool.schema["additionalProperties"] is False
    properties = tool.schema["properties"]
    assert list(properties) == ["place", "day", "unit", "hours", "notes"]
    assert properties["place"]["description"] == "Where it is, in words."
    assert properties["unit"] == {
        "enum": ["c", "f"],
        "type": "string",
        "default": "c",
        "description": "Of the temperature.",
    }
    assert properties["hours"] == {"minimum": 1, "maximum": 24, "type": "integer", "default": 24}
    assert properties["day"] == {"type": "string", "format": "date"}


def test_arguments_arrive_in_the_annotated_types() -> None:
    args = {"place": {"city": "Paris"}, "day": "2026-11-15", "hours": 3}
    result = run(forecast, args)
    assert result.output == {"city": "Paris", "day": "2026-11-15", "unit": "c", "hours": 3}


@pytest.mark.invariant(id="INV-TOOL-001")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"hours": 25}, "arguments.hours: "),
        ({"hours": "3"}, "arguments.hours: '3' is not of type 'integer'"),
        ({"unit": "k"}, "arguments.unit: "),
        ({"day": "yesterday"}, "arguments.day: "),
        ({"place": {"zip_code": 1}}, "arguments.place: 'city' is a required property"),
        ({"more": 1}, "'more' was unexpected"),
        ({"notes": ["a", 1]}, "arguments.notes"),
    ],
)
def test_arguments_that_do_not_fit_the_annotations_do_not_reach_the_function(
    change: dict[str, Any], told: str
) -> None:
    called = []

    @functools.wraps(forecast)
    def watched(*args: Any, **kwargs: Any) -> None:
        called.append(kwargs)

    args = {"place": {"city": "Paris"}, "day": "2026-11-15", **change}
    result = run(watched, args)
    assert (result.error_code, result.retryable) == ("TOOL_VALIDATION_ERROR", False)
    assert told in str(result.error)
    assert called == []


def test_odd_parameter_names_are_no_problem() -> None:
    def odd(schema: str, copy: int = 1, _hidden: int = 2, model_config: str = "") -> list[Any]:
        return [schema, copy, _hidden, model_config]

    given = {"schema": "a", "copy": 3, "_hidden": 4, "model_config": "b"}
    assert run(odd, given).output == ["a", 3, 4, "b"]


def test_parameters_without_annotation_take_anything() -> None:
    def anything(a, b=1):  # type: ignore[no-untyped-def]  # as people write
        return [a, b]

    assert run(anything, {"a": {"x": [None]}}).output == [{"x": [None]}, 1]


class Level(enum.Enum):
    LOW = 1


def test_a_default_that_has_no_json_value_stays_out_of_the_schema() -> None:
    nothing = object()

    def levelled(level: Level = Level.LOW, other: Any = nothing) -> int:
        return level.value + (other is nothing)

    properties = function_tool(levelled).schema["properties"]
    assert properties["level"]["default"] == 1
    assert "default" not in properties["other"]
    assert run(levelled, {}).output == 2


class Address(BaseModel):
    street: str
    since: datetime.date


@dataclasses.dataclass
class Customer:
    address: Address
    level: Level


HOME = Address(street="Main Street", since=datetime.date(2026, 1, 31))


@pytest.mark.parametrize(
    ("given", "output"),
    [
        (HOME, {"street": "Main Street", "since": "2026-01-31"}),
        (
            [Customer(HOME, Level.LOW)],
            [{"address": {"street": "Main Street", "since": "2026-01-31"}, "level": 1}],
        ),
        ({"at": Path("/a"), "id": UUID(int=1)}, {"at": "/a", "id": str(UUID(int=1))}),
        (Decimal("1.50"), "1.50"),
    ],
    ids=["model", "dataclass", "path", "decimal"],
)
def test_a_function_may_return_what_it_may_take(given: Any, output: Any) -> None:
    def looked_up() -> Any:
        return given

    assert run(looked_up, {}).output == output


def test_name_and_description_can_be_given() -> None:
    tool = function_tool(forecast, "weather", "Weather.")
    assert (tool.name, tool.description) == ("weather", "Weather.")
    assert function_tool(functools.partial(forecast, unit="f")).name == "forecast"


class Calls:
    async def __call__(self, a: int) -> int:
        return a + 1

    def method(self, a: int) -> int:
        return a + 2


def test_methods_callable_objects_and_partials_are_functions_too() -> None:
    assert run(function_tool(Calls(), "calls"), {"a": 1}).output == 2
    assert run(Calls().method, {"a": 1}).output == 3
    assert run(functools.partial(Calls().method, a=5), {}).output == 7


def test_a_sync_function_that_gives_an_awaitable_is_awaited() -> None:
    def wrapped(a: int) -> Any:
        return Calls()(a)

    assert run(wrapped, {"a": 1}).output == 2


def test_signatures_that_no_arguments_fit_are_refused() -> None:
    def starred(*rest: int) -> None: ...

    def open_ended(**rest: int) -> None: ...

    def positional(a: int, /) -> None: ...

    def opaque(a: threading.Thread) -> None: ...

    def unknown(a: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821  # the point

    for fn in (starred, open_ended, positional, opaque, unknown, lambda: None, 7):
        with pytest.raises(UsageError):
            function_tool(fn)  # type: ignore[arg-type]  # the 7


# The context


@pytest.mark.parametrize("optional", [False, True])
def test_the_context_comes_in_through_its_annotation_and_is_in_no_schema(optional: bool) -> None:
    def plain(a: int, who: ToolContext) -> list[Any]:
        return [a, *who]

    async def maybe(a: int, who: ToolContext | None = None) -> list[Any]:
        return [a, *(who or ())]

    tool = function_tool(maybe if optional else plain)
    assert list(tool.schema["properties"]) == ["a"]
    assert run(tool, {"a": 1}, CONTEXT).output == [1, "run-1", "step-2", "reviewer", 3, "key-4"]
    assert run(tool, {"a": 1, "who": []}).error_code == "TOOL_VALIDATION_ERROR"


def test_a_handler_gets_the_context_as_well() -> None:
    def handler(args: dict[str, Any], context: ToolContext) -> list[Any]:
        return [args, context.idempotency_key]

    assert run(schema_tool("one", {}, handler), {"a": 1}, CONTEXT).output == [{"a": 1}, "key-4"]


def test_a_sync_function_sees_the_context_variables_of_its_caller() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    def read() -> str:
        return variable.get()

    variable.set("seen")
    assert run(read, {}).output == "seen"


# Sync functions


def test_the_loop_goes_on_while_a_sync_function_waits() -> None:
    opened = threading.Event()

    def wait() -> bool:
        return opened.wait(SOON)

    async def main() -> ToolResult:
        executor = ToolExecutor()
        executor.register(wait)
        call = asyncio.create_task(executor.execute("wait", {}))
        await asyncio.sleep(0)
        opened.set()
        return await call

    assert asyncio.run(main()).output is True


def test_many_sync_functions_run_at_the_same_time() -> None:
    together = threading.Barrier(40)

    def meet() -> int:
        return together.wait(SOON) * 0

    async def main() -> list[ToolResult]:
        executor = ToolExecutor()
        executor.register(meet)
        return await asyncio.gather(*(executor.execute("meet", {}) for _ in range(40)))

    assert [result.success for result in asyncio.run(main())] == [True] * 40


@pytest.mark.parametrize("error", [ValueError("boom"), StopIteration("boom"), SystemExit("boom")])
def test_what_a_sync_function_raises_is_an_error_value(error: BaseException) -> None:
    def fail() -> None:
        raise error

    result = run(fail, {})
    assert (result.error_code, result.retryable) == ("TOOL_EXECUTION_ERROR", True)
    assert type(error).__name__ in str(result.error)


class Hanging:
    """Sync work that never ends by itself, and can tell whether it has ended."""

    def __init__(self, swallow: int = 0) -> None:
        self.begun = threading.Event()
        self.ended = threading.Event()
        self._swallow = swallow

    def hang(self) -> None:
        try:
            self._spin()
        finally:
            self.ended.set()

    def _spin(self) -> None:
        while True:
            try:
                self.begun.set()
                while True:
                    time.sleep(0.001)
            except Exception:
                continue
            except SystemExit:
                if self._swallow == 0:
                    raise
                self._swallow -= 1


def test_a_sync_function_over_its_time_is_stopped() -> None:
    work = Hanging()
    result = run(function_tool(work.hang, timeout=0.05), {})
    assert (result.error_code, result.retryable) == ("TOOL_TIMEOUT", True)
    assert work.ended.wait(SOON)


def test_a_sync_function_that_resists_is_stopped_in_the_end() -> None:
    work = Hanging(swallow=3)
    assert run(function_tool(work.hang, timeout=0.05), {}).error_code == "TOOL_TIMEOUT"
    assert work.ended.wait(SOON)


def test_a_sync_function_whose_caller_is_cancelled_has_stopped_when_the_caller_hears_of_it() -> (
    None
):
    work = Hanging()

    async def main() -> None:
        call = asyncio.create_task(in_thread(work.hang))
        while not work.begun.is_set():
            await asyncio.sleep(0.001)
        call.cancel()
        await asyncio.wait((call,))
        assert call.cancelled()

    asyncio.run(main())
    assert work.ended.wait(SOON)


def test_a_call_into_c_ends_when_it_returns_and_nobody_waits_for_it() -> None:
    opened = threading.Event()
    ended = threading.Event()

    def blocked() -> None:
        try:
            opened.wait(SOON)
        finally:
            ended.set()

    result = run(function_tool(blocked, timeout=0.01), {})
    assert result.error_code == "TOOL_TIMEOUT"
    assert not ended.is_set()
    opened.set()
    assert ended.wait(SOON)


def test_no_thread_is_left_behind() -> None:
    async def main() -> None:
        executor = ToolExecutor()
        executor.register(function_tool(lambda: 1, "one"))
        executor.register(function_tool(Hanging().hang, "hang", timeout=0.01))
        await asyncio.gather(*(executor.execute("one", {}) for _ in range(20)))
        await asyncio.gather(*(executor.execute("hang", {}) for _ in range(5)))

    asyncio.run(main())
    deadline = time.monotonic() + SOON
    while any(one.name.startswith("metier-") for one in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)

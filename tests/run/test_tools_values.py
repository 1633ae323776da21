"""What goes into tools and comes out of them: JSON that fits, or an error that says where."""

import asyncio
import dataclasses
import enum
import json
import threading
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.json_values import DEEPEST
from metier.run.tool import MOST_ARGUMENTS, MOST_OUTPUT, Tool, schema_tool
from metier.run.tools import ToolExecutor
from metier.values.agents import ToolResult
from run.sample_tools import Recorder, giving

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "years": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def run(tool: Tool, args: Any) -> ToolResult:
    """The result of one call of one tool."""
    executor = ToolExecutor()
    executor.register(tool)
    return asyncio.run(executor.execute(tool.name, args))


def kind(value: Any) -> str:
    """A short name for a case."""
    return type(value).__name__


# Arguments


@pytest.mark.invariant(id="INV-TOOL-001")
@pytest.mark.parametrize(
    ("args", "problems"),
    [
        ({}, ["arguments: 'name' is a required property"]),
        ({"name": ""}, ["arguments.name: "]),
        ({"name": 1, "years": [1, "2", 3, "4"]}, [".name: ", ".years[1]: ", ".years[3]: "]),
        ({"name": "a", "other": 1}, ["arguments: ", "'other'"]),
        ("invalid", ["arguments: a mapping is needed, not a str"]),
        (None, ["arguments: a mapping is needed, not nothing"]),
        ([("name", "a")], ["not a list"]),
        ({"name": "a", "years": [float("nan")]}, ["arguments.years[0]: nan is not a JSON number"]),
        ({"name": "a", 1: 2}, ["the key is a int"]),
        ({"name": object()}, ["arguments.name: an object is not a JSON value"]),
        ({"name": "x" * MOST_ARGUMENTS}, ["larger than 4,000,000 bytes"]),
    ],
    ids=kind,
)
def test_bad_arguments_are_listed_with_their_places_and_the_tool_does_not_run(
    args: Any, problems: list[str]
) -> None:
    recorder = Recorder(PERSON)
    result = run(recorder.tool, args)
    assert (result.success, result.error_code) == (False, "TOOL_VALIDATION_ERROR")
    assert not result.retryable
    assert [one for one in problems if one not in str(result.error)] == []
    assert recorder.calls == []


@pytest.mark.invariant(id="INV-TOOL-001")
def test_very_many_problems_are_told_shortly() -> None:
    result = run(Recorder(PERSON).tool, {"name": "a", "years": ["x" * 1_000] * 1_000})
    assert str(result.error).endswith("and more")
    assert str(result.error).count("is not of type 'integer'") == 20
    assert len(str(result.error)) < 6_000


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_arguments_nested_too_deep_are_refused_whatever_the_schema() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}},
    }
    recorder = Recorder(schema)
    for depth in (DEEPEST, 5_000, 100_000):
        result = run(recorder.tool, {"a": nested(depth)})
        assert result.error_code == "TOOL_VALIDATION_ERROR"
    assert recorder.calls == []
    assert run(recorder.tool, {"a": nested(DEEPEST // 2)}).success


def test_arguments_that_hold_themselves_are_refused() -> None:
    around: dict[str, Any] = {}
    around["a"] = [around, around]
    assert run(Recorder({}).tool, around).error_code == "TOOL_VALIDATION_ERROR"


@pytest.fixture
def address() -> Iterator[str]:
    """Where anybody gets a schema that takes everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/schema.json"
        server.shutdown()


@pytest.mark.invariant(id="INV-TOOL-001")
@pytest.mark.filterwarnings("ignore")
def test_a_schema_that_leads_elsewhere_refuses_and_nothing_is_fetched(address: str) -> None:
    for reference in (address, "#/nowhere"):
        recorder = Recorder({"properties": {"a": {"$ref": reference}}})
        result = run(recorder.tool, {"a": "x"})
        assert result.error_code == "TOOL_VALIDATION_ERROR"
        assert "schema cannot be used" in str(result.error)
        assert recorder.calls == []


def test_a_tool_that_changes_its_arguments_changes_a_copy() -> None:
    def spoil(args: dict[str, Any]) -> None:
        args["a"]["b"].append(2)
        args.clear()

    given = {"a": {"b": [1]}}
    assert run(schema_tool("spoil", {}, spoil), given).success
    assert given == {"a": {"b": [1]}}


ODD = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.just("\ud800")
    | st.builds(object)
)
VALUES = st.recursive(
    ODD,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(st.text() | st.sampled_from(["name", "years"]), inner)
        | st.dictionaries(st.integers() | st.none(), inner, max_size=1)
        | st.sets(st.integers())
    ),
    max_leaves=8,
)
FITTING = st.fixed_dictionaries(
    {"name": st.text(min_size=1)}, optional={"years": st.lists(st.integers())}
)


@pytest.mark.invariant(id="INV-TOOL-001")
@given(args=VALUES | FITTING)
def test_no_arguments_raise_and_only_those_that_fit_reach_the_tool(args: Any) -> None:
    recorder = Recorder(PERSON)
    result = run(recorder.tool, args)
    json.dumps(result.to_json(), allow_nan=False, ensure_ascii=False).encode()
    if result.success:
        jsonschema.validate(args, PERSON)
        assert recorder.calls == [args]
    else:
        assert result.error_code == "TOOL_VALIDATION_ERROR"
        assert recorder.calls == []


@given(args=FITTING)
def test_all_arguments_that_fit_are_taken(args: Any) -> None:
    assert run(Recorder(PERSON).tool, args).success


# Outputs


@pytest.mark.invariant(id="INV-TOOL-002")
def test_nothing_in_a_result_can_be_changed() -> None:
    output: dict[str, Any] = {"a": [1, {"b": (2, [3])}]}
    result = run(giving(output), {})
    for change in (
        lambda: setattr(result, "success", False),
        lambda: setattr(result, "output", None),
        lambda: result.output.update(a=1),
        lambda: result.output["a"].append(2),
        lambda: result.output["a"][1].clear(),
        lambda: result.output["a"][1]["b"][1].append(4),
        lambda: result.output["a"][1]["b"].__setitem__(0, 9),
    ):
        with pytest.raises((TypeError, dataclasses.FrozenInstanceError)):
            change()
    output["a"].append("later")
    assert result.output == {"a": [1, {"b": [2, [3]]}]}


class Level(enum.IntEnum):
    HIGH = 1


class Colour(str, enum.Enum):  # noqa: UP042  # a text that is not only a text
    RED = "red"


def test_what_is_nearly_json_becomes_plain_json() -> None:
    result = run(giving({"colour": Colour.RED, "pair": (1, 2), "level": Level.HIGH}), {})
    assert result.output == {"colour": "red", "pair": [1, 2], "level": 1}
    assert f"{result.output['colour']}" == "red"
    assert type(result.output["level"]) is int


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (float("nan"), "output: nan is not a JSON number"),
        ({"a": [1, float("-inf")]}, "output.a[1]: -inf is not a JSON number"),
        ({"a": {"b": {1, 2}}}, "output.a.b: a set is not a JSON value"),
        ([b"x"], "output[0]: a bytes is not a JSON value"),
        ({3: 4}, "the key is a int, not a string"),
        ("\ud800", "output: contains half a surrogate pair"),
        ({"\udfff": 1}, "half a surrogate pair"),
        (10**5_000, "more than 4000 digits"),
        (nested(DEEPEST + 1), "nested more than 100 levels"),
        (dataclasses.make_dataclass("Point", ["x"])(object()), "a Point is not a JSON value"),
        ("\x00" * (MOST_OUTPUT // 3), "output: larger than 1,000,000 bytes as JSON"),
        (
            ["é" * 1_000] * 600,
            "larger than 1,000,000 bytes as JSON; the limit is passed at output[",
        ),
    ],
    ids=kind,
)
def test_output_that_is_not_json_says_what_and_where(output: Any, told: str) -> None:
    result = run(giving(output), {})
    assert result.error_code == "TOOL_EXECUTION_ERROR"
    assert not result.retryable
    assert told in str(result.error)
    assert "\n" not in str(result.error)


@pytest.mark.parametrize("size", [MOST_OUTPUT - 2, MOST_OUTPUT - 1])
def test_the_size_of_an_output_is_exact(size: int) -> None:
    assert run(giving("x" * size), {}).success == (size <= MOST_OUTPUT - 2)


def test_an_output_of_a_hundred_megabytes_is_refused_without_a_copy() -> None:
    text = "x" * 100_000_000
    rows = ["y" * 1_000] * 10_000_000
    for output in (text, {"a": [text]}, rows):
        tracemalloc.start()
        result = run(giving(output), {})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "larger than 1,000,000 bytes" in str(result.error)
        assert peak < 5_000_000


@given(output=VALUES)
def test_no_output_raises_and_what_is_given_is_json(output: Any) -> None:
    result = run(giving(output), {})
    json.dumps(result.to_json(), allow_nan=False, ensure_ascii=False).encode()
    assert result.success == (result.error_code is None)

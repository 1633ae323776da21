"""The model without a network: what it says, and the smallest value of a schema."""

import asyncio
import json
import socket
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from metier.core.budget import count_tokens
from metier.core.json_values import freeze
from metier.errors import ModelError
from metier.run.models import OfflineModel
from metier.run.models.smallest import MOST_PARTS, smallest_value
from metier.values.models import Message, ModelReply, ModelRequest, ToolCall, ToolSpec
from metier.values.runs import Usage

ANY = {"type": "object", "properties": {}}
TALK = [
    Message("user", "Old question"),
    Message("assistant", "", [ToolCall("1", "look", {})]),
    Message("tool", "seen", call_id="1", tool_name="look"),
    Message("user", "  \nWhat is new?\nSecond line"),
]
REQUEST = ModelRequest("Be kind.", TALK, [ToolSpec("look", "Looks.", ANY)])


def respond(request: ModelRequest) -> ModelReply:
    return asyncio.run(OfflineModel().respond(request))


def test_the_answer_says_that_no_model_was_asked_and_what_it_was_given() -> None:
    assert respond(REQUEST).text == (
        "[offline model] No model was asked: this answer is made from a template.\n"
        "Asked: What is new?\n"
        "Given: 4 messages, 1 tool, 1 tool result."
    )


def test_the_same_request_gets_the_same_answer() -> None:
    assert respond(REQUEST) == respond(REQUEST)


def test_a_talk_without_a_question_is_answered_too() -> None:
    assert "Asked: (nothing)" in respond(ModelRequest("", [])).text


def test_no_tool_is_ever_called() -> None:
    assert respond(REQUEST).tool_calls == ()


def test_a_very_long_question_is_cut() -> None:
    text = respond(ModelRequest("", [Message("user", "x" * 10_000)])).text
    assert len(text) < 500


def test_the_usage_counts_what_was_sent_and_what_was_said() -> None:
    reply = respond(REQUEST)
    asked = "\n".join([REQUEST.system, *(message.text for message in TALK)])
    assert reply.usage == Usage(count_tokens(asked), count_tokens(reply.text), requests=1)


def test_the_pieces_that_are_told_make_up_the_answer() -> None:
    pieces: list[str] = []
    reply = respond(REQUEST._replace(on_text=pieces.append))
    assert "".join(pieces) == reply.text
    assert len(pieces) == 3


def test_with_a_schema_the_answer_is_a_valid_value_and_its_json_text() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    reply = respond(REQUEST._replace(output_schema=schema))
    assert reply.data == {"a": 0}
    assert json.loads(reply.text) == reply.data


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, None),
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 3}, "---"),
        ({"type": "integer"}, 0),
        ({"type": "integer", "minimum": 2.5}, 3),
        ({"type": "integer", "exclusiveMinimum": 2}, 3),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": "integer", "exclusiveMaximum": -2}, -3),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["null", "string"]}, ""),
        ({"enum": ["green", "red", "blue"]}, "red"),
        ({"enum": ["b", "a"]}, "b"),
        ({"const": {"a": [1]}}, {"a": [1]}),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["", ""]),
        ({"items": {"type": "string"}, "minItems": 1}, [""]),
        (
            {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "minItems": 1},
            [1],
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {}),
        ({"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}, {"a": "", "b": None}),
        ({"anyOf": [{"const": "longer"}, {"const": "short"}]}, "short"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}, ""),
        ({"type": "string", "anyOf": [{"minLength": 4}, {"minLength": 2}]}, "--"),
        ({"anyOf": [False, {"type": "string", "pattern": "^x"}, {"type": "array"}]}, []),
        (
            {"type": ["object", "null"], "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
            None,
        ),
        ({"type": ["object", "null"], "properties": {"a": False}, "required": ["a"]}, None),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, ""),
        (
            {
                "$ref": "#/$defs/tree",
                "$defs": {
                    "tree": {
                        "type": "object",
                        "properties": {
                            "next": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}
                        },
                        "required": ["next"],
                    }
                },
            },
            {"next": None},
        ),
    ],
)
def test_the_smallest_value_of_a_schema(schema: dict[str, Any], value: Any) -> None:
    found = smallest_value(schema)
    assert found == value
    assert type(found) is type(value)
    Draft202012Validator(schema).validate(found)


def test_a_closed_schema_is_read_as_well() -> None:
    schema = freeze({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]})
    assert smallest_value(schema) == {"a": 1}
    assert smallest_value(MappingProxyType(schema)) == {"a": 1}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^x+$"},
        {"type": "string", "pattern": "("},
        {"type": "no such type"},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
        {"type": "array", "minItems": MOST_PARTS + 1},
        {"anyOf": [False]},
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://example.invalid/schema.json"},
        {
            "$ref": "#/$defs/endless",
            "$defs": {
                "endless": {
                    "type": "object",
                    "properties": {"next": {"$ref": "#/$defs/endless"}},
                    "required": ["next"],
                }
            },
        },
    ],
    ids=lambda schema: json.dumps(schema)[:60],
)
def test_a_schema_without_a_value_that_is_found_is_an_error(schema: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as caught:
        respond(REQUEST._replace(output_schema=schema))
    assert caught.value.code == "MODEL_OUTPUT_SCHEMA"
    assert caught.value.kind == ""
    assert "\n" not in caught.value.message


@pytest.fixture
def _short_waits() -> Iterator[None]:
    socket.setdefaulttimeout(1)
    yield
    socket.setdefaulttimeout(None)


@pytest.mark.usefixtures("_short_waits")
def test_no_reference_is_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(ModelError):
            smallest_value({"type": "string", "allOf": [{"$ref": address}]})
        with pytest.raises(BlockingIOError):
            server.accept()


def test_references_that_double_at_each_level_are_given_up() -> None:
    names = [f"d{number}" for number in range(40)]
    parts = {
        name: {"type": "array", "items": {"$ref": f"#/$defs/{below}"}, "minItems": 2}
        for name, below in zip(names, [*names[1:], "end"], strict=True)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": {**parts, "end": {"const": 1}}}
    with pytest.raises(ModelError):
        smallest_value(schema)


LEAVES = st.one_of(
    st.sampled_from([{"type": "string"}, {"type": "null"}, {"type": "boolean"}, {}]),
    st.integers(-9, 9).map(lambda low: {"type": "integer", "minimum": low}),
    st.integers(-9, 9).map(lambda high: {"type": "number", "exclusiveMaximum": high}),
    st.integers(0, 4).map(lambda length: {"type": "string", "minLength": length}),
    st.lists(st.text(max_size=3) | st.integers(), min_size=1).map(lambda some: {"enum": some}),
    st.text(max_size=3).map(lambda one: {"const": one}),
    st.just({"$ref": "#/$defs/named"}),
)


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    return st.one_of(
        names.map(lambda some: {"type": "object", "properties": some, "required": list(some)}),
        st.tuples(inner, st.integers(0, 3)).map(
            lambda pair: {"type": "array", "items": pair[0], "minItems": pair[1]}
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda some: {"anyOf": some}),
    )


@given(st.recursive(LEAVES, _larger, max_leaves=8))
def test_the_value_is_always_valid_and_always_the_same(schema: dict[str, Any]) -> None:
    whole = {**schema, "$defs": {"named": {"type": "array", "minItems": 1}}}
    value = smallest_value(whole)
    Draft202012Validator(whole).validate(value)
    assert json.dumps(smallest_value(whole)) == json.dumps(value)

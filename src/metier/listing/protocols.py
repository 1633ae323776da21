"""What a model server answers, in the four protocols that hosts speak.

The model is a stand-in: it says one text, or calls one tool.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

Json = Mapping[str, Any]
Event = tuple[str, Json | str]
"""The name of a server-sent event, empty for none, and its data."""

TEXT = "done"
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}

Protocol = Literal["responses", "chat", "messages", "gemini"]


class Call(NamedTuple):
    """A tool that the model calls."""

    tool: str
    arguments: Json


class Answer(NamedTuple):
    """A response: one JSON value, or a stream of events."""

    body: Json | None = None
    events: tuple[Event, ...] = ()

    @property
    def content_type(self) -> str:
        return "application/json" if self.body is not None else "text/event-stream"

    def encoded(self) -> bytes:
        if self.body is not None:
            return json.dumps(self.body).encode()
        return "".join(map(_event, self.events)).encode()


def _event(event: Event) -> str:
    name, data = event
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


def protocol_of(path: str) -> Protocol | None:
    """The protocol of a request by its path; None for a request that asks no model."""
    route = path.partition("?")[0].rstrip("/")
    if route.endswith("/responses"):
        return "responses"
    if route.endswith("/chat/completions"):
        return "chat"
    if route.endswith("/messages"):
        return "messages"
    return "gemini" if route.lower().endswith("generatecontent") else None


def tool_names(protocol: Protocol, body: Json) -> list[str]:
    """The tools that a request offers to the model, in order.

    A namespace of the responses protocol counts with its own name before those of its tools.
    """
    return list(_TOOLS[protocol](body))


def _flat(tools: Iterable[Json]) -> Iterable[str]:
    for tool in tools:
        function = tool.get("function")
        name = function.get("name") if isinstance(function, Mapping) else tool.get("name")
        yield str(name or tool.get("type"))
        for inner in tool.get("tools") or ():
            yield f"{name}.{inner.get('name')}"


def _of_gemini(body: Json) -> Iterable[str]:
    for group in body.get("tools") or ():
        for function in group.get("functionDeclarations") or ():
            yield str(function["name"])


_TOOLS: dict[Protocol, Callable[[Json], Iterable[str]]] = {
    "responses": lambda body: _flat(body.get("tools") or ()),
    "chat": lambda body: _flat(body.get("tools") or ()),
    "messages": lambda body: _flat(body.get("tools") or ()),
    "gemini": _of_gemini,
}


def answer(path: str, body: Json, call: Call | None = None) -> Answer:
    """What the stand-in answers to one request."""
    protocol = protocol_of(path)
    if protocol is None:
        return Answer({"input_tokens": 1, "totalTokens": 1, "object": "list", "data": []})
    streams = "stream" in path.lower() if protocol == "gemini" else bool(body.get("stream"))
    return _ANSWERS[protocol](call, streams, _call_id(body))


def _call_id(body: Json) -> str:
    """An id that no earlier call has: what was said grows, though its messages may be joined."""
    said = next((body[key] for key in ("messages", "input", "contents") if key in body), ())
    return f"call{len(str(said))}"


def _responses(call: Call | None, streams: bool, call_id: str) -> Answer:
    said = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
    }
    called = {
        "type": "function_call",
        "id": "f1",
        "call_id": call_id,
        "status": "completed",
        **_function(call),
        "arguments": json.dumps(call.arguments if call else {}),
    }
    item = called if call else said
    whole: dict[str, Any] = {"id": "r1", "object": "response", "created_at": 1, "model": "stand-in"}
    done = {**whole, "status": "completed", "output": [item], "usage": USAGE}
    if not streams:
        return Answer(done)
    start = {**whole, "status": "in_progress", "output": []}
    return _typed(
        {"type": "response.created", "response": start},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    )


def _function(call: Call | None) -> dict[str, str]:
    """The name of a tool, as `namespace.name` if it has a namespace."""
    namespace, _, name = (call.tool if call else "").rpartition(".")
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def _typed(*events: Json) -> Answer:
    return Answer(events=tuple((str(event["type"]), event) for event in events))


def _chat(call: Call | None, streams: bool, call_id: str) -> Answer:
    message: dict[str, Any] = {"role": "assistant", "content": TEXT}
    if call:
        function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [
            {"index": 0, "id": call_id, "type": "function", "function": function}
        ]
    reason = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    whole = {"id": "c1", "created": 1, "model": "stand-in", "object": "chat.completion"}
    if not streams:
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return Answer({**whole, "choices": [choice], "usage": usage})
    chunk = {**whole, "object": "chat.completion.chunk"}
    first = {"index": 0, "delta": message, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": reason}
    chunks = ({**chunk, "choices": [first]}, {**chunk, "choices": [last], "usage": usage})
    return Answer(events=(*(("", part) for part in chunks), ("", "[DONE]")))


def _messages(call: Call | None, streams: bool, call_id: str) -> Answer:
    arguments = dict(call.arguments) if call else {}
    said = {"type": "text", "text": TEXT}
    called = {"type": "tool_use", "id": call_id, "name": call.tool if call else ""}
    block = {**called, "input": arguments} if call else said
    reason = "tool_use" if call else "end_turn"
    whole: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "stand-in",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    if not streams:
        return Answer({**whole, "content": [block], "stop_reason": reason})
    empty = {**called, "input": {}} if call else {"type": "text", "text": ""}
    part = (
        {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        if call
        else {"type": "text_delta", "text": TEXT}
    )
    stop = {"stop_reason": reason, "stop_sequence": None}
    return _typed(
        {"type": "message_start", "message": whole},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": part},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


def _gemini(call: Call | None, streams: bool, _: str) -> Answer:
    part: Json = {"text": TEXT}
    if call:
        part = {"functionCall": {"name": call.tool, "args": dict(call.arguments)}}
    body = {
        "candidates": [
            {
                "content": {"role": "model", "parts": [part]},
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
    return Answer(events=(("", body),)) if streams else Answer(body)


_ANSWERS: dict[Protocol, Callable[[Call | None, bool, str], Answer]] = {
    "responses": _responses,
    "chat": _chat,
    "messages": _messages,
    "gemini": _gemini,
}

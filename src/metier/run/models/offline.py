"""Models without a network: a template, and a script for tests."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from metier.core.arguments import described, wrong_argument
from metier.core.budget import count_tokens
from metier.errors import ModelError, UsageError
from metier.run.models.smallest import smallest_value
from metier.values.models import FREE, ModelReply, ModelRequest
from metier.values.runs import Usage

_FENCE = "```"


def value_of(text: str) -> Any:
    """The JSON value of a text, also in a Markdown fence; None if it has none."""
    try:
        return _parse(_inside_fence(text))
    except (ValueError, RecursionError):
        return None


def _inside_fence(text: str) -> str:
    opening, _, rest = text.strip().partition("\n")
    is_fenced = opening.rstrip().lower() in (_FENCE, f"{_FENCE}json") and rest.endswith(_FENCE)
    return rest.removesuffix(_FENCE).strip() if is_fenced else text


def arguments_of(args: str | Mapping[str, Any] | None) -> Mapping[str, Any] | str:
    """The arguments of a tool call; the text itself if it is not a JSON object."""
    if not isinstance(args, str):
        return args or {}
    if not args.strip():
        return {}
    try:
        value = _parse(args)
    except (ValueError, RecursionError):
        return args
    return value if isinstance(value, dict) else args


def _parse(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Offline


NAME = "offline:template"
_LONGEST_LINE = 200


class OfflineModel:
    """Gives the same answer to the same request; with a schema, its smallest value."""

    name = NAME
    price = FREE

    async def respond(self, request: ModelRequest) -> ModelReply:
        data = None
        if request.output_schema is None:
            text = _digest(request)
        else:
            data = smallest_value(request.output_schema)
            text = json.dumps(data, ensure_ascii=False)
        if request.on_text:
            for line in text.splitlines(keepends=True):
                request.on_text(line)
        return ModelReply(text, usage=estimated_usage(request, text), data=data)


def estimated_usage(request: ModelRequest, answer: str) -> Usage:
    asked = "\n".join([request.system, *(message.text for message in request.messages)])
    return Usage(count_tokens(asked), count_tokens(answer), requests=1)


def _digest(request: ModelRequest) -> str:
    asked = next(
        (message.text for message in reversed(request.messages) if message.role == "user"), ""
    )
    lines = asked.strip().splitlines()
    first = lines[0][:_LONGEST_LINE] if lines else "(nothing)"
    results = sum(message.role == "tool" for message in request.messages)
    return (
        "[offline model] No model was asked: this answer is made from a template.\n"
        f"Asked: {first}\n"
        f"Given: {_counted(len(request.messages), 'message')}, "
        f"{_counted(len(request.tools), 'tool')}, {_counted(results, 'tool result')}."
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# Scripted


Scripted = ModelReply | str | Exception | Callable[[ModelRequest], ModelReply | str]
"""A reply, a text, an error to raise, or a function of the request."""
_REPLIES = (ModelReply, str, Exception)
_A_REPLY = "a text, a ModelReply, an exception or a function of the request"


class ScriptedModel:
    """Gives each reply once, then raises `MODEL_SCRIPT_ENDED`."""

    price = FREE
    """Unless the `usage` of a reply has a cost."""

    def __init__(self, replies: Iterable[Scripted], name: str = "scripted:test") -> None:
        """Raises `UsageError` for anything but a list of these replies."""
        if isinstance(replies, str) or not isinstance(replies, Iterable):
            hint = "ScriptedModel([…]), also for one reply"
            raise wrong_argument("replies", "a list of replies", replies, hint)
        replies = list(replies)
        for one in replies:
            if isinstance(one, type) or not (isinstance(one, _REPLIES) or callable(one)):
                raise UsageError(f"{described(one)} is not {_A_REPLY}")
        self.name = name
        self.requests: list[ModelRequest] = []
        self._replies = iter(replies)
        self._lock = threading.Lock()

    async def respond(self, request: ModelRequest) -> ModelReply:
        scripted = self._next(request)
        if isinstance(scripted, Exception):
            raise scripted
        reply = scripted if isinstance(scripted, ModelReply | str) else scripted(request)
        if not isinstance(reply, ModelReply | str):
            given = described(reply)
            message = f"a function of {self.name} must return a text or a ModelReply, not {given}"
            raise ModelError(message)
        if isinstance(reply, str):
            data = value_of(reply) if request.output_schema is not None else None
            reply = ModelReply(reply, usage=estimated_usage(request, reply), data=data)
        if request.on_text and reply.text:
            request.on_text(reply.text)
        return reply

    def _next(self, request: ModelRequest) -> Scripted:
        with self._lock:
            self.requests.append(request)
            for scripted in self._replies:
                return scripted
            count = len(self.requests)
        message = f"the script of {self.name} has no reply to request {count}"
        raise ModelError(message, code="MODEL_SCRIPT_ENDED")

"""Recorded conversations with a model, so that tests need neither a key nor the network."""

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metier.errors import ModelError
from metier.safety.redact import SECRET
from metier.storage.atomic_files import write_atomically
from metier.values.models import FREE, Model, ModelReply, ModelRequest, ToolCall, check_model
from metier.values.runs import Usage

VERSION = 1
_KEY_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORTEST_KEY = 8


class CassetteError(ModelError):
    """A cassette that cannot be used, or has no reply to a request."""

    default_code = "MODEL_CASSETTE"


class RecordedModel:
    """Answers from a cassette; records one if it is given a model.

    A request is answered by the first unused reply to an equal request. Cassettes contain no
    times, and no values of environment variables that are named like keys.
    """

    price = FREE
    """The usage of a recorded reply has its cost."""

    def __init__(self, path: str | os.PathLike[str], model: Model | None = None) -> None:
        """`model` is asked, and its replies are written to `path` when `close` is called.

        Nothing is written if a request has no reply: an earlier cassette stays as it was.
        """
        self._path, self._model = Path(path), model
        self._failed: set[str] = set()
        self._lock = threading.Lock()
        self._exchanges: list[dict[str, Any]] = []
        if model is not None:
            check_model(model)
        if model is None:
            self.name, self._exchanges = _read(self._path)
        else:
            self.name = model.name
        self._unused = list(self._exchanges)

    async def respond(self, request: ModelRequest) -> ModelReply:
        asked = _request(request)
        if self._model is None:
            reply = self._stored(asked)
        else:
            reply = await self._recorded(self._model, request, asked)
        if request.on_text is not None and reply.text:
            request.on_text(reply.text)
        return reply

    async def _recorded(
        self, model: Model, request: ModelRequest, asked: Mapping[str, Any]
    ) -> ModelReply:
        key = _json(asked)
        self._failed.add(key)  # until there is a reply
        reply = await model.respond(request._replace(on_text=None))
        with self._lock:
            self._failed.discard(key)
            self._exchanges.append({"request": asked, "reply": _reply(reply)})
        return reply

    def _stored(self, asked: Mapping[str, Any]) -> ModelReply:
        with self._lock:
            for exchange in self._unused:
                if exchange["request"] == asked:
                    self._unused.remove(exchange)
                    return _reply_of(exchange["reply"])
            nearest = self._unused[0]["request"] if self._unused else None
        raise CassetteError(f"{_difference(asked, nearest)}; {_AGAIN} ({self._path})")

    def close(self) -> None:
        """Write the cassette, if it was recorded."""
        if self._model is None or self._failed:
            return
        data = {"version": VERSION, "model": self.name, "exchanges": self._exchanges}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(str(self._path), _without_keys(_json(data)).encode())


_RECORD = "pytest --metier-record"
_AGAIN = f"record it again with {_RECORD}"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _without_keys(text: str) -> str:
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST_KEY and name.upper().endswith(_KEY_NAMES):
            for key in (json.dumps(value, ensure_ascii=False)[1:-1], value):
                text = text.replace(key, SECRET)
    return text


def _read(path: Path) -> tuple[str, list[dict[str, Any]]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise ValueError(f"its version is {data['version']}, not {VERSION}")
        return str(data["model"]), list(data["exchanges"])
    except FileNotFoundError:
        raise CassetteError(f"{path}: there is no cassette yet; record one: {_RECORD}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CassetteError(f"{path}: the cassette cannot be read: {error}; {_AGAIN}") from None


def _request(request: ModelRequest) -> dict[str, Any]:
    """All that a provider would be sent, as it is after a way through JSON."""
    data: dict[str, Any] = {
        "system": request.system,
        "messages": [
            {**message._asdict(), "tool_calls": [call._asdict() for call in message.tool_calls]}
            for message in request.messages
        ],
        "tools": [tool._asdict() for tool in request.tools],
        "outputSchema": request.output_schema,
        "temperature": request.temperature,
        "maxTokens": request.max_tokens,
    }
    copied: dict[str, Any] = json.loads(_without_keys(_json(data)))
    return copied


def _reply(reply: ModelReply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "toolCalls": [call._asdict() for call in reply.tool_calls],
        "data": reply.data,
        "usage": reply.usage._asdict(),
    }


def _reply_of(data: Mapping[str, Any]) -> ModelReply:
    calls = [ToolCall(**call) for call in data["toolCalls"]]
    return ModelReply(data["text"], calls, Usage(**data["usage"]), data["data"])


def _difference(asked: Mapping[str, Any], recorded: Mapping[str, Any] | None) -> str:
    """Where a request differs from the next recorded one."""
    if recorded is None:
        return "the run asks once more than was recorded"
    keys = [key for key in asked if asked[key] != recorded.get(key)]
    texts = (_json(one.get(keys[0])).splitlines() for one in (asked, recorded)) if keys else ()
    for now, before in zip(*texts, strict=False):
        if now != before:
            return f"the {keys[0]} of a request changed from {before.strip()} to {now.strip()}"
    return f"a request changed: {', '.join(keys)}"

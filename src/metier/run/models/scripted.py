"""A model for tests: it answers what it was told to answer, in order."""

import threading
from collections.abc import Callable, Iterable

from metier.errors import ModelError
from metier.run.models.answers import value_of
from metier.run.models.offline import estimated_usage
from metier.values.models import ModelReply, ModelRequest

Scripted = ModelReply | str | ModelError | Callable[[ModelRequest], ModelReply | str]
"""What to answer: a reply, a text, an error to raise, or what a function makes of the request."""


class ScriptedModel:
    """Gives each reply once; after the last one `respond` raises `MODEL_SCRIPT_ENDED`.

    Many calls may come at the same time: each gets a reply of its own.
    """

    def __init__(self, replies: Iterable[Scripted], name: str = "scripted:test") -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._replies = iter(list(replies))
        self._lock = threading.Lock()

    async def respond(self, request: ModelRequest) -> ModelReply:
        scripted = self._next(request)
        if isinstance(scripted, ModelError):
            raise scripted
        answer = scripted if isinstance(scripted, ModelReply | str) else scripted(request)
        reply = _reply(request, answer) if isinstance(answer, str) else answer
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


def _reply(request: ModelRequest, text: str) -> ModelReply:
    data = value_of(text) if request.output_schema is not None else None
    return ModelReply(text, usage=estimated_usage(request, text), data=data)

"""A model that needs no network: it answers by a template, and says so."""

import json

from metier.core.budget import count_tokens
from metier.run.models.smallest import smallest_value
from metier.values.models import ModelReply, ModelRequest
from metier.values.runs import Usage

NAME = "offline:template"
_LONGEST_LINE = 200


class OfflineModel:
    """Answers the same request always in the same way, and calls no tool.

    With an output schema, the answer is the smallest value that is valid under it; `respond`
    raises `ModelError` when it finds none.
    """

    name = NAME

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
    """What a call has used, by four characters a token."""
    asked = "\n".join([request.system, *(message.text for message in request.messages)])
    return Usage(count_tokens(asked), count_tokens(answer), requests=1)


def _digest(request: ModelRequest) -> str:
    asked = next((one.text for one in reversed(request.messages) if one.role == "user"), "")
    lines = asked.strip().splitlines()
    first = lines[0][:_LONGEST_LINE] if lines else "(nothing)"
    results = sum(one.role == "tool" for one in request.messages)
    return (
        "[offline model] No model was asked: this answer is made from a template.\n"
        f"Asked: {first}\n"
        f"Given: {_counted(len(request.messages), 'message')}, "
        f"{_counted(len(request.tools), 'tool')}, {_counted(results, 'tool result')}."
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

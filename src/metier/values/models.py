"""What is said to a model and what it answers; the same words for every provider."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

Role = Literal["user", "assistant", "tool"]


class Usage(NamedTuple):
    """What a call, a step or a run has used."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """In US dollars, as far as the price is known."""
    requests: int = 0
    tool_calls: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def plus(self, other: "Usage") -> "Usage":
        if not any(self):
            return other
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            self.requests + other.requests,
            self.tool_calls + other.tool_calls,
        )

    def minus(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cost - other.cost,
            self.requests - other.requests,
            self.tool_calls - other.tool_calls,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "cost": self.cost,
            "requests": self.requests,
            "toolCalls": self.tool_calls,
        }


class ToolSpec(NamedTuple):
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON Schema of type object."""


class ToolCall(NamedTuple):
    """A model's wish to have a tool called."""

    id: str
    name: str
    args: Any
    """A mapping; a text when the model did not write JSON."""


class Message(NamedTuple):
    """One turn of the talk with a model, after the system prompt."""

    role: Role
    text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    """Of an assistant."""
    call_id: str = ""
    """Of a tool: the call that it answers."""
    tool_name: str = ""


class ModelRequest(NamedTuple):
    """One question to a model."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    output_schema: Mapping[str, Any] | None = None
    """A JSON Schema that the answer has to follow."""
    temperature: float | None = None
    max_tokens: int | None = None
    on_text: Callable[[str], None] | None = None
    """Told each piece of the answer as it comes."""


class ModelReply(NamedTuple):
    """An answer: a text, or tools to call first."""

    text: str
    tool_calls: Sequence[ToolCall] = ()
    usage: Usage = Usage(requests=1)
    data: Any = None
    """The answer as a value, when a schema was given and the model kept to JSON."""


class Model(Protocol):
    """Anything that answers."""

    @property
    def name(self) -> str:
        """`provider:model`, as people name it."""
        ...

    async def respond(self, request: ModelRequest) -> ModelReply:
        """Answer. Raises `ModelError`."""
        ...

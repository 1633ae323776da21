"""Requests to models and their replies, the same for every provider."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from metier.core.arguments import wrong_argument
from metier.values.runs import Usage

Role = Literal["user", "assistant", "tool"]


class ToolSpec(NamedTuple):
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ToolCall(NamedTuple):
    id: str
    name: str
    args: Any
    """A mapping; a string when the model did not write JSON."""


class Message(NamedTuple):
    """A message after the system prompt."""

    role: Role
    text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    call_id: str = ""
    """The call that a tool result answers."""
    tool_name: str = ""


class ModelRequest(NamedTuple):
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    output_schema: Mapping[str, Any] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    on_text: Callable[[str], None] | None = None
    """Called with each piece of the answer as it arrives."""


class ModelReply(NamedTuple):
    """An answer: text, or tools to call first."""

    text: str
    tool_calls: Sequence[ToolCall] = ()
    usage: Usage = Usage(requests=1)
    data: Any = None
    """The answer as a value, with a schema."""


class Price(NamedTuple):
    """In US dollars per million tokens."""

    input: float
    output: float

    def cost(self, usage: Usage) -> float:
        asked, answered = usage.input_tokens * self.input, usage.output_tokens * self.output
        return (asked + answered) / _MILLION


_MILLION = 1_000_000
FREE = Price(0.0, 0.0)


class Model(Protocol):
    """Answers requests. With a limit of cost it also needs a `price`, a `Price`."""

    @property
    def name(self) -> str:
        """`provider:model`."""

    async def respond(self, request: ModelRequest) -> ModelReply:
        """Answer. Raises `ModelError`."""


def own_price(model: Model) -> Price | None:
    """The price that a model object carries; None if it has none."""
    price = getattr(model, "price", None)
    return price if isinstance(price, Price) else None


A_NAME = "a name such as openai:gpt-5, or "


def check_model(given: object, or_name: str = "") -> None:
    """Raise `UsageError` unless it is an object that answers requests.

    `or_name` is what the error says first where a name would do: `A_NAME`.
    """
    named = getattr(given, "name", None)
    is_model = isinstance(named, str) and callable(getattr(given, "respond", None))
    if isinstance(given, type) or not is_model:
        hint = f"make one: {given.__name__}(…)" if isinstance(given, type) else ""
        kind = f"{or_name}an object with a 'name' and 'async def respond(request)'"
        raise wrong_argument("model", kind, given, hint or "leave it out for the default model")

"""A tool: what a model or a step may call, and how."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from metier.core.frozen import freeze
from metier.core.json_values import NotJsonError, Schema, json_copy
from metier.core.text import printable
from metier.errors import UsageError
from metier.values.models import ToolSpec

ToolCode = Literal[
    "TOOL_NOT_FOUND",
    "TOOL_VALIDATION_ERROR",
    "TOOL_EXECUTION_ERROR",
    "TOOL_TIMEOUT",
    "TOOL_PERMISSION_DENIED",
]
MOST_ARGUMENTS = 4_000_000
"""Bytes that the arguments of a call may have as JSON."""
MOST_OUTPUT = 1_000_000
"""Bytes that its output may have as JSON."""
MOST_MESSAGE = 4_000
"""Characters of an error."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


class ToolContext(NamedTuple):
    """For whom a tool works. A function gets it through a parameter of this type."""

    run_id: str = ""
    step_id: str = ""
    agent_id: str = ""
    attempt: int = 1
    idempotency_key: str = ""
    """The same for every attempt at one step, so that work can be recognised as done already."""


class ToolError(Exception):
    """How a call failed; `execute` makes it the result. A tool may raise it to name its own."""

    def __init__(
        self, message: str, *, code: ToolCode = "TOOL_EXECUTION_ERROR", retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


Call = Callable[[Any, ToolContext], Awaitable[Any]]
Prepare = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. Raises `UsageError` for an illegal name, schema or time limit."""

    name: str
    """1–64 of a–z, A–Z, 0–9, _ and -: what every model accepts."""
    description: str = ""
    schema: Mapping[str, Any]
    """A JSON Schema of type object; arguments that do not fit never reach the tool."""
    call: Call
    """Does the work, with what `prepare` gave."""
    prepare: Prepare | None = None
    """Turns arguments that fit the schema into what `call` takes, or raises `ToolError`."""
    timeout: float | None = None
    """Seconds; None: as long as it takes."""
    needs_consent: bool = False
    """Whether somebody must have agreed to it by name."""
    _schema: Schema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.match(self.name):
            raise UsageError(
                f"'{self.name}' is no name for a tool",
                hint="1 to 64 letters (a-z, A-Z), digits, '_' and '-'",
            )
        if self.timeout is not None and not self.timeout > 0:
            raise UsageError(f"the time limit of tool '{self.name}' must be above 0 seconds")
        try:
            object.__setattr__(self, "_schema", Schema(self.schema))
        except UsageError as error:
            raise UsageError(f"tool '{self.name}': {error.message}", hint=error.hint) from None
        object.__setattr__(self, "schema", freeze(self._schema.data))

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.schema)

    def checked(self, args: Any) -> dict[str, Any]:
        """A copy of `args`, which fit the schema. Raises `ToolError` with every problem."""
        if not isinstance(args, dict):
            raise invalid([f"arguments: a mapping is needed, not {_kind(args)}"])
        try:
            copied: dict[str, Any] = json_copy(args, MOST_ARGUMENTS)
        except NotJsonError as error:
            raise invalid([error.told("arguments")]) from None
        problems = self._schema.problems(copied)
        if problems:
            raise invalid(problems)
        return copied


def invalid(problems: list[str]) -> ToolError:
    """What to raise for arguments with these problems."""
    return ToolError("; ".join(problems), code="TOOL_VALIDATION_ERROR")


def one_line(text: str) -> str:
    """`text` for an error message: one line of bounded length that any terminal can show."""
    line = " ".join(text[: 2 * MOST_MESSAGE].split())
    if len(line) > MOST_MESSAGE:
        line = f"{line[:MOST_MESSAGE]}…"
    return printable(line.encode("utf-8", "backslashreplace").decode())


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"

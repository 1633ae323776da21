"""What a tool is to this server, and one call of it."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from mcp.server.context import ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

from metier.catalog import Catalog
from metier.core.json_values import Schema
from metier.core.paths import is_utf8
from metier.errors import UsageError
from metier.index.store import Store
from metier.mcp.answers import result, schema
from metier.mcp.keeper import Keeper

MOST_REMEMBERED = 8_000_000
"""Characters of answers: two hundred pages of fifty skills are about half of it."""
Args = Mapping[str, Any]
Context = ServerRequestContext[Any, Any]


class Call(NamedTuple):
    """One call of a tool; the arguments fit its schema."""

    args: Args
    keeper: Keeper
    context: Context
    params: CallToolRequestParams


Answer = Callable[[Call], Awaitable[CallToolResult | InputRequiredResult]]


class ServedTool:
    """A tool with a constant description, the schemas of both its ends, and what answers it."""

    def __init__(
        self,
        name: str,
        title: str,
        description: str,
        *,
        takes: Mapping[str, Any],
        needs: tuple[str, ...] = (),
        gives: str,
        answer: Answer,
        read_only: bool = True,
    ) -> None:
        """`takes` names the arguments with their schemas, `gives` the schema of the answer."""
        parameters = {
            "type": "object",
            "properties": dict(takes),
            "required": list(needs),
            "additionalProperties": False,
        }
        self.name = name
        self.answer = answer
        self._arguments = Schema(parameters)
        self._whole = [name for name, one in takes.items() if one.get("type") == "integer"]
        self.spec = Tool(
            name=name,
            title=title,
            description=description,
            input_schema=parameters,
            output_schema=schema(gives),
            annotations=ToolAnnotations(
                title=title,
                read_only_hint=read_only,
                destructive_hint=not read_only,
                idempotent_hint=read_only,
                open_world_hint=not read_only,
            ),
        )

    def checked(self, args: Args) -> Args:
        """The arguments. Raises `UsageError` with everything that does not fit."""
        problems = self._arguments.problems(args)
        if not problems and not is_utf8(json.dumps(args, ensure_ascii=False)):
            problems = ["arguments: a text holds half of a surrogate pair"]
        if problems:
            raise UsageError(
                "; ".join(problems),
                code="TOOL_VALIDATION_ERROR",
                hint=f"the input schema of {self.name} says what it takes",
            )
        # 50.0 is an integer in JSON
        return {**args, **{name: int(args[name]) for name in self._whole if name in args}}


def from_catalog(question: Callable[[Catalog, Args], dict[str, Any]]) -> Answer:
    """An answer that the catalogue gives by itself."""

    async def answer(call: Call) -> CallToolResult:
        return result(await call.keeper.ask(lambda catalog: question(catalog, call.args)))

    return answer


def remembered(question: Callable[[Catalog, Args], dict[str, Any]]) -> Answer:
    """The same for what hangs on the catalogue alone.

    Who asks what somebody asked before is told the same, unless anybody has written meanwhile.
    """
    memory: WeakKeyDictionary[Store, Memory] = WeakKeyDictionary()

    def told(catalog: Catalog, args: Args) -> CallToolResult:
        known = memory.setdefault(catalog.store, Memory())
        known.keep_to(catalog.store.version())
        key = json.dumps(args, sort_keys=True)
        if key not in known.answers:
            known.add(key, result(question(catalog, args)))
        return known.answers[key]

    async def answer(call: Call) -> CallToolResult:
        return await call.keeper.ask(lambda catalog: told(catalog, call.args))

    return answer


class Memory:
    """Answers of one state of the catalogue, up to a size."""

    def __init__(self) -> None:
        self._version: object = None
        self._size = 0
        self.answers: dict[str, CallToolResult] = {}

    def keep_to(self, version: object) -> None:
        """Forget what was said in another state."""
        if version != self._version:
            self._version = version
            self._forget()

    def add(self, key: str, answer: CallToolResult) -> None:
        (text,) = (one.text for one in answer.content if isinstance(one, TextContent))
        size = len(key) + len(text)
        if self._size + size > MOST_REMEMBERED:
            self._forget()
        self._size += size
        self.answers[key] = answer

    def _forget(self) -> None:
        self.answers.clear()
        self._size = 0

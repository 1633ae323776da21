"""Tools of the server, and calls of them."""

import json
import threading
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
from metier.mcp.answers import CatalogPool, result, schema

MOST_CACHED = 8_000_000
"""Characters of cached answers: about four hundred pages of fifty skills."""
Args = Mapping[str, Any]
Context = ServerRequestContext[Any, Any]


class Call(NamedTuple):
    args: Args
    catalog: CatalogPool
    context: Context
    params: CallToolRequestParams


Sent = dict[str, Any]
"""A result as it is sent; the SDK would write one that is a model again for each answer."""
Answered = CallToolResult | InputRequiredResult | Sent
Answer = Callable[[Call], Awaitable[Answered]]


class ServedTool:
    """A tool: its description, its schemas, and the function that answers it."""

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
        """`takes` maps arguments to schemas, `gives` names the schema of the answer."""
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
        """The arguments. Raises `UsageError` with every problem."""
        problems = self._arguments.problems(args)
        if not problems and not is_utf8(json.dumps(args, ensure_ascii=False)):
            problems = ["arguments: a string has a lone surrogate"]
        if problems:
            raise UsageError(
                "; ".join(problems),
                code="TOOL_VALIDATION_ERROR",
                hint=f"see the input schema of {self.name}",
            )
        # 50.0 is an integer in JSON
        return {**args, **{name: int(args[name]) for name in self._whole if name in args}}


Question = Callable[[Catalog, Args], dict[str, Any]]


def redacted(question: Question) -> Question:
    """The same question, with an answer without the values of secrets."""
    return lambda catalog, args: catalog.redactor.value(question(catalog, args))


def from_catalog(question: Question) -> Answer:
    shown = redacted(question)

    async def answer(call: Call) -> CallToolResult:
        return result(await call.catalog.ask(lambda catalog: shown(catalog, call.args)))

    return answer


def cached(question: Question) -> Answer:
    """An answer that depends on the catalog alone: computed once until the catalog changes."""
    shown = redacted(question)
    caches: WeakKeyDictionary[Catalog, AnswerCache] = WeakKeyDictionary()
    adding = threading.Lock()

    def cached_answer(catalog: Catalog, args: Args) -> Sent:
        with adding:  # each thread has its own catalog
            cache = caches.setdefault(catalog, AnswerCache())
        cache.drop_unless(catalog.version())
        key = json.dumps(args, sort_keys=True)
        if key not in cache.answers:
            cache.add(key, result(shown(catalog, args)))
        return cache.answers[key]

    async def answer(call: Call) -> Sent:
        return await call.catalog.ask(lambda catalog: cached_answer(catalog, call.args))

    return answer


class AnswerCache:
    """Answers about one version of the catalog, up to a total size."""

    def __init__(self) -> None:
        self._version: object = None
        self._size = 0
        self.answers: dict[str, Sent] = {}

    def drop_unless(self, version: object) -> None:
        if version != self._version:
            self._version = version
            self._clear()

    def add(self, key: str, answer: CallToolResult) -> None:
        (text,) = (one.text for one in answer.content if isinstance(one, TextContent))
        size = len(key) + len(text)
        if self._size + size > MOST_CACHED:
            self._clear()
        self._size += size
        self.answers[key] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)

    def _clear(self) -> None:
        self.answers.clear()
        self._size = 0

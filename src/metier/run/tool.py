"""Tools: their definition, and Python functions as tools."""

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import (
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    TypeVar,
    get_args,
    get_type_hints,
    overload,
)
from uuid import UUID

from metier.core.arguments import check_optional_text, described, wrong_argument
from metier.core.json_values import NotJsonError, Schema, freeze, json_copy, listed
from metier.core.text import printable
from metier.errors import UsageError
from metier.run.tool_threads import in_thread
from metier.values.models import ToolSpec

ToolCode = Literal[
    "TOOL_NOT_FOUND",
    "TOOL_VALIDATION_ERROR",
    "TOOL_EXECUTION_ERROR",
    "TOOL_TIMEOUT",
    "TOOL_PERMISSION_DENIED",
]
MOST_ARGUMENTS = 4_000_000
MOST_OUTPUT = 1_000_000
"""Bytes of JSON, like the arguments."""
MOST_MESSAGE = 4_000
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


class ToolContext(NamedTuple):
    """The caller of a tool. A function gets it through a parameter of this type."""

    run_id: str = ""
    step_id: str = ""
    agent_id: str = ""
    attempt: int = 1
    idempotency_key: str = ""
    """The same for every attempt at a step."""


class ToolError(Exception):
    """A failed call, which `execute` turns into a result. Tools may raise it."""

    def __init__(
        self, message: str, *, code: ToolCode = "TOOL_EXECUTION_ERROR", retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.match(name):
        raise UsageError(
            f"'{name}' is not a valid tool name",
            hint="1 to 64 letters (a-z, A-Z), digits, '_' and '-': @tool(name=…)",
        )


def _check_timeout(name: str, timeout: object) -> None:
    if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
        raise UsageError(f"the time limit of tool '{name}' must be above 0 seconds")


Call = Callable[[Any, ToolContext], Awaitable[Any]]
Prepare = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool. Raises `UsageError` for an invalid name, schema or time limit."""

    name: str
    description: str = ""
    schema: Mapping[str, Any]
    """A JSON Schema of type object."""
    call: Call
    """Called with what `prepare` returned."""
    prepare: Prepare | None = None
    """Called with valid arguments; may raise `ToolError`."""
    timeout: float | None = None
    """In seconds."""
    needs_consent: bool = False
    is_foreign: bool = False
    """Whether another party wrote its schema: patterns in it that could take long are ignored."""
    show: Callable[[str], str] | None = None
    """What a model is shown of its output or error, in place of the text."""
    _schema: Schema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_timeout(self.name, self.timeout)
        try:
            object.__setattr__(self, "_schema", Schema(self.schema, bounded=self.is_foreign))
        except UsageError as error:
            raise UsageError(f"tool '{self.name}': {error.message}", hint=error.hint) from None
        object.__setattr__(self, "schema", freeze(self._schema.data))

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.schema)

    def checked(self, args: Any) -> dict[str, Any]:
        """A copy of `args`. Raises `ToolError` unless they fit the schema."""
        if not isinstance(args, dict):
            kind = "nothing" if args is None else f"a {type(args).__name__}"
            raise invalid([f"arguments: a mapping is needed, not {kind}"])
        try:
            copied: dict[str, Any] = json_copy(args, MOST_ARGUMENTS)
        except NotJsonError as error:
            raise invalid([error.described("arguments")]) from None
        problems = self._schema.problems(copied)
        if problems:
            raise invalid(problems)
        return copied


def plain_value(value: Any) -> Any:
    """The JSON value of a model of pydantic, a dataclass, a date, a path or an enumeration."""
    from pydantic import BaseModel
    from pydantic_core import to_jsonable_python

    if isinstance(value, (BaseModel, *_CONVERTED)) or is_dataclass(value):
        try:
            return to_jsonable_python(value)
        except (ValueError, RecursionError):  # something else is in it
            pass
    raise NotJsonError(f"{described(value)} is not a JSON value")


_CONVERTED = (date, time, timedelta, Decimal, Enum, Path, UUID)


def invalid(problems: list[str]) -> ToolError:
    return ToolError("; ".join(problems), code="TOOL_VALIDATION_ERROR")


def one_line(text: str) -> str:
    """`text` as one printable line of bounded length."""
    line = " ".join(text[: 2 * MOST_MESSAGE].split())
    if len(line) > MOST_MESSAGE:
        line = f"{line[:MOST_MESSAGE]}…"
    return printable(line.encode("utf-8", "backslashreplace").decode())


# Functions


Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
_OPTIONS = "__metier_tool__"


@overload
def tool(function: F) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    needs_consent: bool = False,
) -> Callable[[F], F]: ...
def tool(
    function: F | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    needs_consent: bool = False,
) -> F | Callable[[F], F]:
    """Mark a function as a tool for agents. It can still be called as before.

    The name and the description are by default the function's, the schema comes from its
    annotations; `timeout` is in seconds. Raises `UsageError` for anything but a function.
    """
    check_optional_text("name", name)
    check_optional_text("description", description)
    if name is not None:
        _check_name(name)
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float)):
        raise wrong_argument("timeout", "a number of seconds", timeout)
    options = {
        "name": name, "description": description, "timeout": timeout,
        "needs_consent": needs_consent,
    }  # fmt: skip

    def marked(fn: F) -> F:
        if not callable(fn) or isinstance(fn, type):
            hint = f"@tool(name={fn!r})" if isinstance(fn, str) else ""
            raise wrong_argument("function", "a function", fn, hint)
        try:
            setattr(fn, _OPTIONS, options)
        except AttributeError:  # it is built in, or a bound method
            message = f"{_named(fn)} cannot be marked as a tool"
            raise UsageError(message, hint="write a function that calls it") from None
        return fn

    return marked if function is None else marked(function)


def tool_of(function: Function) -> Tool:
    """The tool that a function is, as `@tool` says. Raises `UsageError`."""
    options: dict[str, Any] = getattr(function, _OPTIONS, {})
    return function_tool(function, **options)


_SECTION = re.compile(
    r"^(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):[ \t]*$", re.MULTILINE
)
_PARAMETER = re.compile(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(\S.*)$")
_MOST_DEFAULT = 1_000
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def function_tool(
    fn: Function,
    name: str | None = None,
    description: str | None = None,
    *,
    timeout: float | None = None,
    needs_consent: bool = False,
) -> Tool:
    """A function as a tool: annotations give its schema. Raises `UsageError`."""
    parameters = _parameters(fn)
    slot = _context_slot(parameters)
    parameters.pop(slot, None)
    inner = _documented(fn)
    adapter = _adapter(fn, parameters)
    return Tool(
        name=str(name or getattr(inner, "__name__", "")),
        description=_summary(inner) if description is None else description,
        schema=_schema(fn, adapter, parameters),
        prepare=_prepare(adapter),
        call=_caller(fn, lambda given, more: fn(**given, **more), slot),
        timeout=timeout,
        needs_consent=needs_consent,
    )


def schema_tool(
    name: str,
    schema: Mapping[str, Any],
    handler: Function,
    *,
    description: str | None = None,
    timeout: float | None = None,
    needs_consent: bool = False,
) -> Tool:
    """A tool with its own schema; `handler` gets the arguments as a mapping."""
    slot = _context_slot(_parameters(handler))
    return Tool(
        name=name,
        description=_summary(_documented(handler)) if description is None else description,
        schema=schema,
        call=_caller(handler, lambda given, more: handler(given, **more), slot),
        timeout=timeout,
        needs_consent=needs_consent,
    )


def _caller(fn: Function, invoke: Callable[[Any, dict[str, Any]], Any], slot: str) -> Call:
    """Call `fn` directly if it is async, else in a thread."""
    if inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__):
        if not slot:
            return lambda given, _context: invoke(given, {})
        return lambda given, context: invoke(given, {slot: context})

    async def call(given: Any, context: ToolContext) -> Any:
        more = {slot: context} if slot else {}
        output = await in_thread(lambda: invoke(given, more))
        return await output if inspect.isawaitable(output) else output

    return call


def _parameters(fn: Function) -> dict[str, inspect.Parameter]:
    if not callable(fn):
        raise UsageError(f"{described(fn)} is not callable, so it is not a tool")
    try:
        found = inspect.signature(fn, eval_str=True).parameters
        types = _resolved(fn, {name: one.annotation for name, one in found.items()})
    except (NameError, TypeError, ValueError, SyntaxError, AttributeError) as error:
        hint = "import it at runtime too: the schema is made of the types"
        raise UsageError(
            f"the signature of {_named(fn)} cannot be read: {error}",
            hint=hint if isinstance(error, NameError) else "",
        ) from None
    parameters = {name: one.replace(annotation=types[name]) for name, one in found.items()}
    first = next(iter(parameters.values()), None)
    if first is not None and first.name == "self" and first.annotation is first.empty:
        hint = "give the method of an object: tools=[shop.order_status]"
        raise UsageError(f"{_named(fn)} is a method without its object", hint=hint)
    return parameters


def _resolved(fn: Function, annotations: dict[str, Any]) -> dict[str, Any]:
    """The annotations without names in quotes, as in `list["Order"]`. Raises `NameError`."""
    inner = inspect.unwrap(_documented(fn))
    code = inner if hasattr(inner, "__globals__") else type(inner).__call__
    names = getattr(code, "__globals__", {})
    return get_type_hints(SimpleNamespace(__annotations__=annotations), names, include_extras=True)


def _named(fn: Function) -> str:
    """`the function 'order_status'`"""
    name = getattr(fn, "__qualname__", "") or type(fn).__name__
    return f"the function '{name.rpartition('<locals>.')[2]}'"


def _context_slot(parameters: Mapping[str, inspect.Parameter]) -> str:
    """The parameter that gets the context, if any."""
    for name, parameter in parameters.items():
        if ToolContext in (parameter.annotation, *get_args(parameter.annotation)):
            return name
    return ""


def _documented(fn: Function) -> Function:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn


def _adapter(fn: Function, parameters: Mapping[str, inspect.Parameter]) -> Any:
    """Turns arguments into values of the annotated types."""
    from pydantic import ConfigDict, TypeAdapter, with_config
    from pydantic.errors import PydanticUserError
    from typing_extensions import TypedDict  # the one that pydantic asks for

    fields: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if parameter.kind not in _NAMED:
            message = f"{_named(fn)} takes '{parameter}'; a tool has parameters with names only"
            raise UsageError(message)
        unknown = parameter.annotation is parameter.empty
        kind = Any if unknown else parameter.annotation
        fields[name] = kind if parameter.default is parameter.empty else NotRequired[kind]
    arguments = TypedDict("Arguments", fields)  # type: ignore[misc]  # only known now
    try:
        return TypeAdapter(with_config(ConfigDict(extra="forbid"))(arguments))
    except PydanticUserError as error:
        said = str(error).split(". ")[0].splitlines()[0]
        message = f"{_named(fn)} has a parameter of a type without schema: {said}"
        raise UsageError(message) from None


def _schema(
    fn: Function, adapter: Any, parameters: Mapping[str, inspect.Parameter]
) -> dict[str, Any]:
    from pydantic.errors import PydanticUserError

    texts = _parameter_texts(_documented(fn))
    try:
        schema: dict[str, Any] = adapter.json_schema()
    except PydanticUserError as error:
        said = str(error).splitlines()[0]
        if error.code == "class-not-fully-defined":
            said = "its type needs another that is not defined"
        message = f"there is no JSON Schema for a parameter of {_named(fn)}: {said}"
        raise UsageError(message) from None
    schema.pop("title", None)
    for name, entry in schema.get("properties", {}).items():
        entry.pop("title", None)
        if name in texts:
            entry.setdefault("description", texts[name])
        _show_default(entry, parameters[name].default)
    return schema


def _show_default(entry: dict[str, Any], default: Any) -> None:
    if default is not inspect.Parameter.empty:
        try:
            shown = json_copy(default, _MOST_DEFAULT, converted=plain_value)
            entry.setdefault("default", shown)
        except NotJsonError:
            return  # it is the function's own affair


def _prepare(adapter: Any) -> Prepare:
    from pydantic import ValidationError

    def prepare(args: dict[str, Any]) -> Any:
        if not args:
            return args
        try:
            return adapter.validate_python(args)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            raise invalid(listed((one["loc"], one["msg"]) for one in found)) from None

    return prepare


def _summary(fn: Function) -> str:
    """The docstring up to its first section."""
    return _SECTION.split(inspect.getdoc(fn) or "", maxsplit=1)[0].strip()


def _parameter_texts(fn: Function) -> dict[str, str]:
    """The texts in the section `Args:` of the docstring."""
    _, _, section = (inspect.getdoc(fn) or "").partition("\nArgs:")
    texts: dict[str, str] = {}
    name = ""
    for line in _SECTION.split(section, maxsplit=1)[0].splitlines():
        found = _PARAMETER.match(line)
        if found:
            name = found[1]
            texts[name] = found[2].strip()
        elif name and line.strip():
            texts[name] += f" {line.strip()}"
    return texts

"""Calls tools; every outcome is a value. Provides the tools of the settings."""

import asyncio
from collections import ChainMap
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

from metier.config.mcp_pins import McpPins
from metier.core.json_values import NotJsonError, freeze, json_copy
from metier.core.nearest import did_you_mean
from metier.errors import MetierError, TrustError, UsageError
from metier.run.command_tools import command_tool
from metier.run.tool import (
    MOST_OUTPUT,
    Function,
    Tool,
    ToolCode,
    ToolContext,
    ToolError,
    one_line,
    plain_value,
    tool_of,
)
from metier.values.agents import ToolResult
from metier.values.models import ToolSpec
from metier.values.run_settings import CommandSetting, ServerSetting
from metier.values.settings_tables import ToolSettings

_NOBODY = ToolContext()
_NAMES_THE_TOOL = ("TOOL_NOT_FOUND", "TOOL_PERMISSION_DENIED")

Consent = Callable[[Tool, Mapping[str, Any], ToolContext], bool]


class ToolExecutor:
    """Holds tools and calls them.

    `consent` allows tools that need it: their names, or a function of the tool, its arguments and
    the context that returns True.
    """

    def __init__(self, *, consent: Consent | Collection[str] = ()) -> None:
        if isinstance(consent, str):
            raise UsageError("'consent' takes a collection of names or a function, not a string")
        self._tools: MutableMapping[str, Tool] = {}
        self._lent: dict[str, list[Tool]] = {}
        self._functions: dict[str, Callable[[], Tool]] = {}
        self._consent: Consent = consent if callable(consent) else _by_name(frozenset(consent))

    def register(self, tool: Tool | Function) -> Tool:
        """Add a tool or a function. Raises `UsageError` when its name is taken."""
        added = tool if isinstance(tool, Tool) else tool_of(tool)
        if added.name in self._tools:
            raise UsageError(f"there is already a tool '{added.name}'", hint="use another name")
        self._tools[added.name] = added
        return added

    def with_own(self, tools: Mapping[str, Tool], consent: Consent) -> "ToolExecutor":
        """An executor of these tools, then of those here, also of what is added here later."""
        made = ToolExecutor(consent=consent)
        made._tools = ChainMap(dict(tools), self._tools)
        made._functions = self._functions
        return made

    def add_function(self, name: str, load: Callable[[], Tool]) -> None:
        """Add a tool that `load_functions` loads."""
        self._functions[name] = load

    def load_functions(self, wanted: Collection[str]) -> None:
        """Register those of the added functions that are wanted. Raises what loading raises."""
        for name in [name for name in self._functions if name in wanted]:
            self.register(self._functions[name]())
            del self._functions[name]

    def function_errors(self) -> list[MetierError]:
        """Load the added functions; the error of each that cannot be loaded."""
        errors: list[MetierError] = []
        for name in [*self._functions]:
            try:
                self.load_functions([name])
            except MetierError as error:
                errors.append(error)
        return errors

    def remove(self, name: str) -> None:
        """Remove a registered tool, if there is one of that name."""
        self._tools.pop(name, None)

    def registered(self) -> list[Tool]:
        """All tools but those that were lent."""
        return [tool for name, tool in self._tools.items() if not self._lent.get(name)]

    def lend(self, tool: Tool) -> bool:
        """Add a tool until `take_back`, unless its name is registered; whether it was added."""
        lent = self._lent.setdefault(tool.name, [])
        if not lent and tool.name in self._tools:
            return False
        lent.append(tool)
        self._tools[tool.name] = tool
        return True

    def take_back(self, tool: Tool) -> None:
        lent = [one for one in self._lent[tool.name] if one is not tool]
        self._lent[tool.name] = lent
        if lent:
            self._tools[tool.name] = lent[-1]
        else:
            del self._tools[tool.name]

    def is_tool_available(self, name: str, agent_tools: Collection[str] | None = None) -> bool:
        """Whether there is such a tool, and `agent_tools` lists it."""
        return name in self._tools and (agent_tools is None or name in agent_tools)

    def names(self) -> list[str]:
        """All tools, also functions that are not loaded yet."""
        return [*self._tools, *self._functions]

    def specs(self, names: Iterable[str] | None = None) -> list[ToolSpec]:
        """These tools, or all, as a model sees them; unknown names are ignored."""
        wanted = self._tools if names is None else dict.fromkeys(names)
        return [self._tools[name].spec for name in wanted if name in self._tools]

    def shown(self, name: str, text: str) -> str:
        """What a model is shown of the output or error of a tool."""
        tool = self._tools.get(name)
        return tool.show(text) if tool is not None and tool.show is not None else text

    async def execute(
        self,
        name: str,
        args: Any,
        *,
        context: ToolContext | None = None,
        allow: Collection[str] | None = None,
    ) -> ToolResult:
        """Call a tool with a copy of `args`; `allow` lists what the agent may call.

        A failure is a result with a code; only cancelling the caller raises.
        """
        started = perf_counter()
        try:
            tool = self._find(name, allow)
            checked = tool.checked(args)
            given = tool.prepare(checked) if tool.prepare is not None else checked
            if tool.needs_consent:
                self._ask(tool, checked, context or _NOBODY)
            if tool.timeout is None:
                output = await tool.call(given, context or _NOBODY)
            else:
                output = await _in_time(tool, given, context or _NOBODY)
            output = _checked(output)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            return _failed(name, error, started)
        return ToolResult(success=True, output=output, duration_ms=_since(started))

    def _find(self, name: Any, allow: Collection[str] | None) -> Tool:
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise ToolError(self._unknown(name, allow), code="TOOL_NOT_FOUND")
        if allow is not None and name not in allow:
            message = f"the agent may not call '{name}': its profile does not list it under 'tools'"
            raise ToolError(message, code="TOOL_PERMISSION_DENIED")
        return tool

    def _unknown(self, name: Any, allow: Collection[str] | None) -> str:
        shown = name if isinstance(name, str) else type(name).__name__
        known = [tool for tool in self._tools if self.is_tool_available(tool, allow)]
        meant = did_you_mean(name, known) if isinstance(name, str) else ""
        return "; ".join(filter(None, [f"there is no tool '{shown}'", meant]))

    def _ask(self, tool: Tool, args: dict[str, Any], context: ToolContext) -> None:
        """Raise `ToolError` without consent; only True counts."""
        why = ""
        try:
            agreed = self._consent(tool, freeze(args), context) is True
        except Exception as error:
            agreed, why = False, f" (asking failed: {_text(error)})"
        if not agreed:
            raise ToolError(
                f"'{tool.name}' needs consent{why}: run with --allow-tool {tool.name} (in Python "
                f"catalog.allow_tools('{tool.name}')), or allow it in your own settings",
                code="TOOL_PERMISSION_DENIED",
            )


def _by_name(names: frozenset[str]) -> Consent:
    return lambda tool, _args, _context: tool.name in names


async def _in_time(tool: Tool, given: Any, context: ToolContext) -> Any:
    """The output. Raises `ToolError` when its time is up."""
    limit = asyncio.timeout(tool.timeout)
    output = None
    try:
        async with limit:
            output = await tool.call(given, context)
    except Exception:
        if not limit.expired():
            raise
    if limit.expired():
        message = f"stopped after {tool.timeout:g} s"
        raise ToolError(message, code="TOOL_TIMEOUT", retryable=True)
    return output


def _checked(output: Any) -> Any:
    try:
        return json_copy(output, MOST_OUTPUT, converted=plain_value)
    except NotJsonError as error:
        raise ToolError(error.described("output")) from None


def _is_cancelled() -> bool:
    """Whether the caller was cancelled, not just a task of the tool."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(name: Any, error: BaseException, started: float) -> ToolResult:
    code: ToolCode = "TOOL_EXECUTION_ERROR"
    retryable = True
    if isinstance(error, TrustError):  # a server changed while it was restarted
        error = _denied(error)
    if isinstance(error, ToolError):
        code, retryable = error.code, error.retryable
    about = "" if code in _NAMES_THE_TOOL else f"'{name}': "
    message = one_line(about + _text(error))
    return ToolResult.failed(code, message, retryable=retryable, duration_ms=_since(started))


def _denied(error: TrustError) -> ToolError:
    message = ": ".join(filter(None, (error.message, error.hint)))
    return ToolError(message, code="TOOL_PERMISSION_DENIED")


def _text(error: BaseException) -> str:
    """The text of an error, with its type unless it is ours."""
    try:
        text = str(error)
    except Exception:
        text = "it cannot say what it is"
    if isinstance(error, ToolError | MetierError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _since(started: float) -> float:
    return (perf_counter() - started) * 1_000


# The tools of the settings

CheckFiles = Callable[[Sequence[str], str], None]
"""Raises when a file that an argv names, in a folder, has changed since it was trusted."""


def nothing_to_check(_argv: Sequence[str], _folder: str) -> None:
    """For commands that are all the user's own."""


def toolbox(
    settings: ToolSettings, workspace: str, consent: Consent, check: CheckFiles = nothing_to_check
) -> ToolExecutor:
    """An executor with the commands of the settings; `check` runs before a workspace's starts."""
    executor = ToolExecutor(consent=consent)
    for one in settings.commands:
        if one.function:
            executor.add_function(one.name, partial(_named_function, one, workspace, check))
            continue
        tool = command_tool(one, workspace)
        executor.register(tool if one.is_users else _with_check(tool, one, check))
    return executor


def _named_function(setting: CommandSetting, workspace: str, check: CheckFiles) -> Tool:
    from metier.config.powers import module_argv  # few have any
    from metier.run.named_functions import named_function

    argv = module_argv(setting.function)
    check_module = None if setting.is_users else partial(check, argv, setting.folder)
    return named_function(setting, workspace, check_module)


def _with_check(tool: Tool, setting: CommandSetting, check: CheckFiles) -> Tool:
    """The tool, with its files checked before each start."""

    async def call(prepared: Any, context: ToolContext) -> Any:
        try:
            check(setting.argv, setting.folder)
        except MetierError as error:
            raise ToolError(error.message, code="TOOL_PERMISSION_DENIED") from None
        return await tool.call(prepared, context)

    return replace(tool, call=call)


def _unreachable(name: str, error: MetierError, show: Callable[[str], str]) -> Tool:
    """A tool that says why its server cannot be used; the reason may be in the server's words."""

    async def refuse(_args: Any, _context: ToolContext) -> Any:
        if isinstance(error, TrustError):
            raise _denied(error)
        raise ToolError(error.message, retryable=True)

    schema = {"type": "object"}
    return Tool(name=name, schema=schema, call=refuse, is_foreign=True, show=show)


@asynccontextmanager
async def connected(
    executor: ToolExecutor,
    servers: Sequence[ServerSetting],
    wanted: Collection[str],
    check: CheckFiles = nothing_to_check,
    *,
    pins: McpPins | None = None,
    secret: bytes = b"",
) -> AsyncIterator[None]:
    """Lend the executor the `wanted` tools of servers; `check` runs before a workspace's starts.

    `pins` switch tools off that changed since they were reviewed; `secret` is the key of the fences
    around what servers say. The wanted functions of the settings are imported. Raises
    `ConfigError` if one cannot be.
    """
    executor.load_functions(wanted)
    async with AsyncExitStack() as stack:
        for server in servers:
            names = sorted(one for one in wanted if one.startswith(f"{server.name}__"))
            if not names:
                continue
            from metier.run.mcp_tools import mcp_tools  # few have servers
            from metier.run.server_text import ServerText

            argv = (server.command, *server.args, *server.env.values())
            check_start = None if server.is_users else partial(check, argv, server.folder or "")
            try:
                tools = await stack.enter_async_context(
                    mcp_tools(server, check_start, pins=pins, secret=secret)
                )
            except MetierError as error:  # only the steps that need it are to fail
                show = ServerText(server.name, secret).result
                tools = [_unreachable(name, error, partial(show, name)) for name in names]
            for tool in tools:
                if executor.lend(tool):
                    stack.callback(executor.take_back, tool)
        yield

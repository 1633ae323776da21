"""The tools that the settings name: commands, and those of MCP servers."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

from metier.errors import MetierError
from metier.run.commands import command_tool
from metier.run.tool import Tool, ToolContext, ToolError
from metier.run.tools import Consent, ToolExecutor
from metier.values.running import CommandSetting, ServerSetting, ToolSettings

CheckFiles = Callable[[Sequence[str], str], None]
"""Raises when a file that a command line names, in a folder, is not the one that was trusted."""


def nothing_to_check(_argv: Sequence[str], _folder: str) -> None:
    """For commands that are all the user's own."""


def toolbox(
    settings: ToolSettings,
    workspace: str,
    consent: Consent,
    check: CheckFiles = nothing_to_check,
) -> ToolExecutor:
    """An executor with the commands of the settings. Raises `UsageError` for a wrong one.

    `check` is called just before a command of the workspace starts.
    """
    executor = ToolExecutor(consent=consent)
    for one in settings.commands:
        tool = command_tool(
            one.name,
            one.argv,
            workspace=workspace,
            description=one.description,
            schema=one.schema,
            folder=one.folder,
            timeout=one.timeout,
            stdin=cast(Any, one.stdin),
            output=cast(Any, one.output),
            environment=one.environment,
            raw=one.raw,
        )
        executor.register(tool if one.is_users else _checked(tool, one, check))
    return executor


def _checked(tool: Tool, setting: CommandSetting, check: CheckFiles) -> Tool:
    """The tool, which looks at the files that its command names before each start."""

    async def call(prepared: Any, context: ToolContext) -> Any:
        try:
            check(setting.argv, setting.folder)
        except MetierError as error:
            raise ToolError(error.message, code="TOOL_PERMISSION_DENIED") from None
        return await tool.call(prepared, context)

    return replace(tool, call=call)


def _unreachable(name: str, error: MetierError) -> Tool:
    """A tool that says why it cannot be called."""

    async def refuse(_args: Any, _context: ToolContext) -> Any:
        raise ToolError(error.message, retryable=True)

    return Tool(name=name, schema={"type": "object"}, call=refuse)


def _check_server(server: ServerSetting, check: CheckFiles) -> None:
    check((server.command, *server.args, *server.env.values()), server.folder or "")


@asynccontextmanager
async def connected(
    executor: ToolExecutor,
    servers: Sequence[ServerSetting],
    wanted: Collection[str],
    check: CheckFiles = nothing_to_check,
) -> AsyncIterator[None]:
    """While the block lasts the executor has the tools of the servers that `wanted` names.

    `check` is called just before a server of the workspace starts.
    """
    async with AsyncExitStack() as stack:
        for server in servers:
            if not any(name.startswith(f"{server.name}__") for name in wanted):
                continue
            from metier.run.mcp_link import McpServer  # few have servers
            from metier.run.mcp_tools import mcp_tools

            settings = McpServer(
                server.command,
                server.args,
                server.env,
                server.folder,
                server.url,
                server.headers,
                server.timeout,
                server.plain_http,
                None if server.is_users else partial(_check_server, server, check),
            )
            names = [one for one in wanted if one.startswith(f"{server.name}__")]
            try:
                tools = await stack.enter_async_context(mcp_tools(server.name, settings))
            except MetierError as error:  # only the steps that need it are to fail
                tools = [_unreachable(name, error) for name in sorted(names)]
            for tool in tools:
                if executor.lend(tool):
                    stack.callback(executor.take_back, tool)
        yield

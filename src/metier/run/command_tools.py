"""Commands as tools: no shell, little environment, inside the workspace, only with consent."""

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from metier.core.paths import is_inside
from metier.core.process import minimal_environment
from metier.core.unread import why_not_json
from metier.errors import UsageError
from metier.run.tool import MOST_OUTPUT, Tool, ToolContext, ToolError, invalid
from metier.values.run_settings import PLACEHOLDER, CommandSetting

# Processes


_MOST_ERRORS = 8_192
_LINGER = 1.0
"""Seconds to wait for pipes that a process outside the group holds open."""


class Ended(NamedTuple):
    code: int
    """Below 0: the signal that ended it."""
    output: bytes
    errors: bytes
    too_much: bool


async def run_process(
    argv: Sequence[str],
    *,
    folder: str,
    environment: Mapping[str, str],
    stdin: bytes | None,
    most_output: int,
) -> Ended:
    """Run `argv` without a shell, then kill its session. Raises `OSError` or `ValueError`."""
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            lambda: _Watch(most_output),
            *argv,
            cwd=folder,
            env=dict(environment),
            stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    )
    try:
        transport, watch = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.ensure_future(_end_once_started(starting)))
        raise
    try:
        if stdin is not None:
            _feed(transport, stdin)
        await watch.over
    finally:
        await asyncio.shield(asyncio.ensure_future(_end(transport, watch)))
    code = transport.get_returncode()
    return Ended(-1 if code is None else code, bytes(watch.output), bytes(watch.errors), watch.full)


class _Watch(asyncio.SubprocessProtocol):
    """Collects the output of a command, within bounds."""

    def __init__(self, most_output: int) -> None:
        loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = loop.create_future()
        """It has exited or printed too much."""
        self.closed: asyncio.Future[None] = loop.create_future()
        """It has exited and its pipes are read to their ends."""
        self.output = bytearray()
        self.errors = bytearray()
        self.full = False
        self._most = most_output

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.errors += data
            del self.errors[:-_MOST_ERRORS]
        elif len(self.output) + len(data) <= self._most:
            self.output += data
        else:
            self.full = True
            _settle(self.over)

    def process_exited(self) -> None:
        _settle(self.over)

    def connection_lost(self, _exc: Exception | None) -> None:
        _settle(self.closed)


Started = tuple[asyncio.SubprocessTransport, _Watch]


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    pipe.write(stdin)
    pipe.close()


async def _end_once_started(starting: "asyncio.Future[Started]") -> None:
    """End a command that is still starting: it has no process group to kill yet."""
    await asyncio.wait((starting,))
    if not starting.cancelled() and starting.exception() is None:
        await _end(*starting.result())


async def _end(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Kill the group, read what is left, close the pipes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), signal.SIGKILL)
    await asyncio.wait((watch.closed,), timeout=_LINGER)
    transport.close()
    await asyncio.wait((watch.closed,), timeout=_LINGER)


# Tools


def command_tool(setting: CommandSetting, workspace: str) -> Tool:
    """A command as a tool; it always needs consent. Raises `UsageError`.

    `{name}` in an element of `argv` becomes the argument `name`, without a shell. A value that
    would become an option is rejected, unless `raw` lists the argument. Without a schema each
    argument is a required string. The command runs inside the workspace with few variables.
    """
    schema = setting.schema
    command = _Command(setting, workspace)
    command.check()
    return Tool(
        name=setting.name,
        description=setting.description,
        schema=_required_strings(setting.placeholders) if schema is None else schema,
        prepare=command.prepared,
        call=command.run,
        timeout=setting.timeout,
        needs_consent=True,
    )


class _Prepared(NamedTuple):
    argv: tuple[str, ...]
    stdin: bytes | None


class _Command(NamedTuple):
    setting: CommandSetting
    workspace: str

    def check(self) -> None:
        """Raise `UsageError` unless it can run."""
        name, flaw = self.setting.name, self.setting.argv_flaw()
        if flaw:
            raise UsageError(f"tool '{name}': {flaw.message}", hint=flaw.hint)
        if self._inside() is None:
            raise UsageError(f"tool '{name}': {self._leaves()}")

    def prepared(self, args: dict[str, Any]) -> _Prepared:
        """The command line and stdin for `args`. Raises `ToolError` with all rejected values."""
        given = {**self.setting.defaults, **args}
        problems: list[str] = []
        argv = [self._filled(element, given, problems) for element in self.setting.argv]
        if problems:
            raise invalid(problems)
        stdin = json.dumps(args, ensure_ascii=False) if self.setting.stdin == "json" else None
        return _Prepared(tuple(argv), None if stdin is None else stdin.encode())

    async def run(self, prepared: _Prepared, context: ToolContext) -> Any:
        """What the command prints. Raises `ToolError`."""
        folder = self._inside()
        if folder is None:
            raise ToolError(self._leaves())
        try:
            ended = await run_process(
                prepared.argv,
                folder=folder,
                environment={
                    **minimal_environment(self.setting.environment),
                    "METIER_RUN_ID": context.run_id,
                    "METIER_STEP_ID": context.step_id,
                    "METIER_IDEMPOTENCY_KEY": context.idempotency_key,
                },
                stdin=prepared.stdin,
                most_output=MOST_OUTPUT,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"cannot be started: {error}") from None
        if ended.too_much:
            raise ToolError(f"printed more than {MOST_OUTPUT:,} bytes and was stopped")
        if ended.code:
            raise ToolError(_reason(ended), retryable=True)
        text = ended.output.decode("utf-8", errors="replace").rstrip("\r\n")
        return _from_json(text) if self.setting.output == "json" else text

    def _filled(self, element: str, given: Mapping[str, Any], problems: list[str]) -> str:
        names = PLACEHOLDER.findall(element)
        filled = PLACEHOLDER.sub(lambda found: _as_text(given[found[1]]), element)
        becomes_option = filled.startswith("-") and not element.startswith("-")
        if "\0" in filled:
            problems.append(f"arguments.{names[0]}: holds a NUL character")
        elif becomes_option and not set(names) <= set(self.setting.raw):
            problems.append(f"arguments.{names[0]}: starts with '-', so it would be an option")
        return filled

    def _inside(self) -> str | None:
        """Where it runs, symlinks followed; None when that is outside the workspace."""
        workspace = os.path.realpath(self.workspace)
        folder = os.path.realpath(os.path.join(workspace, self.setting.folder))
        return folder if is_inside(folder, workspace) else None

    def _leaves(self) -> str:
        return f"the folder '{self.setting.folder}' leaves the workspace"


def _required_strings(names: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
        "additionalProperties": False,
    }


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _reason(ended: Ended) -> str:
    """The exit code or signal, and the last line of stderr."""
    lines = ended.errors.decode("utf-8", errors="replace").strip().splitlines()
    said = f": {lines[-1].strip()}" if lines else ""
    return f"{_signal(-ended.code) if ended.code < 0 else f'exit code {ended.code}'}{said}"


def _signal(number: int) -> str:
    try:
        return f"ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended by signal {number}"


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"what it printed is not JSON: {why_not_json(error, text)}") from None


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")

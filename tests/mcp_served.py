"""Servers for the tests of `metier mcp`: in this process, over stdio, and over HTTP on loopback."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, TextContent

from conftest import REPOSITORY, trust
from metier import Catalog
from metier.config import Config
from metier.mcp.serve import serving

T = TypeVar("T")
METIER = str(Path(sys.executable).with_name("metier"))
EXAMPLE = REPOSITORY / "examples" / "workspace"
ENOUGH = 300.0
ERAS = ("auto", "legacy")
"""What a client of the SDK is told: the newest protocol, or the handshake of 2025."""


@contextmanager
def own_home(folder: Path) -> Iterator[None]:
    """A home for servers that live longer than one test, and so than the home of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        for name in ("METIER_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            patch.delenv(name, raising=False)
        yield


def example(folder: Path) -> Path:
    """A copy of the example workspace that no other folder has a say in; its user trusts it."""
    root = folder / "workspace"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns(".metier"))
    (root / "metier.toml").write_text("host-folders = false\n")
    trust(root)
    return root


@contextmanager
def refreshed(root: Path, **config: Any) -> Iterator[Catalog]:
    with Catalog.open(root, config=Config(host_folders=False, **config)) as catalog:
        catalog.refresh()
        yield catalog


@contextmanager
def server_over(root: Path, *, allow_run: bool = False) -> Iterator[Server[Any]]:
    with serving(lambda: refreshed(root), allow_run=allow_run) as server:
        yield server


def asked(
    server: Any, talk: Callable[[Client], Coroutine[Any, Any, T]], era: str = "auto", **more: Any
) -> T:
    """What a conversation with a server gives; a server is an object, parameters or an address."""

    async def main() -> T:
        refused: MCPError | None = None
        async with asyncio.timeout(ENOUGH), Client(server, mode=era, **more) as client:
            try:
                return await talk(client)
            except MCPError as error:  # raised here it would come in groups of groups
                refused = error
        assert refused is not None
        raise refused

    return asyncio.run(main())


def called(
    server: Any, name: str, args: dict[str, Any] | None = None, era: str = "auto", **more: Any
) -> CallToolResult:
    async def talk(client: Client) -> CallToolResult:
        answer = await client.call_tool(name, args or {})
        assert isinstance(answer, CallToolResult)
        return answer

    return asked(server, talk, era, **more)


def data_of(answer: CallToolResult) -> dict[str, Any]:
    """The structured content, which the text must repeat."""
    assert not answer.is_error, answer
    data: dict[str, Any] = json.loads(text_of(answer))
    assert answer.structured_content == data
    return data


def error_of(answer: CallToolResult) -> dict[str, str]:
    assert answer.is_error
    assert answer.structured_content is None
    error: dict[str, str] = json.loads(text_of(answer))["error"]
    return error


def text_of(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text


def environment(**more: str) -> dict[str, str]:
    """What a server process gets: no proxy stands between it and loopback."""
    kept = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    return {**kept, "NO_PROXY": "127.0.0.1,localhost", **more}


def over_stdio(root: Path, *options: str) -> StdioServerParameters:
    args = ["mcp", "--root", str(root), *options]
    return StdioServerParameters(command=METIER, args=args, env=environment())


class HttpServer:
    """`metier mcp --http` in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process = process
        self.url = url

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/mcp")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(ENOUGH)


@contextmanager
def over_http(
    root: Path, *options: str, command: tuple[str, ...] = (), token: str = ""
) -> Iterator[HttpServer]:
    """A server on a free port of loopback; what it writes to stderr is in `workspace.stderr`."""
    given = ["--http", "--port", "0", "--json", "--root", str(root), *options]
    with open(f"{root}.stderr", "w") as errors:
        process = subprocess.Popen(
            [*(command or (METIER, "mcp")), *given],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment(METIER_MCP_TOKEN=token),
        )
    assert process.stdout is not None
    limit = threading.Timer(ENOUGH, process.kill)
    limit.start()
    try:
        said = _first_json(process)
        limit.cancel()  # it was for the start alone
        assert said, Path(f"{root}.stderr").read_text()
        yield HttpServer(process, json.loads(said)["url"])
    finally:
        limit.cancel()
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(ENOUGH)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()


def _first_json(process: "subprocess.Popen[str]") -> str:
    """The JSON that it prints when it listens; it ends with a brace on a line of its own."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if line == "}\n":
            break
    return "".join(lines)

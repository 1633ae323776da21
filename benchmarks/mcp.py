"""The MCP server over HTTP, against bare servers of the same SDK.

For lists the bare server says a constant, as large as the answer that it is compared with; for
resolutions it resolves the same in its own process, and keeps no report. Fifty or a hundred
connections, each with one question after the other, from this process; all servers are processes
of their own.
"""

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.folders import trust
from benchmarks.measure import Bar
from metier import Catalog
from metier.config import Config

CLIENTS, SKILLS, PAGE, ROUNDS, SECONDS = 50, 10_000, 50, 5, 4.0
FEW = 1_000
"""Skills of a small catalog, where a resolution is short and the server's own work counts more."""
RESOLVING = 100
"""Clients that resolve at once."""
BAR, RESOLVE_BAR = 0.6, 0.5
PROTOCOL = "2026-07-28"
_META = "io.modelcontextprotocol"

_BARE = """
import asyncio, json, socket, sys
from typing import Any
import uvicorn
from mcp.server import MCPServer

server = MCPServer("bare", log_level="ERROR")
{tool}
app = server.streamable_http_app(json_response=True, stateless_http=True)
bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
bound.bind(("127.0.0.1", 0))
bound.listen(2048)
print('{{"url": "http://127.0.0.1:%d/mcp"}}' % bound.getsockname()[1], flush=True)
config = uvicorn.Config(app, log_config=None, access_log=False)
asyncio.run(uvicorn.Server(config).serve(sockets=[bound]))
"""
BARE = _BARE.format(
    tool="""
constant = json.load(open(sys.argv[1]))

@server.tool()
def skill_list() -> dict[str, Any]:
    return constant
"""
)
BARE_RESOLVER = _BARE.format(
    tool="""
from metier import Catalog

catalog = Catalog.open(sys.argv[1])

@server.tool()
async def capability_resolve(requires: list[str], query: str) -> dict[str, Any]:
    return catalog.resolve(requires, query).report.data
"""
)


class Load(NamedTuple):
    """What became of all calls."""

    rate: float
    """Answers a second."""
    p50: float
    """Milliseconds within which half of the calls was answered."""
    p99: float


def bars(scratch: Path) -> Iterator[Bar]:
    root = scratch / "served"
    _skills(root, SKILLS)
    with _ours(root) as ours:
        yield from _list_bars(scratch, ours)
        yield _resolve_bar(root, ours, SKILLS)
    few = scratch / "few"
    _skills(few, FEW)
    with _ours(few) as ours:
        yield _resolve_bar(few, ours, FEW)


def _ours(root: Path) -> AbstractContextManager[str]:
    command = [sys.executable, "-m", "metier", "mcp", "--http", "--port", "0", "--json"]
    return served([*command, "--no-refresh", "--root", str(root)])


def _list_bars(scratch: Path, ours: str) -> Iterator[Bar]:
    answer = answer_of(ours)
    constant = scratch / "constant.json"
    constant.write_text(json.dumps(answer))
    with served([sys.executable, "-c", BARE, str(constant)]) as bare:
        assert answer_of(bare) == answer
        first: list[dict[str, Any]] = [{}]
        pages = [{"cursor": one} for one in cursors()]
        rows = [(load(bare, first), load(ours, first), load(ours, pages)) for _ in range(ROUNDS)]
    there, same, others = best(rows)
    size = len(json.dumps(answer)) / 1024
    for name, here in (("the same page", same), ("each another page", others)):
        yield Bar(
            f"skill_list over HTTP, {SKILLS:,} skills, {CLIENTS} clients, {name}",
            here.rate / there.rate,
            BAR,
            "× a bare server of the same SDK with a constant",
            f"{compared(here, there)} of {size:.0f} kB",
            at_least=True,
        )


def _resolve_bar(root: Path, ours: str, skills: int) -> Bar:
    tool, asked = "capability_resolve", resolutions()
    with served([sys.executable, "-c", BARE_RESOLVER, str(root)]) as bare:
        _assert_same(answer_of(bare, tool, asked[0]), answer_of(ours, tool, asked[0]))
        rows = [
            tuple(load(url, asked, tool=tool, clients=RESOLVING) for url in (bare, ours))
            for _ in range(ROUNDS)
        ]
    there, here = best(rows)
    return Bar(
        f"capability_resolve over HTTP, {skills:,} skills, {RESOLVING} clients",
        here.rate / there.rate,
        RESOLVE_BAR,
        "× a bare server of the same SDK that resolves in process and keeps no report",
        compared(here, there),
        at_least=True,
    )


def _assert_same(bare: dict[str, Any], ours: dict[str, Any]) -> None:
    for key in ("required_capabilities", "selected", "candidates"):
        assert bare[key] == ours[key]


def best(rows: Sequence[tuple[Load, ...]]) -> list[Load]:
    """The best load of each column."""
    return [max(column, key=lambda one: one.rate) for column in zip(*rows, strict=True)]


def compared(here: Load, there: Load) -> str:
    return (
        f"{here.rate:,.0f} answers/s against {there.rate:,.0f}; p50 {here.p50:.0f} ms against"
        f" {there.p50:.0f}, p99 {here.p99:.0f} against {there.p99:.0f}"
    )


def resolutions() -> list[dict[str, Any]]:
    return [
        {"requires": [f"thing-{number}"], "query": f"do thing {number} well"}
        for number in range(0, 500, 5)
    ]


def cursors() -> list[str]:
    """What asks for each page but the first."""
    return [_cursor(page * PAGE - 1) for page in range(1, SKILLS // PAGE)]


def _cursor(last: int) -> str:
    """What asks for the page after the skill with that number."""
    return base64.urlsafe_b64encode(f"skill-{last:05}".encode()).decode().rstrip("=")


def _skills(root: Path, number: int) -> None:
    """A workspace with a catalog of synthetic skills."""
    for index in range(number):
        folder = root / "skills" / f"{index % 100:02}" / f"skill-{index:05}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: skill-{index:05}\ndescription: Does thing {index} well. Use it when thing"
            f" {index} is needed.\ncapabilities: [thing-{index % 500}]\n---\n\nDo it.\n"
        )
    trust(root)
    with Catalog.open(root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()


@contextmanager
def served(command: list[str]) -> Iterator[str]:
    """A server in a process of its own; its address."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None
    try:
        said = ""
        for line in process.stdout:
            said += line
            if line.rstrip().endswith("}"):
                break
        yield json.loads(said)["url"]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _request(url: str, tool: str, arguments: dict[str, Any]) -> bytes:
    """One call of a tool, as bytes."""
    place = urlsplit(url)
    meta = {
        f"{_META}/protocolVersion": PROTOCOL,
        f"{_META}/clientInfo": {"name": "bench", "version": "1"},
        f"{_META}/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    head = (
        f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: {PROTOCOL}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader) -> bytes:
    """The body of one answer. Raises `RuntimeError` for anything but a result."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next(line for line in lines if line.startswith(b"content-length"))
    body = await reader.readexactly(int(length.split(b":")[1]))
    if not head.startswith(b"HTTP/1.1 200") or b'"structuredContent"' not in body:
        raise RuntimeError((head + body[:300]).decode(errors="replace"))
    return body


def answer_of(
    url: str, tool: str = "skill_list", arguments: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What a tool answers."""
    return asyncio.run(_once(url, _request(url, tool, arguments or {})))


async def _once(url: str, request: bytes) -> dict[str, Any]:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(request)
    body = await _answer(reader)
    writer.close()
    content: dict[str, Any] = json.loads(body)["result"]["structuredContent"]
    return content


def load(
    url: str,
    asked: list[dict[str, Any]],
    seconds: float = SECONDS,
    *,
    tool: str = "skill_list",
    clients: int = CLIENTS,
) -> Load:
    """How fast a server answers clients that call a tool with these arguments in turn."""
    requests = [_request(url, tool, one) for one in asked]
    return asyncio.run(_loaded(url, requests, seconds, clients))


async def _loaded(url: str, requests: list[bytes], seconds: float, clients: int) -> Load:
    """Have all clients ask for some time, each its next question when the last is answered."""
    place, turn = urlsplit(url), count()
    took: list[float] = []
    began = time.perf_counter()

    async def client() -> None:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        while (start := time.perf_counter()) < began + seconds:
            writer.write(requests[next(turn) % len(requests)])
            await _answer(reader)
            took.append(time.perf_counter() - start)
        writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    lasted = time.perf_counter() - began
    took.sort()
    return Load(len(took) / lasted, took[len(took) // 2] * 1e3, took[len(took) * 99 // 100] * 1e3)

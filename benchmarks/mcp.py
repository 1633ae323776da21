"""The MCP server over HTTP: against a bare server of the same SDK that says a constant.

Fifty connections, each with one question after the other, from this process; both servers are
processes of their own. The constant is as large as the answer that it is compared with.
"""

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.folders import trust
from benchmarks.measure import Bar
from metier import Catalog
from metier.config import Config

CLIENTS, SKILLS, PAGE, ROUNDS, SECONDS = 50, 10_000, 50, 5, 4.0
BAR = 0.6
PROTOCOL = "2026-07-28"
_META = "io.modelcontextprotocol"

BARE = """
import asyncio, json, socket, sys
from typing import Any
import uvicorn
from mcp.server import MCPServer

constant = json.load(open(sys.argv[1]))
server = MCPServer("bare", log_level="ERROR")

@server.tool()
def skill_list() -> dict[str, Any]:
    return constant

app = server.streamable_http_app(json_response=True, stateless_http=True)
bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
bound.bind(("127.0.0.1", 0))
bound.listen(2048)
print(json.dumps({"url": f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"}), flush=True)
config = uvicorn.Config(app, log_config=None, access_log=False)
asyncio.run(uvicorn.Server(config).serve(sockets=[bound]))
"""


class Load(NamedTuple):
    """What became of all calls."""

    rate: float
    """Answers a second."""
    p50: float
    """Milliseconds within which half of the calls was answered."""
    p99: float


def bars(scratch: Path) -> Iterator[Bar]:
    root = scratch / "served"
    _skills(root)
    with served([sys.executable, "-m", "metier", "mcp", "--http", "--port", "0", "--json",
                  "--no-refresh", "--root", str(root)]) as ours:  # fmt: skip
        answer = answer_of(ours)
        constant = scratch / "constant.json"
        constant.write_text(json.dumps(answer))
        with served([sys.executable, "-c", BARE, str(constant)]) as bare:
            assert answer_of(bare) == answer
            first, pages = [""], cursors()
            rows = [
                (load(bare, first), load(ours, first), load(ours, pages)) for _ in range(ROUNDS)
            ]
    there, same, others = (
        max(column, key=lambda one: one.rate) for column in zip(*rows, strict=True)
    )
    size = len(json.dumps(answer)) / 1024
    for name, here in (("the same page", same), ("each another page", others)):
        yield Bar(
            f"skill_list over HTTP, {SKILLS:,} skills, {CLIENTS} clients, {name}",
            here.rate / there.rate,
            BAR,
            "× a bare server of the same SDK with a constant",
            f"{here.rate:,.0f} answers/s of {size:.0f} kB against {there.rate:,.0f}; p50"
            f" {here.p50:.0f} ms against {there.p50:.0f}, p99 {here.p99:.0f} against"
            f" {there.p99:.0f}",
            at_least=True,
        )


def cursors() -> list[str]:
    """What asks for each page but the first."""
    return [_cursor(page * PAGE - 1) for page in range(1, SKILLS // PAGE)]


def _cursor(last: int) -> str:
    """What asks for the page after the skill with that number."""
    return base64.urlsafe_b64encode(f"skill-{last:05}".encode()).decode().rstrip("=")


def _skills(root: Path) -> None:
    """A workspace with a catalog of synthetic skills."""
    for index in range(SKILLS):
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


def _request(url: str, cursor: str = "") -> bytes:
    """One call of the tool, as bytes."""
    place = urlsplit(url)
    meta = {
        f"{_META}/protocolVersion": PROTOCOL,
        f"{_META}/clientInfo": {"name": "bench", "version": "1"},
        f"{_META}/clientCapabilities": {},
    }
    arguments = {"cursor": cursor} if cursor else {}
    params = {"name": "skill_list", "arguments": arguments, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    head = (
        f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: {PROTOCOL}\r\nMcp-Method: tools/call\r\nMcp-Name: skill_list\r\n"
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


def answer_of(url: str) -> dict[str, Any]:
    """What the tool answers."""
    return asyncio.run(_once(url))


async def _once(url: str) -> dict[str, Any]:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(_request(url))
    body = await _answer(reader)
    writer.close()
    content: dict[str, Any] = json.loads(body)["result"]["structuredContent"]
    return content


def load(url: str, cursors: list[str], seconds: float = SECONDS) -> Load:
    """How fast a server answers fifty clients that ask for the pages after these cursors."""
    return asyncio.run(_loaded(url, [_request(url, one) for one in cursors], seconds))


async def _loaded(url: str, requests: list[bytes], seconds: float) -> Load:
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

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    lasted = time.perf_counter() - began
    took.sort()
    return Load(len(took) / lasted, took[len(took) // 2] * 1e3, took[len(took) * 99 // 100] * 1e3)

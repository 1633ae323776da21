"""`metier mcp --http`: names are compared exactly, slow clients are given up, tokens are kept."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from starlette.responses import PlainTextResponse

from conftest import Workspace
from mcp_served import ENOUGH, METIER, environment, over_http, server_over
from metier.errors import UsageError
from metier.mcp.http import Guard, serve_http
from metier.serving.endpoint import Endpoint, read_token
from metier.serving.slow_clients import LIMITS, Limits

pytestmark = pytest.mark.slow

HERE = Endpoint()
PORT = HERE.port
TOKEN = "a-long-enough-token"

# Names


def status(
    headers: list[tuple[str, str]],
    place: Endpoint = HERE,
    path: str = "/health",
) -> int:
    """What a request with exactly these headers is answered by the guard."""
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nobody reads")

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": raw}
    asyncio.run(Guard(PlainTextResponse("in"), place)(scope, receive, send))
    found: int = sent[0]["status"]
    return found


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost", f"localhost:{PORT}", f"127.0.0.1:{PORT}", f"[::1]:{PORT}"]
)
def test_its_own_names_are_answered(host: str) -> None:
    assert status([("host", host)]) == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        " localhost",
        "localhost.",
        f"localhost.:{PORT}",
        "localhost:",
        "localhost:1",
        f"localhost:0{PORT}",
        f"localhost:{PORT}0",
        f"localhost:{PORT}.evil.example",
        "localhost:evil.example",
        "localhost:*",
        "localhost:@evil.example",
        f"localhost:{PORT}@evil.example",
        "user@localhost",
        f"user@localhost:{PORT}",
        "localhost.evil.example",
        "evil.example",
        "evillocalhost",
        "evil-127.0.0.1",
        f"localhost:{PORT}/health?",
        "localhost,evil.example",
        "127.1",
        "[::1",
        "::1",
        "[0:0:0:0:0:0:0:1]",
        "l\xf6calhost",
    ],
)
def test_nothing_that_only_looks_like_a_name_is_answered(host: str) -> None:
    assert status([("host", host)]) == 421


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
def test_there_is_one_host_and_no_other(hosts: list[str]) -> None:
    assert status([("host", host) for host in hosts]) == 421


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost", 200),
        (f"http://localhost:{PORT}", 200),
        (f"https://127.0.0.1:{PORT}", 200),
        (f"HTTP://LOCALHOST:{PORT}", 200),
        ("null", 403),
        ("", 403),
        ("localhost", 403),
        ("http://localhost:3000", 403),
        ("http://localhost:evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://localhost.", 403),
        ("http://localhost/", 403),
        ("http://user@localhost", 403),
        (f"http://localhost:{PORT}@evil.example", 403),
        ("ftp://localhost", 403),
        ("file://", 403),
        ("http://localhost http://evil.example", 403),
    ],
)
def test_an_origin_is_the_server_itself(origin: str, expected: int) -> None:
    assert status([("host", "localhost"), ("origin", origin)]) == expected


def test_there_is_at_most_one_origin() -> None:
    twice = [("origin", "http://localhost"), ("origin", "http://localhost")]
    assert status([("host", "localhost"), *twice]) == 403


@pytest.mark.parametrize(
    ("name", "host", "expected"),
    [
        ("proxy.example", "proxy.example", 200),
        ("proxy.example", f"Proxy.Example:{PORT}", 200),
        ("proxy.example", "proxy.example:443", 421),
        ("proxy.example:443", "proxy.example:443", 200),
        ("proxy.example:443", "proxy.example", 421),
        ("proxy.example:443", f"proxy.example:443:{PORT}", 421),
        ("[fd00::1]", f"[fd00::1]:{PORT}", 200),
    ],
)
def test_a_name_that_was_allowed_counts_exactly(name: str, host: str, expected: int) -> None:
    place = Endpoint(names=[name])
    place.check()
    assert status([("host", host)], place) == expected
    assert status([("host", "localhost"), ("origin", f"https://{host}")], place) == (
        200 if expected == 200 else 403
    )


@pytest.mark.parametrize("name", ["", "*", "*.example", "http://a", "a/b", "a:b", "a@b", "a:", "ü"])
def test_what_is_no_name_cannot_be_allowed(name: str) -> None:
    with pytest.raises(UsageError, match="is not the name of a host"):
        Endpoint(names=[name]).check()


def test_a_host_that_holds_a_path_does_not_spare_the_token() -> None:
    place = Endpoint(token=TOKEN)
    assert status([("host", f"localhost:{PORT}/health?")], place, "/mcp") == 421
    assert status([("host", "localhost")], place, "/mcp") == 401


# Half-open clients


@pytest.fixture
def server(workspace: Workspace) -> Iterator[Server[Any]]:
    workspace.skill("paper")
    with server_over(workspace.root) as made:
        yield made


class Listening:
    """A server with short limits in the loop of the test."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def send(self, text: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(text.encode())
        await writer.drain()
        return reader, writer

    async def answer(self, text: str) -> str:
        """All that comes until the server closes the connection."""
        reader, writer = await self.send(text)
        try:
            async with asyncio.timeout(ENOUGH):
                return (await reader.read()).decode()
        finally:
            writer.close()

    def head(self, more: str = "", line: str = "POST /mcp") -> str:
        return f"{line} HTTP/1.1\r\nHost: localhost:{self.port}\r\n{more}"

    async def is_well(self) -> bool:
        text = self.head("Connection: close\r\n\r\n", "GET /health")
        return (await self.answer(text)).startswith("HTTP/1.1 200")


@asynccontextmanager
async def listening(server: Server[Any], limits: Limits) -> AsyncIterator[Listening]:
    place, ready = Endpoint(port=0), asyncio.Event()
    with place.bound() as bound:
        port = bound.getsockname()[1]
        serving = asyncio.ensure_future(
            serve_http(server, place, bound, lambda _: ready.set(), limits=limits)
        )
        await ready.wait()
        try:
            yield Listening(port)
        finally:
            signal.raise_signal(signal.SIGTERM)
            await serving


SOON = Limits(headers=0.3, body=0.3)
NEVER = Limits(headers=ENOUGH, body=ENOUGH)


@pytest.mark.parametrize("begun", ["", "P", "POST /mcp HTTP/1.1\r\n", "POST /mcp HTTP/1.1\r\nA: b"])
def test_headers_that_do_not_end_are_given_up(server: Server[Any], begun: str) -> None:
    async def main() -> str:
        async with listening(server, SOON._replace(body=ENOUGH)) as there:
            return await there.answer(begun)

    assert asyncio.run(main()).startswith("HTTP/1.1 408 ")


def test_a_client_that_sends_a_byte_now_and_then_gains_no_time(server: Server[Any]) -> None:
    async def main() -> float:
        async with listening(server, SOON) as there:
            reader, writer = await there.send(there.head())
            begun = time.monotonic()
            while not reader.at_eof():
                writer.write(b"X")
                try:
                    await asyncio.wait_for(reader.read(1_000), 0.05)
                except TimeoutError:
                    assert time.monotonic() - begun < ENOUGH
                except ConnectionError:
                    break
            writer.close()
            return time.monotonic() - begun

    assert asyncio.run(main()) < ENOUGH


@pytest.mark.parametrize("sent", ["", '{"jsonrpc"'])
def test_a_body_that_does_not_end_is_given_up(
    server: Server[Any], sent: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> str:
        async with listening(server, SOON._replace(headers=ENOUGH)) as there:
            kind = "Content-Type: application/json\r\nAccept: application/json, text/event-stream"
            return await there.answer(there.head(f"{kind}\r\nContent-Length: 100\r\n\r\n{sent}"))

    assert asyncio.run(main()).startswith("HTTP/1.1 408 ")
    assert [one.getMessage() for one in caplog.records if one.exc_info] == []


def test_the_next_request_of_a_connection_has_its_own_time(server: Server[Any]) -> None:
    async def main() -> tuple[bytes, str]:
        async with listening(server, SOON) as there:
            reader, writer = await there.send(there.head("\r\n", "GET /health"))
            first = await reader.readuntil(b"}")
            await asyncio.sleep(2 * SOON.headers)  # idle: that is no half of a request
            writer.write(there.head(line="GET /health").encode())
            rest = (await reader.read()).decode()
            writer.close()
            return first, rest

    first, rest = asyncio.run(main())
    assert first.startswith(b"HTTP/1.1 200")
    assert rest.startswith("HTTP/1.1 408 ")


def test_a_body_after_an_early_answer_is_not_waited_for(server: Server[Any]) -> None:
    """The guard refuses without reading: the rest of the request has its time all the same."""

    async def main() -> str:
        async with listening(server, SOON) as there:
            text = "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\nx"
            return await there.answer(text)

    assert asyncio.run(main()).startswith("HTTP/1.1 421 ")


HALVES = 50


def test_many_half_open_clients_keep_nobody_else_waiting(server: Server[Any]) -> None:
    async def main() -> tuple[bool, list[str]]:
        async with listening(server, Limits(headers=2.0, body=2.0)) as there:
            open_head, open_body = there.head(), there.head("Content-Length: 9\r\n\r\nx")
            texts = [open_head if number % 2 else open_body for number in range(HALVES)]
            halves = [asyncio.ensure_future(there.answer(text)) for text in texts]
            await asyncio.sleep(0.1)
            is_well = await there.is_well()
            assert not any(one.done() for one in halves)
            return is_well, await asyncio.gather(*halves)

    is_well, answers = asyncio.run(main())
    assert is_well
    assert [one[:12] for one in answers] == ["HTTP/1.1 408"] * HALVES


def test_half_open_clients_do_not_hold_up_the_end(server: Server[Any]) -> None:
    async def main() -> float:
        async with listening(server, NEVER) as there:
            _, writer = await there.send(there.head())
            assert await there.is_well()
            begun = time.monotonic()
        writer.close()
        return time.monotonic() - begun

    assert asyncio.run(main()) < ENOUGH / 2


def test_the_limits_are_seconds_not_minutes() -> None:
    assert LIMITS == (10.0, 30.0)


# Tokens


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_on_this_machine_too_running_agents_needs_a_token(host: str) -> None:
    with pytest.raises(UsageError, match="needs a token") as caught:
        Endpoint(host).check(allow_run=True)
    assert "METIER_MCP_TOKEN" in caught.value.hint
    Endpoint(host, token=TOKEN).check(allow_run=True)
    Endpoint(host).check()


def token_file(folder: Path, raw: bytes, mode: int = 0o600) -> str:
    file = folder / "the token"
    file.write_bytes(raw)
    file.chmod(mode)
    return str(file)


@pytest.mark.parametrize("raw", [b"secret", b"secret\n", b"secret\r\n"])
def test_a_token_comes_from_a_file_without_the_end_of_its_line(tmp_path: Path, raw: bytes) -> None:
    assert read_token(token_file(tmp_path, raw)) == "secret"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o777])
def test_a_token_file_is_the_users_alone(tmp_path: Path, mode: int) -> None:
    file = token_file(tmp_path, b"secret", mode)
    with pytest.raises(UsageError, match="other users") as caught:
        read_token(file)
    assert caught.value.hint == f"chmod 600 '{file}'"


@pytest.mark.parametrize(
    ("raw", "words"), [(b"", "empty"), (b"\n", "empty"), (b"x" * 4_097, "more than 4096 bytes")]
)
def test_a_token_file_holds_a_token(tmp_path: Path, raw: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_token(token_file(tmp_path, raw))


def test_a_token_file_is_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("pipe", "", "nothing"):
        with pytest.raises(UsageError, match="the token file"):
            read_token(str(tmp_path / name))


@pytest.mark.parametrize("raw", [b"two\nlines\n", b"\xff", b" a"])
def test_what_no_header_can_hold_is_no_token(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(UsageError):
        Endpoint(token=read_token(token_file(tmp_path, raw))).check()


def test_a_token_on_the_command_line_is_not_repeated(tmp_path: Path) -> None:
    async def main() -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            METIER, "mcp", "--http", "--token", TOKEN, "--root", str(tmp_path),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment(),
        )  # fmt: skip
        out, err = await asyncio.wait_for(process.communicate(), ENOUGH)
        return process.returncode, (out + err).decode()

    code, said = asyncio.run(main())
    assert code == 2
    assert "can read command lines" in said
    assert "METIER_MCP_TOKEN" in said
    assert TOKEN not in said


def test_the_token_of_a_file_guards_the_server(workspace: Workspace, tmp_path: Path) -> None:
    file = token_file(tmp_path, f"{TOKEN}\n".encode())
    with over_http(workspace.root, "--token-file", file, "--allow-run", token="another") as made:
        assert asyncio.run(asked(made.url, TOKEN)) == 200
        assert asyncio.run(asked(made.url, "another")) == 401


async def asked(url: str, token: str) -> int:
    """How a request with a token is answered."""
    port = int(url.rpartition(":")[2].partition("/")[0])
    body = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
    text = (
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    there = Listening(port)
    return int((await there.answer(there.head(text))).split()[1])

"""`metier mcp --http`: who is let in, whether it is well, and how it ends."""

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from conftest import Workspace
from mcp_served import (
    ENOUGH,
    ERAS,
    METIER,
    HttpServer,
    asked,
    data_of,
    environment,
    error_of,
    example,
    over_http,
    own_home,
)
from metier.errors import UsageError
from metier.mcp.http import Guard
from metier.serving.endpoint import Endpoint

pytestmark = pytest.mark.slow

TOKEN = "a-long-enough-token"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("http")
    with own_home(home), over_http(example(folder)) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def post(
    server: HttpServer, headers: dict[str, str], path: str = "/mcp", body: Any = LIST
) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of one request, with exactly these headers."""
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ENOUGH)
    try:
        raw = json.dumps(body).encode()
        connection.putrequest("POST" if path == "/mcp" else "GET", path, skip_host=True)
        plain = {
            "Host": place.netloc,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": str(len(raw)),
        }
        for name, value in {**plain, **headers}.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(raw)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


@pytest.mark.parametrize("era", ERAS)
def test_a_client_talks_to_the_server(server: HttpServer, era: str) -> None:
    async def talk(client: Client) -> None:
        assert data_of(await client.call_tool("skill_list", {"limit": 3}))["total"] == 15
        args = {"requires": ["web-search"]}
        assert data_of(await client.call_tool("capability_resolve", args))["selected"]
        assert error_of(await client.call_tool("nothing", {}))["code"] == "TOOL_NOT_FOUND"
        assert (await client.read_resource("skill://skills/summarize/SKILL.md")).contents

    asked(server.url, talk, era)


def test_it_says_that_it_is_well(server: HttpServer) -> None:
    status, text, _ = post(server, {}, "/health")
    assert status == 200
    assert json.loads(text)["status"] == "ok"


HOSTS = [
    ("127.0.0.1", 200),
    ("localhost", 200),
    ("localhost:80", 421),
    ("[::1]:1", 421),
    ("evil.example", 421),
    ("127.0.0.1.evil.example", 421),
    ("evil.example:8765", 421),
    ("", 421),
]


@pytest.mark.parametrize("path", ["/mcp", "/health"])
@pytest.mark.parametrize(("host", "status"), HOSTS)
def test_only_its_own_names_are_answered(
    server: HttpServer, host: str, status: int, path: str
) -> None:
    try:
        found = post(server, {"Host": host}, path)[0]
    except ConnectionResetError:  # closed before the body of a request that HTTP does not know
        found = 400
    assert found == status or (found == 400 and not host)


ORIGINS = [
    ("http://localhost:3000", 403),
    ("http://127.0.0.1", 200),
    ("https://localhost", 200),
    ("http://evil.example", 403),
    ("http://localhost.evil.example", 403),
    ("null", 403),
]


@pytest.mark.parametrize("path", ["/mcp", "/health"])
@pytest.mark.parametrize(("origin", "status"), ORIGINS)
def test_pages_from_elsewhere_are_refused(
    server: HttpServer, origin: str, status: int, path: str
) -> None:
    assert post(server, {"Origin": origin}, path)[0] == status


@pytest.mark.parametrize(
    ("shown", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        ("", 401),
        ("Bearer", 401),
        ("Bearer wrong", 401),
        (f"Bearer {TOKEN}x", 401),
        (f"Basic {TOKEN}", 401),
        (TOKEN, 401),
    ],
)
def test_with_a_token_only_who_shows_it_is_answered(
    guarded: HttpServer, shown: str, status: int
) -> None:
    found, text, headers = post(guarded, {"Authorization": shown})
    assert found == status
    if status == 401:
        assert headers["www-authenticate"] == "Bearer"
        assert TOKEN not in text


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("guarded")
    with own_home(home), over_http(example(folder), token=TOKEN) as made:
        yield made


def test_whether_it_is_well_needs_no_token(guarded: HttpServer) -> None:
    assert post(guarded, {}, "/health")[0] == 200


@pytest.mark.parametrize("era", ERAS)
def test_a_client_with_the_token_talks_to_the_server(guarded: HttpServer, era: str) -> None:
    async def main() -> int:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=ENOUGH) as carrier:
            transport = streamable_http_client(guarded.url, http_client=carrier)
            async with Client(transport, mode=era) as client:
                total: int = data_of(await client.call_tool("skill_list", {}))["total"]
                return total

    assert asyncio.run(main()) == 15


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(workspace: Workspace, number: int) -> None:
    with over_http(workspace.root) as server:
        assert post(server, {}, "/health")[0] == 200
        assert server.stop(number) == 0
    said = Path(f"{workspace.root}.stderr").read_text()
    assert "serving http://127.0.0.1:" in said
    assert said.endswith("stopped\n")
    assert "Traceback" not in said


def wait_until_refused(address: tuple[str, int]) -> None:
    """Return when nobody listens there any more."""
    deadline = time.monotonic() + ENOUGH
    while time.monotonic() < deadline:
        try:
            socket.create_connection(address, timeout=ENOUGH).close()
        except OSError:
            return
    raise AssertionError("it goes on listening")


def test_what_is_under_way_when_it_ends_is_answered(workspace: Workspace) -> None:
    """The request is sent in two halves, and between them the server begins to end."""
    with over_http(workspace.root) as server:
        place = urlsplit(server.url)
        body = json.dumps(LIST).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        address = (place.hostname or "", place.port or 0)
        with socket.create_connection(address, timeout=ENOUGH) as connection:
            connection.sendall(head.encode() + body[:10])
            assert post(server, {}, "/health")[0] == 200  # it has read the first half
            server.process.send_signal(signal.SIGTERM)
            wait_until_refused(address)
            connection.sendall(body[10:])
            answer = connection.makefile("rb").read()
        assert b'"tools"' in answer
        assert server.process.wait(ENOUGH) == 0


def test_a_request_that_is_given_up_at_the_end_is_told_so() -> None:
    sent: list[Any] = []

    async def given_up(_scope: Any, _receive: Any, _send: Any) -> None:
        raise asyncio.CancelledError

    async def receive() -> Any:
        raise AssertionError("nobody reads")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    asyncio.run(Guard(given_up, Endpoint())(scope, receive, send))
    assert sent[0]["status"] == 503


def test_who_listens_for_what_the_server_says_by_itself_is_sent_away(server: HttpServer) -> None:
    answer = httpx2.get(server.url, headers={"Accept": "text/event-stream"}, timeout=ENOUGH)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_the_port_of_another_is_refused_in_one_line(server: HttpServer, tmp_path: Path) -> None:
    port = str(urlsplit(server.url).port)
    done = subprocess.run(
        [METIER, "mcp", "--http", "--port", port, "--root", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=ENOUGH,
        env=environment(),
        check=False,
    )
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_beyond_this_machine_it_needs_a_token(host: str) -> None:
    with pytest.raises(UsageError, match="needs a token"):
        Endpoint(host).check()
    Endpoint(host, token=TOKEN).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_on_this_machine_it_needs_none(host: str) -> None:
    Endpoint(host).check()


@pytest.mark.parametrize("token", ["ä", "a\nb", " a", "a "])
def test_a_token_that_no_header_can_hold_is_refused(token: str) -> None:
    with pytest.raises(UsageError):
        Endpoint(token=token).check()


def test_another_name_can_be_allowed(workspace: Workspace) -> None:
    with over_http(workspace.root, "--allow-host", "metier.internal") as server:
        port = urlsplit(server.url).port
        assert post(server, {"Host": f"metier.internal:{port}"})[0] == 200
        assert post(server, {"Host": "metier.internal:1"})[0] == 421
        assert post(server, {"Host": "metier.internal"})[0] == 200
        assert post(server, {"Origin": "https://metier.internal"})[0] == 200
        status, said, _ = post(server, {"Host": "other.internal"})
        assert (status, said.endswith("to allow another name: --allow-host NAME")) == (421, True)

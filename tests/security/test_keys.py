"""Keys go to the host that they are for, and nowhere else: real servers on this machine answer."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from metier.errors import MetierError, ModelError, UsageError
from metier.run.mcp_tools import mcp_tools
from metier.run.models import ProviderModel, ProviderSettings, model_for
from metier.run.tool import Tool
from metier.run.tools import ToolExecutor, connected
from metier.values.agents import ToolResult
from metier.values.models import Message, ModelReply, ModelRequest
from metier.values.run_settings import ServerSetting

pytestmark = pytest.mark.slow

KEY = "key-of-the-user"
HELLO = ModelRequest("", [Message("user", "Hello")])
ENOUGH = 300.0
NOT_LOOPBACK = "0.0.0.0"
"""Leads to this machine, but does not say so."""
REDIRECTS = [301, 302, 303, 307, 308]
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}
    ],
}


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost,0.0.0.0")
    monkeypatch.setenv("MY_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OLLAMA_BASE_URL", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


# Servers


class Answers(BaseHTTPRequestHandler):
    server: "Server"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append({name.lower(): value for name, value in self.headers.items()})
        self.server.paths.add(self.path)
        if self.server.leads_to:
            status, location = self.server.leads_to
            self.send_response(status)
            self.send_header("Location", location)
            body = b""
        else:
            self.send_response(200)
            body = json.dumps(COMPLETION).encode()
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_DELETE = do_POST  # noqa: N815  # as the base class calls them

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Remembers the headers of each request; answers like a model, or leads elsewhere."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[dict[str, str]] = []
        self.paths: set[str] = set()
        self.leads_to: tuple[int, str] | None = None

    def url(self, path: str = "/v1", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_port}{path}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture
def other() -> Iterator[Server]:
    with serving() as one:
        yield one


# Models: the host that a key is for


def ask(settings: ProviderSettings, *, name: str = "local:m", streamed: bool = False) -> ModelReply:
    request = HELLO._replace(on_text=(lambda _: None) if streamed else None)
    return asyncio.run(ProviderModel(name, settings).respond(request))


def refused(settings: ProviderSettings, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(settings, **more)
    assert "\n" not in caught.value.message
    assert KEY not in caught.value.message
    return caught.value


def test_a_key_goes_to_the_host_that_it_is_for(server: Server) -> None:
    for key_host in ("", server.host):
        reply = ask(ProviderSettings(server.url(), "MY_KEY", key_host))
        assert reply.text == "Hi"
        assert server.asked.pop()["authorization"] == f"Bearer {KEY}"


def test_a_key_goes_to_no_other_host(server: Server) -> None:
    for key_host in ("api.example.org", "127.0.0.1", f"localhost:{server.server_port}"):
        error = refused(ProviderSettings(server.url(), "MY_KEY", key_host))
        assert error.code == "MODEL_NOT_SET_UP"
        assert error.message == (
            f"the key in MY_KEY is for {key_host}, so it is not sent to {server.host}"
        )
    assert server.asked == []


def test_a_provider_that_the_environment_leads_elsewhere_does_not_get_the_key(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url())
    settings = ProviderSettings(api_key_env="MY_KEY", key_host="api.openai.com")
    error = refused(settings, name="openai-chat:m")
    assert error.code == "MODEL_NOT_SET_UP"
    assert f"MY_KEY is for api.openai.com, so it is not sent to {server.host}" in error.message
    assert server.asked == []
    assert ask(settings._replace(key_host=server.host), name="openai-chat:m").text == "Hi"


def test_a_provider_gets_the_key_at_its_own_address() -> None:
    settings = ProviderSettings(api_key_env="MY_KEY", key_host="api.openai.com")
    ProviderModel("openai:m", settings).ready()


OF_OPENAI = {
    "OPENAI_API_KEY": "sk-secret",
    "OPENAI_ADMIN_KEY": "sk-admin-secret",
    "OPENAI_ORG_ID": "org-secret",
    "OPENAI_PROJECT_ID": "proj-secret",
    "OPENAI_CUSTOM_HEADERS": "X-Token: secret\nAuthorization: Bearer secret",
    "OPENAI_WEBHOOK_SECRET": "whsec-secret",
}


@pytest.mark.parametrize("key_env", ["", "MY_KEY"])
def test_what_the_environment_holds_for_openai_goes_to_no_other_server(
    key_env: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in OF_OPENAI.items():
        monkeypatch.setenv(name, value)
    for name in ("local:m", "openai:m"):
        assert ask(ProviderSettings(server.url(), key_env), name=name).text == "Hi"
        headers = server.asked.pop()
        assert "secret" not in str(headers)
        assert headers.get("authorization") == (f"Bearer {KEY}" if key_env else None)


def test_a_provider_gets_its_own_key_and_nothing_that_is_for_openai(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in OF_OPENAI.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OLLAMA_BASE_URL", server.url())
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    assert ask(ProviderSettings(), name="ollama:m").text == "Hi"
    headers = server.asked.pop()
    assert "secret" not in str(headers)
    assert headers["authorization"] == f"Bearer {KEY}"


def test_openai_gets_what_is_for_openai(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Token: mine")
    assert ask(ProviderSettings(), name="openai-chat:m").text == "Hi"
    headers = server.asked.pop()
    assert (headers["x-token"], headers["openai-organization"]) == ("mine", "org")
    assert headers["authorization"] == f"Bearer {KEY}"


# Models: redirects


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", REDIRECTS)
def test_no_redirect_is_followed(
    status: int, streamed: bool, server: Server, other: Server
) -> None:
    for host in ("127.0.0.1", "localhost"):
        location = other.url("/v1/chat/completions?token=secret", host)
        server.leads_to = (status, location)
        error = refused(ProviderSettings(server.url(), "MY_KEY"), streamed=streamed)
        assert error.message == (
            f"local:m at {server.url()}/chat/completions did not answer: the server redirected to "
            f"{host}:{other.server_port}; redirects are not followed ([models.local] base-url)"
        )
        assert error.kind == ""
    assert len(server.asked) == 2
    assert other.asked == []


def test_a_redirect_to_the_same_host_is_not_followed_either(server: Server) -> None:
    server.leads_to = (307, "/v1/elsewhere")
    assert f"redirected to {server.host};" in refused(ProviderSettings(server.url())).message
    assert server.paths == {"/v1/chat/completions"}


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai-chat:m", "OPENAI_BASE_URL"),
        ("openai-responses:m", "OPENAI_BASE_URL"),
        ("ollama:m", "OLLAMA_BASE_URL"),
    ],
)
def test_no_provider_of_the_library_follows_a_redirect(
    name: str, variable: str, server: Server, other: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, server.url())
    server.leads_to = (307, other.url("/v1/chat/completions"))
    error = refused(ProviderSettings(api_key_env="MY_KEY"), name=name)
    assert f"redirected to {other.host}; redirects are not followed" in error.message
    assert len(server.asked) == 1
    assert other.asked == []


# Models: addresses


def test_plain_http_does_not_leave_the_machine_unless_the_user_named_the_host(
    server: Server,
) -> None:
    plain = ProviderSettings(server.url(host=NOT_LOOPBACK), "MY_KEY")
    with pytest.raises(UsageError, match=r"models.local\] base-url is plain http"):
        model_for("local:m", settings={"local": plain})
    error = refused(plain)
    assert error.code == "MODEL_NOT_SET_UP"
    assert "[models.local] base-url is plain http" in error.message
    assert server.asked == []
    named = plain._replace(plain_http=True)
    model_for("local:m", settings={"local": named})
    assert ask(named).text == "Hi"


@pytest.mark.parametrize("address", ["https://user:secret@h/v1", "http://user@127.0.0.1/v1"])
def test_an_address_with_a_password_is_refused_and_not_repeated(address: str) -> None:
    settings = ProviderSettings(address, "MY_KEY", plain_http=True)
    with pytest.raises(UsageError, match="must not contain a name or password"):
        model_for("local:m", settings={"local": settings})
    error = refused(settings)
    assert (error.code, "secret" in error.message) == ("MODEL_NOT_SET_UP", False)
    assert "must not contain a name or password" in error.message


# MCP servers


def tools_of(settings: ServerSetting) -> list[Tool]:
    async def main() -> list[Tool]:
        async with mcp_tools(settings) as tools:
            return tools

    return asyncio.run(main())


@pytest.mark.parametrize("status", REDIRECTS)
def test_headers_for_an_mcp_server_do_not_go_along_a_redirect(
    status: int, server: Server, other: Server
) -> None:
    settings = ServerSetting(
        "things", url=server.url("/mcp"), headers={"X-Token": KEY}, timeout=ENOUGH
    )
    for location in (other.url("/mcp"), other.url("/mcp", "localhost")):
        server.leads_to = (status, location)
        with pytest.raises(MetierError, match=r"cannot be reached: .*not followed") as caught:
            tools_of(settings)
        assert location in caught.value.message
    assert server.asked[0]["x-token"] == KEY
    assert other.asked == []


def test_not_even_a_redirect_within_an_mcp_server_is_followed(server: Server) -> None:
    settings = ServerSetting(
        "things", url=server.url("/mcp"), headers={"X-Token": KEY}, timeout=ENOUGH
    )
    server.leads_to = (307, "/mcp/")
    with pytest.raises(MetierError, match="not followed"):
        tools_of(settings)
    assert "/mcp/" not in server.paths


def test_plain_http_to_an_mcp_server_does_not_leave_the_machine_unless_the_user_named_it(
    server: Server,
) -> None:
    url = server.url("/mcp", NOT_LOOPBACK)
    settings = ServerSetting("things", url=url, headers={"X-Token": KEY}, timeout=ENOUGH)
    with pytest.raises(UsageError, match="the url of MCP server 'things' is plain http"):
        tools_of(settings)
    assert server.asked == []
    with pytest.raises(MetierError, match="cannot be reached"):  # it speaks no MCP
        tools_of(settings._replace(plain_http=True, timeout=5.0))
    assert server.asked[0]["x-token"] == KEY


@pytest.mark.parametrize("plain_http", [False, True])
def test_the_settings_say_whether_the_user_named_an_mcp_server(
    plain_http: bool, server: Server
) -> None:
    url = server.url("/mcp", NOT_LOOPBACK)
    setting = ServerSetting("things", url=url, timeout=5.0, plain_http=plain_http)

    async def main() -> ToolResult:
        executor = ToolExecutor()
        async with connected(executor, [setting], ["things__add"]):
            return await executor.execute("things__add", {})

    result = asyncio.run(main())
    assert ("is plain http" in str(result.error)) != plain_http
    assert bool(server.asked) == plain_http


def test_an_mcp_server_with_a_password_in_its_url_is_refused() -> None:
    with pytest.raises(UsageError, match="must not contain a name or password") as caught:
        tools_of(ServerSetting("things", url="https://user:secret@127.0.0.1/mcp"))
    assert "secret" not in caught.value.message


ENVIRONMENT = """
import os
from mcp.server import MCPServer

server = MCPServer("things")
at_start = sorted(os.environ)

@server.tool(structured_output=False)
def environment() -> str:
    return " ".join(at_start)

server.run()
"""


def test_an_mcp_server_sees_little_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "server.py").write_text(ENVIRONMENT)
    settings = ServerSetting(
        "things",
        command=sys.executable,
        args=("server.py",),
        env={"NAMED": "1"},
        folder=str(tmp_path),
        timeout=ENOUGH,
    )

    async def main() -> ToolResult:
        async with mcp_tools(settings) as (tool,):
            executor = ToolExecutor(consent=[tool.name])
            executor.register(tool)
            return await executor.execute(tool.name, {})

    seen = set(asyncio.run(main()).output.split())
    assert "NAMED" in seen
    usual = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
    assert seen - usual - {"NAMED", "LC_CTYPE"} == set()  # Python may set the last by itself

"""Tools of real MCP servers, over stdio and over HTTP on this machine."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metier.errors import MetierError, UsageError
from metier.run.mcp_tools import mcp_tools
from metier.run.tool import Tool, ToolContext
from metier.run.tools import Consent, ToolExecutor
from metier.values.agents import ToolResult
from metier.values.run_settings import ServerSetting
from run.served_in_process import Served, served

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the SDK wait until it sees that a server it killed is gone, on a busy machine too."""
    monkeypatch.setattr("mcp.client.stdio._KILL_REAP_TIMEOUT", 300.0)


ENOUGH = 300.0

SERVER = '''
import asyncio, os, sys
from typing import Any
from mcp.server import MCPServer
from mcp.types import ImageContent, TextContent, ToolAnnotations

server = MCPServer("things")
WIRE = os.dup(1)

@server.tool()
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b

@server.tool(structured_output=False)
def say(text: str) -> list[str]:
    return [text, "and more"]

@server.tool(structured_output=False)
def show() -> Any:
    return [TextContent(text="a dot"), ImageContent(data="AAAA", mime_type="image/png")]

@server.tool()
def fail() -> str:
    raise ValueError("boom")

@server.tool()
def die() -> str:
    print("noise\\ndied of it", file=sys.stderr, flush=True)
    os._exit(3)

@server.tool()
async def hang() -> str:
    open("hanging", "w").close()
    await asyncio.Event().wait()
    return ""

@server.tool()
async def garble() -> str:
    os.write(WIRE, b"\\xff\\xfe\\nno protocol\\n\\n")
    return "said"

@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def wipe() -> str:
    return "wiped"

@server.tool(annotations=ToolAnnotations(read_only_hint=True, destructive_hint=False))
def look() -> str:
    return "looked"

@server.tool(name="dotted.name")
def dotted() -> str:
    return "dotted"

@server.tool(name="dotted/name")
def slashed() -> str:
    return "slashed"

@server.tool(name="x" * 100)
def long() -> str:
    return "long"
'''


def stdio(folder: Path, code: str = SERVER + "\nserver.run()", **more: Any) -> ServerSetting:
    (folder / "server.py").write_text(code)
    more = {"timeout": ENOUGH, **more}
    return ServerSetting(
        "things", command=sys.executable, args=("server.py",), folder=str(folder), **more
    )


def yes(tool: Tool, args: Mapping[str, Any], context: ToolContext) -> bool:
    return True


@asynccontextmanager
async def executor(
    settings: ServerSetting, consent: Consent | Collection[str] = yes
) -> AsyncIterator[ToolExecutor]:
    """The tools of one server, ready to be called."""
    async with mcp_tools(settings) as tools:
        made = ToolExecutor(consent=consent)
        for tool in tools:
            made.register(tool)
        yield made


def calls(settings: ServerSetting, *wanted: tuple[str, Any], **more: Any) -> list[ToolResult]:
    async def main() -> list[ToolResult]:
        async with executor(settings, **more) as made:
            return [await made.execute(f"things__{name}", args) for name, args in wanted]

    return asyncio.run(main())


def test_the_tools_of_a_server_are_named_as_models_accept_it(tmp_path: Path) -> None:
    async def main() -> list[Any]:
        async with executor(stdio(tmp_path)) as made:
            return made.specs()

    specs = asyncio.run(main())
    names = [spec.name for spec in specs]
    assert names[:3] == ["things__add", "things__say", "things__show"]
    assert "things__dotted_name" in names
    assert len(set(names)) == 12
    assert all(len(name) <= 64 for name in names)
    assert "Adds two numbers." in specs[0].description
    assert specs[0].parameters["required"] == ["a"]


def test_tools_whose_names_become_equal_stay_apart(tmp_path: Path) -> None:
    async def main() -> set[Any]:
        async with executor(stdio(tmp_path)) as made:
            names = [spec.name for spec in made.specs() if "dotted" in spec.name]
            return {(await made.execute(name, {})).output["result"] for name in names}

    assert asyncio.run(main()) == {"dotted", "slashed"}


def test_results_are_structured_content_else_text_else_all_parts(tmp_path: Path) -> None:
    wanted: list[tuple[str, Any]] = [("add", {"a": 2}), ("say", {"text": "é"}), ("show", {})]
    structured, text, parts = calls(stdio(tmp_path), *wanted)
    assert structured.output == {"result": 3}
    assert text.output == "é\nand more"
    assert parts.output == [
        {"type": "text", "text": "a dot"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ]
    with pytest.raises(TypeError):
        structured.output["result"] = 4


@pytest.mark.invariant(id="INV-TOOL-001")
def test_bad_arguments_do_not_reach_the_server(tmp_path: Path) -> None:
    (result,) = calls(stdio(tmp_path), ("add", {"a": "x", "b": None}))
    assert (result.error_code, result.retryable) == ("TOOL_VALIDATION_ERROR", False)
    assert "arguments.a: " in str(result.error)
    assert "arguments.b: " in str(result.error)


def test_a_tool_that_fails_over_there_is_an_error_value(tmp_path: Path) -> None:
    (result,) = calls(stdio(tmp_path), ("fail", {}))
    assert (result.error_code, result.retryable) == ("TOOL_EXECUTION_ERROR", True)
    assert "fail" in str(result.error)


def test_a_server_that_dies_is_an_error_value_and_the_next_call_starts_it_anew(
    tmp_path: Path,
) -> None:
    died, added = calls(stdio(tmp_path), ("die", {}), ("add", {"a": 2}))
    assert (died.error_code, died.retryable) == ("TOOL_EXECUTION_ERROR", True)
    assert "MCP server 'things' is gone: died of it" in str(died.error)
    assert added.output == {"result": 3}


def test_a_call_while_a_lost_connection_is_still_closing_starts_the_server_anew() -> None:
    async def main(server: Served) -> list[bool]:
        setting = ServerSetting("shop", "serve", timeout=ENOUGH)
        async with executor(setting) as made:
            server.stop()
            return [(await made.execute("shop__find", {})).success for _ in range(4)]

    with served() as server:
        server.tools = {"find": "Finds."}
        server.turns_to_close = 1_000
        worked = asyncio.run(main(server))
    assert worked[-1]
    assert server.starts == 2


def test_a_connection_that_breaks_between_two_calls_is_opened_anew() -> None:
    async def main(server: Served) -> list[ToolResult]:
        async with executor(ServerSetting("shop", "serve", timeout=ENOUGH)) as made:
            await server.break_off()
            return [await made.execute("shop__find", {}) for _ in range(2)]

    with served() as server:
        server.tools = {"find": "Finds."}
        broken, found = asyncio.run(main(server))
    assert "is gone: OSError: the network is down" in str(broken.error)
    assert found.success
    assert server.starts == 2


OWN_ERROR = """
import os, sys
from mcp import MCPError
from mcp.server import MCPServer

server = MCPServer("things")

@server.tool()
def refuse() -> str:
    print("noise", file=sys.stderr, flush=True)
    raise MCPError(-32000, "Too many requests.")

@server.tool()
def number() -> int:
    return os.getpid()

server.run()
"""


def test_a_server_that_refuses_with_the_code_of_a_lost_connection_is_not_restarted(
    tmp_path: Path,
) -> None:
    wanted: list[tuple[str, Any]] = [("number", {}), ("refuse", {}), ("number", {})]
    before, refused, after = calls(stdio(tmp_path, OWN_ERROR), *wanted)
    assert "Too many requests." in str(refused.error)
    assert "gone" not in str(refused.error)
    assert before.output == after.output


def test_calls_under_way_when_a_server_dies_are_error_values_too(tmp_path: Path) -> None:
    async def main() -> list[ToolResult]:
        async with executor(stdio(tmp_path)) as made:
            hanging = asyncio.create_task(made.execute("things__hang", {}))
            while not (tmp_path / "hanging").exists():
                await asyncio.sleep(0.005)
            died = await made.execute("things__die", {})
            return [died, await hanging]

    died, hanging = asyncio.run(main())
    assert "is gone" in str(died.error)
    assert "is gone" in str(hanging.error)


def test_noise_between_the_messages_of_a_server_does_no_harm(tmp_path: Path) -> None:
    said, added = calls(stdio(tmp_path), ("garble", {}), ("add", {"a": 2}))
    assert said.output == {"result": "said"}
    assert added.output == {"result": 3}


def test_a_server_that_dies_for_good_is_an_error_value(tmp_path: Path) -> None:
    async def main() -> list[ToolResult]:
        async with executor(stdio(tmp_path)) as made:
            (tmp_path / "server.py").write_text("raise SystemExit('never again')")
            return [await made.execute(f"things__{name}", {}) for name in ("die", "fail", "fail")]

    died, *after = asyncio.run(main())
    assert "is gone" in str(died.error)
    assert len(after) == 2
    for result in after:
        assert result.error_code == "TOOL_EXECUTION_ERROR"
        assert "never again" in str(result.error)


def test_a_call_over_its_time_ends_and_the_server_goes_on(tmp_path: Path) -> None:
    async def main() -> list[ToolResult]:
        async with mcp_tools(stdio(tmp_path)) as tools:
            made = ToolExecutor(consent=yes)
            for tool in tools:
                made.register(replace(tool, timeout=0.1) if "hang" in tool.name else tool)
            late = await made.execute("things__hang", {})
            return [late, await made.execute("things__add", {"a": 1})]

    late, added = asyncio.run(main())
    assert (late.error_code, late.retryable) == ("TOOL_TIMEOUT", True)
    assert added.output == {"result": 2}


def test_the_cancellation_of_a_caller_passes_through(tmp_path: Path) -> None:
    async def main() -> ToolResult:
        async with executor(stdio(tmp_path)) as made:
            hanging = asyncio.create_task(made.execute("things__hang", {}))
            while not (tmp_path / "hanging").exists():
                await asyncio.sleep(0.005)
            hanging.cancel()
            await asyncio.wait((hanging,))
            assert hanging.cancelled()
            return await made.execute("things__add", {"a": 1})

    assert asyncio.run(main()).output == {"result": 2}


def test_many_calls_may_be_under_way_at_once(tmp_path: Path) -> None:
    async def main() -> list[ToolResult]:
        async with executor(stdio(tmp_path)) as made:
            return await asyncio.gather(
                *(made.execute("things__add", {"a": number}) for number in range(30))
            )

    assert [one.output["result"] for one in asyncio.run(main())] == list(range(1, 31))


@pytest.mark.parametrize(
    "tool",
    ["add", "look", "wipe"],
    ids=["no hints", "says it only reads", "says it destroys"],
)
def test_each_tool_needs_its_own_consent_whatever_the_server_says_of_it(
    tool: str, tmp_path: Path
) -> None:
    wanted: list[tuple[str, Any]] = [("add", {"a": 1}), ("look", {}), ("wipe", {})]
    refused = calls(stdio(tmp_path), *wanted, consent=())
    assert len(refused) == 3
    for result in refused:
        assert (result.error_code, result.retryable) == ("TOOL_PERMISSION_DENIED", False)
        assert "--allow-tool things__" in str(result.error)
    results = calls(stdio(tmp_path), *wanted, consent=[f"things__{tool}"])
    ran = [one for (one, _), result in zip(wanted, results, strict=True) if result.success]
    assert ran == [tool]


ODD_SCHEMA = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

async def on_list_tools(ctx, params):
    return ListToolsResult(tools=[Tool(name="odd", input_schema={"type": "object", "required": 7})])

async def on_call_tool(ctx, params):
    return CallToolResult(content=[TextContent(text="called")])

async def main():
    server = Server("odd", on_list_tools=on_list_tools, on_call_tool=on_call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

anyio.run(main)
"""


@pytest.mark.invariant(id="INV-TOOL-001")
def test_a_tool_with_a_schema_that_is_none_refuses_every_call_and_says_why(tmp_path: Path) -> None:
    (result,) = calls(stdio(tmp_path, ODD_SCHEMA), ("odd", {}))
    assert result.error_code == "TOOL_VALIDATION_ERROR"
    assert "its schema is not valid" in str(result.error)


@pytest.mark.parametrize("answer", ["raise ValueError('no tools today')", "os._exit(3)"])
def test_a_server_that_does_not_list_its_tools_is_told(tmp_path: Path, answer: str) -> None:
    code = ODD_SCHEMA.replace(
        "return ListToolsResult", f"import os; {answer}; return ListToolsResult"
    )
    with pytest.raises(MetierError, match="it does not list its tools"):
        calls(stdio(tmp_path, code))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import sys; sys.exit('no licence')", "no licence"),
        ("raise ImportError('no module')", "ImportError: no module"),
        ("print('this is no protocol')", "cannot be reached"),
    ],
)
def test_a_server_that_does_not_start_is_told_with_its_last_words(
    tmp_path: Path, code: str, told: str
) -> None:
    with pytest.raises(MetierError, match="MCP server 'things' cannot be reached") as caught:
        calls(stdio(tmp_path, code))
    assert told in caught.value.message
    assert caught.value.code == "TOOL_SERVER_FAILED"


def test_a_server_that_never_answers_is_given_up_and_nothing_of_it_stays(tmp_path: Path) -> None:
    settings = stdio(tmp_path, "import time; time.sleep(1_000)", timeout=0.5)

    async def main() -> None:
        with pytest.raises(MetierError, match=r"no answer within 0\.5 s"):
            async with executor(settings):
                pass
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(MetierError, match="no-such-program-x"):
        calls(ServerSetting("things", command="no-such-program-x"))


@pytest.mark.parametrize(
    "settings", [ServerSetting("things"), ServerSetting("things", command="a", url="http://b")]
)
def test_a_server_is_a_command_or_an_address(settings: ServerSetting) -> None:
    with pytest.raises(UsageError, match="either a command or a url"):
        calls(settings)


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(UsageError) as caught:
        calls(ServerSetting("things", command="a"))
    assert caught.value.hint == "install metier with its extra 'mcp' (docs/install.md)"


# HTTP


@asynccontextmanager
async def http_server() -> AsyncIterator[str]:
    """A server on a free port of this machine."""
    from mcp.server import MCPServer

    made: Any = MCPServer("things")

    @made.tool()  # type: ignore[untyped-decorator]  # only known at run time
    def add(a: int) -> int:
        return a + 1

    async with listening_at(made.streamable_http_app()) as address:
        yield f"{address}/mcp"


@asynccontextmanager
async def listening_at(application: Any) -> AsyncIterator[str]:
    """The address of an application on a free port of this machine."""
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(application, log_level="critical", ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            await serving


def test_a_server_with_an_address_is_reached_over_http() -> None:
    async def main() -> tuple[ToolResult, ToolResult]:
        async with http_server() as url:
            settings = ServerSetting("things", url=url, headers={"X-Token": "t"}, timeout=ENOUGH)
            async with executor(settings) as made:
                good = await made.execute("things__add", {"a": 1})
                bad = await made.execute("things__add", {})
                return good, bad

    good, bad = asyncio.run(main())
    assert good.output == {"result": 2}
    assert bad.error_code == "TOOL_VALIDATION_ERROR"


def test_an_address_that_nobody_answers_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(MetierError, match="cannot be reached"):
        calls(ServerSetting("things", url=f"http://127.0.0.1:{port}/mcp", timeout=ENOUGH))


def test_a_server_that_goes_away_is_an_error_value() -> None:
    async def main() -> ToolResult:
        async with mcp_http() as made:
            return await made.execute("things__add", {"a": 1})

    @asynccontextmanager
    async def mcp_http() -> AsyncIterator[ToolExecutor]:
        serving = http_server()
        url = await serving.__aenter__()
        async with executor(ServerSetting("things", url=url, timeout=ENOUGH)) as made:
            await serving.__aexit__(None, None, None)
            yield made

    result = asyncio.run(main())
    assert (result.error_code, result.retryable) == ("TOOL_EXECUTION_ERROR", True)


class Sessions:
    """A server of an earlier protocol, which knows its clients by a session."""

    def __init__(self) -> None:
        self.known: list[str] = []
        self.opened = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.requests import Request
        from starlette.responses import JSONResponse, Response

        if scope["type"] != "http":
            return
        request, response = Request(scope, receive), Response(status_code=405)
        if request.method == "POST":
            asked = await request.json()
            is_known = request.headers.get("mcp-session-id") in self.known
            answer = self.answer(asked, is_known=is_known)
            response = Response(status_code=202 if is_known else 404)
            if answer is not None:
                session = {"mcp-session-id": self.known[-1]} if self.known else {}
                said = {"jsonrpc": "2.0", "id": asked["id"], **answer}
                response = JSONResponse(said, headers=session)
        await response(scope, receive, send)

    def answer(self, asked: Any, *, is_known: bool) -> dict[str, Any] | None:
        method = asked["method"]
        if method == "server/discover":
            return {"error": {"code": -32601, "message": "there is no such method"}}
        if method == "initialize":
            self.opened += 1
            self.known.append(f"session-{self.opened}")
            info = {"name": "things", "version": "1"}
            version = asked["params"]["protocolVersion"]
            both = {"protocolVersion": version, "serverInfo": info, "capabilities": {"tools": {}}}
            return {"result": both}
        if method == "tools/list" and is_known:
            return {"result": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}}
        if method == "tools/call" and is_known:
            return {"result": {"content": [{"type": "text", "text": "looked"}]}}
        return None


def test_a_session_that_an_http_server_forgot_is_opened_anew() -> None:
    async def main(sessions: Sessions) -> list[ToolResult]:
        async with listening_at(sessions) as url:
            settings = ServerSetting("things", url=url, timeout=ENOUGH)
            async with executor(settings) as made:
                results = [await made.execute("things__look", {})]
                sessions.known.clear()
                return [*results, *[await made.execute("things__look", {}) for _ in range(2)]]

    sessions = Sessions()
    before, forgotten, after = asyncio.run(main(sessions))
    assert before.output == after.output == "looked"
    assert (forgotten.error_code, forgotten.retryable) == ("TOOL_EXECUTION_ERROR", True)
    assert sessions.opened == 2

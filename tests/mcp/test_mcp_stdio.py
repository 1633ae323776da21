"""`metier mcp` as a host starts it: a process, standard input and output."""

import asyncio
import json
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import jsonrpc_message_adapter

from conftest import Workspace
from mcp_served import (
    ENOUGH,
    ERAS,
    METIER,
    asked,
    called,
    data_of,
    environment,
    error_of,
    example,
    over_stdio,
)
from metier.mcp.stdio import OpenRequests

pytestmark = pytest.mark.slow

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize("era", ERAS)
def test_a_client_talks_to_the_process(tmp_path: Path, era: str) -> None:
    root = example(tmp_path)

    async def talk(client: Client) -> None:
        assert client.server_info is not None
        assert client.server_info.name == "metier"
        assert data_of(await client.call_tool("skill_list", {"limit": 3}))["total"] == 15
        args = {"requires": ["web-search"]}
        assert data_of(await client.call_tool("capability_resolve", args))["selected"]
        assert error_of(await client.call_tool("nothing", {}))["code"] == "TOOL_NOT_FOUND"
        assert (await client.list_prompts()).prompts
        assert (await client.read_resource("skill://skills/summarize/SKILL.md")).contents

    asked(over_stdio(root), talk, era)


def test_the_tools_that_run_are_there_when_allowed(tmp_path: Path) -> None:
    root = example(tmp_path)
    answer = called(over_stdio(root, "--allow-run"), "run_get", {"runId": "x"})
    assert error_of(answer)["code"] == "NOT_FOUND"


def spoken(root: Path, *lines: str | bytes, options: tuple[str, ...] = ()) -> Any:
    """What a process says to these lines, after which its input ends."""
    raw = b"".join((one.encode() if isinstance(one, str) else one) + b"\n" for one in lines)
    return subprocess.run(
        [METIER, "mcp", "--root", str(root), *options],
        input=raw,
        capture_output=True,
        timeout=ENOUGH,
        env=environment(),
        check=False,
    )


def test_nothing_but_protocol_is_on_standard_output_not_even_when_it_builds_the_catalog(
    workspace: Workspace,
) -> None:
    workspace.skill("one")
    done = spoken(workspace.root, json.dumps(HELLO))
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "metier"
    assert b"building the catalog" in done.stderr


def test_the_end_of_the_input_is_the_end_of_the_server(workspace: Workspace) -> None:
    done = spoken(workspace.root)
    assert (done.returncode, done.stdout) == (0, b"")


def request(number: int, tool: str, **arguments: Any) -> str:
    """A call as a client of the new era writes it: one line says all."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


def test_what_was_asked_before_the_input_ended_is_answered(tmp_path: Path) -> None:
    asked_for = [request(n, "capability_resolve", requires=["web-search"]) for n in range(5)]
    done = spoken(example(tmp_path), *asked_for)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(answer["id"] for answer in answers) == [0, 1, 2, 3, 4]
    for answer in answers:
        chosen = answer["result"]["structuredContent"]["selected"]
        assert chosen == ["searx-search::skills/searx-search"]
    assert done.returncode == 0


NO_MESSAGES: list[tuple[str, int | None, int]] = [
    ("garbage", None, -32700),
    ("\ufeff{}", None, -32700),
    ('{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"a":"\\ud83d"}}', 5, -32700),
    ('{"jsonrpc":"2.0","id":"\\ud83d","method":"tools/list"}', None, -32700),
    ("[" * 100_000, None, -32700),
    ("[]", None, -32600),
    ('{"jsonrpc":"2.0","id":3,"method":"tools/list","params":[]}', None, -32600),
    ('{"jsonrpc":"2.0","id":[1],"method":"tools/list"}', None, -32600),
    ('{"jsonrpc":"2.0","method":"tools/list","id": {"a":1}}', None, -32600),
    ('{"jsonrpc":"2.0","id":null,"method":"tools/list"}', None, -32600),
    ('{"jsonrpc":"2.0","id":true,"method":"tools/list"}', None, -32600),
    ('{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', None, -32600),
]
"""Lines, and the id and the code of the error that each is answered with."""


def test_a_line_that_is_no_message_is_answered_too(workspace: Workspace) -> None:
    lines = [line for line, _, _ in NO_MESSAGES]
    done = spoken(workspace.root, *lines, request(1, "skill_list"))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    told = Counter((one["id"], one["error"]["code"]) for one in answers if "error" in one)
    assert told == Counter((number, code) for _, number, code in NO_MESSAGES)
    assert [one["id"] for one in answers if "result" in one] == [1]


def message(**fields: Any) -> Any:
    return jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **fields})


def written(**fields: Any) -> str:
    """A message as the SDK writes it."""
    line: str = message(**fields).model_dump_json(by_alias=True, exclude_unset=True)
    return f"{line}\n"


def test_the_end_waits_for_each_request_until_it_is_answered_or_cancelled() -> None:
    async def talk() -> list[bool]:
        requests = OpenRequests()
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": "2"}}
        seen = []
        steps: list[Callable[[], None]] = [
            lambda: requests.received(message(id='a"b', method="tools/list")),
            lambda: requests.received(message(id=2, method="tools/list")),
            lambda: requests.received(message(method="notifications/initialized")),
            lambda: requests.written(written(id='a"b', result={})),
            lambda: requests.received(message(**cancelled)),
            lambda: requests.received(message(id=3, method="tools/list")),
            lambda: requests.written(written(method="notifications/message", params={})),
            lambda: requests.written(written(id=3, error={"code": 1, "message": "no"})),
        ]
        for happens in steps:
            happens()
            seen.append(requests.none)
        return seen

    assert asyncio.run(talk()) == [False, False, False, False, True, False, False, True]


@pytest.mark.parametrize("wrong", [[], [1], {}, {"a": 1}, None, True, 1.5, "other"], ids=repr)
def test_a_cancellation_of_what_nobody_asked_stops_nothing(
    workspace: Workspace, wrong: object
) -> None:
    params = {"requestId": wrong}
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    done = spoken(workspace.root, json.dumps(cancelled), request(1, "skill_list"))
    (answer,) = map(json.loads, done.stdout.splitlines())
    assert (answer["id"], done.returncode) == (1, 0)
    assert b"Traceback" not in done.stderr


def test_a_request_that_gets_no_answer_does_not_hold_the_end_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("metier.mcp.stdio.GRACE", 0.01)

    async def talk() -> bool:
        requests = OpenRequests()
        requests.received(message(id=1, method="tools/list"))
        await requests.settled()
        return requests.none

    assert asyncio.run(talk()) is False


def test_its_start_calls_nobody(workspace: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        address = f"https://127.0.0.1:{elsewhere.getsockname()[1]}/card.md"
        source = f'type = "remote"\nlocation = "{address}"\nsha256 = "{"0" * 64}"\n'
        workspace.write("metier.toml", f"[[capabilities.sources]]\n{source}")
        assert spoken(workspace.root, json.dumps(HELLO)).returncode == 0
        with pytest.raises(BlockingIOError):
            elsewhere.accept()


@contextmanager
def begun(root: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A server that somebody talks to; it is gone afterwards."""
    process = subprocess.Popen(
        [METIER, "mcp", "--root", str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(workspace: Workspace, number: int) -> None:
    with begun(workspace.root) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(number)
        assert process.wait(ENOUGH) == 0
        assert process.stdout.read() == b""
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_under_way_at_a_signal_is_answered(tmp_path: Path, number: int) -> None:
    """More is answered than a pipe holds, so it has to wait until somebody reads."""
    numbers = range(60)
    lines = [request(one, "capability_resolve", requires=["web-search"]) for one in numbers]
    with begun(example(tmp_path)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        process.stdin.flush()
        first = process.stdout.readline()
        process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        rest = process.stdout.read().splitlines()
        assert process.wait(ENOUGH) == 0
    answers = [json.loads(line) for line in [first, *rest]]
    assert [answer["id"] for answer in answers] == list(numbers)
    assert all("result" in answer for answer in answers)


def test_a_client_that_reads_no_more_is_no_error(tmp_path: Path) -> None:
    with begun(example(tmp_path)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(f"{request(1, 'skill_list')}\n".encode())
        process.stdin.flush()
        assert process.wait(ENOUGH) == 0
        assert b"rror" not in process.stderr.read()


def test_where_no_state_can_be_written_it_is_served_from_memory(workspace: Workspace) -> None:
    workspace.skill("one")
    home = workspace.state.parents[1]
    home.parent.mkdir(parents=True)
    home.write_text("a file where the folder should be")
    data = data_of(called(over_stdio(workspace.root), "skill_list"))
    assert [row["name"] for row in data["skills"]] == ["one"]
    assert home.read_text() == "a file where the folder should be"
    assert {one.name for one in workspace.root.iterdir()} == {".git", "skills"}


def test_what_a_workspace_calls_a_catalog_is_not_opened(workspace: Workspace) -> None:
    workspace.skill("one")
    for name in ("metier.db", "restricted.db"):
        workspace.write(
            f".metier/{name}", "no database at all, but long enough to be taken for one"
        )
    assert data_of(called(over_stdio(workspace.root), "skill_list"))["total"] == 1


def test_a_catalog_that_cannot_be_used_is_one_line_and_no_traceback(
    workspace: Workspace,
) -> None:
    (workspace.state / "restricted.db").mkdir(parents=True)
    done = spoken(workspace.root, json.dumps(HELLO))
    assert b"Traceback" not in done.stderr
    assert b"is not a regular file" in done.stderr


def test_a_damaged_catalog_is_built_again(workspace: Workspace) -> None:
    workspace.skill("one")
    workspace.state.mkdir(parents=True)
    (workspace.state / "restricted.db").write_text("no database, but as long as one " * 99)
    assert data_of(called(over_stdio(workspace.root), "skill_list"))["total"] == 1

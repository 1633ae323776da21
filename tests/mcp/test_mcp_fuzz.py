"""Random and malformed messages: no crash, no traceback, nothing but protocol."""

import http.client
import json
import subprocess
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from conftest import Workspace
from mcp_fuzz import ENVELOPE, Messages
from mcp_served import ENOUGH, METIER, environment, over_http
from soak import SOAK

OVER_STDIO, OVER_HTTP = (4_000, 1_000) if SOAK else (800, 200)
LAST = "the-last-one"
UNEXPECTED = "unexpected error"
"""What standard error says when something of ours has failed."""
INSIDE = ("Traceback", 'File "', "site-packages", "metier/mcp/")


def workspace_with_skills(workspace: Workspace) -> Path:
    workspace.skill("one", extra="capabilities: [web-search]")
    workspace.skill("two", body="# Two")
    return workspace.root


def hello(*, modern: bool) -> dict[str, Any]:
    if modern:
        return {"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {"_meta": ENVELOPE}}
    client = {"name": "fuzz", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def last(*, modern: bool) -> dict[str, Any]:
    meta = {"_meta": ENVELOPE} if modern else {}
    params = {"name": "skill_list", "arguments": {}, **meta}
    return {"jsonrpc": "2.0", "id": LAST, "method": "tools/call", "params": params}


def check(line: bytes) -> dict[str, Any]:
    """One line of the wire: a message of the protocol that tells nothing of the inside."""
    message: dict[str, Any] = json.loads(line)
    assert message["jsonrpc"] == "2.0"
    assert ("result" in message) + ("error" in message) + ("method" in message) == 1
    error = json.dumps(message.get("error", {}))
    assert not [word for word in INSIDE if word in error], error
    return message


@pytest.mark.slow
@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
def test_over_stdio_nothing_brings_it_down(workspace: Workspace, modern: bool) -> None:
    process = subprocess.Popen(
        [METIER, "mcp", "--root", str(workspace_with_skills(workspace))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    messages = Messages(7, modern=modern)
    lines = [json.dumps(hello(modern=modern)).encode()]
    lines += [messages.next() for _ in range(OVER_STDIO)]
    lines.append(json.dumps(last(modern=modern)).encode())
    writing = threading.Thread(target=_write, args=(process.stdin, lines), daemon=True)
    errors: list[bytes] = []
    reading = threading.Thread(target=lambda: errors.append(process.stderr.read()))  # type: ignore[union-attr]  # asserted above
    limit = threading.Timer(ENOUGH * 3, process.kill)
    for thread in (writing, reading, limit):
        thread.start()
    try:
        answers = 0
        answered: dict[str, Any] = {}
        for line in process.stdout:
            answers += 1
            message = check(line)
            if message.get("id") == LAST:
                answered = message
                break
        assert answered["result"]["structuredContent"]["total"] == 2
        assert answers > OVER_STDIO / 3
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(ENOUGH) == 0
        for line in process.stdout:
            check(line)
    finally:
        limit.cancel()
        process.kill()
        process.wait()
        writing.join()
        reading.join()
        process.stdout.close()
        process.stderr.close()
    assert UNEXPECTED not in errors[0].decode(errors="replace")


def _write(stream: Any, lines: list[bytes]) -> None:
    try:
        for line in lines:
            stream.write(line + b"\n")
        stream.flush()
    except (BrokenPipeError, ValueError):
        return


@pytest.mark.slow
@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
def test_over_http_nothing_brings_it_down(workspace: Workspace, modern: bool) -> None:
    messages = Messages(11, modern=modern)
    with over_http(workspace_with_skills(workspace)) as server:
        place = urlsplit(server.url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ENOUGH)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if modern:
            headers["MCP-Protocol-Version"] = "2026-07-28"
        for _ in range(OVER_HTTP):
            connection.request("POST", "/mcp", messages.next(), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            assert answer.status < 500 or '"code":-32603' in text.replace(" ", ""), text
            assert not [word for word in INSIDE if word in text and '"result"' not in text], text
        connection.request("GET", "/health")
        assert connection.getresponse().read()
        connection.close()
        assert server.process.poll() is None
        assert server.stop() == 0
    assert UNEXPECTED not in Path(f"{workspace.root}.stderr").read_text()

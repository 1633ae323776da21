"""The recording model server, as a host sees it."""

import gzip
import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from metier.listing.protocols import TEXT, Call
from metier.listing.recorder import Recorder, Request, free_port, recorded, run_recorded

pytestmark = pytest.mark.slow

PATHS = {
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages?beta=true",
    "gemini": "/v1beta/models/some:generateContent",
}
STREAMED = {**PATHS, "gemini": "/v1beta/models/some:streamGenerateContent?alt=sse"}
TOOLS: dict[str, Any] = {
    "responses": [{"type": "namespace", "name": "n", "tools": [{"name": "in"}]}, {"name": "look"}],
    "chat": [{"type": "function", "function": {"name": "look"}}],
    "messages": [{"name": "look", "input_schema": {}}],
    "gemini": [{"functionDeclarations": [{"name": "look"}]}],
}


def post(url: str, body: bytes, **headers: str) -> str:
    request = urllib.request.Request(url, body, headers, method="POST")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as response:
        return str(response.read().decode())


@pytest.mark.parametrize("protocol", list(PATHS))
def test_each_protocol_gets_a_text(protocol: str) -> None:
    with Recorder() as recorder:
        whole = json.loads(post(recorder.url + PATHS[protocol], b'{"a": 1}'))
        stream = post(recorder.url + STREAMED[protocol], b'{"stream": true}')
    assert TEXT in json.dumps(whole)
    assert stream.count("data: ") >= 1
    assert TEXT in stream
    assert [request.body for request in recorder.requests] == [{"a": 1}, {"stream": True}]
    assert {request.protocol for request in recorder.requests} == {protocol}


@pytest.mark.parametrize("protocol", list(PATHS))
def test_a_tool_is_called_once_by_the_first_request_that_offers_it(protocol: str) -> None:
    body = json.dumps({"tools": TOOLS[protocol], "stream": True}).encode()
    with Recorder(calls=[Call("look", {"at": "sea"})]) as recorder:
        url = recorder.url + STREAMED[protocol]
        answers = [post(url, sent) for sent in (b'{"stream": true}', body, body)]
    assert ["sea" in answer for answer in answers] == [False, True, False]
    assert "look" in recorder.requests[1].tools


def test_a_tool_of_a_namespace_is_called_by_both_names() -> None:
    body = json.dumps({"tools": TOOLS["responses"]}).encode()
    with Recorder(calls=[Call("n.in", {})]) as recorder:
        answer = json.loads(post(recorder.url + PATHS["responses"], body))
    [called] = answer["output"]
    assert (called["namespace"], called["name"]) == ("n", "in")


def test_requests_for_no_model_are_answered_and_recorded() -> None:
    with Recorder() as recorder:
        answer = json.loads(post(f"{recorder.url}/v1/messages/count_tokens", b"{}"))
    assert answer["input_tokens"] == 1
    assert recorder.requests[0].protocol is None
    assert recorder.requests[0].tools == []


def test_compressed_bodies_are_read_and_broken_ones_kept() -> None:
    with Recorder() as recorder:
        url = recorder.url + PATHS["chat"]
        post(url, gzip.compress(b'{"a": 1}'), **{"Content-Encoding": "gzip"})
        post(url, b"\xff{")
    assert [request.body for request in recorder.requests] == [{"a": 1}, {"unread": "\ufffd{"}]


def test_a_recording_is_read_back_from_its_folder(tmp_path: Path) -> None:
    with Recorder(str(tmp_path)) as recorder:
        for number in range(3):
            post(recorder.url + PATHS["chat"], json.dumps({"n": number}).encode())
    assert recorded(str(tmp_path)) == recorder.requests


HOST = """
import sys, urllib.request
address, outside = sys.argv[1:]
urllib.request.urlopen(urllib.request.Request(address, b'{"a": "b"}'), timeout=20).read()
try:
    urllib.request.urlopen(outside, timeout=20)
except OSError:
    print("alone")
sys.exit(7)
"""


def run(folder: Path, script: str, *arguments: str, port: int, timeout: float = 60) -> Any:
    folder.mkdir()
    return run_recorded(
        [sys.executable, "-c", script, *arguments],
        folder=str(folder),
        port=port,
        cwd=str(folder),
        environ={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(filter(None, sys.path))},
        timeout=timeout,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are Linux's")
def test_a_host_reaches_the_recorder_and_nothing_else(tmp_path: Path) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}{PATHS['chat']}"
    finished = run(tmp_path / "r", HOST, address, "http://192.0.2.1/", port=port)
    assert (finished.status, finished.output) == (7, "alone\n")
    assert finished.requests == [Request(PATHS["chat"], {"a": "b"})]


@pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are Linux's")
def test_a_host_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = "import subprocess; subprocess.run(['tail', '-f', '/dev/null'])"
    finished = run(tmp_path / "r", script, port=free_port(), timeout=1)
    assert finished.status is None

"""A server with the protocol of OpenAI (chat completions) on loopback, in a thread.

It records each request, and answers by a script: a text, a call of a tool, a status, or a stream
that breaks off.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from zlib import crc32


class ToolWanted(NamedTuple):
    name: str
    args: dict[str, Any]


class CutOff(NamedTuple):
    """The beginning of a stream, which ends without a reason."""

    text: str


class Later(NamedTuple):
    """A 429 that asks to wait."""

    seconds: float


class Raw(NamedTuple):
    """A body as it is."""

    body: str
    kind: str


Answer = str | int | ToolWanted | CutOff | Later | Raw
"""A text, a status (200: a web page), a call of a tool, a stream that breaks off, a rate limit."""


class OpenAIServer:
    """`bodies` are the requests as they were sent; after the script the last answer repeats."""

    def __init__(self, answers: Sequence[Answer], pause: Callable[[], object]) -> None:
        self.bodies: list[bytes] = []
        self.answers = list(answers)
        self.pause = pause
        self.url = ""

    @property
    def requests(self) -> list[Any]:
        return [json.loads(body) for body in self.bodies]

    def next_answer(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def openai_server(
    *answers: Answer, pause: Callable[[], object] = lambda: None
) -> Iterator[OpenAIServer]:
    """`pause` is called before each word of a stream."""
    state = OpenAIServer(answers, pause)
    handler = type("Handler", (_Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    state: OpenAIServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.state.bodies.append(body)
        answer = self.state.next_answer()
        if isinstance(answer, Raw):
            self._send(200, answer.body.encode(), answer.kind)
        elif isinstance(answer, int | Later):
            self._fail(answer)
        elif json.loads(body).get("stream"):
            self._stream(answer)
        else:
            whole = _whole(answer)
            self._send(200, json.dumps(whole).encode(), "application/json")

    def _fail(self, answer: int | Later) -> None:
        body = json.dumps({"error": {"message": "not now"}}).encode()
        if answer == 200:
            self._send(answer, b"<html>Log in</html>", "text/html")
        elif isinstance(answer, Later):
            self._send(429, body, "application/json", {"Retry-After": f"{answer.seconds:g}"})
        else:
            self._send(answer, body, "application/json")

    def _send(
        self, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for piece in _pieces(answer):
            self.state.pause()
            self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
            self.wfile.flush()
        if not isinstance(answer, CutOff):
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None: ...


_COMMON = {"id": "answer", "created": 0, "model": "small"}
_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _message(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, ToolWanted):
        function = {"name": answer.name, "arguments": json.dumps(answer.args)}
        call_id = f"call-{answer.name}-{crc32(function['arguments'].encode())}"
        call = {"index": 0, "id": call_id, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"role": "assistant", "content": answer}


def _whole(answer: Answer) -> dict[str, Any]:
    reason = "tool_calls" if isinstance(answer, ToolWanted) else "stop"
    choice = {"index": 0, "message": _message(answer), "finish_reason": reason}
    return {**_COMMON, "object": "chat.completion", "choices": [choice], "usage": _USAGE}


def _pieces(answer: Answer) -> Iterator[dict[str, Any]]:
    """The chunks of a stream: each word of a text is one."""
    common = {**_COMMON, "object": "chat.completion.chunk"}
    deltas = [_message(answer)]
    if isinstance(answer, str | CutOff):
        text = answer if isinstance(answer, str) else answer.text
        words = [f"{word} " for word in text.split()]
        deltas = [{"role": "assistant", "content": word} for word in words]
    for delta in deltas:
        yield {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if isinstance(answer, CutOff):
        return
    reason = "tool_calls" if isinstance(answer, ToolWanted) else "stop"
    end = {"index": 0, "delta": {}, "finish_reason": reason}
    yield {**common, "choices": [end], "usage": _USAGE}

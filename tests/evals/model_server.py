"""A model on loopback that speaks the protocol of OpenAI and loads skills by plan."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Plan = Callable[[str, int], dict[str, Any] | str | int]
"""The task and the turn, from 0 → a call of a tool, a text, or the status of an error."""


class ModelServer:
    """Answers by plan, and remembers the tasks of conversations that began."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.requests: list[dict[str, Any]] = []
        self.answered: list[str] = []
        """Tasks of conversations that ended."""
        self.held_from: int | None = None
        """From this request on, answers wait for `release`."""
        self.held = threading.Event()
        """Set when a request is being held."""
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def begun(self) -> list[str]:
        return [_task(one) for one in self.requests if not _turn(one)]

    def reply(self, body: dict[str, Any]) -> dict[str, Any] | str | int:
        with self._lock:
            self.requests.append(body)
            number = len(self.requests)
        if self.held_from is not None and number >= self.held_from:
            self.held.set()
            self.released.wait(60)
        return self.plan(_task(body), _turn(body))

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.02)

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def _task(body: dict[str, Any]) -> str:
    texts = (one["content"] for one in body["messages"] if one["role"] == "user")
    return str(next(texts))


def _turn(body: dict[str, Any]) -> int:
    return sum(one["role"] == "assistant" for one in body["messages"])


@contextmanager
def model_server(plan: Plan) -> Iterator[ModelServer]:
    server = ModelServer(plan)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = server.reply(body)
            if isinstance(reply, int):
                self._send(reply, "application/json", json.dumps({"error": {"message": "busy"}}))
            elif body.get("stream"):
                self._send(200, "text/event-stream", _stream(reply))
            else:
                self._send(200, "application/json", json.dumps(_whole(reply)))
            if isinstance(reply, str):
                server.answered.append(_task(body))

        def _send(self, status: int, kind: str, text: str) -> None:
            data = text.encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:  # the client was killed
                self.close_connection = True

    return Handler


_USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}


def _message(reply: dict[str, Any] | str) -> tuple[dict[str, Any], str]:
    """The message, and why it ended."""
    if isinstance(reply, str):
        return {"role": "assistant", "content": reply}, "stop"
    function = {"name": reply["tool"], "arguments": json.dumps(reply["args"])}
    call = {"index": 0, "id": "call-1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"


def _whole(reply: dict[str, Any] | str) -> dict[str, Any]:
    message, reason = _message(reply)
    choice = {"index": 0, "message": message, "finish_reason": reason}
    head = {"id": "a", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": _USAGE}


def _stream(reply: dict[str, Any] | str) -> str:
    message, reason = _message(reply)
    head = {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**head, "choices": [], "usage": _USAGE},
    ]
    return "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"

"""A server with the OpenAI embeddings protocol, on loopback, whose vectors are known."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CONCEPTS = (
    ("tables", "pdf", "gribble"),
    ("database", "queries", "flonk"),
    ("charts", "numbers", "snorp"),
    ("cloud", "deploys", "wibble"),
)
"""Words that mean the same, one of them known to nobody else."""


def vector_of(text: str, size: int = 6) -> list[float]:
    """How often the words of each concept occur, and a little that all texts have."""
    words = text.lower().replace(".", " ").split()
    counts = [float(sum(word in one for word in words)) for one in CONCEPTS]
    return [*counts, 0.1, *([0.05] * (size - len(CONCEPTS) - 1))]


class EmbeddingServer:
    """What it was asked, and how it answers."""

    def __init__(self) -> None:
        self.url = ""
        self.texts: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        self.location = ""
        self.answer: Any = None
        """Instead of vectors."""
        self.size = 6
        self.may_answer = threading.Event()
        self.may_answer.set()

    def taken(self) -> Sequence[str]:
        """The texts since the last time."""
        found, self.texts = self.texts, []
        return found

    def settings(self, **more: object) -> str:
        """The lines of `metier.toml` that name it."""
        given = {"kind": "http", "url": self.url, "model": "concepts", **more}
        return "[encoder]\n" + "".join(f"{key} = {json.dumps(one)}\n" for key, one in given.items())

    def reply(self, body: dict[str, Any]) -> Any:
        self.texts += body["input"]
        if self.answer is not None:
            return self.answer
        rows = [
            {"index": place, "embedding": vector_of(text, self.size)}
            for place, text in enumerate(body["input"])
        ]
        return {"data": rows[::-1]}


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    served = EmbeddingServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            served.headers.append({key.lower(): value for key, value in self.headers.items()})
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.may_answer.wait(60)
            data = json.dumps(served.reply(body)).encode()
            self.send_response(served.status if self.path == "/v1/embeddings" else 404)
            if served.location:
                self.send_header("Location", served.location)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: tests look at what the server was asked."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.may_answer.set()
        server.shutdown()
        server.server_close()

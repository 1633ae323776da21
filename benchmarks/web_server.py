"""The inspector for measurements: behind HTTP, or asked without it, with CPU time of the server."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from starlette.types import ASGIApp, Message, Scope

from benchmarks.measure import least
from metier.config import Config
from metier.flow.boundary import Boundary, open_boundary
from metier.serving.endpoint import Endpoint
from metier.serving.slow_clients import LIMITS, with_limits
from metier.web.app import make_app
from metier.web.catalog_threads import CatalogSource, Reading
from metier.web.security import Sessions

HOST = "127.0.0.1:8766"
Call = Callable[[], object]


class Served:
    """An application behind uvicorn, in a thread, with one client that keeps its connection."""

    def __init__(self, app: ASGIApp, http: Any = "h11", cookie: str = "") -> None:
        bound = Endpoint(port=0).bound()
        config = uvicorn.Config(
            app, http=http, ws="none", log_config=None, access_log=False, timeout_keep_alive=3_600
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(bound)))
        self._thread.start()
        self._connection = HTTPConnection("127.0.0.1", bound.getsockname()[1], timeout=600)
        self._headers = {"Host": HOST, "Cookie": cookie}

    async def _serve(self, bound: socket.socket) -> None:
        await self._server.serve(sockets=[bound])

    def get(self, path: str) -> bytes:
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        assert answer.status == 200, (path, answer.status, text[:500])
        return text

    def close(self) -> None:
        self._connection.close()
        self._server.should_exit = True
        self._thread.join()


class Inspected:
    """The inspector over a workspace: `served` over HTTP, `get` without it."""

    def __init__(self, root: Path) -> None:
        def boundary() -> Boundary:
            return open_boundary(root, Config(), "record")

        self.reading = Reading(CatalogSource(boundary, home="/nowhere"), refresh_every=1e9)
        self.reading.start()
        sessions = Sessions(8766)
        self._cookie = f"{sessions.cookie}={sessions.enter(sessions.token)}"
        self._app = make_app(self.reading, Endpoint(port=8766), sessions)
        self._loop = asyncio.new_event_loop()
        self.served = Served(self._app, with_limits(LIMITS), self._cookie)

    def get(self, path: str) -> None:
        """One request to the application itself, as its HTTP server would make it."""
        self._loop.run_until_complete(self._asked(path))

    def ask(self, question: Callable[[Any], object]) -> None:
        """Ask the catalog of the pages that compute, in its thread."""
        self._loop.run_until_complete(self.reading.ask(question, computes=True))

    async def _asked(self, path: str) -> None:
        name, _, query = path.partition("?")
        headers = [(b"host", HOST.encode()), (b"cookie", self._cookie.encode())]
        scope: Scope = {
            "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": name, "raw_path": name.encode(), "query_string": query.encode(),
            "root_path": "", "headers": headers, "client": ("127.0.0.1", 1),
        }  # fmt: skip
        status = []

        async def send(message: Message) -> None:
            status.append(message.get("status", 0))

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        await self._app(scope, receive, send)
        assert status[0] == 200, (path, status)

    def close(self) -> None:
        self.served.close()
        self._loop.close()


class Own(NamedTuple):
    """A call whose work this process does, in whichever thread."""

    call: Call


def least_cpu(*calls: Call | Own, requests: int = 20, rounds: int = 7) -> list[float]:
    """CPU seconds of one call of each, the least of some rounds.

    For a call that is not `Own`, what this thread uses as a client of a server is not counted.
    """

    def spent(call: Call | Own) -> float:
        made = call.call if isinstance(call, Own) else call
        start, own = time.process_time(), time.thread_time()
        for _ in range(requests):
            made()
        own = 0.0 if isinstance(call, Own) else time.thread_time() - own
        return (time.process_time() - start - own) / requests

    return least([tuple(spent(call) for call in calls) for _ in range(rounds)])

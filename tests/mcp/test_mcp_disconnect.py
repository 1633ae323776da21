"""`metier mcp --http` and clients that leave before they are answered."""

import asyncio
import json
import logging
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any

import pytest

from conftest import Workspace
from mcp_served import ENOUGH, refreshed
from metier.catalog import Catalog
from metier.mcp.answers import CatalogPool
from metier.mcp.http import Guard, serve_http
from metier.mcp.server import make_server
from metier.serving.endpoint import Endpoint

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
PLAIN = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
NEW = {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "skill_list"}
ERAS = pytest.mark.parametrize("era", [{}, NEW], ids=["legacy", "new"])


class Request:
    """A whole request; a test decides when its client leaves."""

    def __init__(self) -> None:
        headers = [(b"host", b"localhost")]
        self.scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
        self.sent: list[Any] = []
        self._messages: asyncio.Queue[Any] = asyncio.Queue()
        self._messages.put_nowait({"type": "http.request", "body": b"{}", "more_body": False})

    def leave(self) -> None:
        self._messages.put_nowait({"type": "http.disconnect"})

    async def receive(self) -> Any:
        return await self._messages.get()

    async def send(self, message: Any) -> None:
        self.sent.append(message)


def test_work_for_a_client_that_has_left_is_cancelled() -> None:
    async def main() -> tuple[str, list[Any]]:
        request, begun, ended = Request(), asyncio.Event(), ""

        async def works(_scope: Any, receive: Any, _send: Any) -> None:
            nonlocal ended
            await receive()
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended = "cancelled"
                raise

        guard = Guard(works, Endpoint())
        answering = asyncio.ensure_future(guard(request.scope, request.receive, request.send))
        await begun.wait()
        request.leave()
        await asyncio.wait_for(answering, ENOUGH)
        return ended, request.sent

    assert asyncio.run(main()) == ("cancelled", [])


def test_what_follows_an_answer_is_not_cancelled() -> None:
    """uvicorn says that the client has left when the answer is complete, too."""

    async def main() -> bool:
        request, answered, is_done = Request(), asyncio.Event(), False

        async def answers(_scope: Any, receive: Any, send: Any) -> None:
            nonlocal is_done
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            answered.set()
            for _ in range(10):
                await asyncio.sleep(0)
            is_done = True

        guard = Guard(answers, Endpoint())
        answering = asyncio.ensure_future(guard(request.scope, request.receive, request.send))
        await answered.wait()
        request.leave()
        await asyncio.wait_for(answering, ENOUGH)
        return is_done

    assert asyncio.run(main())


# Over a connection


@pytest.fixture
def keeper(workspace: Workspace) -> Iterator[CatalogPool]:
    workspace.skill("one")
    with closing(CatalogPool(lambda: refreshed(workspace.root), threads=1)) as made:
        made.start()
        yield made


@contextmanager
def busy(keeper: CatalogPool) -> Iterator[None]:
    """The catalog answers somebody else all the while."""
    free = threading.Event()
    held = keeper._threads[0]._thread.submit(free.wait, ENOUGH)
    try:
        yield
    finally:
        free.set()
        held.result(ENOUGH)


@asynccontextmanager
async def connected(keeper: CatalogPool, era: dict[str, str], body: bytes) -> AsyncIterator[Any]:
    """A connection to a server, over which the head of a request for `body` has been sent."""
    place, ready = Endpoint(port=0), asyncio.Event()
    with place.bound() as bound:
        port = bound.getsockname()[1]
        server = make_server(keeper)
        serving = asyncio.ensure_future(serve_http(server, place, bound, lambda _: ready.set()))
        await ready.wait()
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        length = {"Host": f"localhost:{port}", "Content-Length": str(len(body))}
        lines = (f"{name}: {value}\r\n" for name, value in {**length, **PLAIN, **era}.items())
        writer.write(f"POST /mcp HTTP/1.1\r\n{''.join(lines)}\r\n".encode())
        await writer.drain()
        try:
            async with asyncio.timeout(ENOUGH):
                yield writer
        finally:
            signal.raise_signal(signal.SIGTERM)
            await serving


@ERAS
def test_a_question_of_a_client_that_has_left_is_never_asked(
    keeper: CatalogPool, era: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    params = {"name": "skill_list", "arguments": {}, "_meta": META if era else {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(call).encode()
    asked: list[str] = []

    async def main() -> None:
        waiting, given_up = asyncio.Event(), asyncio.Event()
        ask = keeper.ask

        async def noted(question: Any) -> Any:
            def told(catalog: Catalog) -> Any:
                asked.append("it")
                return question(catalog)

            waiting.set()
            try:
                return await ask(told)
            except asyncio.CancelledError:
                given_up.set()
                raise

        keeper.ask = noted  # type: ignore[method-assign]  # to see what reaches the catalog
        async with connected(keeper, era, body) as writer:
            with busy(keeper):
                writer.write(body)
                await waiting.wait()
                writer.close()
                await given_up.wait()

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert asked == []
    assert caplog.text == ""


@ERAS
def test_a_client_that_leaves_before_it_has_asked_is_not_worth_a_word(
    keeper: CatalogPool, era: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with connected(keeper, era, b"0123456789") as writer:
            writer.write(b"01234")
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert caplog.text == ""

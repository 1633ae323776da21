"""HTTP connections that are given up when the client does not finish its request.

uvicorn waits for ever for the rest of a request: a client that opens connections and says little
would hold them all.
"""

import asyncio
from typing import Literal, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_TOO_LATE = b"the request did not come in time"


class Limits(NamedTuple):
    """Seconds that a client has, however slowly it sends."""

    headers: float = 10.0
    """From the connection, or the first byte of the next request, to the end of its headers."""
    body: float = 30.0
    """From there to the end of the body."""


LIMITS = Limits()


class _Impatient(H11Protocol):
    """Answers 408 and closes when a request is not whole in time.

    A connection that is idle after an answer is closed by uvicorn itself.
    """

    limits: Limits
    _awaited: Literal["headers", "body", ""] = ""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._await("")
        super().connection_lost(exc)

    def _look(self) -> None:
        """Set the clock by what has come so far."""
        if self.transport.is_closing():
            self._await("")
        elif self.conn.their_state is h11.SEND_BODY:
            self._await("body")
        elif self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            self._await("headers")
        else:
            self._await("")

    def _await(self, part: Literal["headers", "body", ""]) -> None:
        """Start the clock for a part of a request; a clock that runs for it goes on."""
        if part == self._awaited:
            return
        self._awaited = part
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if part:
            self._timer = self.loop.call_later(getattr(self.limits, part), self._give_up)

    def _give_up(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # whoever waits for the body is told so
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer_too_late()
            self.transport.close()
        else:
            self.transport.abort()

    def _answer_too_late(self) -> None:
        headers = [
            ("content-type", "text/plain; charset=utf-8"),
            ("content-length", str(len(_TOO_LATE))),
            ("connection", "close"),
        ]
        answer = h11.Response(status_code=408, headers=headers, reason=b"Request Timeout")
        for event in (answer, h11.Data(data=_TOO_LATE), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")


def impatient(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's protocol for HTTP/1.1 with these limits."""
    return type("Impatient", (_Impatient,), {"limits": limits})

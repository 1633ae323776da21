"""Time limits for HTTP clients that send their requests slowly.

uvicorn waits forever for the rest of a request, so idle clients could use up all connections.
"""

import asyncio
from typing import Literal, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_TOO_LATE = b"the request took too long"


class Limits(NamedTuple):
    """Seconds a client has for each part of a request."""

    headers: float = 10.0
    """From the connection, or the first byte of the next request, to the end of its headers."""
    body: float = 30.0
    """From there to the end of the body."""


LIMITS = Limits()


class _LimitedProtocol(H11Protocol):
    """Answers 408 and closes if a request is incomplete after its time limit."""

    limits: Limits
    _awaited: Literal["headers", "body", ""] = ""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._set_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._await("")
        super().connection_lost(exc)

    def _set_timer(self) -> None:
        """Start or stop the timer, depending on what has arrived."""
        if self.transport.is_closing():
            self._await("")
        elif self.conn.their_state is h11.SEND_BODY:
            self._await("body")
        elif self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            self._await("headers")
        else:
            self._await("")

    def _await(self, part: Literal["headers", "body", ""]) -> None:
        """Start the timer for a part of a request, unless it already runs."""
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
            self.cycle.disconnected = True  # wakes up what waits for the body
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


def with_limits(limits: Limits) -> type[asyncio.Protocol]:
    return type("LimitedProtocol", (_LimitedProtocol,), {"limits": limits})

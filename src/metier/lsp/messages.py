"""Messages of the protocol in a stream of bytes."""

import asyncio
import re
from collections.abc import Callable

_LENGTH = re.compile(rb"^Content-Length: *([0-9]{1,9})\r$", re.IGNORECASE | re.MULTILINE)
_HEAD_END = b"\r\n\r\n"


class Messages(asyncio.Protocol):
    """Calls `receive` with the body of every message; a head without a length is skipped."""

    def __init__(self, receive: Callable[[bytes], None], ended: "asyncio.Future[None]") -> None:
        self.ended = ended
        """Done when the client has left."""
        self._receive = receive
        self._buffer = bytearray()
        self._missing = 0
        """How many bytes must be there before it is worth looking."""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= self._missing and self._take():
            pass

    def _take(self) -> bool:
        """Take one message off the buffer; False if none is complete."""
        end = self._buffer.find(_HEAD_END)
        if end < 0:
            return False
        start = end + len(_HEAD_END)
        length = _LENGTH.search(self._buffer, 0, end + 1)
        stop = start + int(length[1]) if length else start
        if len(self._buffer) < stop:
            self._missing = stop
            return False
        body = bytes(self._buffer[start:stop])
        del self._buffer[:stop]
        self._missing = 0
        if length:
            self._receive(body)
        return True

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002  # fixed signature
        if not self.ended.done():
            self.ended.set_result(None)

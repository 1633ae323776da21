"""Where a server listens over HTTP, and for whom."""

import errno
import ipaddress
import socket
from collections.abc import Sequence
from typing import NamedTuple

from metier.errors import UsageError

PORT = 8765
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Place(NamedTuple):
    """Where to listen, and for whom."""

    host: str = "127.0.0.1"
    port: int = PORT
    token: str = ""
    """What clients must show; empty for nothing."""
    names: Sequence[str] = ()
    """More names that clients may reach the server by."""

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        """Raises `UsageError` where others could reach the server without a token."""
        if not self.is_loopback and not self.token:
            raise UsageError(
                f"whoever reaches {self.host} could ask this server: it needs a token",
                hint="--token TEXT or METIER_MCP_TOKEN; without them it listens on 127.0.0.1",
            )
        if self.token and not (self.token.isascii() and self.token.isprintable()):
            raise UsageError("the token has characters that no header can hold")
        if self.token != self.token.strip():
            raise UsageError("the token begins or ends with a space")

    def bound(self) -> socket.socket:
        """A socket that listens there. Raises `UsageError` when that cannot be."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # named as TCP, else asyncio leaves it to wait for acknowledgements: 40 ms an answer
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self.host, self.port))
            bound.listen(2_048)
        except (OSError, TypeError) as error:  # the latter: a name that cannot be encoded
            bound.close()
            why = getattr(error, "strerror", None) or error
            message = f"cannot listen on {self.host}:{self.port}: {why}"
            raise UsageError(message, hint=self._way_out(error)) from None
        return bound

    def _way_out(self, error: OSError | TypeError) -> str:
        """What to do when a socket cannot listen there."""
        if isinstance(error, PermissionError):
            return "a port from 1024 on needs no rights: --port N"
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            return "--port 0 takes any that is free"
        return f"{self.host} is not an address of this machine; 127.0.0.1 always is"

    def hosts(self) -> list[str]:
        """The names that a client may reach the server by."""
        own = f"[{self.host}]" if ":" in self.host else self.host
        return list(dict.fromkeys((*LOOPBACK, own, *self.names)))

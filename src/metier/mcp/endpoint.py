"""Where a server listens over HTTP, and for whom."""

import errno
import ipaddress
import os
import re
import shlex
import socket
import stat
from collections.abc import Sequence
from typing import NamedTuple

from metier.errors import UsageError

PORT = 8765
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
TOKEN_HINT = "set METIER_MCP_TOKEN, or give --token-file FILE"
_LARGEST_TOKEN_FILE = 4 * 1024
_NAME = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?", re.ASCII | re.IGNORECASE)


class Place(NamedTuple):
    """Where to listen, and for whom."""

    host: str = "127.0.0.1"
    port: int = PORT
    token: str = ""
    """What clients must show; empty for nothing."""
    names: Sequence[str] = ()
    """More names that clients may reach the server by, each alone or with a port."""

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self, *, allow_run: bool = False) -> None:
        """Raises `UsageError` where others could reach the server without a token.

        Other users and programs of this machine count when agents may be run.
        """
        if not self.is_loopback and not self.token:
            raise UsageError(
                f"whoever reaches {self.host} could ask this server: it needs a token",
                hint=f"{TOKEN_HINT}; without a token it listens on 127.0.0.1",
            )
        if allow_run and not self.token:
            raise UsageError(
                "with --allow-run any program on this machine could run agents: it needs a token",
                hint=TOKEN_HINT,
            )
        if self.token and not (self.token.isascii() and self.token.isprintable()):
            raise UsageError("the token has characters that no header can hold")
        if self.token != self.token.strip():
            raise UsageError("the token begins or ends with a space")
        for name in self.names:
            if not _NAME.fullmatch(name):
                raise UsageError(
                    f"'{name}' is not the name of a host",
                    hint="--allow-host NAME or NAME:PORT, without http:// and without wildcards",
                )

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

    def hosts(self) -> frozenset[str]:
        """All that `Host` may be, in lower case: a name, alone or with the port.

        A name that was given with a port is answered with that one only.
        """
        own = f"[{self.host}]" if ":" in self.host else self.host
        names = {name.lower() for name in (*LOOPBACK, own, *self.names)}
        return frozenset(names | {f"{name}:{self.port}" for name in names if not _has_port(name)})


def _has_port(name: str) -> bool:
    return name.rpartition(":")[2].isdecimal()


def read_token(file: str) -> str:
    """The token in a file, without the end of its line. Raises `UsageError` when there is none."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        message = f"the token file cannot be read: {error.strerror}"
        raise UsageError(message, where=file, hint=TOKEN_HINT) from None
    try:
        _check_token_file(file, os.fstat(descriptor))
        raw = os.read(descriptor, _LARGEST_TOKEN_FILE + 1)
    finally:
        os.close(descriptor)
    if len(raw) > _LARGEST_TOKEN_FILE:
        message = f"the token file has more than {_LARGEST_TOKEN_FILE} bytes"
        raise UsageError(message, where=file, hint="put the token into it and nothing else")
    token = raw.decode("latin-1").removesuffix("\n").removesuffix("\r")
    if not token:
        raise UsageError("the token file is empty", where=file, hint="put the token into it")
    return token


def _check_token_file(file: str, info: os.stat_result) -> None:
    """Raises `UsageError` for what is no file, or not the user's alone."""
    if not stat.S_ISREG(info.st_mode):
        raise UsageError("the token file is no regular file", where=file, hint=TOKEN_HINT)
    if info.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(
            "other users have access to the token file",
            where=file,
            hint=f"chmod 600 {shlex.quote(file)}",
        )

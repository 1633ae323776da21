"""Where an HTTP server listens, and who may use it."""

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


class Endpoint(NamedTuple):
    host: str = "127.0.0.1"
    port: int = PORT
    token: str = ""
    """The bearer token clients need; empty for none."""
    names: Sequence[str] = ()
    """More host names that clients may use, each with or without a port."""

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self, *, allow_run: bool = False) -> None:
        """Raise `UsageError` if others could use the server without a token."""
        if not self.is_loopback and not self.token:
            raise UsageError(
                f"anyone who can reach {self.host} could use this server, so it needs a token",
                hint=f"{TOKEN_HINT}, or listen on 127.0.0.1",
            )
        if allow_run and not self.token:
            raise UsageError(
                "with --allow-run any program on this machine could run agents: it needs a token",
                hint=TOKEN_HINT,
            )
        if self.token and not (self.token.isascii() and self.token.isprintable()):
            raise UsageError("the token has characters that a header cannot hold")
        if self.token != self.token.strip():
            raise UsageError("the token starts or ends with a space")
        for name in self.names:
            if not _NAME.fullmatch(name):
                raise UsageError(
                    f"'{name}' is not the name of a host",
                    hint="give NAME or NAME:PORT, without http:// and without wildcards",
                )

    def bound(self) -> socket.socket:
        """A listening socket. Raises `UsageError`."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # with IPPROTO_TCP asyncio sets TCP_NODELAY; without it each answer takes 40 ms
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self.host, self.port))
            bound.listen(2_048)
        except (OSError, TypeError) as error:  # the latter: a name that cannot be encoded
            bound.close()
            why = getattr(error, "strerror", None) or error
            message = f"cannot listen on {self.host}:{self.port}: {why}"
            raise UsageError(message, hint=self._hint(error)) from None
        return bound

    def _hint(self, error: OSError | TypeError) -> str:
        if isinstance(error, PermissionError):
            return "ports from 1024 on need no privileges: --port N"
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            return "--port 0 picks a free port"
        return f"{self.host} is not an address of this machine; 127.0.0.1 always is"

    def url(self, path: str) -> str:
        return f"http://{self._own_name}:{self.port}{path}"

    @property
    def _own_name(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def hosts(self) -> frozenset[str]:
        """Accepted `Host` headers, in lower case."""
        names = {name.lower() for name in (*LOOPBACK, self._own_name, *self.names)}
        without_port = (name for name in names if not name.rpartition(":")[2].isdecimal())
        return frozenset(names | {f"{name}:{self.port}" for name in without_port})


def read_token(file: str) -> str:
    """Read a token from a file. Raises `UsageError`."""
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
        raise UsageError(message, where=file, hint="put only the token into it")
    token = raw.decode("latin-1").removesuffix("\n").removesuffix("\r")
    if not token:
        raise UsageError("the token file is empty", where=file, hint="put the token into it")
    return token


def _check_token_file(file: str, info: os.stat_result) -> None:
    """Raise `UsageError` unless only its owner can access the file."""
    if not stat.S_ISREG(info.st_mode):
        raise UsageError("the token file is not a regular file", where=file, hint=TOKEN_HINT)
    if info.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(
            "other users can access the token file",
            where=file,
            hint=f"chmod 600 {shlex.quote(file)}",
        )

"""A card behind an address."""

import hashlib
import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from metier.core.paths import without_md
from metier.core.text import printable
from metier.discover.sources.source import LARGEST, LIMIT_SECONDS, SourcedCard, file_stem, reason
from metier.errors import SourceError, UsageError
from metier.safety.addresses import check_address, host_of, is_inner_host, shown_host

if TYPE_CHECKING:
    import socket
    import ssl
    from http.client import HTTPResponse
    from urllib.request import OpenerDirector, Request

MOST_REDIRECTS = 5
_PIN = re.compile(r"[0-9a-f]{64}\Z")
OFFLINE = "METIER_OFFLINE"
"""Set, it disables remote sources."""


class RemoteSource:
    """One card behind an https address, pinned by the hash of its bytes."""

    type = "remote"

    def __init__(
        self,
        url: str,
        sha256: str,
        context: "ssl.SSLContext | None" = None,
        *,
        limit: float = LIMIT_SECONDS,
    ) -> None:
        self.location = url
        self._pin = sha256.lower()
        self._context = context
        self._limit = limit

    @property
    def name(self) -> str:
        """The name of its card: the last part of the address."""
        path = re.split(r"[?#]", self.location)[0]
        return file_stem(without_md(path.rpartition("/")[2]))

    def is_pinned(self, data: bytes) -> bool:
        return hashlib.sha256(data).hexdigest() == self._pin

    def load(self) -> list[SourcedCard]:
        where = shown_address(self.location)
        if not _PIN.match(self._pin):
            raise SourceError("'sha256' must be 64 hexadecimal digits", where=where)
        if os.environ.get(OFFLINE):
            raise SourceError("it is not fetched here", where=where, hint="metier refresh")
        data = _fetch(self.location, self._limit, self._context)
        if len(data) > LARGEST:
            raise SourceError(f"it has more than {LARGEST} bytes: nothing was loaded", where=where)
        if not self.is_pinned(data):
            got = hashlib.sha256(data).hexdigest()
            raise SourceError(
                f"its hash is {got[:12]}, pinned is {self._pin[:12]}: nothing was loaded",
                where=where,
                hint="check what is there now, and change 'sha256' if you accept it",
            )
        return [SourcedCard(self.name, data)]


def shown_address(url: str) -> str:
    """The start of an address, without user, password and query."""
    public = re.split(r"[?#]", re.sub(r"//[^/]*@", "//", url))[0]
    return printable(" ".join(public.split()))[:200]


def _check_address(url: str) -> None:
    shown = shown_address(url)
    if not host_of(url) or not url.lower().startswith("https:"):
        raise SourceError(f"only https:// is fetched, not {shown}", where=shown)
    try:
        check_address(url)
    except UsageError as error:
        raise SourceError(error.message, where=shown) from None


def _check_outside(url: str, first: str) -> None:
    """Raise `SourceError` for a redirect into a private network.

    The name is looked up again on connecting; another host has no certificate for it.
    """
    import socket
    from urllib.parse import urlsplit

    host = host_of(url)
    hosts = [host]
    with suppress(OSError):  # the connection will tell
        found = socket.getaddrinfo(urlsplit(url).hostname, None)
        hosts += [str(address[0]) for *_, address in found]
    if any(is_inner_host(one) for one in hosts):
        message = f"the server redirects to {shown_host(host)}, which is not a public address"
        raise SourceError(message, where=first)


def _fetch(url: str, limit: float, context: "ssl.SSLContext | None") -> bytes:
    """At most one byte more than a card may have. Raises `SourceError`.

    In a thread: name lookups and slow servers have no other time limit.
    """
    import socket
    import threading

    deadline = time.monotonic() + limit
    opened: list[socket.socket] = []
    outcome: list[bytes | Exception] = []

    def run() -> None:
        try:
            outcome.append(_get(url, _opener(deadline, opened, context)))
        except Exception as error:  # raised again by the caller
            outcome.append(error)

    thread = threading.Thread(target=run, name="metier-fetch", daemon=True)
    thread.start()
    thread.join(limit)
    got = outcome[0] if outcome else TimeoutError()
    if isinstance(got, bytes):
        return got
    if isinstance(got, SourceError):
        raise got
    for one in list(opened):
        with suppress(OSError):  # closed already
            socket.socket.shutdown(one, socket.SHUT_RDWR)
    late = time.monotonic() >= deadline
    why = f"it took more than {limit:g} s" if late else reason(got)
    raise SourceError(f"cannot be fetched: {why}", where=shown_address(url))


def _get(url: str, opener: "OpenerDirector") -> bytes:
    """The answer to a GET; redirects are followed here, so that each address is checked."""
    from urllib.parse import urljoin

    first, own_host = shown_address(url), host_of(url)
    for _ in range(MOST_REDIRECTS + 1):
        _check_address(url)
        if host_of(url) != own_host:
            _check_outside(url, first)
        with opener.open(url) as response:
            if response.status == 200:
                return bytes(response.read(LARGEST + 1))
            if response.status not in (301, 302, 303, 307, 308):
                raise SourceError(f"the server answered {response.status}", where=first)
            url = urljoin(url, response.headers.get("Location", ""))
    raise SourceError("the server redirects too often", where=first)


def _opener(
    deadline: float, opened: "list[socket.socket]", context: "ssl.SSLContext | None"
) -> "OpenerDirector":
    """An opener that knows https alone; each of its sockets is added to `opened`."""
    from http.client import HTTPSConnection
    from urllib import request

    class Connection(HTTPSConnection):
        def connect(self) -> None:
            self.timeout = max(deadline - time.monotonic(), 0.001)
            super().connect()
            opened.append(self.sock)
            if time.monotonic() >= deadline:
                raise TimeoutError  # the caller has stopped waiting

    class Handler(request.HTTPSHandler):
        def https_open(self, req: "Request") -> "HTTPResponse":
            return self.do_open(Connection, req, context=context)

    opener = request.OpenerDirector()
    opener.addheaders = [("User-Agent", "metier")]
    opener.add_handler(request.ProxyHandler())
    opener.add_handler(Handler())
    return opener

"""A card behind an address: a real server on this machine answers, well and badly."""

import hashlib
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from metier.discover.sources.remote import RemoteSource
from metier.discover.sources.source import LARGEST
from metier.discover.sources.sync import source_folders, sync_sources
from metier.errors import SourceError
from metier.storage.room import Room
from metier.values.capabilities import SourceSetting
from metier.values.outcomes import Issue

CARD = b"---\nid: web-search\n---\nSearch.\n"
FULL = b"a" * LARGEST
OUTSIDE = "cards.example"
"""A name that the tests lead to this machine."""
PAUSE = 0.02
ENOUGH = 300.0
"""Seconds that a server or a look-up keeps waiting."""
SOON = ENOUGH / 2
"""Seconds that a busy machine may need for what takes none."""


def pin(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


# a server


class Answers(BaseHTTPRequestHandler):
    """What is at an address depends on the first part of its path."""

    server: "Server"

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.agents.append(self.headers["User-Agent"])
        kind, _, rest = self.path.lstrip("/").partition("/")
        with suppress(OSError):
            getattr(self, f"answer_{kind}")(rest)

    def answer_card(self, _: str) -> None:
        self._answer(200, CARD)

    def answer_full(self, _: str) -> None:
        self._answer(200, FULL)

    def answer_large(self, _: str) -> None:
        self._answer(200, FULL + b"a")

    def answer_short(self, _: str) -> None:
        self._answer(200, CARD[:5], length=len(CARD))

    def answer_status(self, rest: str) -> None:
        self._answer(int(rest), CARD)

    def answer_to(self, rest: str) -> None:
        self._answer(302, b"", Location=unquote(rest))

    def answer_endlessto(self, rest: str) -> None:
        self._answer(302, b"", length=1 << 40, Location=unquote(rest))
        self._send_on()

    def answer_loop(self, rest: str) -> None:
        self._answer(302, b"", Location=f"/loop/{int(rest) + 1}")

    def answer_nowhere(self, _: str) -> None:
        self._answer(302, b"")

    def answer_endless(self, _: str) -> None:
        self._answer(200, b"", length=1 << 40)
        self._send_on()

    def answer_drip(self, _: str) -> None:
        self._answer(200, b"", length=100_000)
        self._drip()

    def answer_driphead(self, _: str) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        self._drip()

    def answer_silence(self, _: str) -> None:
        self.server.over.wait(ENOUGH)

    def answer_garbage(self, _: str) -> None:
        self.wfile.write(b"\x1b[31mno HTTP at all\r\n\r\n")

    def _answer(self, status: int, body: bytes, *, length: int = -1, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length < 0 else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _send_on(self) -> None:
        while True:
            self.wfile.write(FULL)

    def _drip(self) -> None:
        while not self.server.over.wait(PAUSE):
            self.wfile.write(b"a")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, certificate: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[str] = []
        self.agents: list[str] = []
        self.over = threading.Event()
        self.certificate = certificate
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what is tested here."""

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.server_port}/{path}"


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl command to make a certificate with")
    file = tmp_path_factory.mktemp("certificate") / "server.crt"
    argv = ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=metier test"]
    argv += ["-newkey", "rsa:2048", "-addext", f"subjectAltName=IP:127.0.0.1,DNS:{OUTSIDE}"]
    argv += ["-keyout", str(file.with_suffix(".key")), "-out", str(file)]
    subprocess.run(argv, check=True, capture_output=True)
    return file


@contextmanager
def serving(certificate: Path) -> Iterator[Server]:
    with Server(certificate) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running
        finally:
            running.over.set()
            running.shutdown()
            thread.join()


@pytest.fixture
def server(certificate: Path) -> Iterator[Server]:
    with serving(certificate) as running:
        yield running


@pytest.fixture
def other(certificate: Path) -> Iterator[Server]:
    with serving(certificate) as running:
        yield running


def source(server: Server, path: str, data: bytes = CARD, limit: float = SOON) -> RemoteSource:
    context = ssl.create_default_context(cafile=server.certificate)
    return RemoteSource(server.url(path), pin(data), context, limit=limit)


def failure(source: RemoteSource) -> str:
    """The line of the error that loading gives; one line, with a code."""
    with pytest.raises(SourceError) as caught:
        source.load()
    assert caught.value.code == "SOURCE_FAILED"
    assert caught.value.message.isprintable()
    return caught.value.message


# what is taken


@pytest.mark.invariant(id="CARD-EXT-005")
def test_the_card_at_the_address_is_given(server: Server) -> None:
    remote = source(server, "card/web-search.md")
    assert (remote.type, remote.location) == ("remote", server.url("card/web-search.md"))
    assert remote.load() == [("web-search", CARD)]
    assert server.asked == ["/card/web-search.md"]
    assert server.agents == ["metier"]


def test_the_hash_may_be_written_in_capitals(server: Server) -> None:
    context = ssl.create_default_context(cafile=server.certificate)
    assert RemoteSource(server.url("card"), pin(CARD).upper(), context).load()


def test_the_largest_card_is_taken(server: Server) -> None:
    assert source(server, "full/a.md", FULL).load() == [("a", FULL)]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://h/a/web-search.md", "web-search"),
        ("https://h/web-search.md?token=a/b.md#c/d.md", "web-search"),
        ("https://h/web-search", "web-search"),
    ],
)
def test_a_card_is_called_by_the_last_part_of_its_address(address: str, name: str) -> None:
    assert RemoteSource(address, "").name == name


@pytest.mark.parametrize("address", ["https://h", "https://h/", "https://h/%2e%2e", "https://h/.."])
def test_any_other_address_gives_a_safe_name(address: str) -> None:
    name = RemoteSource(address, "").name
    assert name
    assert not set(name) & set("/\\.%\0")


@pytest.mark.parametrize("path", ["to//card/b/a.md", "endlessto//card/b/a.md"])
def test_a_redirect_is_followed_and_its_own_body_is_not_read(path: str, server: Server) -> None:
    assert source(server, path).load() == [("a", CARD)]
    assert server.asked == [f"/{path}", "/card/b/a.md"]


# what is not


@pytest.mark.invariant(id="CARD-EXT-006")
def test_other_bytes_than_the_pinned_ones_are_not_taken(server: Server) -> None:
    message = failure(source(server, "card/a.md", b"another card"))
    assert message == (
        f"its hash is {pin(CARD)[:12]}, pinned is {pin(b'another card')[:12]}: nothing was loaded"
    )


@pytest.mark.invariant(id="CARD-EXT-006")
@pytest.mark.parametrize(
    "wrong", ["", "0" * 63, "0" * 65, "g" * 64, "0" * 64 + "\n", " " + "0" * 63]
)
def test_without_a_hash_nothing_is_fetched(wrong: str, server: Server) -> None:
    context = ssl.create_default_context(cafile=server.certificate)
    message = failure(RemoteSource(server.url("card/a.md"), wrong, context))
    assert message == "'sha256' must be 64 hexadecimal digits"
    assert server.asked == []


@pytest.mark.parametrize("path", ["large/a.md", "endless/a.md"])
def test_more_than_a_card_may_have_is_not_taken(path: str, server: Server) -> None:
    message = failure(source(server, path, FULL + b"a"))
    assert message == f"it has more than {LARGEST} bytes: nothing was loaded"


def test_a_card_that_breaks_off_is_not_taken(server: Server) -> None:
    assert "nothing was loaded" in failure(source(server, "short/a.md"))


@pytest.mark.parametrize("status", [204, 206, 304, 401, 404, 500])
def test_any_other_answer_is_a_failure(status: int, server: Server) -> None:
    assert failure(source(server, f"status/{status}")) == f"the server answered {status}"


@pytest.mark.parametrize("path", ["loop/0", "nowhere/a.md"])
def test_redirects_without_end_are_left(path: str, server: Server) -> None:
    assert failure(source(server, path)) == "the server redirects too often"
    assert len(server.asked) == 6


def test_an_answer_that_is_no_http_cannot_command_the_terminal(server: Server) -> None:
    assert failure(source(server, "garbage/a.md")).startswith("cannot be fetched: ")


def test_a_server_that_nobody_vouches_for_is_not_asked(server: Server) -> None:
    message = failure(RemoteSource(server.url("card/a.md"), pin(CARD)))
    assert "CERTIFICATE_VERIFY_FAILED" in message
    assert server.asked == []


def test_nobody_at_the_address_is_a_failure() -> None:
    assert "refused" in failure(RemoteSource("https://127.0.0.1:1/a.md", pin(CARD)))


# addresses


REFUSED = [
    "http://{host}/card/a.md",
    "ftp://{host}/card/a.md",
    "file:///etc/hostname",
    "data:text/plain,card",
    "HTTP://{host}/card/a.md",
]


@pytest.mark.parametrize("address", [*REFUSED, "", "a.md", "//{host}/a.md", "https:///a.md"])
def test_only_https_is_fetched(address: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        url = address.format(host=f"127.0.0.1:{listener.getsockname()[1]}")
        assert failure(RemoteSource(url, pin(CARD))).startswith("only https:// is fetched, not")
        assert not was_contacted(listener)


@pytest.mark.parametrize("address", REFUSED)
def test_a_redirect_leads_to_https_alone(address: str, server: Server) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        url = address.format(host=f"127.0.0.1:{listener.getsockname()[1]}")
        message = failure(source(server, f"to/{url}"))
        assert message.startswith("only https:// is fetched, not")
        assert not was_contacted(listener)


def looked_up(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let `OUTSIDE` mean `address`; connections to it come to this machine all the same."""
    real = socket.getaddrinfo

    def found(host: Any, port: Any, *more: Any, **rest: Any) -> Any:
        if host == OUTSIDE:
            host = address if port is None else "127.0.0.1"
        return real(host, port, *more, **rest)

    monkeypatch.setattr(socket, "getaddrinfo", found)


def test_a_redirect_may_lead_to_another_public_host(
    server: Server, other: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up(monkeypatch, "1.1.1.1")
    address = other.url("card/a.md").replace("127.0.0.1", OUTSIDE)
    assert source(server, f"to/{address}").load() == [("a", CARD)]
    assert other.asked == ["/card/a.md"]


@pytest.mark.parametrize("meant", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "fd00::1"])
def test_a_redirect_to_a_name_of_the_local_network_is_not_followed(
    meant: str, server: Server, other: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up(monkeypatch, meant)
    address = other.url("card/a.md").replace("127.0.0.1", OUTSIDE)
    message = failure(source(server, f"to/{address}"))
    host = f"{OUTSIDE}:{other.server_port}"
    assert message == f"the server redirects to {host}, which is not a public address"
    assert other.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "192.168.0.1"])
def test_a_redirect_into_the_local_network_is_not_followed(
    host: str, server: Server, other: Server
) -> None:
    address = other.url("card/a.md").replace("127.0.0.1", host)
    assert "which is not a public address" in failure(source(server, f"to/{address}"))
    assert other.asked == []


def was_contacted(listener: socket.socket) -> bool:
    listener.setblocking(False)
    with suppress(BlockingIOError):
        listener.accept()[0].close()
        return True
    return False


@pytest.mark.parametrize("who", ["user:secret@", "user@", "@", ":secret@"])
def test_an_address_with_a_password_is_refused_and_not_repeated(who: str, server: Server) -> None:
    address = server.url("card/a.md?key=secret").replace("//", f"//{who}")
    with pytest.raises(SourceError, match="must not contain a name or password") as caught:
        RemoteSource(address, pin(CARD)).load()
    assert caught.value.where == server.url("card/a.md")
    assert "password" in failure(source(server, f"to/{address}"))
    assert server.asked == [f"/to/{address}"]


@pytest.mark.parametrize(
    "address", ["https://[::1/a", "https://h:port/a", "https://h/a b", "https://h/ä"]
)
def test_what_is_no_address_is_a_failure(address: str) -> None:
    assert failure(RemoteSource(address, pin(CARD)))


# time


def await_the_end() -> None:
    """Nothing that fetches may be left behind."""
    for thread in threading.enumerate():
        if thread.name == "metier-fetch":
            thread.join(SOON)
            assert not thread.is_alive()


@pytest.mark.parametrize("path", ["drip", "driphead", "silence"])
def test_the_limit_holds_for_all_of_it_and_nothing_goes_on_behind(
    path: str, server: Server
) -> None:
    begin = time.monotonic()
    assert failure(source(server, path, limit=0.3)) == "cannot be fetched: it took more than 0.3 s"
    assert time.monotonic() - begin < SOON
    await_the_end()
    assert not server.over.is_set()


def test_the_limit_holds_before_anything_is_said() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        address = f"https://127.0.0.1:{listener.getsockname()[1]}/a.md"
        message = failure(RemoteSource(address, pin(CARD), limit=0.2))
        assert message == "cannot be fetched: it took more than 0.2 s"
        await_the_end()


def test_the_limit_holds_while_a_name_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over, ended = threading.Event(), threading.Event()

    def never(*_: Any, **__: Any) -> None:
        over.wait(ENOUGH)
        ended.set()
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", never)
    message = failure(RemoteSource("https://example.org/a.md", pin(CARD), limit=0.2))
    assert message == "cannot be fetched: it took more than 0.2 s"
    assert not ended.is_set()
    over.set()
    await_the_end()


# bringing it in


class Endpoint:
    """A workspace that trusts the server."""

    def __init__(self, root: Path, server: Server) -> None:
        self.root = root
        self.room = Room(str(root / "state"))
        self.server = server
        self.setting = SourceSetting("remote", server.url("card/web.md"), pin(CARD))

    def sync(self, **changes: str) -> list[Issue]:
        return sync_sources([self.setting._replace(**changes)], str(self.root), self.room)

    def kept(self) -> dict[str, bytes]:
        folders = [Path(folder) for _, folder in source_folders([self.setting], self.room)]
        return {one.name: one.read_bytes() for folder in folders for one in folder.iterdir()}


@pytest.fixture
def place(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    return Endpoint(tmp_path, server)


@pytest.mark.invariant(id="CARD-EXT-006")
def test_a_pinned_card_is_fetched_once(place: Endpoint) -> None:
    for _ in range(3):
        assert place.sync() == []
        assert place.kept() == {"web.md": CARD}
    assert place.server.asked == ["/card/web.md"]


def test_a_card_that_was_changed_here_is_fetched_again(place: Endpoint) -> None:
    place.sync()
    ((_, folder),) = source_folders([place.setting], place.room)
    (Path(folder) / "web.md").write_bytes(CARD + b"tampered")
    assert place.sync() == []
    assert place.kept() == {"web.md": CARD}
    assert len(place.server.asked) == 2


@pytest.mark.invariant(id="CARD-EXT-006")
def test_after_a_new_pin_the_old_card_does_not_stay(place: Endpoint) -> None:
    place.sync()
    (issue,) = place.sync(sha256=pin(b"another card"))
    assert issue.code == "SRC901"
    assert issue.message.endswith("nothing was loaded")
    assert place.kept() == {}
    assert place.sync() == []
    assert place.kept() == {"web.md": CARD}


def test_no_secret_of_an_address_is_in_a_finding(place: Endpoint) -> None:
    address = place.server.url("status/404?token=secret")
    for location in (address, address.replace("//", "//user:secret@")):
        (issue,) = place.sync(location=location)
        assert "secret" not in str(issue)
        assert issue.path == place.server.url("status/404")

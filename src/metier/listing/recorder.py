"""A model server on loopback that records what a host sends. Standard library only.

`python -m metier.listing.recorder FOLDER PORT -- COMMAND …` runs a host beside the server, in this
process's network, and writes each request to FOLDER as JSON. Inside of a network namespace of its
own (`offline` starts one where the system allows it) the host reaches nothing but the server.
"""

import gzip
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

from metier.listing.protocols import Call, Protocol, answer, protocol_of, tool_names

LOOPBACK = "127.0.0.1"
DEAD_PROXY = "http://127.0.0.1:9"
"""A closed port: hosts that honour proxies reach nothing."""
CALLS = "calls.json"
"""In the folder of a recording: the tools that the model is to call, one after the other."""
_ALONE = ("unshare", "-rnpf", "--kill-child", "--mount-proc")
"""Starts a command without a network, and ends its children with it."""
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


class Request(NamedTuple):
    """One request of a host."""

    path: str
    body: dict[str, Any]

    @property
    def protocol(self) -> Protocol | None:
        return protocol_of(self.path)

    @property
    def tools(self) -> list[str]:
        """The names of the tools that it offers."""
        return tool_names(self.protocol, self.body) if self.protocol else []


class Recorder:
    """The server; requests are in `requests`, and in `folder` where it is given."""

    def __init__(self, folder: str = "", port: int = 0, calls: Iterable[Call] = ()) -> None:
        self.requests: list[Request] = []
        self._folder = folder
        self._calls = list(calls)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer((LOOPBACK, port), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def record(self, request: Request) -> Call | None:
        """Keep a request; the tool that the model calls in answer to it, if it is offered."""
        with self._lock:
            self.requests.append(request)
            if self._folder:
                self._write(len(self.requests), request)
            if self._calls and self._calls[0].tool in request.tools:
                return self._calls.pop(0)
        return None

    def _write(self, number: int, request: Request) -> None:
        file = os.path.join(self._folder, f"{number:03d}.json")
        with open(f"{file}.part", "w", encoding="utf-8") as part:
            json.dump(request._asdict(), part)
        os.replace(f"{file}.part", file)


def _handler(recorder: Recorder) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self._send(b'{"object": "list", "data": [], "models": []}', "application/json")

        def do_POST(self) -> None:
            body = _decoded(self._body(), self.headers.get("Content-Encoding", ""))
            call = recorder.record(Request(self.path, body))
            reply = answer(self.path, body, call)
            self._send(reply.encoded(), reply.content_type)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def _send(self, body: bytes, content_type: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):
                self.wfile.write(body)

    return Handler


def _decoded(raw: bytes, encoding: str) -> dict[str, Any]:
    """A request's JSON object; what cannot be read is kept as text under `unread`."""
    try:
        value = json.loads(gzip.decompress(raw) if encoding == "gzip" else raw)
    except (ValueError, OSError):
        value = None
    return value if isinstance(value, dict) else {"unread": raw.decode("utf-8", "replace")}


def recorded(folder: str) -> list[Request]:
    """The requests that a recorder wrote to a folder, in order."""
    requests = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json") and name != CALLS:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                requests.append(Request(**json.load(file)))
    return requests


class Finished(NamedTuple):
    """How the run of a host ended."""

    status: int | None
    """None if it was ended because it took too long."""
    output: str
    requests: list[Request]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def can_cut_the_network() -> bool:
    """Whether this user may start processes in a network namespace of their own."""
    if shutil.which("unshare") is None:
        return False
    probe = subprocess.run([*_ALONE, "true"], capture_output=True, check=False)
    return probe.returncode == 0


def offline(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a host that must reach loopback only, through dead proxies."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), DEAD_PROXY)
    local = f"{LOOPBACK},localhost"
    more = {**proxies, "NO_PROXY": local}
    return {**environ, **more, **{name.lower(): value for name, value in more.items()}}


def run_recorded(
    command: Sequence[str],
    *,
    folder: str,
    port: int,
    cwd: str,
    environ: Mapping[str, str],
    calls: Sequence[Call] = (),
    timeout: float = 60,
) -> Finished:
    """Run a host beside a recorder that listens on `port`, with no network but loopback.

    A host that takes longer than `timeout` seconds is ended, with all that it started.
    """
    with open(os.path.join(folder, CALLS), "w", encoding="utf-8") as file:
        json.dump(list(calls), file)
    own = [sys.executable, "-P", "-m", "metier.listing.recorder", folder, str(port), "--", *command]
    words = [*_ALONE, *own] if can_cut_the_network() else own
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env=offline(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    status: int | None = None
    try:
        output, _ = process.communicate(timeout=timeout)
        status = process.returncode
    except subprocess.TimeoutExpired:
        _end_group(process)
        output, _ = process.communicate()
    finally:
        _end_group(process)
    return Finished(status, output.decode("utf-8", "replace"), recorded(folder))


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started in its own session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _raise_loopback() -> None:
    """Switch on the loopback device of a fresh network namespace; elsewhere it is on."""
    import fcntl  # not on Windows

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", asked)[1]
        if not flags & _UP:
            fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def main(arguments: Sequence[str]) -> int:
    """Run `FOLDER PORT -- COMMAND …`; the exit status of the command."""
    folder, port, _, *command = arguments
    if sys.platform == "linux":
        _raise_loopback()
    with open(os.path.join(folder, CALLS), encoding="utf-8") as file:
        calls = [Call(*call) for call in json.load(file)]
    with Recorder(folder, int(port), calls):
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

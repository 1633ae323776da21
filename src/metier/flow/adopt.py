"""Adopt runs, reports and decisions of another folder: nothing else, and nothing is deleted."""

import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, NamedTuple, get_args

from metier.core.unread import why_not_json
from metier.errors import StoreError
from metier.flow.hook_log import LARGEST_LOG, LATEST, LONGEST_LINE, parse_line
from metier.flow.reports import REPORT_NAME, REPORTS, is_report
from metier.run.checkpoints import CheckpointStore
from metier.run.sqlite_runs import key_of
from metier.run.sqlite_store import SqliteRunStore
from metier.storage.hook_files import DECISIONS
from metier.storage.hook_files import OLDER_DECISIONS as OLDER_FILE
from metier.storage.room import Room
from metier.storage.workspace import OLD_STATE_FOLDER, RUNS_FILE
from metier.values.runs import RunState

LARGEST_DATABASE = 1 << 30
LARGEST_DECISIONS = 64 << 20
MOST_ROWS = 5_000_000
_COLUMNS = {
    "blob": ("key", "data"),
    "run": (
        "key", "id", "agent", "task", "state", "created", "finished", "request", "profile",
        "parent", "parent_step", "forked_from", "failure", "usage", "output", "undoing",
    ),
    "step": (
        "run", "id", "seq", "state", "attempts", "input", "output", "failure", "usage", "started",
        "finished", "step_index", "memory", "generation",
    ),
    "checkpoint": (
        "run", "seq", "name", "step_index", "completed", "context", "memory", "created",
        "expires", "outputs",
    ),
}  # fmt: skip
_NEW_IN_VERSION_2 = {"undoing": "NULL", "generation": "0"}
"""Columns that version 1 lacks, and their values there."""
_STATES = get_args(RunState)
_RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}-[0-9a-f]{4}\Z")
_JSON = {"data", "failure", "usage", "output", "input", "undoing"}
_NUMBERS = {
    "key", "created", "finished", "request", "profile", "run", "seq", "attempts", "started",
    "step_index", "memory", "context", "expires", "outputs", "generation",
}  # fmt: skip


class Adopted(NamedTuple):
    runs: int = 0
    reports: int = 0
    decisions: int = 0


class OldState(NamedTuple):
    """State in another folder: of a moved workspace, or of version 0.1."""

    room: Room

    @classmethod
    def beside(cls, workspace: str) -> "OldState":
        """The `.metier/` of version 0.1 in a workspace."""
        return cls(Room(workspace, OLD_STATE_FOLDER))

    def found(self) -> Adopted:
        """What there is to adopt. Raises `StoreError`."""
        runs = _runs_of(self.room)["run"]
        return Adopted(len(runs), len(self._reports()), len(list(self._decisions())))

    def adopt(self, into: Room, store: SqliteRunStore) -> Adopted:
        """Adopt what is new. Raises `StoreError` and `OSError`."""
        taken = _insert(store, _runs_of(self.room))
        return Adopted(taken, self._adopt_reports(into), self._adopt_decisions(into))

    def _reports(self) -> dict[str, bytes]:
        """The reports that follow the schema, by their file names."""
        folder = self.room.below(REPORTS)
        found = {}
        for name in _names(folder):
            if REPORT_NAME.match(name):
                with suppress(OSError, ValueError, RecursionError):
                    raw = folder.read(name)
                    if is_report(json.loads(raw), name.removesuffix(".json")):
                        found[name] = raw
        return found

    def _adopt_reports(self, into: Room) -> int:
        target = into.below(REPORTS)
        known = set(target.names())
        new = {name: raw for name, raw in self._reports().items() if name not in known}
        for name, raw in new.items():
            target.write(name, raw)
        return len(new)

    def _decisions(self) -> Iterator[tuple[str, bytes]]:
        """Each line that is a decision or a label, with its identity."""
        for name in (OLDER_FILE, DECISIONS):
            with suppress(OSError):
                for line in self.room.read(name, LARGEST_DECISIONS).split(b"\n"):
                    if line and len(line) < LONGEST_LINE and (key := parse_line(line)):
                        yield key, line

    def _adopt_decisions(self, into: Room) -> int:
        known = {key for key, _ in OldState(into)._decisions()}
        new = {key: line for key, line in self._decisions() if key not in known}
        for line in new.values():
            into.append(DECISIONS, line + b"\n", LARGEST_LOG, mend=True)
        return len(new)


def _names(room: Room) -> list[str]:
    try:
        return room.names()
    except OSError:
        return []


# Runs

_Tables = dict[str, list[dict[str, Any]]]


def _runs_of(room: Room) -> _Tables:
    """The valid rows of a record of runs, read from a copy: SQLite writes beside it."""
    empty: _Tables = {table: [] for table in _COLUMNS}
    with tempfile.TemporaryDirectory(prefix="metier-adopt-") as folder:
        copied = Room(folder)
        for ending in ("", "-wal"):
            try:
                copied.write(RUNS_FILE + ending, room.read(RUNS_FILE + ending, LARGEST_DATABASE))
            except FileNotFoundError:
                if not ending:
                    return empty
            except OSError as error:
                raise _unusable(room, error.strerror or str(error)) from None
        try:
            return _read(copied.file(RUNS_FILE))
        except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
            raise _unusable(room, why_not_json(error)) from None


def _read(path: str) -> _Tables:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if not 1 <= version <= len(SqliteRunStore.migrations):
            raise ValueError("it has another version")
        missing = _NEW_IN_VERSION_2 if version < 2 else {}
        kinds = dict(connection.execute("SELECT name, type FROM sqlite_schema").fetchall())
        if any(kinds.get(table) != "table" for table in _COLUMNS):
            raise ValueError("it is not a record of runs")
        tables: _Tables = {}
        for table, columns in _COLUMNS.items():
            names = ", ".join(missing.get(one, one) for one in columns)
            sql = f"SELECT {names} FROM {table} LIMIT {MOST_ROWS}"
            tables[table] = [
                dict(zip(columns, row, strict=True))
                for row in connection.execute(sql)
                if _makes_sense(columns, row)
            ]
        return tables


def _makes_sense(columns: tuple[str, ...], row: tuple[Any, ...]) -> bool:
    """Whether every value has the type of its column."""
    return all(
        value is None
        or (
            (_is_number(value) if column in _NUMBERS else isinstance(value, str))
            and (column not in _JSON or _is_json(value))
        )
        for column, value in zip(columns, row, strict=True)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and 0 <= value < LATEST)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _insert(store: SqliteRunStore, tables: _Tables) -> int:
    """Add the runs that are new."""
    blobs = {row["key"]: row["data"] for row in tables["blob"] if key_of(row["data"]) == row["key"]}
    known = {row[0] for row in store.rows("SELECT id FROM run")}
    return sum(
        _inserted(store, run, tables, blobs)
        for run in tables["run"]
        if run["id"] not in known and _RUN_ID.match(run["id"]) and run["state"] in _STATES
    )


def _inserted(
    store: SqliteRunStore, run: dict[str, Any], tables: _Tables, blobs: Mapping[int, str]
) -> bool:
    """Add one run, unless it could not be read afterwards."""
    rows = {"run": [run]}
    for table in ("step", "checkpoint"):
        rows[table] = [row for row in tables[table] if row["run"] == run["key"]]
    wanted = _blobs_of([row for some in rows.values() for row in some])
    if not wanted <= blobs.keys():
        return False
    key = store.new_key()
    try:
        with store.transaction() as connection:
            for blob in wanted:
                values = (blob, blobs[blob])
                connection.execute("INSERT OR IGNORE INTO blob VALUES (?, ?)", values)
            for table, some in rows.items():
                columns = _COLUMNS[table]
                named = ", ".join(f":{column}" for column in columns)
                sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({named})"
                connection.executemany(sql, [_moved(table, row, key) for row in some])
            _check_readable(store, run["id"], key)
    except (StoreError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return False
    return True


def _check_readable(store: SqliteRunStore, run_id: str, key: int) -> None:
    """Raise one of several errors unless a run can be shown."""
    run, steps = store.run(run_id), store.steps(key)
    for shown in (run.to_json(), *(step.to_json() for step in steps)):
        json.dumps(shown)
    for usage in (run.usage, *(step.usage for step in steps)):
        sum(usage)
    for checkpoint in CheckpointStore(store).list(run_id):
        checkpoint.to_json()


def _blobs_of(rows: list[dict[str, Any]]) -> set[int]:
    names = ("request", "profile", "memory", "context", "outputs")
    return {row[name] for row in rows for name in names if row.get(name) is not None}


def _moved(table: str, row: dict[str, Any], key: int) -> dict[str, Any]:
    """A row under the new key of its run; a running run becomes pending."""
    if table != "run":
        return {**row, "run": key}
    state = "pending" if row["state"] == "running" else row["state"]
    return {**row, "key": key, "state": state}


def _unusable(room: Room, why: str) -> StoreError:
    return StoreError(f"the old runs cannot be read: {why}", where=room.file(RUNS_FILE))

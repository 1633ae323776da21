"""The store of runs in SQLite: runs, steps and checkpoints."""

import json
from collections.abc import Sequence
from typing import Any

from metier.core.timestamps import from_iso
from metier.run.rows import Row, check_idle, checkpoint_of, checkpoint_texts, numbered
from metier.run.sqlite_runs import NO_MEMORY, SqliteRuns, blob
from metier.values.agents import Checkpoint
from metier.values.runs import ENDED, RESUMABLE, RunRecord

_SAVE = "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SELECT = (
    "SELECT checkpoint.run, seq, name, step_index, completed,"
    " (SELECT data FROM blob WHERE blob.key = context),"
    " (SELECT data FROM blob WHERE blob.key = memory), checkpoint.created, expires, id, agent,"
    " (SELECT data FROM blob WHERE blob.key = outputs),"
    " ifnull((SELECT json_extract(data, '$.checkpoint.maximum') FROM blob"
    " WHERE blob.key = profile), 10)"
    " FROM any_checkpoint AS checkpoint JOIN run ON run.key = checkpoint.run"
)
_NEWER = "SELECT count(*) FROM any_checkpoint WHERE run = ? AND seq > ? AND name = ''"
_FORGET = (
    "DELETE FROM checkpoint WHERE (run, seq) IN ({which})",
    "UPDATE step SET step_index = NULL, memory = NULL"
    " WHERE step_index IS NOT NULL AND (run, seq) IN ({which})",
)
_UNTIL = "SELECT run, seq FROM any_checkpoint WHERE run = ? AND seq <= ?"
_EXPIRED = "SELECT run, seq FROM any_checkpoint WHERE expires <= ?"
_NEWEST = "SELECT seq FROM any_checkpoint WHERE run = ? ORDER BY seq DESC LIMIT 1 OFFSET ?"
_LAST = (
    "SELECT max(seq) FROM (SELECT seq FROM checkpoint WHERE run = ?"
    " UNION ALL SELECT seq FROM step WHERE run = ?)"
)
_TREE = (
    "WITH RECURSIVE tree (key, id, state) AS (SELECT key, id, state FROM run"
    " WHERE id IN (SELECT value FROM json_each(?)) UNION"
    " SELECT run.key, run.id, run.state FROM run JOIN tree ON run.parent = tree.id"
    " AND run.parent != '') SELECT key, id, state FROM tree"
)
"""Runs, and all that they delegated."""
_REMOVABLE = (
    "WITH RECURSIVE busy (id, parent) AS (SELECT id, parent FROM run WHERE state = 'running' UNION"
    " SELECT run.id, run.parent FROM run JOIN busy ON run.id = busy.parent)"
    " SELECT id FROM run WHERE parent = '' AND ifnull(finished, created) < ?"
    " AND state IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT id FROM busy)"
    " ORDER BY created, id"
)
_REMOVE = tuple(
    f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))"
    for table, column in (("step", "run"), ("checkpoint", "run"), ("run", "key"))
)
_REMOVE_BLOBS = (
    "DELETE FROM blob WHERE key != ? AND key NOT IN (SELECT request FROM run UNION"
    " SELECT profile FROM run UNION SELECT memory FROM step WHERE memory IS NOT NULL UNION"
    " SELECT context FROM checkpoint UNION SELECT memory FROM checkpoint UNION"
    " SELECT outputs FROM checkpoint WHERE outputs IS NOT NULL)"
)
"""Steps refer to the empty memory without storing it."""


class SqliteRunStore(SqliteRuns):
    """A `RunStore` in one SQLite file."""

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        created = from_iso(checkpoint.created_at)
        key = self._key(checkpoint.run_id)
        if not key:
            key = self.new_key()
            run_id, agent, context = checkpoint.run_id, checkpoint.agent_id, checkpoint.context
            self.add(RunRecord(run_id, agent, "", "pending", created, dict(context), {}, key=key))
        seq = 1 + (self.rows(_LAST, (key, key))[0][0] or 0)
        given, memory, outputs = map(blob, checkpoint_texts(checkpoint))
        expires = from_iso(checkpoint.expires_at) if checkpoint.expires_at else None
        row = (
            key, seq, checkpoint.checkpoint_id, checkpoint.step_index,
            checkpoint.completed_step_id, given.key, memory.key,
            created, expires, outputs.key,
        )  # fmt: skip
        self._save_now([given.write, memory.write, outputs.write, (_SAVE, row)])

    def checkpoint(self, checkpoint_id: str) -> Checkpoint | None:
        named = self.rows("SELECT run, seq FROM checkpoint WHERE name = ?", (checkpoint_id,))
        if checkpoint_id and named:
            wanted = (*named[0], checkpoint_id)
        else:
            run_id, seq = numbered(checkpoint_id)
            wanted = self._key(run_id), seq, ""
        found = self._current("WHERE checkpoint.run = ? AND seq = ? AND name = ?", *wanted)
        return self._checkpoint_of(found[0]) if found else None

    def checkpoints(
        self, run_id: str, now: float, *, only_latest: bool = False
    ) -> list[Checkpoint]:
        which = "WHERE checkpoint.run = ? AND (expires IS NULL OR expires > ?) ORDER BY seq"
        found = self._current(which, self._key(run_id), now)
        return [self._checkpoint_of(row) for row in (found[-1:] if only_latest else found)]

    def prune_checkpoints(self, run_id: str | None, maximum: int | None, now: float) -> int:
        removed = 0
        with self.transaction() as connection:
            for forget in _FORGET:
                removed += connection.execute(forget.format(which=_EXPIRED), (now,)).rowcount
            if run_id is not None and maximum is not None:
                key = self.run(run_id).key
                for (seq,) in self.rows(_NEWEST, (key, maximum)):
                    for forget in _FORGET:
                        which = forget.format(which=_UNTIL)
                        removed += connection.execute(which, (key, seq)).rowcount
        return removed

    def removable(self, before: float, *, resumable: bool = False) -> list[str]:
        states = json.dumps([*ENDED, *(RESUMABLE if resumable else ())])
        return [str(row[0]) for row in self.rows(_REMOVABLE, (before, states))]

    def remove(self, run_ids: Sequence[str]) -> int:
        """What is deleted is overwritten in the file, too."""
        self.rows("PRAGMA secure_delete = ON")
        with self._lock, self.transaction() as connection:
            found = self.rows(_TREE, (json.dumps(list(run_ids)),))
            check_idle((run_id, state) for _, run_id, state in found)
            keys = json.dumps([key for key, _, _ in found])
            for statement in _REMOVE:
                connection.execute(statement, (keys,))
            connection.execute(_REMOVE_BLOBS, (NO_MEMORY.key,))
        self._profiles.clear()
        return len(found)

    def _key(self, run_id: str) -> int:
        """The key of a run; 0 if unknown."""
        found = self.rows("SELECT key FROM run WHERE id = ?", (run_id,))
        return int(found[0][0]) if found else 0

    def _current(self, which: str, *values: Any) -> list[Row]:
        """Rows of checkpoints, without those beyond the profile's maximum."""
        return [
            row
            for row in self.rows(f"{_SELECT} {which}", values)
            if row[2] or self.rows(_NEWER, row[:2])[0][0] < row[-1]
        ]

    def _checkpoint_of(self, row: Row) -> Checkpoint:
        own = row[-2]
        return checkpoint_of(row[:-1], () if own else self.steps(row[0]))

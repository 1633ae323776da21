"""Tables and statements of the SQLite store of runs.

A step's row holds the checkpoint that it causes (`step_index`, `memory`); others have their own.
"""

from metier.storage.database import Migration

_ANY_CHECKPOINT = """
SELECT run, seq, name, step_index, completed, context, memory, created, expires, outputs
FROM checkpoint
UNION ALL
SELECT
    step.run, step.seq, '', step.step_index, step.id, run.request, step.memory,
    step.finished,
    step.finished
        + 3600 * coalesce(json_extract(blob.data, '$.checkpoint.retentionHours'), 24),
    NULL
FROM step
JOIN run ON run.key = step.run
JOIN blob ON blob.key = run.profile
WHERE step.step_index IS NOT NULL
"""
TABLES = Migration(
    "runs",
    (
        "CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL)",
        "CREATE TABLE blob (key INTEGER PRIMARY KEY, data TEXT NOT NULL)",
        """
        CREATE TABLE run (
            key INTEGER PRIMARY KEY,
            id TEXT UNIQUE NOT NULL,
            agent TEXT NOT NULL,
            task TEXT NOT NULL,
            state TEXT NOT NULL,
            created REAL NOT NULL,
            finished REAL,
            request INTEGER NOT NULL REFERENCES blob,
            profile INTEGER NOT NULL REFERENCES blob,
            parent TEXT NOT NULL DEFAULT '',
            parent_step TEXT NOT NULL DEFAULT '',
            forked_from TEXT NOT NULL DEFAULT '',
            failure TEXT,
            usage TEXT,
            output TEXT,
            owner TEXT,
            lease REAL,
            cancel INTEGER NOT NULL DEFAULT 0
        )
        """,
        "CREATE INDEX run_state ON run (state)",
        "CREATE INDEX run_parent ON run (parent) WHERE parent != ''",
        """
        CREATE TABLE step (
            run INTEGER NOT NULL,
            id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            state TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            input TEXT,
            output TEXT,
            failure TEXT,
            usage TEXT,
            started REAL NOT NULL,
            finished REAL,
            step_index INTEGER,
            memory INTEGER REFERENCES blob,
            PRIMARY KEY (run, id)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE checkpoint (
            run INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            name TEXT NOT NULL,
            step_index INTEGER NOT NULL,
            completed TEXT NOT NULL,
            context INTEGER NOT NULL REFERENCES blob,
            memory INTEGER NOT NULL REFERENCES blob,
            created REAL NOT NULL,
            expires REAL,
            outputs INTEGER REFERENCES blob,
            PRIMARY KEY (run, seq, name)
        ) WITHOUT ROWID
        """,
        "CREATE UNIQUE INDEX checkpoint_name ON checkpoint (name) WHERE name != ''",
        f"CREATE VIEW any_checkpoint AS {_ANY_CHECKPOINT}",
    ),
)
EPOCHS = Migration(
    "epochs",
    (
        "ALTER TABLE run ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE run ADD COLUMN undoing TEXT",
        "ALTER TABLE step ADD COLUMN generation INTEGER NOT NULL DEFAULT 0",
    ),
)
"""Every claim raises the run's epoch; `undoing` is why a run is being rolled back, once it is; a
step's generation is how often it was compensated."""
VIEW = f"CREATE TEMP VIEW any_checkpoint AS {_ANY_CHECKPOINT}"
"""The same view for one connection: with an untrusted schema SQLite allows no JSON functions."""

# Statements

RUN_COLUMNS = (
    "id, agent, task, state, created, (SELECT data FROM blob WHERE blob.key = request),"
    " (SELECT data FROM blob WHERE blob.key = profile), finished, parent, parent_step,"
    " forked_from, failure, usage, output, key, epoch, undoing"
)
_ADD_RUN = (
    "INSERT INTO run (key, id, agent, task, state, created, request, profile, parent, parent_step,"
    " forked_from, owner, lease, epoch)"
)
_LIVE = "FROM run WHERE key = ? AND epoch = ? AND state IN ('running', 'pending')"
ADD_RUN = f"{_ADD_RUN} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
ADD_CHILD = f"{_ADD_RUN} SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? {_LIVE}"
"""The same if the claim of its parent is the latest, and the parent has not ended."""
IS_LIVE = f"SELECT 1 {_LIVE}"
SAVE_STEP = (
    "INSERT INTO step SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
    " FROM run WHERE key = ? AND epoch = ?"
    " ON CONFLICT DO UPDATE SET"
    " step_index = iif(seq = excluded.seq, ifnull(excluded.step_index, step_index),"
    " excluded.step_index),"
    " memory = iif(seq = excluded.seq, ifnull(excluded.memory, memory), excluded.memory),"
    " seq = excluded.seq, state = excluded.state, attempts = excluded.attempts,"
    " input = excluded.input, output = excluded.output, failure = excluded.failure,"
    " usage = excluded.usage, started = excluded.started, finished = excluded.finished,"
    " generation = excluded.generation"
)
"""A step keeps its checkpoint as long as it keeps its `seq`."""
SAVE_LAST_CHECKPOINT = (
    "INSERT OR REPLACE INTO checkpoint"
    " SELECT key, ?, '', ?, ?, request, ?, ?, ?, NULL FROM run WHERE key = ? AND epoch = ?"
)
END = (
    "UPDATE run SET state = ?, finished = ?, failure = ?, usage = ?, output = ?,"
    " owner = NULL, lease = NULL WHERE key = ? AND epoch = ?"
)
BEGIN_ROLLBACK = "UPDATE run SET undoing = ? WHERE key = ? AND epoch = ?"
RELEASE = (
    "UPDATE run SET state = 'pending', owner = NULL, lease = NULL, failure = ?"
    " WHERE key = ? AND epoch = ?"
)
FENCED = frozenset((ADD_CHILD, SAVE_STEP, SAVE_LAST_CHECKPOINT, END, BEGIN_ROLLBACK, RELEASE))
"""Each of these changes one row, or none when its claim is not the latest."""
CLAIM = (
    "UPDATE run SET owner = ?, lease = ?, state = 'running', cancel = 0, failure = NULL,"
    " finished = NULL, epoch = epoch + 1 WHERE key = ? RETURNING epoch"
)
RENEW = (
    "UPDATE run SET owner = ?, lease = ?, state = 'running', failure = NULL"
    " FROM json_each(?) AS claim WHERE run.key = json_extract(claim.value, '$[0]')"
    " AND run.epoch = json_extract(claim.value, '$[1]') AND state IN ('running', 'pending')"
)
RENEWED = (
    "SELECT run.id, run.key, epoch, cancel FROM run"
    " JOIN json_each(?) AS claim ON run.key = json_extract(claim.value, '$[0]')"
)
"""Both take any number of claims, as one JSON array of pairs."""
RECOVER = "UPDATE run SET state = 'pending', owner = NULL, lease = NULL, failure = ? WHERE id = ?"
CANCEL = (
    "UPDATE run SET state = iif(undoing IS NULL, 'cancelled', 'rollback_incomplete'),"
    " failure = ifnull(undoing, ?), owner = NULL, lease = NULL, epoch = epoch + 1"
    " WHERE key = ?"
)

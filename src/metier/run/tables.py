"""The tables of the record of runs.

A checkpoint that goes with the end of a step is a part of that step's row (`step_index`, `memory`):
one row a step is all that is written. Others, saved by hand or at the end of a run, have their own.
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
"""Every claim of a run raises its epoch; `undoing` says why it is being undone, once it is; a
step's generation is how often it was undone."""
VIEW = f"CREATE TEMP VIEW any_checkpoint AS {_ANY_CHECKPOINT}"
"""The same view for one connection: SQLite lets no function of JSON stand in the schema of a file
that it does not trust, and it trusts none here."""

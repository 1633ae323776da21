"""The tables of the record of runs."""

from metier.database import Migration

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
            PRIMARY KEY (run, id)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE checkpoint (
            run INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            name TEXT,
            step_index INTEGER NOT NULL,
            completed TEXT NOT NULL,
            context INTEGER NOT NULL REFERENCES blob,
            memory INTEGER NOT NULL REFERENCES blob,
            created REAL NOT NULL,
            expires REAL,
            outputs INTEGER REFERENCES blob,
            PRIMARY KEY (run, seq)
        ) WITHOUT ROWID
        """,
        "CREATE UNIQUE INDEX checkpoint_name ON checkpoint (name) WHERE name IS NOT NULL",
    ),
)

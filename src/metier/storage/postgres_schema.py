"""The schema `metier` in PostgreSQL, as a list of migrations that only grows.

One database serves many teams: every table has a namespace, and every statement names it. JSON is
kept as text, which is returned as it was written; `jsonb` rejects some strings.
"""

from metier.storage.database import Migration

_RUNS = Migration(
    "runs",
    (
        "CREATE SCHEMA IF NOT EXISTS metier",
        """
        CREATE TABLE metier.migration (
            number integer PRIMARY KEY,
            name text NOT NULL,
            applied timestamptz NOT NULL DEFAULT now()
        )
        """,
        "CREATE SEQUENCE metier.run_keys INCREMENT BY 64",
        """
        CREATE TABLE metier.blob (
            namespace text NOT NULL,
            key bytea NOT NULL,
            data text NOT NULL,
            PRIMARY KEY (namespace, key)
        )
        """,
        """
        CREATE TABLE metier.run (
            namespace text NOT NULL,
            key bigint NOT NULL,
            id text COLLATE "C" NOT NULL,
            agent text NOT NULL,
            task text NOT NULL,
            state text NOT NULL,
            created double precision NOT NULL,
            finished double precision,
            request bytea NOT NULL,
            profile bytea NOT NULL,
            retention_hours double precision NOT NULL,
            checkpoints double precision NOT NULL,
            parent text COLLATE "C" NOT NULL,
            parent_step text COLLATE "C" NOT NULL,
            forked_from text NOT NULL,
            failure text,
            usage text,
            output text,
            owner text,
            lease timestamptz,
            cancel boolean NOT NULL DEFAULT false,
            epoch bigint NOT NULL,
            rollback text,
            PRIMARY KEY (namespace, key),
            UNIQUE (namespace, id)
        ) WITH (fillfactor = 80)
        """,
        "CREATE INDEX run_created ON metier.run (namespace, created, id)",
        "CREATE INDEX run_state ON metier.run (namespace, state, created, id)",
        "CREATE INDEX run_parent ON metier.run (namespace, parent) WHERE parent <> ''",
        """
        CREATE TABLE metier.step (
            namespace text NOT NULL,
            run bigint NOT NULL,
            id text COLLATE "C" NOT NULL,
            seq bigint NOT NULL,
            state text NOT NULL,
            attempts bigint NOT NULL,
            input text,
            output text,
            failure text,
            usage text,
            started double precision NOT NULL,
            finished double precision,
            step_index bigint,
            memory bytea,
            generation bigint NOT NULL,
            PRIMARY KEY (namespace, run, id)
        )
        """,
        """
        CREATE TABLE metier.checkpoint (
            namespace text NOT NULL,
            run bigint NOT NULL,
            seq bigint NOT NULL,
            name text COLLATE "C" NOT NULL,
            step_index bigint NOT NULL,
            completed text NOT NULL,
            context bytea NOT NULL,
            memory bytea,
            created double precision NOT NULL,
            expires double precision,
            outputs bytea,
            PRIMARY KEY (namespace, run, seq, name)
        )
        """,
        """
        CREATE UNIQUE INDEX checkpoint_name ON metier.checkpoint (namespace, name)
        WHERE name <> ''
        """,
    ),
)
"""`retention_hours` and `checkpoints` come from the profile: how long checkpoints are kept, and how
many. A step's row holds the checkpoint that it causes; `memory` is null if there is none."""
_RECORDS = Migration(
    "reports, outcomes and decisions",
    (
        """
        CREATE TABLE metier.report (
            namespace text NOT NULL,
            id text COLLATE "C" NOT NULL,
            data text NOT NULL,
            PRIMARY KEY (namespace, id)
        )
        """,
        """
        CREATE TABLE metier.outcome (
            namespace text NOT NULL,
            candidate text COLLATE "C" NOT NULL,
            number bigint GENERATED ALWAYS AS IDENTITY,
            success boolean NOT NULL,
            recorded timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (namespace, candidate, number)
        )
        """,
        """
        CREATE TABLE metier.decision (
            namespace text NOT NULL,
            id text COLLATE "C" NOT NULL,
            at double precision NOT NULL,
            line text NOT NULL,
            PRIMARY KEY (namespace, id)
        )
        """,
        "CREATE INDEX decision_at ON metier.decision (namespace, at, id)",
    ),
)
"""A decision is a line of the log of hooks, as the hook wrote it."""
MIGRATIONS = (_RUNS, _RECORDS)

"""Tables in PostgreSQL for reports, outcomes of providers and decisions of hooks."""

from metier.storage.database import Migration

TABLES = Migration(
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
            id text COLLATE "C" NOT NULL,
            recorded timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (namespace, candidate, number),
            UNIQUE (namespace, id)
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

"""Tables and statements about workers in PostgreSQL, and about runs that are being watched."""

from metier.storage.database import Migration

WATCHED = "metier_run"
"""The channel that announces changes of runs that are being watched."""
TABLES = Migration(
    "workers",
    (
        """
        CREATE TABLE metier.worker (
            namespace text NOT NULL,
            id text COLLATE "C" NOT NULL,
            queue text NOT NULL,
            concurrency bigint NOT NULL,
            documents text NOT NULL,
            version text NOT NULL,
            started timestamptz NOT NULL DEFAULT clock_timestamp(),
            lease timestamptz NOT NULL,
            PRIMARY KEY (namespace, id)
        )
        """,
        """
        CREATE TABLE metier.run_note (
            namespace text NOT NULL,
            run text COLLATE "C" NOT NULL,
            at timestamptz NOT NULL DEFAULT clock_timestamp(),
            code text NOT NULL,
            message text NOT NULL,
            worker text NOT NULL
        )
        """,
        "CREATE INDEX run_note_run ON metier.run_note (namespace, run, at)",
        "CREATE INDEX run_owner ON metier.run (namespace, owner) WHERE owner IS NOT NULL",
        """
        CREATE TABLE metier.watch (
            namespace text NOT NULL,
            run bigint NOT NULL,
            watcher text NOT NULL,
            until timestamptz NOT NULL,
            PRIMARY KEY (namespace, run, watcher)
        )
        """,
        f"""
        CREATE FUNCTION metier.announce() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            changed bigint;
        BEGIN
            IF TG_TABLE_NAME = 'run' THEN changed := NEW.key; ELSE changed := NEW.run; END IF;
            IF EXISTS (
                SELECT 1 FROM metier.watch WHERE namespace = NEW.namespace AND run = changed
                AND until > clock_timestamp()
            ) THEN
                PERFORM pg_notify('{WATCHED}', NEW.namespace || ' ' || changed);
            END IF;
            RETURN NULL;
        END $$
        """,
        """
        CREATE TRIGGER announce AFTER UPDATE ON metier.run FOR EACH ROW
        WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION metier.announce()
        """,
        """
        CREATE TRIGGER announce AFTER INSERT OR UPDATE ON metier.step FOR EACH ROW
        WHEN (NEW.seq > 0) EXECUTE FUNCTION metier.announce()
        """,
    ),
)
"""`run_note` keeps what happened to a run between its steps: it was taken over, released, or
executed with other documents. PostgreSQL commits transactions that notify one after the other, so
only changes of runs that are being watched are announced: of their state, and steps that ended."""

# Workers. Leases are by the clock of the database, which all processes share.

_LEASE = "clock_timestamp() + make_interval(secs => %s)"
JOIN = (
    "INSERT INTO metier.worker (namespace, id, queue, concurrency, documents, version, lease)"
    f" VALUES (%s, %s, %s, %s, %s, %s, {_LEASE})"
)
RENEW = f"UPDATE metier.worker SET lease = {_LEASE} WHERE namespace = %s AND id = %s"
SET_DOCUMENTS = "UPDATE metier.worker SET documents = %s WHERE namespace = %s AND id = %s"
LEAVE = "DELETE FROM metier.worker WHERE namespace = %s AND id = %s"
WORKERS = (
    "SELECT id, queue, concurrency, documents, version, extract(epoch FROM started)::float8,"
    " lease < clock_timestamp() FROM metier.worker WHERE namespace = %s ORDER BY started, id"
)
DEAD = (
    "SELECT id FROM metier.worker WHERE namespace = %s AND lease < clock_timestamp()"
    " ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
)
"""One worker at a time holds the row of a dead one, and deletes it when its runs are enqueued."""
RELEASE_RUNS = (
    "WITH held AS (SELECT key FROM metier.run WHERE namespace = %s AND owner = %s"
    " AND state = 'running' ORDER BY key FOR NO KEY UPDATE)"
    " UPDATE metier.run SET state = 'pending', owner = NULL, lease = NULL, failure = %s,"
    " epoch = epoch + 1 FROM held WHERE namespace = %s AND run.key = held.key RETURNING id"
)
"""The epoch rises, so that the worker writes nothing more, even before the next claim."""
IS_KNOWN = "SELECT 1 FROM metier.worker WHERE namespace = %s AND id = %s FOR KEY SHARE"
"""Whether a worker has not been taken over; it cannot be until the transaction ends."""
NOTE = (
    "INSERT INTO metier.run_note (namespace, run, code, message, worker)"
    " VALUES (%s, %s, %s, %s, %s)"
)
NOTES = (
    "SELECT extract(epoch FROM at)::float8, code, message, worker FROM metier.run_note"
    " WHERE namespace = %s AND run = %s ORDER BY at"
)
NOT_TAKEABLE = (
    "SELECT id FROM metier.run WHERE namespace = %s AND id = ANY(%s) AND state <> 'pending'"
    " AND (state <> 'running' OR lease >= clock_timestamp())"
)
"""Runs that have ended, and those that another process executes."""
LIVE_RUNS = (
    "SELECT state, count(*) FROM metier.run WHERE namespace = %s"
    " AND state IN ('pending', 'running') GROUP BY state"
)

# Watching a run

WATCH = (
    "INSERT INTO metier.watch (namespace, run, watcher, until)"
    f" VALUES (%s, %s, %s, {_LEASE})"
    " ON CONFLICT (namespace, run, watcher) DO UPDATE SET until = excluded.until"
)
UNWATCH = (
    "DELETE FROM metier.watch WHERE namespace = %s"
    " AND (until < clock_timestamp() OR (run = %s AND watcher = %s))"
)

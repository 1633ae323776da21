"""Tables and statements of the PostgreSQL store of runs.

One database serves many teams: every table has a namespace, and every statement names it. JSON is
kept as text, which is returned as it was written; `jsonb` rejects some strings.
"""

from metier.run.worker_tables import WATCHED
from metier.storage.database import Migration

TABLES = Migration(
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
LOOKUPS = Migration(
    "lookups",
    (
        "ALTER TABLE metier.run DROP CONSTRAINT run_pkey, ADD PRIMARY KEY (key, namespace)",
        "DROP TRIGGER announce ON metier.step",
        "DROP TRIGGER announce ON metier.run",
        """
        CREATE TRIGGER announce AFTER UPDATE ON metier.run FOR EACH ROW
        WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.finished IS NULL)
        EXECUTE FUNCTION metier.announce()
        """,
    ),
)
"""Runs are found by their key, and the writer itself announces steps and the ends of runs."""
NEW_KEYS = "SELECT nextval('metier.run_keys')"
KEYS_AT_ONCE = 64

# Writing. The rows of runs are locked after runs and blobs were added: every later statement of
# the transaction sees the epoch that no other process can change any more.

_NAMESPACE = "run.namespace || '' = %s"
"""Without statistics, as in a new database or namespace, the planner takes any index that begins
with the namespace and reads all of its runs. No index has this expression: the key's is left."""
_KEYED = f"WHERE {_NAMESPACE} AND key = %s"
_CLAIMED = f"{_KEYED} AND epoch = %s"
_IS_LIVE = "state IN ('running', 'pending')"
_ADD_RUN = (
    "INSERT INTO metier.run (namespace, key, id, agent, task, state, created, request, profile,"
    " retention_hours, checkpoints, parent, parent_step, forked_from, owner, lease, epoch)"
    " {values} ON CONFLICT (namespace, key) DO NOTHING"
)
_RUN_VALUES = (
    "%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,"
    " clock_timestamp() + make_interval(secs => %s), %s"
)
ADD_RUN = _ADD_RUN.format(values=f"VALUES ({_RUN_VALUES})")
ADD_RUNS = _ADD_RUN.format(
    values="SELECT %s, key_, id_, agent_, task_, state_, created_, request_, profile_, hours_,"
    " checkpoints_, parent_, parent_step_, forked_from_, owner_,"
    " clock_timestamp() + make_interval(secs => lease_), epoch_"
    " FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], %s::float8[],"
    " %s::bytea[], %s::bytea[], %s::float8[], %s::float8[], %s::text[], %s::text[], %s::text[],"
    " %s::text[], %s::float8[], %s::bigint[]) AS given (key_, id_, agent_, task_, state_, created_,"
    " request_, profile_, hours_, checkpoints_, parent_, parent_step_, forked_from_, owner_,"
    " lease_, epoch_)"
)
"""Any number of runs, as one array for each column after the namespace."""
ADD_CHILD = _ADD_RUN.format(
    values=f"SELECT {_RUN_VALUES} FROM metier.run {_CLAIMED} AND {_IS_LIVE}"
)
"""The same if the claim of its parent is the latest, and the parent has not ended."""
ADD_BLOB = (
    "INSERT INTO metier.blob (namespace, key, data) VALUES (%s, %s, %s)"
    " ON CONFLICT (namespace, key) DO NOTHING"
)
LOCK = (
    "SELECT run.key, epoch, is_live FROM unnest(%s::bigint[]) AS wanted (key) CROSS JOIN LATERAL"
    f" (SELECT run.key, epoch, {_IS_LIVE} AS is_live FROM metier.run"
    f" WHERE run.key = wanted.key AND {_NAMESPACE} FOR NO KEY UPDATE) AS run"
)
"""Keys are given in their order, as everywhere, so that no two processes wait for each other."""
_SAVE_STEP = (
    "INSERT INTO metier.step AS step (namespace, run, id, seq, state, attempts, input, output,"
    " failure, usage, started, finished, step_index, memory, generation)"
    " SELECT {namespace}, run.key, {values} FROM {claimed}"
    " ON CONFLICT (namespace, run, id) DO UPDATE SET"
    " step_index = CASE WHEN step.seq = excluded.seq AND excluded.step_index IS NULL"
    " THEN step.step_index ELSE excluded.step_index END,"
    " memory = CASE WHEN step.seq = excluded.seq AND excluded.step_index IS NULL"
    " THEN step.memory ELSE excluded.memory END,"
    " seq = excluded.seq, state = excluded.state, attempts = excluded.attempts,"
    " input = excluded.input, output = excluded.output, failure = excluded.failure,"
    " usage = excluded.usage, started = excluded.started, finished = excluded.finished,"
    " generation = excluded.generation"
)
"""A step keeps its checkpoint as long as it keeps its `seq`."""
_FOUND = (
    "(SELECT run.ctid, run.key FROM metier.run"
    f" WHERE run.key = key_ AND run.epoch = epoch_ AND {_NAMESPACE} OFFSET 0)"
)
"""The run of a claim in arrays. With `OFFSET 0` each is looked up by its key: the planner knows
neither how many there are nor how few runs fit."""
_ANNOUNCE = (
    "CASE WHEN {run} IN (SELECT run FROM metier.watch"
    " WHERE namespace = %s AND until > clock_timestamp())"
    f" THEN pg_notify('{WATCHED}', %s::text || ' ' || {{run}}) IS NULL END"
)
"""Announce a change of a run if it is being watched."""
_VALUES = ", ".join(["%s"] * 13)
SAVE_STEP = _SAVE_STEP.format(
    namespace="namespace", values=_VALUES, claimed=f"metier.run {_CLAIMED}"
)
SAVE_STEP_ALONE = (
    _SAVE_STEP.format(
        namespace="run.namespace",
        values=_VALUES,
        claimed=f"(SELECT namespace, key FROM metier.run {_CLAIMED} FOR NO KEY UPDATE NOWAIT)"
        " AS run",
    )
    + f" RETURNING {_ANNOUNCE.format(run='step.run')}"
)
"""The same with its own lock, as a transaction of one statement that does not wait. Takes the
namespace two more times."""
LOCK_AND_ANNOUNCE = (
    f"SELECT key, epoch, is_live, {_ANNOUNCE.format(run='locked.key')} FROM ({LOCK}) AS locked"
)
"""Takes the namespace twice before the values of `LOCK`."""
SAVE_STEPS = _SAVE_STEP.format(
    namespace="%s",
    values="id_, seq_, state_, attempts_, input_, output_, failure_, usage_, started_, finished_,"
    " step_index_, memory_, generation_",
    claimed="unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::text[],"
    " %s::text[], %s::text[], %s::float8[], %s::float8[], %s::bigint[], %s::bytea[],"
    " %s::bigint[], %s::bigint[], %s::bigint[]) AS given (id_, seq_, state_, attempts_, input_,"
    " output_, failure_, usage_, started_, finished_, step_index_, memory_, generation_, key_,"
    f" epoch_) CROSS JOIN LATERAL {_FOUND} AS run",
)
"""Any number of steps, each of which comes once, as one array for each column between namespaces.
"""
SAVE_LAST_CHECKPOINT = (
    "INSERT INTO metier.checkpoint (namespace, run, seq, name, step_index, completed, context,"
    " memory, created, expires)"
    f" SELECT namespace, key, %s, '', %s, %s, request, %s, %s, %s FROM metier.run {_CLAIMED}"
    " ON CONFLICT (namespace, run, seq, name) DO UPDATE SET step_index = excluded.step_index,"
    " completed = excluded.completed, memory = excluded.memory, created = excluded.created,"
    " expires = excluded.expires"
)
BEGIN_ROLLBACK = f"UPDATE metier.run SET rollback = %s {_CLAIMED}"
END = (
    "UPDATE metier.run SET state = %s, finished = %s, failure = %s, usage = %s, output = %s,"
    f" owner = NULL, lease = NULL {_CLAIMED}"
)
END_RUNS = (
    "UPDATE metier.run SET state = state_, finished = finished_, failure = failure_,"
    " usage = usage_, output = output_, owner = NULL, lease = NULL"
    " FROM unnest(%s::text[], %s::float8[], %s::text[], %s::text[], %s::text[], %s::bigint[],"
    " %s::bigint[]) AS given (state_, finished_, failure_, usage_, output_, key_, epoch_)"
    f" CROSS JOIN LATERAL {_FOUND} AS found WHERE run.ctid = found.ctid"
)
"""Any number of runs, which are locked, as one array for each column; the namespace is last."""
RELEASE = (
    "UPDATE metier.run SET state = 'pending', owner = NULL, lease = NULL, failure = %s"
    f" {_CLAIMED} AND state = 'running'"
)
BEFORE_LOCK = (ADD_BLOB, ADD_RUN)
AFTER_LOCK = (SAVE_STEP, ADD_CHILD, BEGIN_ROLLBACK, SAVE_LAST_CHECKPOINT, END, RELEASE)
"""In the order in which a batch executes them."""

# Owning a run. Leases are by the clock of the database, which all processes share.

_NOW = "clock_timestamp() + make_interval(secs => %s)"
HELD = (
    "SELECT key, state, owner, owner IS NULL OR lease IS NULL OR"
    f" lease < {_NOW} FROM metier.run {_KEYED} FOR UPDATE"
)
LEASE_LEFT = (
    f"SELECT coalesce(extract(epoch FROM lease - ({_NOW})), 0)::float8 FROM metier.run {_KEYED}"
)
ABANDONED = (
    f"SELECT state = 'running' AND coalesce(lease <= ({_NOW}), true) FROM metier.run {_KEYED}"
)
CLAIM = (
    f"UPDATE metier.run SET owner = %s, lease = {_NOW}, state = 'running', cancel = false,"
    " failure = NULL, finished = NULL, epoch = epoch + 1"
    f" {_KEYED} RETURNING epoch"
)
RENEW = (
    "WITH claimed AS (SELECT run.key, run.epoch FROM metier.run"
    " JOIN unnest(%s::bigint[], %s::bigint[]) AS claim (key, epoch)"
    " ON run.key = claim.key AND run.epoch = claim.epoch"
    f" WHERE {_NAMESPACE} AND {_IS_LIVE}"
    f" AND (owner IS DISTINCT FROM %s OR lease IS NULL OR lease < {_NOW})"
    " ORDER BY run.key FOR NO KEY UPDATE OF run)"
    f" UPDATE metier.run SET owner = %s, lease = {_NOW}, state = 'running', failure = NULL"
    " FROM claimed"
    f" WHERE {_NAMESPACE} AND run.key = claimed.key AND run.epoch = claimed.epoch"
)
"""Not before a third of the lease is over: most heartbeats only read. Rows are locked in the order
of their keys, as everywhere, so that no two processes wait for each other."""
RENEWED = (
    f"SELECT id, key, epoch, cancel FROM metier.run WHERE {_NAMESPACE} AND key = ANY(%s::bigint[])"
)
CHECK = f"SELECT count(*) FROM metier.run {_CLAIMED}"
RECOVER = (
    "WITH dead AS (SELECT key FROM metier.run WHERE namespace = %s AND state = 'running'"
    f" AND (owner IS NULL OR lease IS NULL OR lease < {_NOW})"
    " ORDER BY key FOR UPDATE SKIP LOCKED)"
    " UPDATE metier.run SET state = 'pending', owner = NULL, lease = NULL, failure = %s"
    " FROM dead WHERE namespace = %s AND run.key = dead.key RETURNING id"
)
"""A run whose row is locked is being written, so its process is not gone."""
REQUEST_CANCEL = f"UPDATE metier.run SET cancel = true {_KEYED}"
CANCEL = (
    "UPDATE metier.run SET"
    " state = CASE WHEN rollback IS NULL THEN 'cancelled' ELSE 'rollback_incomplete' END,"
    " failure = coalesce(rollback, %s), owner = NULL, lease = NULL, epoch = epoch + 1"
    f" {_KEYED}"
)

# Reading


def _blob(column: str) -> str:
    table = column.partition(".")[0]
    return (
        "(SELECT data FROM metier.blob"
        f" WHERE blob.namespace = {table}.namespace AND blob.key = {column})"
    )


RUNS = (
    f"SELECT id, agent, task, state, created, {_blob('run.request')}, {_blob('run.profile')},"
    " finished, parent, parent_step, forked_from, failure, usage, output, key, epoch, rollback"
    " FROM metier.run WHERE namespace = %s"
)
COUNT_RUNS = "SELECT count(*) FROM metier.run WHERE namespace = %s"
STEPS = (
    "SELECT id, state, seq, attempts, input, output, failure, usage, started, finished,"
    " generation FROM metier.step WHERE namespace = %s AND run = %s"
    " ORDER BY seq = 0, seq, started, id"
)
_ANY_CHECKPOINT = """(
SELECT namespace, run, seq, name, step_index, completed, context, memory, created, expires, outputs
FROM metier.checkpoint
UNION ALL
SELECT
    step.namespace, step.run, step.seq, '', step.step_index, step.id, run.request, step.memory,
    step.finished, step.finished + 3600 * run.retention_hours, NULL
FROM metier.step
JOIN metier.run ON run.namespace = step.namespace AND run.key = step.run
WHERE step.step_index IS NOT NULL
)"""
LAST_NUMBERS = (
    "SELECT coalesce(max(seq), 0), coalesce(max(seq) FILTER (WHERE name = ''), 0)"
    f" FROM {_ANY_CHECKPOINT} AS checkpoint WHERE namespace = %s AND run = %s"
)
CHECKPOINTS = (
    "SELECT checkpoint.run, checkpoint.seq, name, step_index, completed,"
    f" {_blob('checkpoint.context')}, coalesce({_blob('checkpoint.memory')}, '[]'),"
    f" checkpoint.created, expires, run.id, run.agent, {_blob('checkpoint.outputs')}"
    f" FROM {_ANY_CHECKPOINT} AS checkpoint JOIN metier.run"
    " ON run.namespace = checkpoint.namespace AND run.key = checkpoint.run"
    f" WHERE (name <> '' OR run.checkpoints > (SELECT count(*) FROM {_ANY_CHECKPOINT} AS newer"
    " WHERE newer.namespace = checkpoint.namespace AND newer.run = checkpoint.run"
    " AND newer.seq > checkpoint.seq AND newer.name = ''))"
    " AND checkpoint.namespace = %s AND checkpoint.run = %s"
)
"""The checkpoints of a run, without those beyond the profile's maximum."""
NAMED = "SELECT run, seq FROM metier.checkpoint WHERE namespace = %s AND name = %s"
KEY_OF = "SELECT key FROM metier.run WHERE namespace = %s AND id = %s"

# Checkpoints that are saved by hand, and what is deleted

LAST_SEQ = (
    "SELECT 1 + coalesce(max(seq), 0) FROM ("
    "SELECT seq FROM metier.checkpoint WHERE namespace = %s AND run = %s UNION ALL"
    " SELECT seq FROM metier.step WHERE namespace = %s AND run = %s) AS used"
)
FORGET_NAME = "DELETE FROM metier.checkpoint WHERE namespace = %s AND name = %s"
SAVE_CHECKPOINT = (
    "INSERT INTO metier.checkpoint (namespace, run, seq, name, step_index, completed, context,"
    " memory, created, expires, outputs) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
EXPIRED = (
    f"SELECT run, seq FROM {_ANY_CHECKPOINT} AS checkpoint WHERE namespace = %s AND expires <= %s"
)
UNTIL = (
    f"SELECT run, seq FROM {_ANY_CHECKPOINT} AS checkpoint"
    " WHERE namespace = %s AND run = %s AND seq <= %s"
)
NEWEST = (
    f"SELECT seq FROM {_ANY_CHECKPOINT} AS checkpoint"
    " WHERE namespace = %s AND run = %s ORDER BY seq DESC LIMIT 1 OFFSET %s"
)
FORGET = (
    "DELETE FROM metier.checkpoint WHERE namespace = %s AND (run, seq) IN ({which})",
    "UPDATE metier.step SET step_index = NULL, memory = NULL"
    " WHERE namespace = %s AND step_index IS NOT NULL AND (run, seq) IN ({which})",
)

# Removing runs

TREE = (
    "WITH RECURSIVE tree AS (SELECT key, id FROM metier.run"
    " WHERE namespace = %s AND id = ANY(%s) UNION"
    " SELECT run.key, run.id FROM metier.run JOIN tree ON run.parent = tree.id"
    " WHERE run.namespace = %s AND run.parent <> '') SELECT key, id FROM tree ORDER BY key"
)
"""Runs, and all that they delegated."""
LOCK_RUNS = (
    "SELECT id, state FROM metier.run WHERE namespace = %s AND key = ANY(%s)"
    " ORDER BY key FOR UPDATE"
)
REMOVABLE = (
    "WITH RECURSIVE busy AS (SELECT id, parent FROM metier.run"
    " WHERE namespace = %s AND state = 'running' UNION"
    " SELECT run.id, run.parent FROM metier.run JOIN busy ON run.id = busy.parent"
    " WHERE run.namespace = %s)"
    " SELECT id FROM metier.run WHERE namespace = %s AND parent = ''"
    " AND coalesce(finished, created) < %s AND state = ANY(%s)"
    " AND id NOT IN (SELECT id FROM busy) ORDER BY created, id"
)
LOCK_BLOBS = "LOCK TABLE metier.blob IN SHARE ROW EXCLUSIVE MODE"
"""Who stores a blob, or finds it stored, has committed what refers to it; others wait."""
BLOBS_OF = (
    "SELECT request FROM metier.run WHERE namespace = %s AND key = ANY(%s) UNION"
    " SELECT memory FROM metier.step WHERE namespace = %s AND run = ANY(%s) UNION"
    " SELECT unnest(ARRAY[context, memory, outputs]) FROM metier.checkpoint"
    " WHERE namespace = %s AND run = ANY(%s)"
)
"""Not the profiles: writers remember which of these are stored. `{}` may be one of them."""
REMOVE = (
    "DELETE FROM metier.step WHERE namespace = %s AND run = ANY(%s)",
    "DELETE FROM metier.checkpoint WHERE namespace = %s AND run = ANY(%s)",
    "DELETE FROM metier.watch WHERE namespace = %s AND run = ANY(%s)",
    "DELETE FROM metier.run WHERE namespace = %s AND key = ANY(%s)",
    "DELETE FROM metier.run_note WHERE namespace = %s AND run = ANY(%s)",
)
"""The last one takes ids, the others keys."""


def _unused(table: str, column: str) -> str:
    return (
        f" AND NOT EXISTS (SELECT 1 FROM metier.{table} WHERE {table}.namespace = blob.namespace"
        f" AND {table}.{column} = blob.key)"
    )


REMOVE_BLOBS = (
    "DELETE FROM metier.blob WHERE namespace = %s AND key = ANY(%s) AND data <> '{}'"
) + "".join(
    _unused(table, column)
    for table, column in (
        ("run", "request"), ("run", "profile"), ("step", "memory"),
        ("checkpoint", "context"), ("checkpoint", "memory"), ("checkpoint", "outputs"),
    )
)  # fmt: skip

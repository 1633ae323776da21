"""The queue of runs in DBOS, without executing any: what `metier run --detach` uses.

Needs the extra `workers`; imported only where a queue is used. Each run is one workflow, with the
id `RUN:1`; each explicit resume is a new one, `RUN:2` and so on.
"""

import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

import sqlalchemy
from croniter import CroniterBadDateError, croniter  # type: ignore[import-untyped]  # it has no annotations
from dbos import DBOSClient, EnqueueOptions, Serializer, WorkflowHandle
from dbos._queue import QueueRateLimit
from dbos._schemas.system_database import SystemSchema
from dbos._serialization import DefaultSerializer
from dbos._sys_db import WorkflowSchedule
from sqlalchemy.exc import SQLAlchemyError

from metier.core.nearest import did_you_mean
from metier.errors import NotFoundError, StoreError, UsageError
from metier.run.queue import DEFAULT_QUEUE, QueuedRun, Schedule
from metier.run.queue_tables import RUN, schema_of
from metier.storage.postgres import Connection, connector, named_error
from metier.values.settings import QueueSetting

logging.getLogger("dbos").addFilter(lambda _: False)  # it logs hosts and users, to the terminal
APPLICATION = "metier"
VERSION = "runs-1"
"""The version of what is in the queue. It is not metier's: workers of any version that read the
same tables continue each other's runs, because a run continues from its stored steps."""
START = "metier.start"
"""The name of the workflow that adds a run by a schedule."""
_WAITING = ["ENQUEUED", "DELAYED"]
_ACTIVE = [*_WAITING, "PENDING"]
_ENDED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_AT_ONCE = 1000
_NAME = re.compile(r"[\w.-]{1,63}")
_POOL = 5


class JsonSerializer(Serializer):
    """Workflows take and return JSON."""

    def serialize(self, data: Any) -> str:
        return json.dumps(data, default=_iso)

    def deserialize(self, serialized_data: str) -> Any:
        return json.loads(serialized_data)

    def name(self) -> str:
        return "metier_json"


def _iso(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")


def _refuse(_serializer: DefaultSerializer, _data: str) -> NoReturn:
    raise TypeError("only JSON is read from the queue")


DefaultSerializer.deserialize = _refuse  # type: ignore[method-assign, assignment]
"""DBOS unpickles whatever a row declares to be a pickle; anyone who can write to the database could
execute code with the rights of every worker."""


def engine_of(address: str, *, pool: int = _POOL) -> sqlalchemy.Engine:
    """An engine for DBOS. The address stays out of what DBOS stores and logs."""
    connect = connector(address, autocommit=False)

    def create() -> Connection:
        connection = connect()
        connection.prepare_threshold = None  # migrations of DBOS are several statements in one
        connection.execute("SET idle_in_transaction_session_timeout = '10s'")
        connection.commit()
        return connection

    return sqlalchemy.create_engine(
        "postgresql+psycopg://",
        creator=create,
        pool_size=pool,
        max_overflow=pool,
        pool_pre_ping=True,
        hide_parameters=True,
    )


class DbosQueue:
    """A `RunQueue` in the tables of DBOS."""

    def __init__(self, address: str, namespace: str) -> None:
        """Raises `StoreError` if PostgreSQL does not answer."""
        self._engine = engine_of(address)
        try:
            with named_errors():
                self._client = DBOSClient(
                    system_database_engine=self._engine,
                    dbos_system_schema=schema_of(namespace),
                    serializer=JsonSerializer(),
                    application_name=APPLICATION,
                    retry_connection_errors=False,
                )
                self._tables = self._client._sys_db
                self._tables.run_migrations()
        except BaseException:
            self._engine.dispose()
            raise

    def close(self) -> None:
        self._client.destroy()
        self._engine.dispose()

    def register(self, name: str, limits: QueueSetting, *, update: bool) -> None:
        """Create a queue; if it exists and `update`, change its limits."""
        limiter: QueueRateLimit | None = None
        if limits.starts and limits.seconds:
            limiter = {"limit": limits.starts, "period": limits.seconds}
        with named_errors():
            self._client.register_queue(
                name,
                global_concurrency=limits.concurrency,
                limiter=limiter,
                on_conflict="always_update" if update else "never_update",
            )

    # Runs

    def enqueue(self, run: QueuedRun, *, delay: float = 0.0, key: str = "") -> str:
        with named_errors():
            made: WorkflowHandle[None] = self._client.enqueue(
                self._options(run, delay, key), run._asdict()
            )
            return run_of(made.get_workflow_id())

    def holder(self, queue: str, key: str) -> str:
        with named_errors():
            return run_of(self._tables.get_deduplicated_workflow(queue, key) or "")

    def _options(self, run: QueuedRun, delay: float, key: str) -> EnqueueOptions:
        options: EnqueueOptions = {
            "workflow_name": RUN,
            "queue_name": run.queue,
            "workflow_id": self._next_id(run.run_id),
            "priority": run.priority,
            "app_version": VERSION,
        }
        if delay:
            options["delay_seconds"] = delay
        if key:
            options["deduplication_id"] = key
            options["duplication_policy"] = "return-existing"
        return options

    def _next_id(self, run_id: str) -> str:
        numbers = [number_of(one.workflow_id) for one in self._workflows(run_id)]
        return f"{run_id}:{max(numbers, default=0) + 1}"

    def _workflows(self, run_id: str) -> Sequence[Any]:
        return self._client.list_workflows(
            workflow_id_prefix=f"{run_id}:", load_input=False, load_output=False
        )

    def is_waiting(self, run_id: str) -> bool:
        with named_errors():
            return any(one.status in _ACTIVE for one in self._workflows(run_id))

    def cancel(self, run_id: str) -> None:
        with named_errors():
            waiting = [one for one in self._workflows(run_id) if one.status in _WAITING]
            self._client.cancel_workflows([one.workflow_id for one in waiting])

    def lengths(self) -> dict[str, int]:
        table = SystemSchema.workflow_status.c
        counted = sqlalchemy.select(table.queue_name, sqlalchemy.func.count())
        counted = counted.where(table.status.in_(_WAITING), table.name == RUN)
        with named_errors(), self._tables.engine.begin() as connection:
            found = connection.execute(counted.group_by(table.queue_name)).fetchall()
            names = [one.name for one in self._client.list_queues()]
        return {**dict.fromkeys(names, 0), **{str(name): int(count) for name, count in found}}

    def enqueue_again(self, worker_id: str, run_id: str = "") -> list[str]:
        """Return what a worker has taken from the queue, or only one run; ids of runs.

        What another worker has taken since stays with it.
        """
        with named_errors():
            returned = [
                one
                for one in self._taken(worker_id, run_id)
                if self._tables.reenqueue_for_recovery(one.workflow_id, [worker_id], DEFAULT_QUEUE)
            ]
        return [run_of(one.workflow_id) for one in returned if one.name == RUN]

    def _taken(self, worker_id: str, run_id: str = "") -> Sequence[Any]:
        """The workflows that a worker has taken from the queue and has not ended."""
        return self._client.list_workflows(
            executor_id=worker_id,
            status="PENDING",
            workflow_id_prefix=f"{run_id}:" if run_id else None,
            load_input=False,
            load_output=False,
        )

    def attempts(self, worker_id: str, run_id: str) -> int:
        with named_errors():
            counts = [one.recovery_attempts or 0 for one in self._taken(worker_id, run_id)]
        return max(counts, default=0)

    def give_back(self, worker_id: str, run: QueuedRun, *, delay: float = 0.0) -> None:
        table, given = SystemSchema.workflow_status, SystemSchema.workflow_input
        now = self._tables._now_ms_sql()
        changes = {
            "status": "DELAYED" if delay else "ENQUEUED",
            "delay_until_epoch_ms": now + int(delay * 1000),
            "owner_xid": None,
            "started_at_epoch_ms": None,
            "recovery_attempts": table.c.recovery_attempts - 1,
            "updated_at": now,
        }
        inputs = JsonSerializer().serialize({"args": [run._asdict()], "kwargs": {}})
        with named_errors():
            for one in self._taken(worker_id, run.run_id):
                workflow, input_of = (
                    part.c.workflow_uuid == one.workflow_id for part in (table, given)
                )
                is_ours = table.c.status == "PENDING", table.c.executor_id == worker_id
                returned = sqlalchemy.update(table).where(workflow, *is_ours).values(changes)
                with self._tables.engine.begin() as connection:
                    if connection.execute(returned).rowcount:
                        new = sqlalchemy.update(given).where(input_of).values(inputs=inputs)
                        connection.execute(new)

    def enqueue_orphans(self, known: Callable[[], Collection[str]]) -> list[str]:
        """Return what was taken by workers that are not among the known ones; ids of runs.

        A worker is known before it takes a run, so `known` is called last. A worker that was
        frozen may take runs before it notices that it was taken over.
        """
        table = SystemSchema.workflow_status.c
        takers = sqlalchemy.select(table.executor_id).where(table.status == "PENDING").distinct()
        with named_errors(), self._tables.engine.begin() as connection:
            found = {str(taker) for (taker,) in connection.execute(takers)}
        gone = found - set(known()) if found else set()
        return [run_id for taker in sorted(gone) for run_id in self.enqueue_again(taker)]

    def forget(self, older_than: float) -> bool:
        """Delete workflows that ended this many seconds ago; whether there may be more.

        What became of a run is in the store of runs.
        """
        limit = datetime.now(UTC) - timedelta(seconds=older_than)
        with named_errors():
            ended = self._client.list_workflows(
                status=_ENDED, completed_before=limit.isoformat(), limit=_AT_ONCE,
                load_input=False, load_output=False,
            )  # fmt: skip
            if ended:
                self._client.delete_workflows([one.workflow_id for one in ended])
        return len(ended) == _AT_ONCE

    # Schedules

    def schedules(self) -> list[Schedule]:
        with named_errors():
            found = self._client.list_schedules(workflow_name=START)
        return [_schedule_of(one) for one in sorted(found, key=lambda one: one["schedule_name"])]

    def add_schedule(self, schedule: Schedule) -> None:
        check_schedule(schedule)
        with named_errors():
            if self._client.get_schedule(schedule.name) is not None:
                raise UsageError(
                    f"there is already a schedule '{schedule.name}'",
                    hint=f"metier schedule remove {schedule.name}",
                )
            self._client.create_schedule(
                schedule_name=schedule.name,
                workflow_name=START,
                schedule=schedule.cron,
                context=dict(schedule.start),
                cron_timezone=schedule.zone,
            )

    def remove_schedule(self, name: str) -> Schedule:
        with named_errors():
            found = self._client.get_schedule(name)
            if found is None:
                names = [known.name for known in self.schedules()]
                hint = did_you_mean(name, names, "metier schedule list")
                raise NotFoundError(f"no schedule is called '{name}'", hint=hint)
            self._client.delete_schedule(name)
        return _schedule_of(found)


def check_schedule(schedule: Schedule) -> None:
    """Raise `UsageError` for a wrong name, cron expression or time zone."""
    if not _NAME.fullmatch(schedule.name):
        raise UsageError(
            f"'{schedule.name}' is not a valid name of a schedule",
            hint="use up to 63 letters, digits, dots, hyphens and underscores",
        )
    if len(schedule.cron.split()) != 5 or not croniter.is_valid(schedule.cron):
        raise UsageError(
            f"'{schedule.cron}' is not a cron expression",
            hint="minute hour day month weekday, such as '30 7 * * mon-fri'",
        )
    try:
        ZoneInfo(schedule.zone)
    except (ValueError, OSError, LookupError):
        raise UsageError(
            f"there is no time zone '{schedule.zone}'", hint="such as Europe/Berlin, or UTC"
        ) from None


def next_start(schedule: Schedule, now: float) -> datetime | None:
    """When a schedule starts a run next, in its time zone; None for a day that never comes."""
    begin = datetime.fromtimestamp(now, ZoneInfo(schedule.zone))
    try:
        found: datetime = croniter(schedule.cron, begin).get_next(datetime)
    except CroniterBadDateError:
        return None
    return found


def _schedule_of(found: WorkflowSchedule) -> Schedule:
    start = found["context"] if isinstance(found["context"], Mapping) else {}
    zone = found["cron_timezone"] or "UTC"
    return Schedule(found["schedule_name"], found["schedule"], zone, start)


def run_of(workflow_id: str) -> str:
    return workflow_id.rpartition(":")[0]


def number_of(workflow_id: str) -> int:
    number = workflow_id.rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


@contextmanager
def named_errors() -> Iterator[None]:
    """Raise errors of the database in our own words: those of the driver can quote the address."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None)
        if getattr(cause, "sqlstate", None) == "42501":
            raise StoreError(
                "the queue may not be written by this user",
                code="STORE_READ_ONLY",
                hint="grant the user the right to create schemas in the database",
            ) from None
        if cause is not None:
            raise named_error(cause, "the queue") from None
        raise StoreError(  # such as: no connection became free in time
            "the queue in PostgreSQL cannot be used",
            code="STORE_UNREACHABLE",
            hint="check the address, the network and the login",
        ) from None

"""Lists of runs, filtered, sorted and cut by the database; both stores use it."""

import json
import time
from typing import Any, NamedTuple

from metier.run.rows import Row, dumped, usage_of
from metier.run.store import is_gone
from metier.values.runs import RunRow, RunsAsked

_LONGEST_TASK = 400
_COLUMNS = "id, agent, task, state, created, finished, parent, usage"
_ORDERS = {
    "started": "created",
    "task": "lower(substr(task, 1, 100))",
    "agent": "lower(agent)",
    "state": "state",
    "seconds": "finished - created",
}


class Dialect(NamedTuple):
    """What differs between databases."""

    mark: str
    """Stands for a value."""
    cost: str
    """The cost of a run; null until it has ended."""
    find: str
    """The position of a text in another, from 1; 0 if it is not in it."""
    has_json_tasks: bool
    """Whether tasks are stored as JSON."""
    held: str
    """Tells whether the process that executes a run is gone."""


SQLITE = Dialect(
    "?", "json_extract(usage, '$[2]')", "instr({text}, {mark})", False,
    "owner, lease, failure IS NOT NULL",
)  # fmt: skip
POSTGRES = Dialect(
    "%s", "(usage::json ->> 2)::float8", "position({mark} in {text})", True,
    "coalesce(lease <= clock_timestamp(), true)",
)  # fmt: skip


def columns(dialect: Dialect) -> str:
    return f"{_COLUMNS}, {dialect.held}"


def condition(asked: RunsAsked, dialect: Dialect) -> tuple[list[str], list[Any]]:
    """The conditions that runs must meet, and their values."""
    parts, values = [] if asked.delegated else ["parent = ''"], []
    for column, wanted in (("state", asked.state), ("agent", asked.agent)):
        if wanted:
            parts.append(f"{column} = {dialect.mark}")
            values.append(wanted)
    if asked.text:
        columns = ("task", "agent", "id")
        found = [dialect.find.format(text=f"lower({one})", mark=dialect.mark) for one in columns]
        parts.append(f"({' + '.join(found)}) > 0")
        wanted = asked.text.lower()
        task = dumped(wanted)[1:-1] if dialect.has_json_tasks else wanted
        values += [task, wanted, wanted]
    return parts, values


def order(asked: RunsAsked, dialect: Dialect) -> str:
    """The order, runs without a value last."""
    by = dialect.cost if asked.order == "cost" else _ORDERS[asked.order]
    how = "DESC" if asked.descending else "ASC"
    return f"ORDER BY ({by}) IS NULL, {by} {how}, key {how}"


def _row_of(row: Row, task: str, gone: bool) -> RunRow:
    run_id, agent, _, state, *facts, usage = row
    known = (run_id, agent, task[:_LONGEST_TASK], state, *facts, usage_of(usage))
    return RunRow._make((*known, gone))


def sqlite_row(row: Row) -> RunRow:
    *known, owner, lease, has_failure = row
    is_running, is_pending = row[3] == "running", row[3] == "pending"
    gone = is_running and is_gone(owner, lease, time.time())
    gone = gone or (is_pending and bool(has_failure))  # no worker continues it
    return _row_of(tuple(known), row[2], gone)


def postgres_row(row: Row) -> RunRow:
    *known, is_silent = row
    return _row_of(tuple(known), json.loads(row[2]), row[3] == "running" and is_silent)

"""Lists of runs, filtered, sorted and cut by the database; both stores use it."""

import json
from typing import Any, NamedTuple

from metier.run.rows import Row, dumped, usage_of
from metier.values.runs import RunRow, RunsAsked

_LONGEST_TASK = 400
COLUMNS = "id, agent, task, state, created, finished, parent, usage"
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
    """The place of a text in another one, from 1; 0 if it is not there."""
    has_json_tasks: bool
    """Whether tasks are stored as JSON."""


SQLITE = Dialect("?", "json_extract(usage, '$[2]')", "instr({text}, {mark})", False)
POSTGRES = Dialect("%s", "(usage::json ->> 2)::float8", "position({mark} in {text})", True)


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


def row_of(row: Row, dialect: Dialect) -> RunRow:
    run_id, agent, task, *facts, usage = row
    text = json.loads(task) if dialect.has_json_tasks else task
    return RunRow._make((run_id, agent, text[:_LONGEST_TASK], *facts, usage_of(usage)))


def sqlite_row(row: Row) -> RunRow:
    return row_of(row, SQLITE)


def postgres_row(row: Row) -> RunRow:
    return row_of(row, POSTGRES)

"""Runs: what agents did, filtered, sorted and cut by the database."""

import time
from typing import Any, get_args

from metier.errors import MetierError
from metier.values.runs import RunOrder, RunRow, RunsAsked, RunState
from metier.web.page import Data, Page, View
from metier.web.query import address
from metier.web.table import Column, Table, asked_of
from metier.web.words import in_browser

STATES = get_args(RunState)
_ORDERS: dict[str, RunOrder] = {
    "runId": "started",
    "task": "task",
    "agentId": "agent",
    "state": "state",
    "started": "started",
    "seconds": "seconds",
    "cost": "cost",
}


def build(view: View) -> Data:
    """Runs change without the catalog, so nothing is cached."""
    query = view.query
    asked = asked_of(query, COLUMNS, sort="-started")
    chosen: dict[str, Any] = {
        "state": query.choice("state", STATES),
        "agent": query.text("agent"),
        "delegated": query.flag("delegated"),
    }
    problem: dict[str, str] | None = None
    try:
        store = view.catalog.agency.current_store()
        rows, total = store.browse(
            RunsAsked(
                **chosen, text=asked.filter, order=_ORDERS[asked.sort],
                descending=asked.descending, limit=asked.size, offset=asked.offset,
            )
        )  # fmt: skip
    except MetierError as error:
        rows, total, problem = [], 0, {"message": error.message, "hint": in_browser(error.hint)}
    now = time.time()
    shown = [_row(one, now) for one in rows]
    has_costs = asked.sort == "cost" or any(row["cost"] for row in shown)
    table = Table(
        name="",
        columns=[one for one in COLUMNS if one.key != "cost" or has_costs],
        rows=shown,
        total=total,
        asked=asked,
        query=query,
        page_name=view.page,
        noun="run",
        empty="no run fits; to run an agent: metier run AGENT TASK",
    )
    ignored = view.catalog.agency.ignored_state
    return {**chosen, "states": list(STATES), "runs": table, "problem": problem, "ignored": ignored}


def _row(run: RunRow, now: float) -> dict[str, Any]:
    is_live = run.state == "running" and not run.is_abandoned
    end = run.finished if run.finished else now if is_live else None
    return {
        "runId": run.run_id,
        "agentId": run.agent_id,
        "task": run.task,
        "state": "interrupted" if run.is_abandoned else run.state,
        "started": run.created,
        "seconds": None if end is None else round(max(0.0, end - run.created), 3),
        "tokens": run.usage.tokens or None,
        "cost": round(run.usage.cost, 6) or None,
        "parentRunId": run.parent_run or None,
    }


COLUMNS = (
    Column("task", "Task", "long", href=lambda row: address("run", id=row["runId"])),
    Column("state", "State", "badge"),
    Column("agentId", "Agent", "id", href=lambda row: address("runs", agent=row["agentId"])),
    Column("started", "Started", "time", hint="UTC"),
    Column("seconds", "Took", "duration"),
    Column("tokens", "Tokens", "number", sorts=False),
    Column("cost", "Cost in $", "number"),
    Column("runId", "Run", "id", href=lambda row: address("run", id=row["runId"]), sorts=False),
)


def _command(data: Data) -> list[str]:
    state = [f"--state={data['state']}"] if data["state"] else []
    return ["runs", "list", *state, *(["--all"] if data["delegated"] else [])]


PAGES = [Page(name="runs", title="Runs", build=build, command=_command, group="Run", order=81)]

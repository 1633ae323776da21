"""`metier schedule`"""

import click

from metier.cli.groups import CommandGroup
from metier.cli.run_agent import input_option, read_input, require_trust
from metier.cli.session import Session, complete_names, metier_command
from metier.errors import UsageError
from metier.flow.queueing import (
    Placement,
    RunRequest,
    Schedule,
    add_schedule,
    next_start,
    opened_queue,
)

_WHAT = "a schedule"

command = CommandGroup(
    "schedule",
    default="list",
    help="""Run agents on a schedule, on workers.

    Without a command the schedules are listed. A start is skipped while no worker
    is alive.
    """,
)


@command.add
@metier_command("list")
def _list(session: Session) -> int:
    """List the schedules."""
    with session.open_catalog() as catalog, opened_queue(catalog.agency, _WHAT) as queue:
        found = queue.schedules()
    if session.as_json:
        session.print_json([_json(one) for one in found])
        return 0
    if not found:
        session.note("there is no schedule yet")
        session.note("hint: metier schedule add NAME CRON AGENT TASK")
    columns = ("name", "when", "time zone", "agent", "task")
    session.print_list(columns, [_row(schedule) for schedule in found], "schedule")
    return 0


@command.add
@metier_command("add")
@click.argument("name")
@click.argument("cron")
@click.argument("agent", shell_complete=complete_names("agent"))
@click.argument("task")
@click.option(
    "--zone",
    metavar="NAME",
    default="UTC",
    show_default=True,
    help="The time zone of CRON, such as Europe/Berlin.",
)
@input_option
@click.option("--model", metavar="NAME", default="", help="provider:model, or offline.")
@click.option("--queue", metavar="NAME", default="", help="The queue of its runs.")
@click.option(
    "--priority", metavar="N", type=click.IntRange(1, 1000), default=100, show_default=True,
    help="Lower numbers start first.",
)  # fmt: skip
def _add(
    session: Session,
    name: str,
    cron: str,
    agent: str,
    task: str,
    zone: str,
    given: str | None,
    model: str,
    queue: str,
    priority: int,
) -> int:
    """Start a run of AGENT at the times that CRON gives.

    CRON has five fields: minute, hour, day, month and weekday, such as '30 7 * * mon-fri'.
    """
    if not name.strip() or not task.strip():
        raise UsageError(f"the {'task' if name.strip() else 'name'} is empty")
    value = read_input(session, given)
    require_trust(session, "scheduling an agent")
    with session.catalog() as catalog:
        if model:
            catalog.agency.model(model)  # report a wrong name now
        request = RunRequest(agent, task, value, model)
        placement = Placement(queue, priority)
        added = add_schedule(catalog.agency, name, cron, zone, request, placement)
    code = _tell(session, added, "added")
    session.note(f"next start: {next_start(added)}")
    return code


@command.add
@metier_command("remove")
@click.argument("name")
def _remove(session: Session, name: str) -> int:
    """Remove a schedule; runs that it has started continue."""
    with session.open_catalog() as catalog, opened_queue(catalog.agency, _WHAT) as queue:
        removed = queue.remove_schedule(name)
    return _tell(session, removed, "removed")


def _tell(session: Session, schedule: Schedule, done: str) -> int:
    if session.as_json:
        session.print_json(_json(schedule))
    else:
        session.tell(f"{done} the schedule '{schedule.name}'")
    return 0


def _row(schedule: Schedule) -> tuple[str, ...]:
    start = schedule.start
    asked = str(start.get("agent", "")), str(start.get("task", ""))
    return schedule.name, schedule.cron, schedule.zone, *asked


def _json(schedule: Schedule) -> dict[str, object]:
    facts = {"name": schedule.name, "cron": schedule.cron, "zone": schedule.zone}
    return {**facts, **schedule.start}

"""`metier worker`"""

import asyncio
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from metier.catalog import Catalog
from metier.cli.run_agent import allow_tools, require_trust
from metier.cli.session import Session, metier_command
from metier.cli.worker_view import StatusLine
from metier.flow.queueing import check_queue, missing_extra, require_state
from metier.flow.state_settings import StateSettings
from metier.values.runs import Event
from metier.values.settings import WORKER_LEASE_SECONDS, WORKER_STOP_SECONDS

if TYPE_CHECKING:
    from metier.flow.metrics import Metrics
    from metier.flow.worker import RunWorker, WorkerOptions

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@metier_command("worker")
@click.option(
    "--queue",
    "queues",
    metavar="NAME",
    multiple=True,
    help="Only from this queue; repeatable (default: 'runs' and those of the settings).",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Runs of each queue at a time (default: workers.concurrency of the settings).",
)
@click.option(
    "--stop-after",
    type=click.FloatRange(0, 86_400),
    metavar="SECONDS",
    default=WORKER_STOP_SECONDS,
    show_default=True,
    help="How long runs may take to finish after SIGTERM.",
)
@click.option(
    "--lease",
    type=click.FloatRange(1, 3600),
    metavar="SECONDS",
    default=WORKER_LEASE_SECONDS,
    show_default=True,
    help="After this long without a heartbeat it counts as dead.",
)
@click.option("--health", metavar="[ADDRESS:]PORT", help="Answer /health there.")
@click.option("--metrics", metavar="[ADDRESS:]PORT", help="Answer /metrics there.")
@click.option(
    "--allow-tool", "allowed", metavar="NAME", multiple=True,
    help="Allow a command of the settings; repeatable.",
)  # fmt: skip
def command(
    session: Session,
    queues: tuple[str, ...],
    concurrency: int | None,
    stop_after: float,
    lease: float,
    health: str | None,
    metrics: str | None,
    allowed: tuple[str, ...],
) -> int:
    """Execute runs that 'metier run --detach' and schedules put into the queue.

    On SIGTERM or Ctrl-C it takes no more runs, gives running ones --stop-after seconds to finish,
    and returns the rest to the queue, where another worker continues them. The runs of a worker
    that dies are taken over by the others. A second signal does not wait for runs.

    /health answers 200 while the worker can reach PostgreSQL, else 503. Without an address both
    pages are served to this machine only. With --json the log is lines of JSON.
    """
    for name in queues:
        check_queue(name)
    require_trust(session, "running a worker")
    with session.catalog() as catalog:
        state = require_state(catalog.agency, "a worker")
        try:
            from metier.flow.worker import WorkerOptions
        except ModuleNotFoundError as error:
            raise missing_extra(error) from None
        config = catalog.config
        options = WorkerOptions(
            queues=queues,
            concurrency=concurrency or config.worker_concurrency,
            same_documents=config.worker_documents == "same",
            stop_after=stop_after,
            lease=lease,
        )
        allow_tools(catalog, allowed)
        asyncio.run(_work(session, catalog, state, options, health, metrics))
    return 0


async def _work(
    session: Session,
    catalog: Catalog,
    state: StateSettings,
    options: "WorkerOptions",
    health: str | None,
    metrics: str | None,
) -> None:
    from metier.flow.metrics import Metrics
    from metier.flow.worker import RunWorker

    measured, traced = Metrics(), catalog.agency.spans()

    def on_event(event: Event) -> None:
        measured.take(event)
        if traced is not None:
            traced(event)

    with StatusLine(session) as line, ExitStack() as stack:
        worker = RunWorker(catalog, state, options, log=line.log, on_event=on_event)
        measured.watch(worker)
        for name, given in (("health", health), ("metrics", metrics)):
            if given:
                _serve(stack, line, worker, measured, name, given)
        loop = asyncio.get_running_loop()
        for one in _SIGNALS:
            loop.add_signal_handler(one, worker.stop)
        clock = asyncio.ensure_future(line.show(worker))
        try:
            await worker.work()
        finally:
            clock.cancel()


def _serve(
    stack: ExitStack,
    line: StatusLine,
    worker: "RunWorker",
    measured: "Metrics",
    name: str,
    given: str,
) -> None:
    from metier.flow.metrics import Address, Endpoint, pages_of

    address = Address.of(given)
    endpoint = Endpoint(address, pages_of(worker, measured if name == "metrics" else None))
    stack.callback(endpoint.close)
    line.log(f"{name} at http://{address.host}:{endpoint.port}/{name}")

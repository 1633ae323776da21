"""`metier worker`"""

import asyncio
import signal

import click

from metier.cli.run_agent import require_trust
from metier.cli.session import Session, metier_command
from metier.flow.queueing import missing_extra, require_state

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@metier_command("worker")
@click.option(
    "--queue", "queues", metavar="NAME", multiple=True,
    help="Only from this queue; repeat it (default: 'runs' and those of the settings).",
)
@click.option(
    "--concurrency", type=click.IntRange(1, 1000), metavar="N",
    help="Runs of each queue at a time (default: workers.concurrency of the settings).",
)
@click.option(
    "--stop-after", type=click.FloatRange(0, 86_400), metavar="SECONDS", default=20.0,
    show_default=True, help="How long runs may take to end after SIGTERM.",
)
@click.option(
    "--lease", type=click.FloatRange(1, 3600), metavar="SECONDS", default=15.0,
    show_default=True, help="After this long without a heartbeat it counts as dead.",
)
@click.option(
    "--allow-tool", "allowed", metavar="NAME", multiple=True,
    help="Consent to a command of the settings; repeat it.",
)  # fmt: skip
def command(
    session: Session,
    queues: tuple[str, ...],
    concurrency: int | None,
    stop_after: float,
    lease: float,
    allowed: tuple[str, ...],
) -> int:
    """Execute runs from the queue."""
    require_trust(session, "running a worker")
    with session.catalog() as catalog:
        state = require_state(catalog.agency, "a worker")
        try:
            from metier.flow.workers import RunWorker, WorkerOptions
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
        catalog.agency.consent.update(allowed)

        async def work() -> None:
            worker = RunWorker(catalog, state, options, log=session.note)
            loop = asyncio.get_running_loop()
            for one in _SIGNALS:
                loop.add_signal_handler(one, worker.stop)
            await worker.work()

        asyncio.run(work())
    return 0

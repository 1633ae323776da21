"""`metier history`"""

import click

from metier.cli.groups import CommandGroup
from metier.cli.session import Session, complete_names, metier_command
from metier.errors import MetierError, UsageError
from metier.flow.boundary import untrusted_error

command = CommandGroup(
    "history",
    help="Record whether providers succeeded; this changes their scores.",
)


@command.add
@metier_command("record", repeats=True)
@click.argument("candidate", metavar="SKILL", shell_complete=complete_names("skill"))
@click.argument("outcome", type=click.Choice(["success", "failure"]))
@click.option(
    "--task", metavar="TEXT", help="The task; it becomes a positive or negative example for SKILL."
)
def _record(session: Session, candidate: str, outcome: str, task: str | None) -> int:
    """Record whether a provider succeeded.

    SKILL is a name, or the full id `name::folder`. The last 20 outcomes count. With --task a
    success also teaches that such tasks are for SKILL, a failure that they are not; see `metier
    examples`. Exit code 1 when the outcome cannot be stored.
    """
    if task is not None and not task.strip():
        raise UsageError("the task is empty", hint='write --task "what you asked for"')
    is_success = outcome == "success"
    with session.catalog() as catalog:
        key = catalog.candidate_id(candidate)
        session.has_acted = True
        history = catalog.record_outcome(candidate, success=is_success)
        if task is not None and history.state == "persistent":
            name = key.partition("::")[0]
            catalog.examples.record("skill", name, task, is_for=is_success)
    rate, samples = history.rates[key], history.samples[key]
    is_kept = history.state == "persistent"
    if session.as_json:
        session.print_json(
            {
                "candidate": key,
                "successRateLast20": rate,
                "sampleSize": samples,
                "historyState": history.state,
            }
        )
        return int(not is_kept)
    if not is_kept:
        raise _not_kept(session, history.warning)
    session.tell(f"{key}: {rate:.0%} of the last {samples} succeeded")
    return 0


def _not_kept(session: Session, warning: str) -> MetierError:
    why, hint = warning, "make the folder writable, or move the damaged file away"
    boundary = session.boundary
    if session.is_outside():
        why = "there is no workspace here"
        hint = "metier init makes this folder a workspace; --root names another"
    elif not boundary.trust.is_trusted:
        error = untrusted_error(boundary.workspace, boundary.trust, "a history")
        why, hint = error.message, error.hint
    return MetierError(
        f"the outcome is not stored: {why}", code="NOT_KEPT", where=boundary.workspace, hint=hint
    )

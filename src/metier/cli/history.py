"""`metier record`"""

import click

from metier.cli.session import Session, complete_names, metier_command
from metier.errors import MetierError
from metier.flow.boundary import untrusted_error


@metier_command("record")
@click.argument("candidate", metavar="SKILL", shell_complete=complete_names("skill"))
@click.argument("outcome", type=click.Choice(["success", "failure"]))
def command(session: Session, candidate: str, outcome: str) -> int:
    """Record how a provider did; it weighs in later resolutions.

    SKILL is a name, or the full id `name::folder`. The last 20 outcomes count. Exit code 1 when
    the outcome cannot be kept.
    """
    with session.catalog() as catalog:
        history = catalog.record_outcome(candidate, success=outcome == "success")
        key = catalog.candidate_id(candidate)
    facts = {
        "candidate": key,
        "success_rate_last_20": history.rates[key],
        "sample_size": history.samples[key],
        "history_state": history.state,
    }
    is_kept = history.state == "persistent"
    if session.as_json:
        session.print_json(facts)
        return int(not is_kept)
    if not is_kept:
        raise _not_kept(session, history.warning)
    rate, samples = history.rates[key], history.samples[key]
    session.tell(f"{key}: {rate:.0%} of the last {samples} went well")
    return 0


def _not_kept(session: Session, warning: str) -> MetierError:
    """Why an outcome is not kept: no workspace, no trust, or a folder that cannot be used."""
    why, hint = warning, "make the folder writable; move a file away that makes no sense"
    boundary = session.boundary
    if session.is_outside():
        why = "there is no workspace here"
        hint = "metier init makes this folder one; --root names another"
    elif not boundary.trust.is_trusted:
        error = untrusted_error(boundary.workspace, boundary.trust, "a history")
        why, hint = error.message, error.hint
    return MetierError(
        f"the outcome is not kept: {why}", code="NOT_KEPT", where=boundary.workspace, hint=hint
    )

"""`metier record`"""

import click

from metier.cli.session import Session, complete_names, metier_command


@metier_command("record")
@click.argument("candidate", metavar="SKILL", shell_complete=complete_names("skill"))
@click.argument("outcome", type=click.Choice(["success", "failure"]))
def command(session: Session, candidate: str, outcome: str) -> None:
    """Record how a provider did; it weighs in later resolutions.

    SKILL is a name, or the full id `name::folder`. The last 20 outcomes count.
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
    if session.as_json:
        session.print_json(facts)
        return
    if history.warning:
        session.note(f"warning: {history.warning}")
    rate, samples = history.rates[key], history.samples[key]
    session.tell(f"{key}: {rate:.0%} of the last {samples} went well")

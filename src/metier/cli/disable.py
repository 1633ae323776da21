"""`metier disable`"""

from collections.abc import Sequence

import click

from metier.cli.session import Session
from metier.cli.switch import nothing_to_do, switch_command, wanted_in, write
from metier.errors import UsageError
from metier.install.switches import SwitchPlan, Wanted, is_switched_off, loads_here, plan_off


@switch_command("disable")
@click.option("--plugin", "whole_plugin", is_flag=True, help="The whole plugin that it comes with.")
def command(
    session: Session,
    skill: str,
    host: str | None,
    for_user: bool | None,
    whole_plugin: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Switch a skill off in the settings of your hosts; 'metier enable' undoes it.

    Claude Code, Codex, Gemini CLI, opencode and OpenClaw have a switch in their settings. A skill
    of the workspace is switched off in the settings of the workspace, any other in yours, unless
    --user or --project says otherwise. Nothing else in the settings changes. The diff is printed,
    and on a terminal you are asked before it is written; without one it is written at once, and
    --dry-run only shows it.
    """
    with session.catalog() as catalog:
        known = wanted_in(session, catalog, skill, host, for_user, whole_plugin=whole_plugin)
        loading = [one for one in known if loads_here(one)]
        if not loading:
            return nothing_to_do(session, _already_off(skill, known), skill, host)
        plans: list[SwitchPlan] = []
        for one in loading:
            try:
                plans.append(plan_off(one))
            except UsageError as error:
                if host or len(loading) == 1:
                    raise
                hint = f"; {error.hint}" if error.hint else ""
                session.note_wrapped(f"warning: {error.message}{hint}")
    return write(session, plans, is_off=True, dry_run=dry_run, yes=yes) if plans else 1


def _already_off(skill: str, known: Sequence[Wanted]) -> str:
    """What to say if it is off; empty if it is not."""
    titles = ", ".join(one.host.title for one in known if is_switched_off(one))
    return f"'{skill}' is off in {titles} already" if titles else ""

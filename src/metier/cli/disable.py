"""`metier disable`"""

from collections.abc import Sequence
from functools import partial

import click

from metier.cli.session import Session
from metier.cli.switch import require_loaded, switch_command, wanted_in, write
from metier.errors import UsageError
from metier.install.switches import loads_here, plans_off


@switch_command("disable")
@click.option(
    "--plugin",
    "whole_plugin",
    is_flag=True,
    help="Switch off the whole plugin that each skill comes with.",
)
def command(
    session: Session,
    skills: Sequence[str],
    host: str | None,
    for_user: bool | None,
    whole_plugin: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Switch skills off in the settings of your hosts; 'metier enable' undoes it.

    SKILL is the name that the host uses; give the folder if several skills have that name. Claude
    Code, Codex, Gemini CLI, opencode and OpenClaw have a switch in their settings. A skill of the
    workspace is switched off in the settings of the workspace, any other in yours, unless --user or
    --project says otherwise. Nothing else in the settings changes. The diff is printed, and on a
    terminal you are asked before it is written; without one it is written at once, and --dry-run
    only shows it.
    """
    with session.catalog() as catalog:
        known = wanted_in(session, catalog, skills, host, for_user, whole_plugin=whole_plugin)
        loading = []
        for skill, found in known.items():
            require_loaded(found, skill, host)
            loading += (on := list(filter(loads_here, found)))
            if not on:
                titles = ", ".join(one.host.title for one in found)
                session.note(f"'{skill}' is already off in {titles}")
        is_alone = host is not None or len(loading) == 1
        plans = plans_off(loading, None if is_alone else partial(_warn, session))
    if loading and not plans:
        return 1
    return write(session, plans, is_off=True, dry_run=dry_run, yes=yes)


def _warn(session: Session, error: UsageError) -> None:
    hint = f"; {error.hint}" if error.hint else ""
    session.note(f"warning: {error.message}{hint}")

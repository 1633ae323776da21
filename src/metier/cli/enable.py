"""`metier enable`"""

from collections.abc import Sequence

from metier.cli.session import Session
from metier.cli.switch import require_loaded, switch_command, wanted_in, write
from metier.install.switch_record import SwitchRecord
from metier.install.switches import is_switched_off, plans_on
from metier.storage.places import user_room


@switch_command("enable")
def command(
    session: Session,
    skills: Sequence[str],
    host: str | None,
    for_user: bool | None,
    dry_run: bool,
    yes: bool,
) -> int:
    """Switch skills on again in the settings of your hosts.

    This undoes 'metier disable': settings that have not changed since are restored exactly. A
    switch that you wrote yourself is removed. The diff is printed, and on a terminal you are asked
    before it is written.
    """
    record = SwitchRecord(user_room())
    with session.catalog() as catalog:
        known = wanted_in(session, catalog, skills, host, for_user, to_enable=True)
        off = []
        for skill, found in known.items():
            require_loaded(found, skill, host)
            off += (here := list(filter(is_switched_off, found)))
            if not here:
                session.note(f"'{skill}' is not off")
        plans = plans_on(off, record)
    return write(session, plans, is_off=False, dry_run=dry_run, yes=yes)

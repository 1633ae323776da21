"""`metier enable`"""

from metier.cli.session import Session
from metier.cli.switch import nothing_to_do, switch_command, wanted_in, write
from metier.install.switch_record import SwitchRecord
from metier.install.switches import is_switched_off, loads_here, plans_on
from metier.storage.places import user_room


@switch_command("enable")
def command(
    session: Session,
    skill: str,
    host: str | None,
    for_user: bool | None,
    dry_run: bool,
    yes: bool,
) -> int:
    """Switch a skill on again in the settings of your hosts.

    This undoes 'metier disable': settings that have not changed since are restored exactly. A
    switch that you wrote yourself is removed. The diff is printed, and on a terminal you are asked
    before it is written.
    """
    record = SwitchRecord(user_room())
    with session.catalog() as catalog:
        known = wanted_in(session, catalog, skill, host, for_user)
        off = [one for one in known if is_switched_off(one)]
        plans = [plan for one in off for plan in plans_on(one, record)]
        if not plans:
            is_on = any(map(loads_here, known))
            return nothing_to_do(session, f"'{skill}' is not off" if is_on else "", skill, host)
    return write(session, plans, is_off=False, dry_run=dry_run, yes=yes)

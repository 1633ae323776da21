"""Facts about agent hosts: `model.py` says which, `known/` has one file for each host.

Light: hooks and `metier resolve` load only this and `table.py`, which is made from the files.
"""

from metier.hosts.table import HOOKS, IGNORE_THE_SWITCH

SWITCH = "disable-model-invocation"
HIDING_SWITCH = "user-invocable"
"""Keeps a skill from the user, when it is false."""
HOOKED = tuple(HOOKS)
"""Hosts that can run `metier hook HOST`."""


def host_bit(host: str | None) -> int:
    """The bit of a host in the masks of the catalog; all bits for an unknown host."""
    return 1 << HOOKED.index(host) if host in HOOKED else (1 << len(HOOKED)) - 1


def honours_the_switch(host: str | None) -> bool:
    """Whether a host obeys `disable-model-invocation`; also without a host."""
    return (host or "").strip().lower() not in IGNORE_THE_SWITCH


def nameable_to(host: str | None) -> str:
    """The condition in SQL for skills that may be named to a host; without a host, to any."""
    manual = " AND NOT manual" if honours_the_switch(host) else ""
    usable = "state = 'active' AND origin != 'untrusted' AND safe"
    return f"{usable} AND hosts & {host_bit(host)}{manual}"

"""The hosts that drop a skill, or cut what they show of it, and beyond which length."""

import re
from sys import maxsize
from typing import NamedTuple

from metier.hosts.known import HOSTS

_NAME_RULES = [
    (
        host.name,
        host.loading.longest_name if isinstance(host.loading.longest_name, int) else maxsize,
        re.compile(host.loading.name_pattern or "(?s:.*)"),
    )
    for host in HOSTS.values()
    if host.loading is not None
]
"""Hosts with the most characters and the form of a name."""


class Shown(NamedTuple):
    """How much a host that reads `when_to_use` shows of it and the description."""

    shown: int
    name: str
    title: str


ROUTING_TEXT_SHOWN = [
    Shown(host.listing.longest, host.name, host.title)
    for host in HOSTS.values()
    if "when_to_use" in host.keys and host.listing and isinstance(host.listing.longest, int)
]


def droppers_of_name(name: str) -> tuple[str, ...]:
    """The hosts that drop a skill for its name."""
    written = name.replace(" ", "-")
    return tuple(
        host for host, most, form in _NAME_RULES if len(name) > most or not form.fullmatch(written)
    )


def limited_hosts(limit: int) -> tuple[str, ...]:
    """The hosts that drop a skill with a description beyond this limit, or cut it there."""
    return tuple(
        host.name
        for host in HOSTS.values()
        if limit
        in (
            host.loading.longest_description if host.loading else None,
            host.listing.longest if host.listing else None,
        )
    )


def cut_in(together: int) -> list[Shown]:
    """The hosts that show fewer than this many characters of description and `when_to_use`."""
    return [host for host in ROUTING_TEXT_SHOWN if together > host.shown]

"""The listing in a request that a host sent, as names and texts."""

import re
from collections.abc import Iterator
from html import unescape
from itertools import repeat
from typing import Any, NamedTuple

from metier.hosts.known import HOSTS
from metier.hosts.model import SentListing
from metier.listing.recorder import Request


class Sent(NamedTuple):
    """One skill in a request."""

    name: str
    text: str
    location: str = ""


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def listing_text(host: str, requests: list[Request]) -> str:
    """The listing of the first request that has one; empty for none."""
    form = _form(host)
    texts = (text for request in requests for text in strings(request.body))
    found = next((text for text in texts if form.begin in text), "")
    return re.split(form.end, found.partition(form.begin)[2], maxsplit=1)[0]


def sent_skills(host: str, requests: list[Request]) -> list[Sent]:
    """The skills that a host listed, in its order."""
    form = _form(host)
    text = listing_text(host, requests)
    return [*_entries(form, text), *_names(form, text)]


def _form(host: str) -> SentListing:
    """How the listing of a host is found. Raises `KeyError` for a host of which it is unknown."""
    listing = HOSTS[host].listing
    if listing is None or listing.sent is None:
        raise KeyError(host)
    return listing.sent


def _entries(form: SentListing, text: str) -> Iterator[Sent]:
    for match in re.finditer(form.entry, text):
        name, about, location = (*match.groups(default=""), "", "")[:3]
        yield Sent(name, unescape(about) if form.is_escaped else about, location)


def _names(form: SentListing, text: str) -> Iterator[Sent]:
    """The skills after the entries that did not fit."""
    after = text[max(text.rfind("</skill>"), 0) :]
    for names in re.findall(form.names, after) if form.names else ():
        yield from map(Sent, names.split(", "), repeat(""))

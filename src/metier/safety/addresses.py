"""Check the addresses that secrets are sent to."""

import re
from typing import TYPE_CHECKING

from metier.core.text import printable
from metier.errors import UsageError

if TYPE_CHECKING:  # few commands need them
    from ipaddress import IPv4Address, IPv6Address
    from urllib.parse import SplitResult

_PORTS = {"http": 80, "https": 443}
_ODD = re.compile(r"[\s\\\x00-\x1f\x7f]")
"""Characters that URL parsers disagree on."""
_LONGEST = 200


def host_of(url: str) -> str:
    """The normalized `host[:port]` of an http or https address, or ""."""
    parts = _parts(url)
    if parts is None:
        return ""
    name = _without_dot(parts.hostname or "")
    shown = f"[{name}]" if ":" in name else name
    return shown if parts.port in (None, _PORTS[parts.scheme]) else f"{shown}:{parts.port}"


def is_at(url: str, host: str) -> bool:
    """Whether the address is on `host`, given as `host[:port]`."""
    scheme = url.partition(":")[0]
    wanted = host_of(f"{scheme}://{host}")
    return bool(wanted) and host_of(url) == wanted


def is_loopback_host(host: str) -> bool:
    """Whether a host, with or without a port, is localhost, 127.0.0.0/8 or ::1."""
    address = _ip(host)
    return address.is_loopback if address else _name(host) == "localhost"


def is_inner_host(host: str) -> bool:
    """Whether a host is this machine or an IP address that is not public."""
    address = _ip(host)
    return not address.is_global if address else is_loopback_host(host)


def check_address(url: str, *, plain_http: bool = False, what: str = "the address") -> None:
    """Raise `UsageError` unless it is https, or allowed plain http, without credentials."""
    parts = _parts(url)
    if parts is None:
        hint = "such as http://localhost:8080/v1"
        raise UsageError(f"{what} is not an http or https address", hint=hint)
    if "@" in parts.netloc:
        raise UsageError(f"{what} must not contain a name or password")
    host = host_of(url)
    if parts.scheme == "http" and not plain_http and not is_loopback_host(host):
        raise UsageError(
            f"{what} is plain http, which anyone between here and {shown_host(host)} can read",
            hint="use https, or name this address in your own settings",
        )


def redirected(url: str, location: str) -> str:
    from urllib.parse import urljoin

    try:
        host = host_of(urljoin(url, location))
    except ValueError:
        host = ""
    target = shown_host(host) if host else "an invalid address"
    return f"the server redirected to {target}; redirects are not followed"


def shown_host(host: str) -> str:
    return printable(host)[:_LONGEST]


def _parts(url: str) -> "SplitResult | None":
    """The parts of an http or https address with a host; None for anything else."""
    from urllib.parse import urlsplit

    if _ODD.search(url):
        return None
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0  # reading it checks it
    except ValueError:
        return None
    has_host = parts.scheme in _PORTS and has_port and _without_dot(parts.hostname or "")
    return parts if has_host else None


def _name(host: str) -> str:
    """The host in lower case, without brackets, port and trailing dot."""
    bracketed = re.match(r"\[([^\]]*)\]", host)
    if bracketed:
        return bracketed[1].lower()
    name = host.partition(":")[0] if host.count(":") == 1 else host
    return _without_dot(name.lower())


def _without_dot(name: str) -> str:
    return name.removesuffix(".")


def _ip(host: str) -> "IPv4Address | IPv6Address | None":
    import ipaddress

    try:
        return ipaddress.ip_address(_name(host))
    except ValueError:
        return None

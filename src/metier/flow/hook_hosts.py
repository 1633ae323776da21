"""The names of hosts with a hook, as callers give them."""

from metier.core.nearest import did_you_mean
from metier.errors import UsageError
from metier.hosts import HOOKED


def check_host(host: str | None) -> None:
    """Raise `UsageError` unless it is a host with a hook, or None."""
    if host is not None and host not in HOOKED:
        hint = did_you_mean(host, HOOKED, f"hosts: {', '.join(HOOKED)}")
        raise UsageError(f"'{host}' is not a host", hint=hint)

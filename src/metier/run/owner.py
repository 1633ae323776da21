"""Which process is at work on a run, and whether it still lives."""

import os
import secrets
import socket
from functools import cache

SILENT_SECONDS = 60.0
"""After so long a time without a sign a process that lives no longer counts as at work."""


@cache
def this_process() -> str:
    """A name that no other process has: machine, number, start, and a part by chance."""
    pid = os.getpid()
    return f"{_machine()}/{pid}/{_started(pid)}/{secrets.token_hex(4)}"


os.register_at_fork(after_in_child=this_process.cache_clear)


def is_gone(owner: str | None, lease: float | None, now: float) -> bool:
    """Whether the process called `owner` has ended, or has given no sign for very long.

    Where the numbers of processes are ours the system knows; of others one only knows that their
    lease has run out.
    """
    if not owner:
        return True
    machine, pid, started, _ = (*owner.rsplit("/", 3), "", "", "")[:4]
    if machine == _machine() and pid.isdigit() and started:
        has_ended = _started(int(pid)) != started
        return has_ended or (lease is not None and lease + SILENT_SECONDS < now)
    return lease is None or lease < now


@cache
def _machine() -> str:
    """The place in which a process has its number: the host since its start, and the container."""
    parts = (socket.gethostname(), _read("/proc/sys/kernel/random/boot_id"), _namespace())
    return ":".join(part for part in parts if part)


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process of this machine began, in the system's own counting; empty: unknown."""
    try:
        facts = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        return "" if facts[0] == "Z" else facts[19]  # one that is dead has no start
    except IndexError:
        return ""

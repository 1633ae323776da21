"""Which process is at work on a run, and whether it still lives."""

import os
import secrets
import socket


def this_process() -> str:
    """A name that no other process has: machine, number, start, and a part by chance."""
    pid = os.getpid()
    return f"{socket.gethostname()}/{pid}/{_started(pid)}/{secrets.token_hex(4)}"


def is_gone(owner: str | None, lease: float | None, now: float) -> bool:
    """Whether the process called `owner` has ended.

    On this machine the system knows; of others one only knows that their lease has run out.
    """
    if not owner:
        return True
    host, pid, started, _ = (*owner.rsplit("/", 3), "", "", "")[:4]
    if host == socket.gethostname() and pid.isdigit() and started:
        return _started(int(pid)) != started
    return lease is None or lease < now


def _started(pid: int) -> str:
    """When a process of this machine began, in the system's own counting; empty: unknown."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            facts = file.read().rpartition(")")[2].split()
            return "" if facts[0] == "Z" else facts[19]  # one that is dead has no start
    except (OSError, IndexError):
        return ""

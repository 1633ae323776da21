"""What hooks decided: the log that they keep, labels in it, and figures from it."""

from metier.flow.hook_failures import Failure, failed_refresh
from metier.flow.hook_figures import (
    Group,
    HeldBack,
    Statistics,
    Usage,
    Used,
    is_asked_for,
    statistics,
)
from metier.flow.hook_log import (
    Considered,
    Decision,
    Decisions,
    kill_switch,
    killed_since,
    label,
    read_decisions,
    resume,
)

__all__ = [
    "Considered",
    "Decision",
    "Decisions",
    "Failure",
    "Group",
    "HeldBack",
    "Statistics",
    "Usage",
    "Used",
    "failed_refresh",
    "is_asked_for",
    "kill_switch",
    "killed_since",
    "label",
    "read_decisions",
    "resume",
    "statistics",
]

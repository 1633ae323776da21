"""What hooks decided: the log that they keep, labels in it, and figures from it."""

from metier.decisions.figures import Group, Statistics, Usage, Used, is_asked_for, statistics
from metier.decisions.log import (
    Considered,
    Decision,
    Decisions,
    kill_switch,
    label,
    read_decisions,
    resume,
)

__all__ = [
    "Considered",
    "Decision",
    "Decisions",
    "Group",
    "Statistics",
    "Usage",
    "Used",
    "is_asked_for",
    "kill_switch",
    "label",
    "read_decisions",
    "resume",
    "statistics",
]

"""Which files the catalogue leaves out, as `metier lint` tells it."""

from collections.abc import Callable, Collection

from metier.load import Linted
from metier.values.outcomes import Exclusion, Issue


def with_fate(issue: Issue, reasons: Collection[tuple[str, str]]) -> Issue:
    """The finding; it says so when its path and message are among the reasons to leave out."""
    if (issue.path, issue.message) not in reasons or "left out" in issue.message:
        return issue
    return issue._replace(message=f"{issue.message} (left out)")


def untold(linted: Linted, wants: Callable[[Issue], bool]) -> list[Exclusion]:
    """The files that are left out, and of which no finding that is asked for says so."""
    told = {(issue.path, issue.message) for issue in linted.issues if wants(issue)}
    return [one for one in linted.left_out if (one.path, one.detail) not in told]

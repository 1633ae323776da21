"""The last line of `metier lint`: how many files and findings there are."""

from collections import Counter
from collections.abc import Sequence

from metier.core.text import counted
from metier.findings import SECURITY_CODES
from metier.flow.linted import Linted
from metier.values.outcomes import Issue

SEVERITIES = {"error": "error", "warning": "warning", "info": "note"}
"""Severities → what people read."""


def summary(
    linted: Linted,
    issues: Sequence[Issue],
    hidden: Sequence[Issue],
    *,
    new: bool = False,
    unsafe: bool = False,
    unsafe_more: int = 0,
    planned: bool = False,
) -> str:
    """How many files and findings there are, in one line; `new`: the known ones are left out.

    `hidden` are notes, of which those about security are counted too. `unsafe_more` findings are
    left alone, and --unsafe may repair them. What is repaired is left out if it is `planned`: a dry
    run has just said it, exactly.
    """
    if not linted.files:
        return "nothing to check: no skill, ability, card or agent found"
    parts = [_counts(issues, linted.files, "new " if new else "")]
    if linted.excluded:
        parts.append(f"{len(linted.excluded):,} excluded")
    fixable = 0 if planned else sum(issue.fixable for issue in issues)
    more = 0 if unsafe or planned else unsafe_more
    if fixable:
        parts.append(f"{fixable:,} can be repaired with --fix{' --unsafe' if unsafe else ''}")
    if more:
        alone = f"--fix --unsafe repairs up to {more:,}"
        parts.append(f"up to {more:,} more with --fix --unsafe" if fixable else alone)
    if hidden:
        security = sum(issue.code.startswith(SECURITY_CODES) for issue in hidden)
        about = f", {security:,} of them about security" if security else ""
        parts.append(f"{counted(len(hidden), 'note')} hidden{about} (--notes)")
    return "; ".join(parts)


def _counts(issues: Sequence[Issue], files: int, new: str) -> str:
    if not issues:
        return f"{counted(files, 'file')} checked, no {new}problems found"
    by: Counter[str] = Counter(issue.severity for issue in issues)
    found = [
        counted(by[severity], f"{new}{word}")
        for severity, word in SEVERITIES.items()
        if by[severity]
    ]
    affected = len({issue.path for issue in issues})
    return f"{counted(files, 'file')} checked: {', '.join(found)} in {counted(affected, 'file')}"

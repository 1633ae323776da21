"""Findings of an earlier text, where their lines are now."""

from collections.abc import Sequence

from metier.values.outcomes import Issue


def moved(issues: Sequence[Issue], before: str, after: str) -> list[Issue]:
    """The findings with the lines that they have in `after`; those in lines that changed are gone.

    Findings in the first line are about the file, and stay. Of equal lines the nearest counts.
    """
    if before == after or all(issue.line == 1 for issue in issues):
        return list(issues)
    old, new = before.split("\n"), after.split("\n")
    kept = [(issue, _line(issue.line, old, new)) for issue in issues]
    return [issue._replace(line=line) for issue, line in kept if line]


def _line(line: int, old: Sequence[str], new: Sequence[str]) -> int:
    """Where a line of `old` is in `new`; 0 if it is gone."""
    if line == 1:
        return 1
    text = old[line - 1] if line <= len(old) else ""
    same = [number for number, one in enumerate(new, start=1) if one == text]
    return min(same, key=lambda number: abs(number - line), default=0)

"""The best repair of each finding, one after the other."""

from collections.abc import Iterable

from metier.lint.fix import candidates, order_of
from metier.lint.fix_lines import Context
from metier.values.outcomes import Issue


def fix(raw: bytes, issues: Iterable[Issue], folder: str) -> bytes:
    """`raw` with the best repair of every finding; `folder` is the name of its folder."""
    for issue in sorted(issues, key=lambda issue: (order_of(issue), -issue.line)):
        raw = next(candidates(raw, [issue], Context(folder)), raw)
    return raw

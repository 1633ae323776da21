"""Which findings are wanted: `--select`, `--ignore` and per-file ignores."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from metier.errors import UsageError
from metier.values.codes import CODES
from metier.values.outcomes import Issue


def choose(
    issues: Iterable[Issue],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    per_file_ignores: Mapping[str, Sequence[str]],
    notes: bool = False,
) -> list[Issue]:
    """The findings that are asked for, by path, line and code.

    A code or the beginning of one counts (`FM104`, `FM`). Notes need `notes` or a selection.
    """
    for wanted in (
        *select,
        *ignore,
        *(code for codes in per_file_ignores.values() for code in codes),
    ):
        _refuse_unknown(wanted)
    kept = [
        issue
        for issue in issues
        if (issue.code.startswith(tuple(select)) if select else notes or issue.severity != "info")
        and not (ignore and issue.code.startswith(tuple(ignore)))
        and not _is_ignored_in_file(issue, per_file_ignores)
    ]
    return sorted(kept, key=lambda issue: (issue.path, issue.line, issue.column, issue.code))


def _is_ignored_in_file(issue: Issue, per_file_ignores: Mapping[str, Sequence[str]]) -> bool:
    return any(
        issue.code.startswith(tuple(codes)) and fnmatchcase(issue.path, pattern)
        for pattern, codes in per_file_ignores.items()
        if codes
    )


def _refuse_unknown(wanted: str) -> None:
    if not wanted or not any(code.startswith(wanted) for code in CODES):
        families = ", ".join(sorted({code[:2] for code in CODES}))
        raise UsageError(
            f"no finding has the code '{wanted}'",
            hint=f"families: {families}; metier explain lists all",
        )

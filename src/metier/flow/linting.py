"""Which findings are wanted: `--select`, `--ignore` and per-file ignores."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple

from metier.findings import CODES
from metier.values.outcomes import Issue


class Choice(NamedTuple):
    """What is asked for. A code or the beginning of one counts: `FM104`, `FM`."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, Sequence[str]] = MappingProxyType({})
    """Patterns of paths in the workspace, and what to ignore there."""
    notes: bool = False
    """Whether notes count that are not selected by their code."""
    users: "Choice | None" = None
    """What the user wants, where a workspace has no say; None: the same."""

    def of_user(self) -> "Choice":
        """The choice for findings that no workspace may turn off."""
        return self.users or self

    def wants(self, issue: Issue, path: str) -> bool:
        """Whether `issue`, in the file at `path` of the workspace, is asked for."""
        code = issue.code
        if self.select:
            wanted = code.startswith(self.select)
        else:
            wanted = self.notes or issue.severity != "info"
        return (
            wanted
            and not code.startswith(self.ignore or ("-",))
            and not any(
                code.startswith(tuple(codes)) and fnmatchcase(path, pattern)
                for pattern, codes in self.per_file_ignores.items()
            )
        )


def unknown_code(codes: Iterable[str]) -> str | None:
    """The first of `codes` that no finding's code begins with."""
    return next(
        (one for one in codes if not one or not any(code.startswith(one) for code in CODES)), None
    )

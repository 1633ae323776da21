"""Which findings are wanted: by codes, by paths, by severity."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple

from metier.config import Config
from metier.errors import ConfigError
from metier.findings import CODES, OWN_FAMILY
from metier.values.outcomes import Issue


class Choice(NamedTuple):
    """Which findings are wanted, by their codes or the beginnings of codes."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, Sequence[str]] = MappingProxyType({})
    """Patterns of paths in the workspace, and what to ignore there."""
    notes: bool = False
    """Whether to include notes that are not selected by their code."""
    users: "Choice | None" = None
    """The user's choice, where the workspace has none."""

    def wants(self, issue: Issue, path: str) -> bool:
        """Whether `issue`, in the file at `path` of the workspace, is wanted."""
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


def choice_of(
    config: Config,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    *,
    notes: bool = False,
) -> Choice:
    """What the settings choose; a given `select` or `ignore` takes the place of theirs."""
    users = None
    if config.users_lint is not None:
        own = config.users_lint
        users = Choice(
            select or own.select, ignore or own.ignore, dict(own.per_file_ignores), notes
        )
    return Choice(
        select or config.lint_select,
        ignore or config.lint_ignore,
        config.per_file_ignores,
        notes,
        users,
    )


def unknown_code(codes: Iterable[str]) -> str | None:
    """The first of `codes` that no finding's code begins with; user-defined rules may have any."""
    return next((one for one in codes if not one or not _is_known(one)), None)


def known_families() -> str:
    families = ", ".join(sorted({code[:2] for code in CODES}))
    return f"families: {families}; metier explain lists all"


def check_codes(config: Config) -> None:
    """Raise `ConfigError` for a code in the settings that no finding has."""
    per_file = [code for codes in config.per_file_ignores.values() for code in codes]
    wrong = unknown_code((*config.lint_select, *config.lint_ignore, *per_file))
    if wrong is not None:
        where = ", ".join(config.sources) or "environment"
        raise ConfigError(f"unknown code '{wrong}'", where=where, hint=known_families())


def _is_known(beginning: str) -> bool:
    return beginning.startswith(OWN_FAMILY) or any(code.startswith(beginning) for code in CODES)

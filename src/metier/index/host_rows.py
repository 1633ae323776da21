"""Skills as hosts look at them: every file of the catalog, shadowed and excluded ones too."""

from operator import attrgetter
from typing import NamedTuple

from metier.index.store import Store

_SELECT = """
    SELECT path, file, plugin, name, description, when_to_use, manual, reason, also, rank,
        iif(issues = '[]', '', issues)
    FROM document WHERE +kind = 'skill'
"""
"""Nearly all documents are skills: reading the table in its own order is fastest."""
UNNAMED = '"SK301"'
_UNDESCRIBED, _NO_YAML, _HAS_COLON = '"SK304"', '"FM103"', '"FM104"'


class HostRow(NamedTuple):
    """One SKILL.md."""

    path: str
    file: str
    plugin: str
    name: str
    """Empty if the file could not be read."""
    description: str
    when_to_use: str
    manual: int
    reason: str
    also: str
    rank: int
    """Of its source: the first counts most."""
    issues: str
    """As JSON; empty for none."""

    @property
    def unnamed(self) -> bool:
        """Whether the name is the folder's."""
        return UNNAMED in self.issues

    @property
    def undescribed(self) -> bool:
        """Whether the description is the first paragraph."""
        return _UNDESCRIBED in self.issues

    @property
    def no_yaml(self) -> bool:
        """Whether its front matter is not valid YAML."""
        return _NO_YAML in self.issues

    @property
    def has_colon(self) -> bool:
        """Whether a value that is not quoted holds a colon and a space."""
        return _HAS_COLON in self.issues

    @property
    def is_odd(self) -> bool:
        """Whether more than its location decides what hosts make of it."""
        return bool(self.manual or self.also) or any(
            code in self.issues for code in (UNNAMED, _UNDESCRIBED, _NO_YAML, _HAS_COLON)
        )

    @property
    def others(self) -> tuple[str, ...]:
        """Other paths of the same file."""
        return tuple(self.also.split("\0")) if self.also else ()


def host_row(store: Store, path: str) -> list[HostRow]:
    """The SKILL.md at that path, if there is one."""
    return list(map(HostRow._make, store.rows(f"{_SELECT} AND path = ?", (path,))))


def host_rows(store: Store) -> list[HostRow]:
    """Every SKILL.md, by source, then by path."""
    rows = sorted(map(HostRow._make, store.rows(_SELECT)), key=attrgetter("path"))
    rows.sort(key=attrgetter("rank"))
    return rows

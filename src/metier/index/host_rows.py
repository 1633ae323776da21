"""Skills as hosts look at them: every file of the catalog, shadowed and excluded ones too."""

from operator import attrgetter
from typing import NamedTuple

from metier.index.store import Store

_SELECT = """
    SELECT path, file, source, plugin, name, description, when_to_use, manual, reason, sha256, also,
        instr(issues, '"SK301"'), instr(issues, '"SK304"'), rank,
        instr(issues, '"FM103"'), instr(issues, '"FM104"')
    FROM document WHERE +kind = 'skill'
"""
"""Nearly all documents are skills: reading the table in its own order is fastest."""


class HostRow(NamedTuple):
    """One SKILL.md."""

    path: str
    file: str
    source: str
    plugin: str
    name: str
    """Empty if the file could not be read."""
    description: str
    when_to_use: str
    manual: int
    reason: str
    sha256: str
    also: str
    unnamed: int
    """Whether the name is the folder's."""
    undescribed: int
    """Whether the description is the first paragraph."""
    rank: int
    """Of its source: the first counts most."""
    no_yaml: int = 0
    """Whether its front matter is no valid YAML."""
    has_colon: int = 0
    """Whether a value that is not quoted holds a colon and a space."""

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

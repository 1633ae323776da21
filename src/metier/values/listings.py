"""What the catalog keeps of a walk, of a row that changes, and of a review."""

from collections.abc import Sequence
from typing import Literal, NamedTuple


class Standing(NamedTuple):
    """What the user's review record says of a skill as it is now."""

    state: Literal["reviewed", "changed", "held", "blocked"]
    """`changed`: modified since it was reviewed, and still used; `blocked`: by its source."""
    detail: str = ""
    sha256: str = ""
    """Of the `SKILL.md` that this is about."""
    problem: str = ""
    """Why not all of its files could be hashed; else empty."""


class Stored(NamedTuple):
    """A row that is about to change or go."""

    key: int
    handle: str
    sha256: str
    name: str
    description: str
    when_to_use: str
    path: str


class Trail(NamedTuple):
    """What walks looked at: while it is unchanged, they would find the same files."""

    key: str
    found: int
    parts: Sequence[tuple[str, bytes, bytes]]
    """A folder, paths in it, joined by NUL, and the time of the last change of each, packed."""
    absent: Sequence[str]
    links: dict[str, str]

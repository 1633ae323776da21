"""The four kinds of document, and the steps of a file's way into the catalogue."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from metier.core.names import canonical_id
from metier.values.agents import AgentProfile
from metier.values.outcomes import Issue

Kind = Literal["skill", "ability", "card", "agent"]
KINDS: tuple[Kind, ...] = ("skill", "ability", "card", "agent")
PLURAL: dict[Kind, str] = {
    "skill": "skills",
    "ability": "abilities",
    "card": "cards",
    "agent": "agents",
}

KeyPath = tuple[str | int, ...]
"""Where a value stands in front matter: `("triggers", "keywords", 0)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One folder to look through, for one kind of document."""

    kind: Kind
    path: str
    """Absolute, symlinks resolved."""
    boundary: str
    """The folder that no symlink below `path` may leave."""
    label: str
    """`workspace`, a host's name, or the label of a mount."""
    rank: int
    """Source order: lower wins when names collide."""
    prefix: str = ""
    """What stands before the relative path of everything below, `""` inside the workspace."""
    only: str = ""
    """The one file in it that is wanted, by name; all when empty."""


class Found(NamedTuple):
    """One file that discovery met, before anything is read.

    The first six fields are its stamp: a file is read again when one of them has changed.
    """

    kind: Kind
    path: str
    """POSIX, relative to the workspace (or `<label>/…`); the key of the file."""
    rank: int
    size: int
    mtime_ns: int
    refused: str
    """Why it is refused already: `unreadable`, `outside-root`, `too-large`; else empty."""
    file: str
    """What to open."""
    source: str
    inode: int
    code: str = ""
    """The issue that says why it is refused."""
    detail: str = ""

    @property
    def stamp(self) -> tuple[object, ...]:
        return self[:6]


class Matter(NamedTuple):
    """A text taken apart: front matter, body, and where each value stands."""

    data: dict[str, Any]
    body: str
    body_line: int
    """The line on which the body starts, counted from 1."""
    position: Callable[[KeyPath], tuple[int, int]]
    """Line and column of a value, or of the nearest thing around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One SKILL.md."""

    name: str
    description: str
    path: str
    """The file, as it is shown to people."""
    capabilities: tuple[str, ...] = ()
    """Its `capabilities` list, then the `P(...)` of its contract; as written, each once."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The whole front matter, unknown keys included."""
    body: str = ""

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0] or "."

    @property
    def id(self) -> str:
        return canonical_id(self.name, self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """Knowledge that is put before a prompt (spec 1)."""

    ability_id: str
    content: str = ""
    display_name: str = ""
    version: str = ""
    description: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    author: str = ""
    source: str = ""
    last_updated: str = ""
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    applicable_to: tuple[str, ...] = ()
    exclude_from: tuple[str, ...] = ()
    priority: int = 50
    enabled: bool = True
    path: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The front matter in the spec's spelling."""

    @property
    def id(self) -> str:
        return self.ability_id

    @property
    def name(self) -> str:
        return self.display_name or self.ability_id

    @property
    def body(self) -> str:
        return self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A capability card: text for the moment when its keywords come up (spec 5)."""

    id: str
    name: str
    description: str
    keywords: tuple[str, ...]
    session_types: tuple[str, ...] = ()
    """Empty means all."""
    confidence_threshold: float = 0.6
    priority: int = 10
    estimated_tokens: int = 0
    """The author's claim; the size is measured."""
    version: str = ""
    enabled: bool = True
    path: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The front matter in the spec's spelling."""
    body: str = ""


Document = Skill | Ability | Card | AgentProfile


class Parsed(NamedTuple):
    """What parsing one text gave."""

    document: Document | None
    """None when the text gives no document of its kind."""
    matter: Matter | None
    issues: Sequence[Issue]


class Entry(NamedTuple):
    """One file on its way into the catalogue: read, parsed and linted."""

    found: Found
    sha256: str
    document: Document | None
    issues: Sequence[Issue]
    reason: str = ""
    """Why it is left out; empty for a usable document."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Files on disk, and how to read one of them. Nothing has been read yet."""

    found: Sequence[Found]
    read: Callable[[Found], Entry]
    fingerprint: str = ""
    """Changes when every file has to be read again: other settings, another parser."""

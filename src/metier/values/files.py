"""Files for the catalog: found, read, parsed, linted; and the teams whose folders they are in.

Light: a refresh with nothing to read imports this module and no document kind.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from metier.core.coerce import is_switched_off
from metier.core.names import team_name
from metier.values.trust import NOTHING

if TYPE_CHECKING:
    from metier.hosts.loading import Yaml
    from metier.values.documents import Document
    from metier.values.listings import Standing, Trail
    from metier.values.outcomes import Issue

Kind = Literal["skill", "ability", "card", "agent"]
KINDS: tuple[Kind, ...] = ("skill", "ability", "card", "agent")
PLURAL: dict[Kind, str] = {
    "skill": "skills",
    "ability": "abilities",
    "card": "cards",
    "agent": "agents",
}
KIND_OF: dict[str, Kind] = {word: kind for kind in KINDS for word in (kind, PLURAL[kind])}
LARGEST: dict[Kind, int] = {
    "skill": 1 << 20,
    "ability": 1 << 20,
    "card": 50 * 1024,
    "agent": 1 << 20,
}
"""In bytes."""
SKILL_NAMES = frozenset(
    stem + suffix for stem in ("SKILL", "skill") for suffix in (".md", ".MD", ".Md", ".mD")
)
NOT_ENTERED = frozenset(
    {
        ".git", ".hg", ".svn", ".metier", ".dci", ".venv", "venv", "virtualenv", "node_modules",
        "site-packages", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache",
        ".ruff_cache", ".hypothesis", ".direnv",
    }
)  # fmt: skip

SourceGroup = Literal["workspace", "user", "plugins", "mounts"]
"""Sources that are trusted alike, unless the settings name one of them."""
Origin = Literal["user", "workspace", "untrusted"]
"""Whose document it is: the user's, a trusted or an untrusted workspace's."""
UNTRUSTED_RANK = 10_000
"""Added to the rank of untrusted documents, so that they come after all others."""

KeyPath = tuple[str | int, ...]
"""The position of a value in front matter: `("triggers", "keywords", 0)`."""


class Team(NamedTuple):
    """The team of a folder; its skills are also called `team/name`."""

    name: str = ""
    folder: str = ""
    """POSIX, relative to the workspace."""
    owner: str = ""
    disabled: tuple[str, ...] = ()
    """Names or ids of its documents that are excluded."""


NO_TEAM = Team()


def team_of(path: str, by_folder: Mapping[str, Team]) -> Team:
    """The team of the innermost folder around a file."""
    while (slash := path.rfind("/")) > 0:
        path = path[:slash]
        if path in by_folder:
            return by_folder[path]
    return NO_TEAM


class Root(NamedTuple):
    """A folder to search for documents of a kind."""

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
    """Prepended to every path below; empty inside the workspace."""
    only: str = ""
    """Empty for all files."""
    is_link: bool = False
    """Whether `only` is a link beside or around skills, which is followed as in a walk."""
    origin: Origin = "workspace"
    """That of documents below another workspace's root is untrusted."""
    links: Mapping[str, str] = NOTHING
    """Links that may leave the boundary → target."""
    group: SourceGroup = "workspace"


class Found(NamedTuple):
    """A file that discovery found; another size, time, rank or plugin means reading it again."""

    kind: Kind
    path: str
    """POSIX, relative to the workspace (or `<label>/…`); the key of the file."""
    rank: int
    size: int
    mtime_ns: int
    excluded: str
    """Why it is excluded unread: `unreadable`, `outside-root`, `too-large`; else empty."""
    file: str
    source: str
    inode: int
    code: str = ""
    detail: str = ""
    ctime_ns: int = 0
    origin: Origin = "workspace"
    plugin: str = ""
    """Its plugin; its name is `plugin:name`."""
    team: Team = NO_TEAM
    also: tuple[str, ...] = ()
    """Other paths of the same file, by way of links."""
    group: SourceGroup = "workspace"
    folder: str = ""
    """The folder of a document that is a link to a file; else that of its file."""
    standing: "Standing | None" = None
    """None if its source is always trusted."""


class Matter(NamedTuple):
    """A parsed text: front matter, body, and the position of each value."""

    data: dict[str, Any]
    body: str
    body_line: int
    position: Callable[[KeyPath], tuple[int, int]]
    """Line and column of a value, or of the nearest value around it."""
    unread: frozenset[str] = frozenset()
    """Keys whose value is not YAML and kept as text."""


class Parsed(NamedTuple):
    document: "Document | None"
    matter: Matter | None
    issues: Sequence["Issue"]


class Entry(NamedTuple):
    """A file that was read, parsed and linted."""

    found: Found
    sha256: str
    document: "Document | None"
    issues: Sequence["Issue"]
    reason: str = ""
    card_text: str = ""
    yaml: "Yaml" = "valid"
    """What hosts make of a skill's front matter."""
    body_line: int = 1
    """The line of the file that the body starts on."""

    @property
    def handle(self) -> str:
        """A skill's name, after its team's if it has one; the id of any other document."""
        if self.document is None:
            return ""
        if self.found.kind != "skill":
            return self.document.id
        return team_name(self.found.team.name, self.document.name)

    @property
    def is_off(self) -> bool:
        document = self.document if self.found.kind == "skill" else None
        return document is not None and is_switched_off(document.data)

    @property
    def capabilities(self) -> tuple[str, ...]:
        return getattr(self.document, "capabilities", ()) if self.found.kind == "skill" else ()


class Named(NamedTuple):
    """A document, and every name by which the settings may mean it."""

    kind: Kind
    team: str
    names: Sequence[str]


class Reading(NamedTuple):
    """Files on disk, and how to read them. Nothing has been read yet."""

    found: Sequence[Found]
    read: Callable[[Found], Entry]
    fingerprint: str = ""
    """Changes when every file must be read again: other settings, another parser."""
    trail: "Callable[[int], Trail | None] | None" = None
    """The trail of a walk that began at that time, if it is reliable."""
    followed: "Trail | None" = None
    """The trail that was unchanged; nothing was listed then."""

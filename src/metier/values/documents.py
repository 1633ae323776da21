"""The four kinds of document."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metier.core.names import canonical_id
from metier.values.agents import AgentProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One SKILL.md."""

    name: str
    description: str
    path: str
    """The file, as it is shown to people."""
    folder_name: str = ""
    """The name of its folder; empty at the root of a workspace."""
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

"""The four kinds of document."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from metier.core.coerce import integer_of, text_of, texts_of
from metier.core.text import words
from metier.values.skills import Skill as Skill

if TYPE_CHECKING:  # most documents are skills
    from metier.values.agents import AgentProfile

SHORTEST_KEYWORD = 3
"""Characters of a word of a task that is matched with abilities."""


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
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    words: frozenset[str] = field(init=False, repr=False, compare=False)
    """The long words of its content."""
    label_words: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        distinct = frozenset(words(self.content))
        long = frozenset([word for word in distinct if len(word) >= SHORTEST_KEYWORD])
        object.__setattr__(self, "words", long)
        labels = " ".join((*self.tags, self.category))
        object.__setattr__(self, "label_words", frozenset(words(labels)))

    @classmethod
    def of(cls, data: dict[str, Any], content: str, path: str = "") -> "Ability":
        """The ability with these fields, in the spec's spelling; a wrong type is the default."""
        return cls(
            ability_id=text_of(data.get("abilityId")),
            content=content,
            display_name=text_of(data.get("displayName")),
            version=text_of(data.get("version")),
            description=text_of(data.get("description")),
            category=text_of(data.get("category")),
            tags=texts_of(data.get("tags")),
            author=text_of(data.get("author")),
            source=text_of(data.get("source")),
            last_updated=text_of(data.get("lastUpdated")),
            requires=texts_of(data.get("requires")),
            conflicts=texts_of(data.get("conflicts")),
            applicable_to=texts_of(data.get("applicableTo")),
            exclude_from=texts_of(data.get("excludeFrom")),
            priority=integer_of(data.get("priority"), 50),
            enabled=data.get("enabled") is not False,
            path=path,
            data=data,
        )

    def applies_to(self, agent: str) -> bool:
        if agent in self.exclude_from:
            return False
        named = self.applicable_to
        return not named or agent in named or "*" in named

    @property
    def id(self) -> str:
        return self.ability_id

    @property
    def name(self) -> str:
        return self.display_name if self.display_name.strip() else self.ability_id

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
    """Empty means all, as with the three lists below."""
    time_of_day: tuple[str, ...] = ()
    user_tier: tuple[str, ...] = ()
    environment_type: tuple[str, ...] = ()
    match: str = "substring"
    """`substring` or `word`."""
    confidence_threshold: float = 0.6
    priority: float = 10
    estimated_tokens: int = 0
    version: str = ""
    enabled: bool = True
    path: str = ""
    sha256: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""


Document: TypeAlias = Union[Skill, Ability, Card, "AgentProfile"]

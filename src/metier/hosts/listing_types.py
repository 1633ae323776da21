"""What goes into a listing, and what comes out: skills, entries, the listing, its rule."""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

Scope = Literal["own", "system", "admin", "plugin", "user", "project"]
"""Where a skill comes from; `own` skills are parts of the host's program."""
State = Literal["whole", "cut", "no-text", "invisible"]
Unit = Literal["characters", "tokens"]


class Skill(NamedTuple):
    """A skill that a host loads."""

    name: str
    """From its front matter; empty for none."""
    folder: str
    """The name of its folder."""
    description: str | None
    path: str
    """Of its SKILL.md."""
    root: str = ""
    """The folder of skills in which the host found it."""
    scope: Scope = "project"
    when_to_use: str = ""
    uses: float = 0
    """How much it was used, as the host counts: see `claude_weight`."""
    is_fixed: bool = False
    """Whether the host never takes its text away, as Claude Code with most of its own."""


class Shown(NamedTuple):
    """A skill as the model sees it."""

    skill: Skill
    name: str
    text: str
    state: State
    length: int = 0
    """Characters of its whole text."""


def unseen(skill: Skill) -> Shown:
    return Shown(skill, "", "", "invisible")


class Listing(NamedTuple):
    """What a host shows the model."""

    entries: tuple[Shown, ...]
    """In the host's order; invisible ones keep their position."""
    used: int
    budget: int | None
    """None if the host has no limit."""
    unit: Unit
    lines: tuple[str, ...]
    """As the model sees it, without the host's own words around it."""
    needed: int = 0
    """What it would take without a limit."""

    def rendered(self) -> str:
        return "\n".join(self.lines)

    @property
    def lost(self) -> tuple[Shown, ...]:
        """Entries of which the model does not see the whole text."""
        return tuple(entry for entry in self.entries if entry.state != "whole")


def first_of_each(skills: Iterable[Skill], key: Callable[[Skill], str]) -> dict[str, Skill]:
    """The first skill of each key."""
    found: dict[str, Skill] = {}
    for skill in skills:
        found.setdefault(key(skill), skill)
    return found


class Rule(NamedTuple):
    """How a host lists skills."""

    shows: Callable[[list[Skill], int], Listing]
    """The listing within a budget."""
    budget: Callable[[int | None], int] | None = None
    """The budget for a context of this many tokens; None for a host without a limit."""

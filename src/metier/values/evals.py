"""Evaluation cases: a task, and what should come for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

KINDS = ("skills", "agents", "cards")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    """A task and what its author expects. Names are as written in the file."""

    task: str
    skills: Sequence[str] = ()
    """Skills that are right: at least one of them should be named, or each with `every`."""
    not_skills: Sequence[str] = ()
    """Skills that must not be named."""
    agents: Sequence[str] = ()
    cards: Sequence[str] = ()
    nothing: bool = False
    """No skill at all should be named."""
    every: bool = False
    most: int | None = None
    """The most skills that may be named."""
    training: bool = False
    """The case teaches; it is not scored by a model that learnt from it."""
    file: str = ""
    number: int = 0
    """Its place in the file, from 1."""
    source: str = ""
    """Where a drafted case comes from, e.g. `fired`."""
    tags: Sequence[str] = field(default=())

    @property
    def is_positive(self) -> bool:
        """Whether something should be named."""
        return bool(self.skills)

    def to_json(self) -> dict[str, Any]:
        """The case in our own format, without what is empty."""
        found: dict[str, Any] = {"task": self.task}
        for key, value in (
            ("skills", list(self.skills)),
            ("notSkills", list(self.not_skills)),
            ("agents", list(self.agents)),
            ("cards", list(self.cards)),
            ("nothing", self.nothing),
            ("every", self.every),
            ("most", self.most),
            ("training", self.training),
            ("source", self.source),
            ("tags", list(self.tags)),
        ):
            if value:
                found[key] = value
        return found

"""Skills that compete for the same tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """A task of one skill for which another fires too."""

    task: str
    skill: str
    """The skill that the task is for, by its own text."""
    rival: str
    is_ahead: bool
    """Whether the rival comes before the skill, or instead of it."""

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "skill": self.skill,
            "rival": self.rival,
            "isAhead": self.is_ahead,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Words to write into the description of a skill."""

    skill: str
    add: Sequence[str] = ()
    """Words to add."""
    not_for: Sequence[str] = ()
    """Words for a clause that says "Not for …"."""

    def to_json(self) -> dict[str, Any]:
        return {"skill": self.skill, "add": list(self.add), "notFor": list(self.not_for)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapPair:
    """Two skills that overlap."""

    first: str
    second: str
    paths: tuple[str, str]
    overlap: float
    """0 is nothing in common, 1 the same text."""
    words: float
    """The share of the evidence of words that both have."""
    meaning: float
    """The cosine of their meanings."""
    shared: Sequence[str]
    """The words that both have, the rarest first."""
    collisions: Sequence[Collision] = ()
    edits: Sequence[Edit] = ()
    """The fewest words that help; empty if no task collides, or none do."""
    separates: bool = False
    """Whether no task collides after the edits; else each skill comes first for its own."""

    @property
    def advice(self) -> str:
        """What to do; where there are edits, they do it."""
        if not self.collisions:
            return "no task of theirs collides"
        if self.edits:
            return "to separate them" if self.separates else "to put each first for its own tasks"
        if any(one.is_ahead for one in self.collisions):
            return "no small edit separates them: merge them, or rewrite one"
        return "each comes first for its own tasks; no small edit silences the other"

    def to_json(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "paths": list(self.paths),
            "overlap": self.overlap,
            "words": self.words,
            "meaning": self.meaning,
            "shared": list(self.shared),
            "collisions": [one.to_json() for one in self.collisions],
            "edits": [one.to_json() for one in self.edits],
            "separates": self.separates,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SameText:
    """Skills with exactly the same text."""

    names: Sequence[str]
    paths: Sequence[str]
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"names": list(self.names), "paths": list(self.paths), "text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Skills that overlap, each with at least one other of them."""

    names: Sequence[str]
    words: Sequence[str]
    """Rare words that most of them have."""
    highest: float
    """The highest overlap of two of them."""

    def to_json(self) -> dict[str, Any]:
        return {"names": list(self.names), "words": list(self.words), "highest": self.highest}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How far the skills of a catalog overlap."""

    skills: int
    """How many were compared."""
    least: float
    """The least overlap of a pair that counts."""
    same: Sequence[SameText]
    pairs: Sequence[OverlapPair]
    """The pairs that overlap most; of skills with the same text the first represents all."""
    overlaps: Sequence[float]
    """Of all pairs that count, the highest first."""
    clusters: Sequence[Cluster]
    compared: Sequence[str] = ()
    """The named skills that were compared; not part of the JSON."""
    notes: Sequence[str] = ()

    @property
    def highest(self) -> float:
        """1 for the same text; 0 if no pair counts."""
        return 1.0 if self.same else max(self.overlaps, default=0.0)

    def above(self, most: float) -> int:
        """How many pairs and texts that skills share overlap by more than `most`."""
        return sum(one > most for one in self.overlaps) + (len(self.same) if most < 1 else 0)

    def to_json(self) -> dict[str, Any]:
        return {
            "schemaVersion": "1",
            "skills": self.skills,
            "least": self.least,
            "highest": self.highest,
            "pairCount": len(self.overlaps),
            "same": [one.to_json() for one in self.same],
            "pairs": [one.to_json() for one in self.pairs],
            "clusters": [one.to_json() for one in self.clusters],
            "notes": list(self.notes),
        }

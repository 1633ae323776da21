"""A Dependent Capability contract (spec 4) as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

Mode = Literal["strict", "best-effort"]
MODES: tuple[Mode, ...] = get_args(Mode)


class Doubt(NamedTuple):
    """A part of a contract that best-effort accepts and strict rejects."""

    position: int
    """The offset of the invalid character."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a skill provides and requires, clause by clause."""

    mode: Mode = "best-effort"
    provides: tuple[str, ...] = ()
    """`P(...)`: as written, repetitions and invalid tokens included."""
    expects: tuple[str, ...] = ()
    accepts: Mapping[str, str] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    policy: Mapping[str, str] = field(default_factory=dict)
    unknown_clauses: tuple[str, ...] = field(default=(), compare=False)
    doubts: tuple[Doubt, ...] = field(default=(), compare=False)

"""Candidates with their figures, and the order of those that have examples. Light."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from metier.core.word_table import Vector

OWN_EVIDENCE, CHANCE_EVIDENCE = 0.25, 8.0
"""What counts of a document with examples beside its chance, and what the chance adds."""
CLEAR_CHANCE = 0.3
"""From which on a document is likely, and words are not needed."""
_A_LITTLE = 1e-6


class Document:
    """What is stored of a document to rank it."""

    __slots__ = ("body", "body_words", "key", "name_terms", "path", "vector")

    def __init__(
        self,
        key: int,
        path: str,
        name_terms: Sequence[str],
        vector: Vector | None,
        body: str,
        body_words: int,
    ) -> None:
        self.key = key
        self.path = path
        self.name_terms = name_terms
        self.vector = vector
        self.body = body
        """Its words in lower case, each between spaces."""
        self.body_words = body_words


class Ranked:
    """A candidate with its figures."""

    __slots__ = (
        "chance", "cosine", "document", "evidence", "is_by_parts", "is_chatter", "matched", "near",
        "related", "score", "share", "words",
    )  # fmt: skip

    def __init__(self, document: Document) -> None:
        self.document = document
        self.words = 0.0
        """The weight of the words of the task that it has, and of related words."""
        self.share = 0.0
        self.cosine = 0.0
        self.matched = 0
        """Words of the task that it has outside its body, asking words not counted. The parts of
        an identifier are one, unless it has the whole of it or they are its name."""
        self.near: list[str] = []
        """Related terms that it has."""
        self.related = 0.0
        """Their evidence."""
        self.evidence = 0.0
        self.score = 0.0
        self.chance: float | None = None
        """By its examples; None if it has none."""
        self.is_by_parts = False
        """Whether the task is one identifier: the meaning of its parts is not that of a text."""
        self.is_chatter = False
        """Whether it has examples, and the task is only small talk."""


def ordered_by_chance(found: list[Ranked], *, only_asks: bool) -> list[Ranked]:
    """Documents with examples change places among themselves; likely ones rise by evidence."""
    taught = [(one.chance, one) for one in found if one.chance is not None]
    scores = sorted((one.score for _, one in taught), reverse=True)
    taught.sort(key=lambda pair: (-pair[0], -pair[1].score, pair[1].document.path))
    for score, (chance, one) in zip(scores, taught, strict=True):
        one.score = score
        one.is_chatter = only_asks
        one.evidence = round(OWN_EVIDENCE * one.evidence + CHANCE_EVIDENCE * chance, 6)
    _raise_likely([one for _, one in reversed(taught)], found)
    found.sort(key=lambda one: (-one.score, one.document.path))
    return found


def _raise_likely(taught: Sequence[Ranked], found: Sequence[Ranked]) -> None:
    """Put likely documents above all that have less evidence, and keep their order."""
    lowest = float("-inf")
    for one in taught:
        if (one.chance or 0.0) >= CLEAR_CHANCE:
            below = max(other.score for other in found if other.evidence <= one.evidence)
            one.score = round(max(one.score, below, lowest) + _A_LITTLE, 6)
        lowest = max(lowest, one.score)

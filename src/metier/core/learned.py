"""What examples teach: how likely a task belongs to each document that has examples. Light.

    chance of a document = exp z / (exp NOTHING + Σ exp z of all documents with examples)
    z = what the task's words and pairs of words speak for it, by their length,
        + what the task's meaning speaks for it

`index.fitting` finds the numbers; they are whole numbers, the same on every machine.
"""

from __future__ import annotations

from math import exp, sqrt
from operator import mul

from metier.core.terms import parts_of, raw_words
from metier.core.word_table import dot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metier.core.word_table import Vector

MOST_DOCUMENTS = 500
"""The documents of one logistic model; with more, each is compared with its mean example."""
MOST_WORDS = 64
"""The words of a task or an example that count."""
NOTHING = 3.0
"""What speaks for no document at all."""
PAIR = 0.5
"""What a pair of words weighs beside a single word."""
UNIT = 1 << 9
"""The length of a text's words, and of its meaning, as whole numbers."""
STEP = 1 << 16
"""Whole numbers that make 1 in a fitted model."""


def grams(text: str) -> list[str]:
    """The words of a text, stop words included, then its pairs of words; each once."""
    words: list[str] = []
    for word in raw_words(text[: 40 * MOST_WORDS])[:MOST_WORDS]:
        words += parts_of(word).plain or (word.lower(),)
    pairs = [f"{one} {other}" for one, other in zip(words, words[1:], strict=False)]  # noqa: RUF007  # loads no more
    return list(dict.fromkeys([*words, *pairs]))


def direction(vector: Vector | None, mean: Vector) -> list[float]:
    """A meaning seen from the mean of the examples, of length 1; zeros if there is none."""
    if vector is None:
        return [0.0] * len(mean)
    seen = [number - middle for number, middle in zip(vector, mean, strict=True)]
    length = sqrt(dot(seen, seen))
    return [number / length if length else 0.0 for number in seen]


class Model:
    """A fitted model, without its words: `words` looks those of a task up."""

    def __init__(
        self,
        keys: Sequence[int],
        mean: Vector,
        directions: Sequence[Vector],
        unknown: int,
        scale: float,
        is_logistic: bool,
    ) -> None:
        self.keys = keys
        """The documents."""
        self.mean = mean
        self.directions = directions
        """Of each document, what meaning speaks for it."""
        self.unknown = unknown
        """The weight of a word that no example has."""
        self.scale = scale
        self.is_logistic = is_logistic

    def chances(
        self,
        wanted: Sequence[str],
        words: Mapping[str, tuple[int, Vector]],
        vector: Vector | None,
    ) -> dict[int, float]:
        """Key → chance, for grams of a task, what is stored of them, and the task's meaning."""
        if not wanted:
            return {}
        spoken = self._by_words(wanted, words)
        own = direction(vector, self.mean)
        if any(own):
            rows = zip(spoken, self.directions, strict=True)
            spoken = [number + sum(map(mul, row, own)) for number, row in rows]
        z = [number * self.scale for number in spoken]
        highest = max([NOTHING, *z])
        parts = [exp(number - highest) for number in z]
        whole = sum(parts) + exp(NOTHING - highest)
        return {key: round(part / whole, 6) for key, part in zip(self.keys, parts, strict=True)}

    def _by_words(
        self, wanted: Sequence[str], words: Mapping[str, tuple[int, Vector]]
    ) -> list[float]:
        totals: list[float] = [0] * len(self.keys)
        square = 0.0
        for gram in wanted:
            weight, row = words.get(gram, (0, ()))
            if not weight:
                weight = round(self.unknown * (PAIR if " " in gram else 1))
            elif self.is_logistic:
                totals = [total + weight * one for total, one in zip(totals, row, strict=True)]
            else:
                for place, one in zip(row[0::2], row[1::2], strict=True):
                    totals[place] += weight * one
            square += weight * weight
        length = sqrt(square) or 1.0
        return [total / length for total in totals]

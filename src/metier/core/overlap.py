"""How much two texts overlap, among many.

    words   = 2 · Σ idf · min(impact in A, impact in B) / (Σ idf · impact in A + the same of B)
    overlap = words + ½ · (1 - words) · cosine

`impact` is the saturated weight of a word, as in `core.ranking`. Words say how much of the evidence
for one text is evidence for the other; meaning closes at most half of what they leave open.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.core.process import loading_numpy
from metier.core.weights import K1

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metier.core.word_table import Vector

MEANING_SHARE = 0.5
"""The share of the rest that meaning closes at most."""
LEAST_WORDS = 0.05
"""Texts that share fewer words do not overlap, whatever they mean."""
_PAIRS_AT_ONCE = 20_000
_STEP = 200
"""Texts between two reports of progress."""

OnProgress = Callable[[int, int], None]


class Text(NamedTuple):
    """What is compared of one text."""

    weights: Mapping[str, float]
    vector: "Vector | None" = None


class Pair(NamedTuple):
    """Two texts by their indexes, the first before the second."""

    first: int
    second: int
    overlap: float
    words: float
    meaning: float


def overlapping(
    texts: Sequence[Text],
    idf: Callable[[str], float],
    mean: "Vector | None",
    least: float,
    on_progress: OnProgress | None = None,
) -> list[Pair]:
    """The pairs that overlap by at least `least`, the most first; then by place.

    Meaning is seen from `mean`. Figures depend on the two texts and on `idf` and `mean` only.
    """
    with loading_numpy():
        import numpy as np  # it takes as long to load as all else that a command needs
    firsts, seconds, words = _sharing(texts, idf, _least_words(least), on_progress)
    cosines = _cosines(texts, mean, firsts, seconds)
    overlap = np.round(words + MEANING_SHARE * (1 - words) * np.maximum(0.0, cosines), 6)
    kept = np.flatnonzero(overlap >= least)
    kept = kept[np.lexsort((seconds[kept], firsts[kept], -overlap[kept]))]
    columns = (firsts, seconds, overlap, np.round(words, 6), np.round(cosines, 6))
    return list(map(Pair, *(column[kept].tolist() for column in columns)))


def _least_words(least: float) -> float:
    """The share of words below which no meaning makes two texts overlap by `least`."""
    return max(LEAST_WORDS, (least - MEANING_SHARE) / (1 - MEANING_SHARE) - 1e-6)


def _sharing(
    texts: Sequence[Text],
    idf: Callable[[str], float],
    least: float,
    on_progress: OnProgress | None,
) -> "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]":
    """The indexes of texts that share enough words, and the shares."""
    import numpy as np

    table, count = _Table.of(texts, idf), len(texts)
    firsts, seconds, shares = [], [], []
    for first, (later, shared) in enumerate(table.shared()):
        if on_progress is not None and first % _STEP == 0:
            on_progress(first, count)
        found = 2.0 * np.bincount(later - first - 1, shared, count - first - 1)
        found /= table.sums[first] + table.sums[first + 1 :] + 1e-12
        some = np.flatnonzero(found >= least)
        firsts.append(np.full(len(some), first))
        seconds.append(some + first + 1)
        shares.append(np.minimum(found[some] + 1e-12, 1.0))
    if on_progress is not None:
        on_progress(count, count)
    nothing = np.zeros(0, np.intp)
    return (
        np.concatenate([nothing, *firsts]),
        np.concatenate([nothing, *seconds]),
        np.concatenate([np.zeros(0), *shares]),
    )


class _Table(NamedTuple):
    """The impact of each term in each text, once by text and once by term."""

    terms: "NDArray[Any]"
    impacts: "NDArray[Any]"
    starts: "NDArray[Any]"
    """Where each text begins in the columns above; its terms are in order."""
    texts_by_term: "NDArray[Any]"
    impacts_by_term: "NDArray[Any]"
    starts_by_term: "NDArray[Any]"
    sums: "NDArray[Any]"
    """Of the impacts in each text."""

    @classmethod
    def of(cls, texts: Sequence[Text], idf: Callable[[str], float]) -> "_Table":
        import numpy as np

        names = sorted({term for text in texts for term in text.weights})
        number = {term: at for at, term in enumerate(names)}
        terms = np.array([number[term] for text in texts for term in text.weights], np.intp)
        weights = np.array([one for text in texts for one in text.weights.values()], float)
        places = np.repeat(np.arange(len(texts)), [len(text.weights) for text in texts])
        kept = np.flatnonzero(weights > 0)
        kept = kept[np.lexsort((terms[kept], places[kept]))]
        terms, places, weights = terms[kept], places[kept], weights[kept]
        rarity = np.array([idf(term) for term in names], float)
        impacts = rarity[terms] * (weights * (K1 + 1) / (weights + K1))
        by_term = np.lexsort((places, terms))
        return cls(
            terms,
            impacts,
            _starts(places, len(texts)),
            places[by_term],
            impacts[by_term],
            _starts(terms, len(names)),
            np.bincount(places, impacts, len(texts)),
        )

    def shared(self) -> "Iterator[tuple[NDArray[Any], NDArray[Any]]]":
        """For each text, for each of its terms: the later texts that have it, and how much of it.

        The texts of a term are in order, so those that were passed are at its start.
        """
        import numpy as np

        begins, ends = self.starts_by_term[:-1].copy(), self.starts_by_term[1:]
        for first in range(len(self.sums)):
            own = slice(self.starts[first], self.starts[first + 1])
            terms = self.terms[own]
            begins[terms] += 1
            sizes = ends[terms] - begins[terms]
            before = np.cumsum(sizes) - sizes
            at = np.repeat(begins[terms] - before, sizes) + np.arange(sizes.sum())
            limits = np.repeat(self.impacts[own], sizes)
            yield self.texts_by_term[at], np.minimum(self.impacts_by_term[at], limits)


def _starts(numbers: "NDArray[Any]", count: int) -> "NDArray[Any]":
    """Where each number begins in a sorted column, and where the last ends."""
    import numpy as np

    return np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=count))])


def _cosines(
    texts: Sequence[Text],
    mean: "Vector | None",
    firsts: "NDArray[Any]",
    seconds: "NDArray[Any]",
) -> "NDArray[Any]":
    """In whole numbers until the last step: the same on every machine."""
    import numpy as np

    cosines = np.zeros(len(firsts))
    if mean is None:
        return cosines
    middle = np.array(mean, np.int32)
    vectors = np.zeros((len(texts), len(middle)), np.int32)
    for place, text in enumerate(texts):
        if text.vector is not None:
            vectors[place] = np.array(text.vector, np.int32) - middle
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.int64)), 1.0)
    for start in range(0, len(firsts), _PAIRS_AT_ONCE):
        some = slice(start, start + _PAIRS_AT_ONCE)
        left, right = firsts[some], seconds[some]
        products = np.einsum("ij,ij->i", vectors[left], vectors[right], dtype=np.int64)
        cosines[some] = products / (lengths[left] * lengths[right])
    return cosines

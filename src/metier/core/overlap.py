"""How much two texts overlap, among many.

    words   = 2 · Σ idf · min(impact in A, impact in B) / (Σ idf · impact in A + the same of B)
    overlap = words + ½ · (1 - words) · cosine

`impact` is the saturated weight of a word, as in `core.ranking`. Words say how much of the evidence
for one text is evidence for the other; meaning closes at most half of what they leave open.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.core.ranking import saturated
from metier.core.threads import loading_numpy

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
    """Two texts by their places, the first before the second."""

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
    """The places of texts that share so many words, and the shares."""
    import numpy as np

    own, places, impacts, totals = _matrix(texts, idf)
    firsts, seconds, shares = [], [], []
    for first, row in enumerate(own):
        if on_progress is not None and first % _STEP == 0:
            on_progress(first, len(own))
        if not row:
            continue
        at = np.concatenate([places[number] for number, _ in row])
        sizes = [len(places[number]) for number, _ in row]
        limits = np.repeat(np.array([impact for _, impact in row]), sizes)
        shared = np.minimum(np.concatenate([impacts[number] for number, _ in row]), limits)
        both = totals[first] + totals[first + 1 :]
        found = 2.0 * np.bincount(at, shared, len(own))[first + 1 :] / np.maximum(both, 1e-9)
        some = np.flatnonzero(found >= least)
        firsts.append(np.full(len(some), first))
        seconds.append(some + first + 1)
        shares.append(np.minimum(found[some], 1.0))
    if on_progress is not None:
        on_progress(len(own), len(own))
    nothing = [np.zeros(0, np.intp)]
    return (
        np.concatenate([*nothing, *firsts]),
        np.concatenate([*nothing, *seconds]),
        np.concatenate([np.zeros(0), *shares]),
    )


def _matrix(
    texts: Sequence[Text], idf: Callable[[str], float]
) -> "tuple[list[list[tuple[int, float]]], list[NDArray[Any]], list[NDArray[Any]], NDArray[Any]]":
    """Each text's terms with their impacts; each term's texts and impacts; each text's sum."""
    import numpy as np

    terms = sorted({term for text in texts for term in text.weights})
    known = {term: (number, idf(term)) for number, term in enumerate(terms)}
    where: list[list[int]] = [[] for _ in terms]
    much: list[list[float]] = [[] for _ in terms]
    own = []
    for place, text in enumerate(texts):
        row = sorted(_impacts(text.weights, known))
        own.append(row)
        for number, impact in row:
            where[number].append(place)
            much[number].append(impact)
    totals = np.array([sum(impact for _, impact in row) for row in own])
    return own, [np.array(one, np.intp) for one in where], [np.array(one) for one in much], totals


def _impacts(
    weights: Mapping[str, float], known: Mapping[str, tuple[int, float]]
) -> Iterator[tuple[int, float]]:
    for term, weight in weights.items():
        if weight > 0:
            number, rarity = known[term]
            yield number, rarity * saturated(weight)


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

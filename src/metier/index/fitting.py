"""Fits a model of examples: multinomial logistic regression in whole numbers.

Every product and sum is of whole numbers below 2**53, so the order in which a machine adds them
does not matter, and `exp` is our own: equal examples give equal bytes everywhere.
"""

from collections.abc import Mapping, Sequence
from math import log, log2, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metier.core.learned import MOST_DOCUMENTS, NOTHING, PAIR, STEP, UNIT, direction

Floats = NDArray[np.float64]
"""Whole numbers, but for what is between two roundings."""

Places = NDArray[np.intp]
"""The document of each lesson."""

STEPS = 60
MOMENTUM = 0.9
SHRINK = 0.1
"""How much large weights cost, beside one example."""
GAIN = 7.0
"""What the mean example of a document speaks for it."""
_WEIGHT = 1 << 8
_POWER_STEPS = 12
_EXP_ONE = float(1 << 30)
_EXP = (1.0, 0.6931471805599453, 0.2402265069591007, 0.05550410866482158,
        0.009618129107628477, 0.001333355814642844, 0.000154035303933816)  # fmt: skip
"""The start of the power series of 2**x."""


class Lesson(NamedTuple):
    """An example, ready to learn from."""

    grams: Sequence[str]
    vector: Sequence[int] | None
    place: int
    """The number of its document; -1 if it belongs to none."""


class Fitted(NamedTuple):
    """The numbers of a model."""

    mean: Sequence[int]
    directions: NDArray[np.int16]
    """A row for each document."""
    words: Mapping[str, tuple[int, bytes]]
    """Gram → its weight, and what it speaks for each document."""
    unknown: int
    scale: float


def fit(lessons: Sequence[Lesson], documents: int) -> Fitted:
    """A model of `documents` documents, of which each has a lesson."""
    weights, unknown = _gram_weights(lessons, documents)
    mean = _mean([one.vector for one in lessons if one.vector is not None])
    words = _word_parts(lessons, weights)
    meanings = np.array(
        [np.rint(np.multiply(direction(one.vector, mean), UNIT)) for one in lessons],
        dtype=np.float64,
    ).reshape(len(lessons), len(mean))
    alphas = (
        logistic(_products(words, meanings), _places(lessons), documents)
        if documents <= MOST_DOCUMENTS
        else _centroids(words, meanings, _places(lessons), documents)
    )
    return _packed(lessons, weights, unknown, mean, words, meanings, alphas)


def _gram_weights(lessons: Sequence[Lesson], documents: int) -> tuple[dict[str, int], int]:
    """Gram → weight: the fewer documents have it, the more; and that of an unknown word."""
    holders: dict[str, set[int]] = {}
    for lesson in lessons:
        for gram in lesson.grams:
            holders.setdefault(gram, set()).add(lesson.place)
    return {
        gram: round(_weight(documents / len(places)) * (PAIR if " " in gram else 1))
        for gram, places in holders.items()
    }, round(_weight(documents))


def _weight(rarity: float) -> float:
    return _WEIGHT * sqrt(log(1 + rarity))


def _mean(vectors: Sequence[Sequence[int]]) -> list[int]:
    count = max(1, len(vectors))
    return [(2 * sum(column) + count) // (2 * count) for column in zip(*vectors, strict=True)]


def _word_parts(lessons: Sequence[Lesson], weights: Mapping[str, int]) -> list[dict[str, int]]:
    """Of each lesson, the part of each gram; their squares add up to about `UNIT` squared."""
    found = []
    for lesson in lessons:
        length = sqrt(sum(weights[gram] ** 2 for gram in lesson.grams)) or 1.0
        found.append({gram: round(UNIT * weights[gram] / length) for gram in lesson.grams})
    return found


def _places(lessons: Sequence[Lesson]) -> Places:
    return np.array([lesson.place for lesson in lessons], dtype=np.intp)


def _products(words: Sequence[Mapping[str, int]], meanings: Floats) -> Floats:
    """How alike each two lessons are."""
    counts: dict[str, int] = {}
    for parts in words:
        for gram in parts:
            counts[gram] = counts.get(gram, 0) + 1
    shared = {gram: place for place, gram in enumerate(g for g, n in counts.items() if n > 1)}
    matrix = np.zeros((len(words), len(shared)), dtype=np.float32)  # sums stay below 2**24
    alone = np.zeros(len(words))
    for number, parts in enumerate(words):
        for gram, part in parts.items():
            if gram in shared:
                matrix[number, shared[gram]] = part
            else:
                alone[number] += part * part
    products = (matrix @ matrix.T).astype(np.float64) + meanings @ meanings.T
    products[np.diag_indices_from(products)] += alone
    return products


def logistic(products: Floats, places: Places, documents: int) -> Floats:
    """What each lesson speaks for each document, after a fixed number of steps."""
    size = len(products)
    wanted = np.zeros((size, documents))
    known = places >= 0
    wanted[np.arange(size)[known], places[known]] = 1.0
    rate = 1 / (0.5 * _largest(products) / UNIT**2 + SHRINK)
    scale = 1.0 / (UNIT * UNIT * STEP)
    alphas = ahead = np.zeros((size, documents))
    for _ in range(STEPS):
        z = products @ ahead
        z *= scale
        step = _chances(z)
        step -= wanted
        step *= STEP
        step += SHRINK * ahead
        step *= -rate
        step += ahead
        after = np.rint(step, out=step)
        ahead = after - alphas
        ahead *= MOMENTUM
        ahead += after
        np.rint(ahead, out=ahead)
        alphas = after
    return alphas


def _largest(products: Floats) -> float:
    """About the largest eigenvalue, by repeated multiplication."""
    vector = np.full(len(products), float(1 << 16))
    value = 1.0
    for _ in range(_POWER_STEPS):
        found = products @ vector
        value = float(np.abs(found).max()) / (1 << 16)
        vector = np.rint(found / max(value, 1.0))
    return value


def _chances(z: Floats) -> Floats:
    """The chances of each row, and of nothing beside them."""
    highest = np.maximum(z.max(axis=1, keepdims=True), NOTHING)
    z -= highest
    parts = _exp(z)
    parts *= _EXP_ONE
    np.rint(parts, out=parts)
    nothing = np.rint(_exp(NOTHING - highest) * _EXP_ONE)
    parts /= parts.sum(axis=1, keepdims=True) + nothing
    return parts


def _exp(x: Floats) -> Floats:
    """exp of numbers up to 0, by additions and multiplications alone."""
    power = np.maximum(x * 1.4426950408889634, -60.0)
    whole = np.floor(power)
    power -= whole
    found = np.full_like(power, _EXP[-1])
    for part in _EXP[-2::-1]:
        found *= power
        found += part
    return np.ldexp(found, whole.astype(np.int32))


def _centroids(
    words: Sequence[Mapping[str, int]],
    meanings: Floats,
    places: Places,
    documents: int,
) -> Floats:
    """As `logistic`, by the mean example of each document: a column, its own weights only."""
    found = np.zeros((len(words), 1))
    for place in range(documents):
        own = np.flatnonzero(places == place).tolist()
        total: dict[str, int] = {}
        for number in own:
            for gram, part in words[number].items():
                total[gram] = total.get(gram, 0) + part
        square = sum(part * part for part in total.values())
        square += int((meanings[own].sum(axis=0) ** 2).sum())
        found[own] = round(STEP * GAIN * UNIT / (sqrt(square) or 1.0))
    return found


def _packed(
    lessons: Sequence[Lesson],
    weights: Mapping[str, int],
    unknown: int,
    mean: Sequence[int],
    words: Sequence[Mapping[str, int]],
    meanings: Floats,
    alphas: Floats,
) -> Fitted:
    """The model as small whole numbers."""
    holders: dict[str, list[tuple[int, int]]] = {}
    for number, parts in enumerate(words):
        for gram, part in parts.items():
            holders.setdefault(gram, []).append((number, part))
    is_logistic = alphas.shape[1] > 1 or max(one.place for one in lessons) == 0
    rows = {
        gram: _row(found, alphas) if is_logistic else _sparse(found, alphas, lessons)
        for gram, found in holders.items()
    }
    directions = meanings.T @ alphas if is_logistic else _by_document(meanings, alphas, lessons)
    numbers = [directions, *(row.numbers for row in rows.values())]
    largest = max(float(np.abs(one).max(initial=1.0)) for one in numbers)
    shift = max(0, int(log2(largest)) + 1 - 15)
    packed = {gram: (weights[gram], _bytes(row, shift)) for gram, row in rows.items()}
    small = np.ascontiguousarray(_small(directions, shift).T)
    return Fitted(mean, small, packed, unknown, float(1 << shift) / (UNIT * STEP))


class _Row(NamedTuple):
    """What a gram speaks for documents."""

    numbers: Floats
    places: Places | None = None
    """The documents, if not all."""


def _row(found: Sequence[tuple[int, int]], alphas: Floats) -> _Row:
    numbers = [number for number, _ in found]
    parts = np.array([part for _, part in found], dtype=np.float64)
    return _Row(parts @ alphas[numbers])


def _sparse(found: Sequence[tuple[int, int]], alphas: Floats, lessons: Sequence[Lesson]) -> _Row:
    row: dict[int, float] = {}
    for number, part in found:
        place = lessons[number].place
        if place >= 0:
            row[place] = row.get(place, 0.0) + part * float(alphas[number, 0])
    places = sorted(row)
    return _Row(np.array([row[place] for place in places]), np.array(places, dtype=np.intp))


def _by_document(meanings: Floats, alphas: Floats, lessons: Sequence[Lesson]) -> Floats:
    found = np.zeros((meanings.shape[1], max(one.place for one in lessons) + 1))
    for number, lesson in enumerate(lessons):
        if lesson.place >= 0:
            found[:, lesson.place] += meanings[number] * alphas[number, 0]
    return found


def _small(numbers: Floats, shift: int) -> NDArray[np.int16]:
    return np.rint(numbers / (1 << shift)).astype(np.int16)


def _bytes(row: _Row, shift: int) -> bytes:
    """A number for each document, or pairs of place and number."""
    small = _small(row.numbers, shift)
    if row.places is not None:
        small = np.column_stack([row.places.astype(np.int16), small])
    return small.tobytes()

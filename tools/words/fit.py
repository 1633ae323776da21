"""Fit one row a word, so that the mean of a text's rows points where its vector points.

The loss is 1 - cosine, minimised by Adam over batches in a fixed order, from rows that are the
mean vectors of the texts with a word: nothing is drawn at random.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tools.words.encoder import Floats, unit_rows
from tools.words.pack import LARGEST_SCALE
from tools.words.texts import split_words

from metier.core.word_table import MOST_WORDS

Numbers = npt.NDArray[np.int64]

BATCH = 4096
LEAST_STEPS, PASSES = 60, 15
"""Over all texts; more passes fit rare words too closely and gain nothing on other texts."""
RATE = 8e-3
MEAN_DECAY, SQUARE_DECAY, TINY = 0.9, 0.999, 1e-8
"""Adam's usual constants."""


class Bags(NamedTuple):
    """The words of many texts, as numbers, one text after the other."""

    words: Numbers
    starts: Numbers
    """Where each text starts, and the end."""

    def part(self, first: int, end: int) -> "Bags":
        starts = self.starts[first : end + 1]
        return Bags(self.words[starts[0] : starts[-1]], starts - starts[0])

    @property
    def sizes(self) -> Numbers:
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1


class Quantised(NamedTuple):
    rows: npt.NDArray[np.int8]
    scale: npt.NDArray[np.float64]


def frequent_words(counts: Counter[str], least_seen: int) -> list[str]:
    """Most frequent first; equally frequent ones by their bytes."""
    seen = [word for word, count in counts.items() if count >= least_seen]
    return sorted(seen, key=lambda word: (-counts[word], word.encode()))


def bag(texts: Iterable[str], numbers: Mapping[str, int]) -> tuple[list[int], Bags]:
    """Which texts have words that are known, and these words."""
    kept, flat, starts = [], [], [0]
    for place, text in enumerate(texts):
        known = [numbers[word] for word in split_words(text)[:MOST_WORDS] if word in numbers]
        if known:
            kept.append(place)
            flat.extend(known)
            starts.append(len(flat))
    return kept, Bags(np.array(flat, np.int64), np.array(starts, np.int64))


def fit_rows(bags: Bags, targets: Floats, count: int, steps: int = 0) -> Floats:
    """Rows of `count` words. `targets` have unit length; 0 steps are as many as usual."""
    rows = first_rows(bags, targets, count)
    mean, square = np.zeros_like(rows), np.zeros_like(rows)
    firsts = range(0, len(bags), BATCH)
    steps = steps or max(LEAST_STEPS, PASSES * len(firsts))
    for step in range(steps):
        first = firsts[step % len(firsts)]
        part = bags.part(first, first + BATCH)
        slope = _slope(rows, part, targets[first : first + BATCH])
        mean += (1 - MEAN_DECAY) * (slope - mean)
        square += (1 - SQUARE_DECAY) * (slope * slope - square)
        rate = RATE * (1 - step / steps) / (1 - MEAN_DECAY ** (step + 1))
        spread = np.sqrt(square / (1 - SQUARE_DECAY ** (step + 1)))
        rows -= np.float32(rate) * mean / (spread + np.float32(TINY))
    return rows


def first_rows(bags: Bags, targets: Floats, count: int) -> Floats:
    """The mean vector of the texts with a word: frequent words get short rows."""
    times = np.bincount(bags.words, minlength=count)
    times[times == 0] = 1
    return _by_word(bags, targets, count) / _column(times)


def _by_word(bags: Bags, vectors: Floats, count: int) -> Floats:
    """For each word the sum of its texts' vectors, always in the same order."""
    total = np.zeros((count, vectors.shape[1]), np.float32)
    text = np.repeat(np.arange(len(bags)), bags.sizes)
    order = np.argsort(bags.words, kind="stable")
    found, firsts = np.unique(bags.words[order], return_index=True)
    total[found] = np.add.reduceat(vectors[text[order]], firsts, axis=0)
    return total


def text_vectors(rows: Floats, bags: Bags) -> Floats:
    sums: Floats = np.add.reduceat(rows[bags.words], bags.starts[:-1], axis=0)
    return sums / _column(bags.sizes)


def _column(numbers: Numbers) -> Floats:
    return numbers.astype(np.float32)[:, None]


def _slope(rows: Floats, bags: Bags, targets: Floats) -> Floats:
    """How the mean loss changes with each number of each row."""
    vectors = text_vectors(rows, bags)
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)) + np.float32(TINY)
    directions = vectors / lengths
    cosines = (directions * targets).sum(axis=1, keepdims=True)
    by_text = (cosines * directions - targets) / lengths / _column(bags.sizes * len(bags))
    return _by_word(bags, by_text, len(rows))


def nearness(rows: Floats, bags: Bags, targets: Floats) -> float:
    """The mean cosine between texts' vectors and their targets."""
    cosines = [
        (unit_rows(text_vectors(rows, bags.part(first, first + BATCH))) * some).sum(axis=1)
        for first in range(0, len(bags), BATCH)
        for some in [targets[first : first + BATCH]]
    ]
    return float(np.concatenate(cosines).mean())


def principal(rows: Floats, dimensions: int) -> Floats:
    """Rows in their strongest directions; the largest part of each direction is positive.

    The mean is not subtracted, since angles are what has to stay.
    """
    exact = rows.astype(np.float64)
    _, directions = np.linalg.eigh(exact.T @ exact)
    strongest = directions[:, ::-1][:, :dimensions]
    largest = np.abs(strongest).argmax(axis=0)
    signs = np.sign(strongest[largest, np.arange(strongest.shape[1])])
    turned: npt.NDArray[np.float64] = exact @ (strongest * signs)
    return turned.astype(np.float32)


def quantise(rows: Floats) -> Quantised:
    """Whole numbers up to 127 with a scale a word; the largest scale is the largest of a file."""
    highest = np.abs(rows).max(axis=1).astype(np.float64)
    whole = np.rint(rows / np.where(highest == 0, 1, highest)[:, None] * 127)
    return Quantised(whole.astype(np.int8), highest / max(highest.max(), TINY) * LARGEST_SCALE)

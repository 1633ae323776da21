"""Pack words, rows and related stems into the file that `metier.core.word_table` reads.

Exact: the same input gives the same bytes on every machine.
"""

from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from metier.core.stems import stems
from metier.core.word_table import MAGIC, NONE

Rows = npt.NDArray[np.int8]
Scale = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

SCALE_UNIT = 1 << 20
"""A scale is stored as a whole number of such parts of 1."""
LARGEST_SCALE = 0xFFFF / SCALE_UNIT
RELATED, LEAST_COSINE = 12, 0.25
TARGETS = 8_000
"""The most frequent words: only their stems are related to others."""
_CHUNK = 512


class _Targets(NamedTuple):
    """Frequent words, one for each stem."""

    words: list[int]
    stems: list[str]


def pack_file(table: Path) -> bytes:
    """Pack an npz file with `words`, `q` and `scale`. Raises `ValueError` if it is none."""
    return pack(*_loaded(table))


def _loaded(table: Path) -> tuple[list[str], Rows, Scale]:
    try:
        with table.open("rb") as file:
            parts = np.load(file)
            return bytes(parts["words"]).decode().split("\n"), parts["q"], parts["scale"]
    except (KeyError, IndexError, EOFError, BadZipFile, ValueError):
        message = f"'{table}' is no npz file with words, q and scale"
        raise ValueError(message) from None


def pack(words: list[str], rows: Rows, scale: Scale) -> bytes:
    """The file of a table. `words` are in the order of `rows`, most frequent first.

    Raises `ValueError` for what such a file cannot hold.
    """
    scales = _checked(words, rows, scale)
    order = sorted(range(len(words)), key=lambda number: words[number].encode())
    named = [words[number].encode() for number in order]
    targets = _targets(words)
    related, nearness = _related(words, rows, order, targets)
    encoded = [stem.encode() for stem in targets.stems]
    counts = [len(words), rows.shape[1], len(encoded), RELATED]
    parts = [
        MAGIC,
        np.array(counts, "<u4").tobytes(),
        _starts(named),
        b"".join(named),
        scales[order].astype("<u2").tobytes(),
        np.ascontiguousarray(rows[order]).tobytes(),
        _starts(encoded),
        b"".join(encoded),
        related.astype("<u2").tobytes(),
        nearness.astype("u1").tobytes(),
    ]
    return b"".join(parts)


def _checked(words: list[str], rows: Rows, scale: Scale) -> Numbers:
    """The scales as whole numbers."""
    if rows.dtype != np.int8 or rows.shape[:1] != (len(words),) or scale.shape != (len(words),):
        raise ValueError("a table needs one int8 row and one scale for each word")
    if len(set(words)) != len(words) or "" in words:
        raise ValueError("a word of the table is empty or there twice")
    scales = np.rint(scale.astype(np.float64) * SCALE_UNIT)
    if not ((scales >= 0) & (scales <= 0xFFFF)).all():
        raise ValueError(f"a scale is not between 0 and {LARGEST_SCALE:.4f}")
    return scales.astype(np.int64)


def _starts(texts: list[bytes]) -> bytes:
    return np.cumsum([0, *map(len, texts)]).astype("<u4").tobytes()


def _targets(words: list[str]) -> _Targets:
    found: dict[str, int] = {}
    for number, word in enumerate(words[:TARGETS]):
        stem = _stem(word)
        if len(word) > 1 and stem and not word.isdigit():
            found.setdefault(stem, number)
    return _Targets(list(found.values()), list(found))


def _stem(word: str) -> str:
    return "".join(stems(word))


def _related(
    words: list[str], rows: Rows, order: list[int], targets: _Targets
) -> tuple[Numbers, Numbers]:
    """For each word the numbers of the nearest stems but its own, and how near they are."""
    related = np.full((len(words), RELATED), NONE, np.int64)
    nearness = np.zeros((len(words), RELATED), np.int64)
    for start in range(0, len(order), _CHUNK):
        some = order[start : start + _CHUNK]
        for place, cosines in enumerate(_cosines(rows, some, targets.words), start):
            own = _stem(words[order[place]])
            best = np.argsort(-cosines, kind="stable")[: RELATED + 1]
            near = [one for one in best if cosines[one] > LEAST_COSINE]
            kept = [one for one in near if targets.stems[one] != own][:RELATED]
            share = (cosines[kept] - LEAST_COSINE) / (1 - LEAST_COSINE)
            related[place, : len(kept)] = kept
            nearness[place, : len(kept)] = np.rint(share * 255)
    return related, nearness


def _cosines(rows: Rows, some: list[int], others: list[int]) -> npt.NDArray[np.float64]:
    """Products of whole numbers below 2**53, so that the order of sums changes nothing."""
    left, right = rows[some].astype(np.float64), rows[others].astype(np.float64)
    exact = left @ right.T
    return np.round(exact / _lengths(left)[:, None] / _lengths(right)[None, :], 6)


def _lengths(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths = np.sqrt((rows * rows).sum(axis=1))
    return np.where(lengths == 0, 1.0, lengths)

"""Pack a word table into the file that ships: words, vectors and related stems.

    python tools/pack_words.py TABLE.npz OUT.bin

TABLE.npz holds `words` (joined by newlines, most frequent first), `q` (int8 rows) and `scale`
(one float a row), as tools/make_word_table.py writes it. The same input gives the same bytes.
"""

import sys
from pathlib import Path

import numpy as np

from metier.core.stems import stems
from metier.core.word_table import MAGIC, NONE

SCALE_UNIT = 1 << 20
RELATED, LEAST_COSINE = 12, 0.25
TARGETS = 8_000
"""The most frequent words: only their stems are related to others."""
_CHUNK = 512


def pack(words: list[str], rows: np.ndarray, scale: np.ndarray) -> bytes:
    order = sorted(range(len(words)), key=lambda number: words[number].encode())
    named = [words[number].encode() for number in order]
    scales = np.rint(scale.astype(np.float64)[order] * SCALE_UNIT).astype("<u2")
    targets, stem_names = _targets(words)
    related, nearness = _related(words, rows, order, targets, stem_names)
    encoded = [one.encode() for one in stem_names]
    counts = [len(words), rows.shape[1], len(encoded), RELATED]
    parts = [
        MAGIC,
        np.array(counts, "<u4").tobytes(),
        _starts(named),
        b"".join(named),
        scales.tobytes(),
        np.ascontiguousarray(rows[order]).tobytes(),
        _starts(encoded),
        b"".join(encoded),
        related.astype("<u2").tobytes(),
        nearness.astype("u1").tobytes(),
    ]
    return b"".join(parts)


def _starts(texts: list[bytes]) -> bytes:
    return np.cumsum([0, *map(len, texts)]).astype("<u4").tobytes()


def _targets(words: list[str]) -> tuple[list[int], list[str]]:
    """The numbers of frequent words, one for each stem, and their stems."""
    found: dict[str, int] = {}
    for number, word in enumerate(words[:TARGETS]):
        stem = "".join(stems(word))
        if len(word) > 1 and stem and not word.isdigit():
            found.setdefault(stem, number)
    return list(found.values()), list(found)


def _related(
    words: list[str],
    rows: np.ndarray,
    order: list[int],
    targets: list[int],
    stem_names: list[str],
) -> tuple[np.ndarray, np.ndarray]:
    """Whole-number products, so that no library for matrices changes the result."""
    lengths = np.sqrt((rows.astype(np.int64) ** 2).sum(axis=1).astype(np.float64))
    lengths[lengths == 0] = 1.0
    wanted = rows[targets].astype(np.float64).T.copy()
    related = np.full((len(words), RELATED), NONE, np.int64)
    nearness = np.zeros((len(words), RELATED), np.int64)
    own = ["".join(stems(words[number])) for number in order]
    for start in range(0, len(order), _CHUNK):
        some = order[start : start + _CHUNK]
        exact = rows[some].astype(np.float64) @ wanted  # exact: every sum is below 2**53
        cosines = np.round(exact / lengths[some][:, None] / lengths[targets][None, :], 6)
        best = np.argsort(-cosines, axis=1, kind="stable")[:, : RELATED + 1]
        for place, row in enumerate(best):
            kept = [one for one in row if stem_names[one] != own[start + place]]
            kept = [one for one in kept if cosines[place, one] > LEAST_COSINE][:RELATED]
            near = (cosines[place, kept] - LEAST_COSINE) / (1 - LEAST_COSINE)
            related[start + place, : len(kept)] = kept
            nearness[start + place, : len(kept)] = np.rint(near * 255)
    return related, nearness


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    with np.load(source) as table:
        words = bytes(table["words"]).decode().split("\n")
        target.write_bytes(pack(words, table["q"], table["scale"]))


if __name__ == "__main__":
    main()

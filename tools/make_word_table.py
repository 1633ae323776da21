"""Make a word table from any folder of texts and a sentence encoder.

    python tools/make_word_table.py FOLDER ENCODER.onnx OUT.bin
    python tools/make_word_table.py --pack TABLE.npz OUT.bin

The first form reads every .md and .txt below FOLDER and needs a tokenizer.json beside the encoder;
`pip install onnxruntime tokenizers` first. The second packs a table that was fitted elsewhere:
`words` (joined by newlines, most frequent first), `q` (int8 rows) and `scale` (one float a row).

The same folder and encoder give the same bytes on one machine, in whatever order files are listed.
On another machine the encoder's and numpy's sums may round otherwise, and a few numbers of the
table differ by 1. Packing is exact: the same TABLE.npz gives the same bytes everywhere.
"""

import argparse
import sys
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tools.words.encoder import (  # noqa: E402  # after the path is set
    Encode,
    EncoderError,
    Floats,
    open_encoder,
    unit_rows,
)
from tools.words.fit import (  # noqa: E402
    PASSES,
    bag,
    fit_rows,
    frequent_words,
    nearness,
    principal,
    quantise,
)
from tools.words.pack import pack, pack_file  # noqa: E402
from tools.words.texts import count_words, read_documents, short_texts  # noqa: E402

LEAST_SEEN, DIMENSIONS = 3, 128


class Made(NamedTuple):
    """A table, and how it came about."""

    data: bytes
    documents: int
    texts: int
    words: int
    nearness: float
    """The mean cosine between the encoder's vectors and those of the fitted rows."""


def make_word_table(
    folder: Path,
    encode: Encode,
    *,
    least_seen: int = LEAST_SEEN,
    dimensions: int = DIMENSIONS,
    steps: int = 0,
) -> Made:
    """Raises `ValueError` if the folder has too few words, or `encode` gives no vectors."""
    documents = read_documents(folder)
    words = frequent_words(count_words(documents), least_seen)
    texts = short_texts(documents)
    kept, bags = bag(texts, {word: number for number, word in enumerate(words)})
    if not kept:
        raise ValueError(f"no word below '{folder}' is seen {least_seen} times")
    targets = _encoded([texts[place] for place in kept], encode)
    rows = fit_rows(bags, targets, len(words), steps)
    table = quantise(principal(rows, dimensions))
    data = pack(words, table.rows, table.scale)
    return Made(data, len(documents), len(kept), len(words), nearness(rows, bags, targets))


def _encoded(texts: list[str], encode: Encode) -> Floats:
    vectors = np.asarray(encode(texts), np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ValueError(f"the encoder gave no vector for each of {len(texts):,} texts")
    return unit_rows(vectors)


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        usage="%(prog)s [options] FOLDER ENCODER OUT\n       %(prog)s --pack TABLE.npz OUT",
        description="Make a word table from a folder of texts and a sentence encoder.",
    )
    parser.add_argument("paths", nargs="+", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--pack", action="store_true", help="pack a table that is fitted already")
    for name, value, what in (
        ("--least-seen", LEAST_SEEN, f"leave out words seen less often ({LEAST_SEEN})"),
        ("--dimensions", DIMENSIONS, f"numbers a word, at most the encoder's ({DIMENSIONS})"),
        ("--steps", 0, f"steps of the fit ({PASSES} passes over the texts)"),
    ):
        parser.add_argument(name, type=int, default=value, help=what, metavar="N")
    arguments = parser.parse_args(given)
    if len(arguments.paths) != (2 if arguments.pack else 3):
        parser.error("wrong number of paths")
    if min(arguments.least_seen, arguments.dimensions, arguments.steps + 1) < 1:
        parser.error("N has to be 1 or more")
    return arguments


def _made(arguments: argparse.Namespace) -> bytes:
    if arguments.pack:
        return pack_file(arguments.paths[0])
    folder, encoder, _ = arguments.paths
    made = make_word_table(
        folder,
        open_encoder(encoder),
        least_seen=arguments.least_seen,
        dimensions=arguments.dimensions,
        steps=arguments.steps,
    )
    print(f"{made.documents:,} documents, {made.texts:,} texts, {made.words:,} words")
    print(f"mean cosine with the encoder: {made.nearness:.3f}")
    return made.data


def main(given: list[str] | None = None) -> None:
    arguments = _arguments(given)
    out = arguments.paths[-1]
    if not out.parent.is_dir():  # said before the work, not after it
        sys.exit(f"error: the folder of '{out}' is missing")
    try:
        data = _made(arguments)
        out.write_bytes(data)
    except (EncoderError, OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    print(f"{out}: {len(data):,} bytes, sha256 {sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()

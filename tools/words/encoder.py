"""What turns texts into vectors: any callable, or a sentence encoder in an ONNX file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Encode = Callable[[list[str]], Floats]
"""Texts → one vector each; only its direction counts."""

MOST_TOKENS = 256
BATCH = 32
TOKENIZER = "tokenizer.json"
HINT = "pip install onnxruntime tokenizers"


class EncoderError(Exception):
    """An encoder that cannot be opened, in one line."""


def open_encoder(file: Path) -> Encode:
    """The encoder in an ONNX file, with its tokenizer.json beside it. Raises `EncoderError`."""
    try:
        import onnxruntime  # type: ignore[import-not-found,import-untyped,unused-ignore]  # optional
        import tokenizers  # type: ignore[import-not-found,import-untyped,unused-ignore]  # optional
    except ImportError as error:
        raise EncoderError(f"{error.name} is not installed; {HINT}") from None
    described = file.with_name(TOKENIZER)
    for needed in (file, described):
        if not needed.is_file():
            raise EncoderError(f"'{needed}' is missing; an encoder is an ONNX file and {TOKENIZER}")
    options = onnxruntime.SessionOptions()
    options.use_deterministic_compute = True
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(described))
        session = onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # both libraries raise classes of their own
        raise EncoderError(f"'{file}' is no encoder: {str(error).splitlines()[0]}") from None
    return OnnxEncoder(session, tokenizer)


class OnnxEncoder:
    """Mean of the vectors of a text's tokens, at unit length."""

    def __init__(self, session: Any, tokenizer: Any) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._inputs = [one.name for one in session.get_inputs()]
        padding = tokenizer.padding or {}
        same = {key: padding[key] for key in ("pad_id", "pad_token") if key in padding}
        tokenizer.enable_padding(**same)
        tokenizer.enable_truncation(MOST_TOKENS)

    def __call__(self, texts: list[str]) -> Floats:
        """Texts of like length are encoded together."""
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        parts = [
            self._batch([texts[number] for number in order[start : start + BATCH]])
            for start in range(0, len(order), BATCH)
        ]
        vectors = np.concatenate(parts)
        encoded = np.empty_like(vectors)
        encoded[order] = vectors
        return encoded

    def _batch(self, texts: list[str]) -> Floats:
        tokens = self._tokenizer.encode_batch(texts)
        mask = np.array([one.attention_mask for one in tokens], np.int64)
        given = {
            "input_ids": np.array([one.ids for one in tokens], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        output = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        pooled = output if output.ndim == 2 else mean_of_tokens(output, mask)
        return unit_rows(pooled.astype(np.float32))


def mean_of_tokens(vectors: Floats, mask: npt.NDArray[np.int64]) -> Floats:
    """Padding does not count."""
    weights = mask[:, :, None].astype(np.float32)
    counts: Floats = weights.sum(axis=1)
    counts[counts == 0] = 1
    mean: Floats = (vectors * weights).sum(axis=1) / counts
    return mean


def unit_rows(rows: Floats) -> Floats:
    """Rows of length 1; one without length stays so."""
    lengths: Floats = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    return rows / lengths

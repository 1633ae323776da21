"""A sentence encoder in an ONNX file, with its tokenizer.json. Needs the extra `encoder`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from metier.core.encoders import LONGEST_TEXT, EncoderError, whole_vector
from metier.core.process import loading_numpy
from metier.errors import install_hint

if TYPE_CHECKING:
    from metier.core.word_table import Vector

MOST_TOKENS = 256
_ONLY_ERRORS = 3


class OnnxEncoder:
    """The mean of the vectors of a text's tokens.

    Texts are encoded one at a time: without padding, a vector depends on its own text alone.
    """

    def __init__(self, file: str, tokenizer: str) -> None:
        onnxruntime, tokenizers = _libraries()
        options = onnxruntime.SessionOptions()
        options.use_deterministic_compute = True
        options.log_severity_level = _ONLY_ERRORS
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(tokenizer)
            self._session = onnxruntime.InferenceSession(
                file, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise classes of their own
            raise EncoderError(f"'{file}' is not an encoder: {_line(error)}") from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._inputs = [one.name for one in self._session.get_inputs()]

    def encode(self, texts: Sequence[str]) -> "list[Vector | None]":
        return [self._encode(text[:LONGEST_TEXT]) for text in texts]

    def _encode(self, text: str) -> "Vector | None":
        import numpy as np

        try:
            ids = np.array([self._tokenizer.encode(text).ids], np.int64)
            if not ids.size:
                return None
            given = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            }
            output = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        except KeyError as error:
            raise EncoderError(f"it wants an input {error}, which is unknown") from None
        except Exception as error:  # both libraries raise classes of their own
            raise EncoderError(_line(error)) from None
        return whole_vector(_pooled(np.asarray(output, np.float64)))


def _pooled(output: Any) -> list[float]:
    """One vector for a text, or the mean of those of its tokens."""
    if output.ndim == 3 and len(output) == 1:
        output = output.mean(axis=1)
    if output.ndim != 2 or len(output) != 1:
        raise EncoderError(f"its output has the shape {output.shape}, which is not a vector")
    numbers: list[float] = output[0].tolist()
    return numbers


def _libraries() -> tuple[Any, Any]:
    try:
        with loading_numpy():
            import onnxruntime  # type: ignore[import-not-found,import-untyped,unused-ignore]  # extra
            import tokenizers  # type: ignore[import-not-found,import-untyped,unused-ignore]  # extra
    except ImportError as error:
        name = error.name or "a library"
        raise EncoderError(f"{name} is not installed: {install_hint('encoder')}") from None
    return onnxruntime, tokenizers


def _line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:200]

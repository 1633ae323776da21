"""A model of one layer with random weights, as a GGUF file: it writes nonsense, quickly."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

WIDTH = 32
INNER = 64
ALIGNMENT = 32
UINT32, FLOAT32, STRING, ARRAY, INT32 = 4, 6, 8, 9, 5
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
"""Kinds of tokens."""
LETTERS = ["▁", *(chr(code) for code in range(33, 127))]
TOKENS = (
    [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    + [(f"<0x{code:02X}>", BYTE) for code in range(256)]
    + [(letter, NORMAL) for letter in LETTERS]
)


def write_tiny_llama(path: Path, seed: int = 1) -> None:
    """Write the same file for the same seed."""
    fields, tensors = list(_fields()), _tensors(np.random.default_rng(seed))
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(fields)) + b"".join(fields)
    offset = 0
    for name, tensor in tensors.items():
        sizes = tensor.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)
        head += struct.pack("<IQ", 0, offset)
        offset += len(_padded(tensor.tobytes()))
    data = b"".join(_padded(tensor.tobytes()) for tensor in tensors.values())
    path.write_bytes(_padded(head) + data)


def _tensors(numbers: np.random.Generator) -> Mapping[str, "np.ndarray[Any, Any]"]:
    def weights(*shape: int) -> "np.ndarray[Any, Any]":
        return numbers.standard_normal(shape).astype(np.float32)

    vocabulary = len(TOKENS)
    output = weights(vocabulary, WIDTH)
    # The most likely token is always a letter: all others weigh nothing.
    output[: vocabulary - len(LETTERS)] = 0
    one = np.ones(WIDTH, dtype=np.float32)
    return {
        "token_embd.weight": weights(vocabulary, WIDTH),
        "output_norm.weight": one,
        "output.weight": output,
        "blk.0.attn_norm.weight": one,
        "blk.0.attn_q.weight": weights(WIDTH, WIDTH),
        "blk.0.attn_k.weight": weights(WIDTH, WIDTH),
        "blk.0.attn_v.weight": weights(WIDTH, WIDTH),
        "blk.0.attn_output.weight": weights(WIDTH, WIDTH),
        "blk.0.ffn_norm.weight": one,
        "blk.0.ffn_gate.weight": weights(INNER, WIDTH),
        "blk.0.ffn_up.weight": weights(INNER, WIDTH),
        "blk.0.ffn_down.weight": weights(WIDTH, INNER),
    }


def _fields() -> Iterator[bytes]:
    yield _field("general.architecture", STRING, _text("llama"))
    yield _field("general.name", STRING, _text("tiny"))
    for name, number in (
        ("llama.context_length", 4096),
        ("llama.embedding_length", WIDTH),
        ("llama.block_count", 1),
        ("llama.feed_forward_length", INNER),
        ("llama.attention.head_count", 2),
        ("llama.attention.head_count_kv", 2),
        ("llama.rope.dimension_count", WIDTH // 2),
        ("tokenizer.ggml.unknown_token_id", 0),
        ("tokenizer.ggml.bos_token_id", 1),
        ("tokenizer.ggml.eos_token_id", 2),
    ):
        yield _field(name, UINT32, struct.pack("<I", number))
    yield _field("llama.attention.layer_norm_rms_epsilon", FLOAT32, struct.pack("<f", 1e-5))
    yield _field("tokenizer.ggml.model", STRING, _text("llama"))
    yield _list("tokenizer.ggml.tokens", STRING, [_text(text) for text, _ in TOKENS])
    yield _list("tokenizer.ggml.scores", FLOAT32, [struct.pack("<f", 0.0)] * len(TOKENS))
    yield _list("tokenizer.ggml.token_type", INT32, [struct.pack("<i", kind) for _, kind in TOKENS])


def _field(name: str, kind: int, value: bytes) -> bytes:
    return _text(name) + struct.pack("<I", kind) + value


def _list(name: str, kind: int, values: Sequence[bytes]) -> bytes:
    return _field(name, ARRAY, struct.pack("<IQ", kind, len(values)) + b"".join(values))


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGNMENT)

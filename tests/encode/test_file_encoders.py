"""Encoders in files: another word table, and a model in an ONNX file."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from metier.core.encoders import EncoderError, whole_vector
from metier.core.terms import plain_words
from metier.core.word_table import SHIPPED, UNIT, WordTable
from metier.encode.cache import VectorCache
from metier.encode.opening import encoder_id, open_encoder
from metier.encode.static import StaticEncoder
from metier.values.settings import EncoderSettings
from nearness import cosine

needs_onnx = pytest.mark.skipif(
    find_spec("onnxruntime") is None or find_spec("tokenizers") is None,
    reason="onnxruntime or tokenizers is not installed: install metier with its extra 'encoder'",
)


def test_a_word_table_gives_the_vectors_that_it_gives_when_it_is_built_in() -> None:
    text = "review this pull request"
    table = WordTable(Path(SHIPPED).read_bytes())
    assert StaticEncoder(SHIPPED).encode([text, "zzxxqq"]) == [
        table.vector(plain_words(text)),
        None,
    ]


@pytest.mark.parametrize("content", [b"", b"metier words 1\n", b"something else"])
def test_a_file_that_is_no_word_table_is_an_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "words.bin"
    file.write_bytes(content)
    with pytest.raises(EncoderError, match="is not a word table"):
        StaticEncoder(str(file))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="cannot be read: No such file"):
        StaticEncoder(str(tmp_path / "words.bin"))
    with pytest.raises(EncoderError, match="cannot be read: No such file"):
        encoder_id(
            EncoderSettings("static", file=str(tmp_path / "words.bin")),
            VectorCache.in_memory().digest_of,
        )


def test_another_file_under_the_same_name_is_another_encoder(tmp_path: Path) -> None:
    file, cache = tmp_path / "words.bin", VectorCache.in_memory()
    settings = EncoderSettings("static", file=str(file))
    found = []
    for content in (b"one", b"other", b"one"):
        file.write_bytes(content)
        found.append(encoder_id(settings, cache.digest_of))
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize("numbers", [[], ["x"], [float("nan")], [float("inf")], [1.0] * 9_000])
def test_what_is_no_vector_is_an_error(numbers: list[float]) -> None:
    with pytest.raises(EncoderError):
        whole_vector(numbers)


def test_a_vector_without_length_has_no_meaning() -> None:
    assert whole_vector([0.0, 0.0]) is None
    assert whole_vector([3.0, -4.0]) == [round(0.6 * UNIT), round(-0.8 * UNIT)]


# ONNX


def _number(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def _field(number: int, value: int | bytes | str) -> bytes:
    """A field of a protocol buffer."""
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    data = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(data)) + data


def tiny_model(rows: list[list[float]], wanted: str = "input_ids") -> bytes:
    """An ONNX file that gives each token the row with its number."""
    import struct

    width = len(rows[0])
    numbers = b"".join(struct.pack("<f", one) for row in rows for one in row)
    table = _field(1, len(rows)) + _field(1, width) + _field(2, 1) + _field(8, "rows")
    node = _field(1, "rows") + _field(1, wanted) + _field(2, "out") + _field(4, "Gather")

    def value(name: str, kind: int, shape: list[str | int]) -> bytes:
        sizes = [_field(1, one) if isinstance(one, int) else _field(2, one) for one in shape]
        tensor = _field(1, kind) + _field(2, b"".join(_field(1, one) for one in sizes))
        return _field(1, name) + _field(2, _field(1, tensor))

    graph = _field(1, node) + _field(2, "tiny") + _field(5, table + _field(9, numbers))
    graph += _field(11, value(wanted, 7, ["batch", "length"]))
    graph += _field(12, value("out", 1, ["batch", "length", width]))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))


def tiny_tokenizer(words: list[str]) -> str:
    """A tokenizer.json that knows some words and splits at spaces."""
    model = {"type": "WordLevel", "vocab": {w: n for n, w in enumerate(words)}, "unk_token": "?"}
    return json.dumps({"model": model, "pre_tokenizer": {"type": "Whitespace"}})


def write_tiny(folder: Path, wanted: str = "input_ids") -> EncoderSettings:
    folder.mkdir(exist_ok=True)
    rows = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    (folder / "tiny.onnx").write_bytes(tiny_model(rows, wanted))
    (folder / "tokenizer.json").write_text(tiny_tokenizer(["?", "tables", "queries"]))
    return EncoderSettings("onnx", file=str(folder / "tiny.onnx"))


@needs_onnx
def test_a_model_gives_the_mean_of_the_vectors_of_tokens(tmp_path: Path) -> None:
    encoder = open_encoder(write_tiny(tmp_path))
    tables, both, empty = encoder.encode(["tables", "tables queries", ""])
    assert (tables, empty) == ([UNIT, 0, 0], None)
    assert both is not None
    assert cosine(both, [1, 1, 0]) == pytest.approx(1)


@needs_onnx
def test_a_vector_does_not_depend_on_the_texts_beside_it(tmp_path: Path) -> None:
    encoder = open_encoder(write_tiny(tmp_path))
    together = encoder.encode(["tables queries", "tables " * 400, "queries"])
    assert together == [encoder.encode([one])[0] for one in ("tables queries", "tables", "queries")]


@needs_onnx
def test_a_model_that_cannot_be_used_is_an_error_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="unknown"):
        open_encoder(write_tiny(tmp_path / "a", wanted="pixels")).encode(["tables"])
    settings = write_tiny(tmp_path / "b")
    Path(settings.file).write_bytes(b"something else")
    with pytest.raises(EncoderError, match="is not an encoder") as raised:
        open_encoder(settings)
    assert "\n" not in str(raised.value)


@pytest.mark.skipif(find_spec("onnxruntime") is not None, reason="onnxruntime is installed")
def test_without_the_extra_the_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="install metier with its extra 'encoder'"):
        open_encoder(write_tiny(tmp_path))

"""tools/make_word_table.py: the same table from the same texts, and what is in it."""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.make_word_table import ROOT, Made, main, make_word_table
from tools.words.encoder import Floats, OnnxEncoder, unit_rows
from tools.words.fit import BATCH, Bags, fit_rows, principal, quantise, text_vectors
from tools.words.fit import nearness as nearness_of
from tools.words.pack import LARGEST_SCALE, RELATED, pack
from tools.words.texts import Document, read_document, short_texts, split_words

from metier.core.stems import stems
from metier.core.word_table import WordTable
from nearness import cosine
from word_folder import ABOUT, DIMENSIONS, SAME, encode, write_folder

SCRIPT = ROOT / "tools" / "make_word_table.py"


def made(folder: Path, **options: Any) -> Made:
    return make_word_table(folder, encode, **options)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(write_folder(tmp_path_factory.mktemp("made") / "texts"))


@pytest.fixture(scope="module")
def table(result: Made) -> WordTable:
    return WordTable(result.data)


def nearness(table: WordTable, left: str, right: str) -> float:
    one, other = table.vector([left]), table.vector([right])
    assert one is not None
    assert other is not None
    return cosine(one, other)


# The table


def test_words_that_mean_the_same_are_nearer_than_others(table: WordTable) -> None:
    words = [word for pair in SAME for word in pair]
    for left, right in combinations(words, 2):
        if (left, right) in SAME:
            assert nearness(table, left, right) > 0.9
        else:
            assert nearness(table, left, right) < 0.7


def test_the_nearest_stem_is_that_of_the_word_with_the_same_meaning(table: WordTable) -> None:
    for left, right in SAME:
        assert table.related(left)[0][0] == "".join(stems(right))
        assert table.related(right)[0][0] == "".join(stems(left))


def test_a_text_with_another_word_for_the_same_points_the_same_way(table: WordTable) -> None:
    for place, ((left, right), about) in enumerate(zip(SAME, ABOUT, strict=True)):
        stranger = SAME[place - 1][0]
        text, same, other = (table.vector([word, *about[:2]]) for word in (left, right, stranger))
        assert text is not None
        assert same is not None
        assert other is not None
        assert cosine(text, same) > max(cosine(text, other), 0.9)


def test_the_fit_comes_close_to_the_encoder(result: Made, tmp_path: Path) -> None:
    assert result.nearness > 0.97
    assert result.nearness > made(write_folder(tmp_path / "texts"), steps=1).nearness
    assert result.documents == 12


def test_every_word_is_found_and_related_to_a_few(result: Made, table: WordTable) -> None:
    words = [word for group in (*SAME, *ABOUT) for word in group]
    assert len(table) == result.words >= len(words)
    assert len({table.find(word) for word in words}) == len(words)
    for word in words:
        related = table.related(word)
        assert len(related) <= RELATED
        assert [near for _, near in related] == sorted((near for _, near in related), reverse=True)
        assert "".join(stems(word)) not in [stem for stem, _ in related]


def test_code_comments_and_rare_words_are_left_out(table: WordTable, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "texts")
    (folder / "rare.md").write_text("oncewritten twicewritten twicewritten. A car.")
    fuller = WordTable(made(folder, least_seen=1).data)
    usual = WordTable(made(folder).data)
    assert [one.find("twicewritten") for one in (usual, fuller)] != [None, None]
    assert usual.find("twicewritten") is None
    assert fuller.find("oncewritten") is not None
    assert {table.find("codeonly"), table.find("hiddenremark")} == {None}
    assert {fuller.find("codeonly"), fuller.find("hiddenremark")} == {None}


@pytest.mark.parametrize(("asked", "given"), [(8, 8), (DIMENSIONS, DIMENSIONS), (500, DIMENSIONS)])
def test_there_are_at_most_as_many_dimensions_as_the_encoder_has(
    asked: int, given: int, tmp_path: Path
) -> None:
    table = WordTable(made(write_folder(tmp_path / "texts"), dimensions=asked, steps=1).data)
    assert table.dimensions == given


# The same bytes


def test_the_order_in_which_files_were_created_changes_nothing(
    result: Made, tmp_path: Path
) -> None:
    assert made(write_folder(tmp_path / "texts", backwards=True)).data == result.data


def test_copies_of_a_document_change_nothing(result: Made, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "texts")
    copy = folder / "copies" / "SKILL.MD"
    copy.parent.mkdir()
    copy.write_bytes((folder / "car" / "SKILL.md").read_bytes())
    (folder / "car" / "script.py").write_text("never read " * 9)
    assert made(folder).data == result.data


def test_another_process_makes_the_same_bytes(result: Made, tmp_path: Path) -> None:
    folder, out = write_folder(tmp_path / "texts"), tmp_path / "out.bin"
    code = (
        "import sys; from pathlib import Path; from word_folder import encode;"
        "from tools.make_word_table import make_word_table;"
        "made = make_word_table(Path(sys.argv[1]), encode);"
        "Path(sys.argv[2]).write_bytes(made.data)"
    )
    for seed in ("1", "2"):  # the order of sets
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code, str(folder), str(out)]
        subprocess.run(command, env=environment, check=True)
        assert out.read_bytes() == result.data


# Texts


def test_a_document_is_cut_into_names_descriptions_headings_chunks_and_sentences() -> None:
    raw = b"""\
---
name: pdfFiller_tool
description: Fills forms in PDF files. Use it when a form is empty.
when_to_use: Before printing.
---
# A [Heading](https://example.com/x) with *marks*

First sentence of all. Is there a second one?

| a table | of words |
|---|---|
- An item of a list
"""
    texts = short_texts([read_document(raw, "SKILL")])
    body = "First sentence of all. Is there a second one? a table of words An item of a list"
    assert sorted(texts) == sorted(
        {
            "pdf filler tool",
            "Fills forms in PDF files. Use it when a form is empty.",
            "Fills forms in PDF files. Use",
            "Fills forms in PDF files.",
            "it when a form is empty.",
            "Use it when a form is empty.",
            "Before printing.",
            "A Heading with marks",
            body,
            "First sentence of all.",
            "Is there a second one?",
            "a table of words",
            "An item of a list",
        }
    )


def test_a_long_section_is_cut_into_chunks() -> None:
    texts = short_texts([Document("long", (), "word " * 100)])
    assert sorted(len(text.split()) for text in texts) == [1, 4, 48]


def test_equal_texts_are_encoded_once_in_an_order_of_their_own() -> None:
    documents = [Document(name, (), "The same sentence.") for name in "abc"]
    texts = short_texts(documents)
    assert sorted(texts) == ["The same sentence.", "a", "b", "c"]
    assert texts == short_texts(reversed(documents))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"plain text", Document("stem", (), "plain text")),
        (b"---\nname: [broken\n---\nrest", None),
        (b"---\nnever closed", Document("stem", (), "\nnever closed")),
        (b"\x00\x01binary", Document("stem", (), "")),
        (b"", Document("stem", (), "")),
        (b"---\nname: 7\ndescription: [a]\n---\nrest", Document("stem", (), "rest")),
    ],
)
def test_any_file_is_read(raw: bytes, expected: Document | None) -> None:
    document = read_document(raw, "stem")
    assert expected is None or document == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseHTTPResponse", ["parse", "http", "response"]),
        ("snake_case-and.dots", ["snake", "case", "and", "dots"]),
        ("OAuth2Token v2", ["o", "auth2", "token", "v2"]),
        ("x" * 24 + " " + "y" * 25, ["x" * 24]),
        ("Grüße", ["grüsse"]),
        ("", []),
    ],
)
def test_words_are_split_as_those_of_a_query(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


def test_a_word_of_24_characters_is_found(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text(f"{'x' * 24} {'y' * 25} " * 3)
    table = WordTable(made(tmp_path).data)
    assert table.find("x" * 24) is not None
    assert len(table) == 1


# Errors


def test_a_folder_with_too_few_words_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "few.md").write_text("Each word once.")
    with pytest.raises(ValueError, match=r"no word below .* is seen 3 times"):
        made(tmp_path)


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        made(tmp_path / "missing")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda texts: encode(texts)[1:],
        lambda texts: encode(texts)[:, 0],
        lambda texts: encode(texts) * np.float32(np.nan),
    ],
)
def test_an_encoder_has_to_give_one_vector_a_text(
    wrong: Callable[[list[str]], Floats], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="the encoder gave no vector for each of"):
        make_word_table(write_folder(tmp_path / "texts"), wrong)


def failed(*arguments: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([str(one) for one in arguments])
    said = str(stopped.value.code)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("name", ["onnxruntime", "tokenizers"])
def test_a_missing_package_is_named_with_the_way_to_install_it(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for one in ("onnxruntime", "tokenizers"):
        monkeypatch.setitem(sys.modules, one, None if one == name else pytest)
    said = failed(tmp_path, tmp_path / "model.onnx", tmp_path / "out.bin")
    assert said == f"error: {name} is not installed; pip install onnxruntime tokenizers"


def test_a_missing_tokenizer_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for one in ("onnxruntime", "tokenizers"):
        monkeypatch.setitem(sys.modules, one, pytest)
    (tmp_path / "model.onnx").touch()
    said = failed(tmp_path, tmp_path / "model.onnx", tmp_path / "out.bin")
    assert f"'{tmp_path / 'tokenizer.json'}' is missing" in said


def test_a_missing_folder_for_the_table_is_named_before_the_work(tmp_path: Path) -> None:
    out = tmp_path / "missing" / "out.bin"
    assert failed(tmp_path, "no encoder", out) == f"error: the folder of '{out}' is missing"


@pytest.mark.parametrize(
    "arguments", [["a", "b"], ["--pack", "a"], ["a", "b", "c", "d"], ["--steps", "-1", *"abc"]]
)
def test_wrong_arguments_are_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert failed(*arguments) == "2"
    assert "usage: " in capsys.readouterr().err


# The encoder in an ONNX file


class Tokens:
    """A tokenizer: every letter is a token; a batch is padded with zeros."""

    padding = None

    def enable_padding(self, **_: object) -> None: ...

    def enable_truncation(self, most: int) -> None: ...

    def encode_batch(self, texts: list[str]) -> list["Tokens"]:
        longest = max(map(len, texts))
        return [Tokens()._of(text, longest) for text in texts]

    def _of(self, text: str, size: int) -> "Tokens":
        self.ids = [ord(char) for char in text.ljust(size, "\0")]
        self.attention_mask = [1] * len(text) + [0] * (size - len(text))
        return self


class Session:
    """A model: a token's vector is its number, one and, for padding too, seven."""

    def get_inputs(self) -> list[Any]:
        return [type("Input", (), {"name": name})() for name in ("input_ids", "attention_mask")]

    def run(self, _: None, given: dict[str, Any]) -> list[Any]:
        ids = given["input_ids"].astype(np.float32)
        return [np.stack([ids, np.ones_like(ids), np.full_like(ids, 7)], axis=2)]


def test_vectors_are_means_of_tokens_without_padding_in_the_order_of_texts() -> None:
    texts = ["cab", "a", "bb" * 40, *(["ab"] * 70)]
    vectors = OnnxEncoder(Session(), Tokens())(texts)
    for text, vector in zip(texts, vectors, strict=True):
        expected = np.array([sum(map(ord, text)) / len(text), 1, 7])
        assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)


# Numbers


def test_directions_have_a_fixed_sign_and_keep_all_angles() -> None:
    rows = np.array([[3, 1, 0], [-2, 1, 1], [0, -1, 4], [1, 1, 1]], np.float32)
    turned = principal(rows, 3)
    assert np.allclose(turned @ turned.T, rows @ rows.T, atol=1e-4)
    assert np.allclose(np.abs(principal(-rows, 3)), np.abs(turned), atol=1e-5)
    assert np.array_equal(principal(rows, 2), turned[:, :2])


def test_rows_become_whole_numbers_with_a_scale_that_fits() -> None:
    rows = np.array([[100.0, -50], [0, 0], [0.5, 0.25]], np.float32)
    whole, scale = quantise(rows)
    assert whole.tolist() == [[127, -64], [0, 0], [127, 64]]
    assert scale.tolist() == [LARGEST_SCALE, 0, LARGEST_SCALE / 200]


def test_texts_of_several_batches_are_fitted() -> None:
    truth = np.array([[4, 0, 0], [0, 2, 0], [0, 0, 1], [1, 1, 1]], np.float32)
    count = 2 * (BATCH + 100)
    places = np.arange(count)
    bags = Bags((places * places // 2) % len(truth), np.arange(0, count + 1, 2))
    targets = unit_rows(text_vectors(truth, bags))
    rows = fit_rows(bags, targets, len(truth))
    assert nearness_of(rows, bags, targets) > 0.99
    assert np.array_equal(rows, fit_rows(bags, targets, len(truth)))


def test_a_part_of_bags_is_bags() -> None:
    bags = Bags(np.array([5, 6, 7, 8]), np.array([0, 1, 3, 4]))
    part = bags.part(1, 3)
    assert part.words.tolist() == [6, 7, 8]
    assert part.sizes.tolist() == [2, 1]


# Packing


def npz(file: Path, **changed: Any) -> Path:
    parts = {
        "words": np.frombuffer(b"the\ncar\nautomobile", np.uint8),
        "q": np.array([[1, 2], [100, 3], [99, 4]], np.int8),
        "scale": np.array([0.001, 0.002, 0.003], np.float32),
        **changed,
    }
    np.savez(file, **{name: value for name, value in parts.items() if value is not None})
    return file


def test_a_table_that_is_fitted_already_is_packed(tmp_path: Path) -> None:
    out = tmp_path / "out.bin"
    command = [sys.executable, str(SCRIPT), "--pack", str(npz(tmp_path / "table.npz")), str(out)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    data = out.read_bytes()
    assert f"{len(data)} bytes, sha256 " in printed
    rows = np.array([[1, 2], [100, 3], [99, 4]], np.int8)
    scale = np.array([0.001, 0.002, 0.003], np.float32)
    assert data == pack(["the", "car", "automobile"], rows, scale)
    assert WordTable(data).related("car") == [("automobil", 1.0)]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"q": None}, "is no npz file with words, q and scale"),
        ({"scale": np.array([0.001, 0.002])}, "one int8 row and one scale"),
        ({"q": np.zeros((3, 2), np.int16)}, "one int8 row and one scale"),
        ({"scale": np.array([0.001, 0.002, 1.0])}, "a scale is not between"),
        ({"scale": np.array([0.001, 0.002, -1.0])}, "a scale is not between"),
        ({"scale": np.array([0.001, 0.002, np.nan])}, "a scale is not between"),
        ({"words": np.frombuffer(b"a\nb\na", np.uint8)}, "empty or there twice"),
        ({"words": np.frombuffer(b"a\n\nb", np.uint8)}, "empty or there twice"),
    ],
)
def test_a_table_that_cannot_be_packed_is_an_error(
    changed: dict[str, Any], said: str, tmp_path: Path
) -> None:
    table = npz(tmp_path / "table.npz", **changed)
    assert said in failed("--pack", table, tmp_path / "out.bin")
    assert not (tmp_path / "out.bin").exists()


ONE_ARRAY = b"\x93NUMPY\x01\x00\x46\x00{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }"


@pytest.mark.parametrize(
    "content", [b"", b"no archive", b"PK\x03\x04cut off", ONE_ARRAY.ljust(79) + b"\n1"]
)
def test_a_file_that_is_no_archive_is_an_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "table.npz").write_bytes(content)
    said = failed("--pack", tmp_path / "table.npz", tmp_path / "out.bin")
    assert said == f"error: '{tmp_path / 'table.npz'}' is no npz file with words, q and scale"

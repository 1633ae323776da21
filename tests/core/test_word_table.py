"""The word table: what is found in it, and numbers that every machine computes alike."""

from math import sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tools.words.pack import LARGEST_SCALE, LEAST_COSINE, SCALE_UNIT, pack

from metier.core.stems import stems
from metier.core.word_table import (
    MAGIC,
    MOST_WORDS,
    UNIT,
    WordTable,
    dot,
    shipped_table,
    unit,
)
from nearness import cosine

DIMENSIONS = 4
BYTES = st.integers(-127, 127)
ROW = st.lists(BYTES, min_size=DIMENSIONS, max_size=DIMENSIONS)
NAMES = st.text("abdeginrsty", min_size=1, max_size=24)
Rows = dict[str, tuple[list[int], float]]
ROWS = st.dictionaries(NAMES, st.tuples(ROW, st.floats(0, LARGEST_SCALE)), min_size=1, max_size=12)
VECTORS = st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40)
PAIRS = st.lists(
    st.tuples(st.integers(-UNIT, UNIT), st.integers(-UNIT, UNIT)), min_size=1, max_size=40
)


def packed(rows: Rows) -> bytes:
    numbers = np.array([row for row, _ in rows.values()], np.int8)
    return pack(list(rows), numbers, np.array([scale for _, scale in rows.values()]))


def table_of(**rows: list[int]) -> WordTable:
    return WordTable(packed({word: (row, 0.01) for word, row in rows.items()}))


# Words


@given(ROWS)
def test_every_word_is_found_in_the_order_of_bytes(rows: Rows) -> None:
    table = WordTable(packed(rows))
    assert [table.find(word) for word in sorted(rows, key=str.encode)] == list(range(len(table)))


@given(ROWS, st.data())
def test_a_word_that_is_not_there_has_its_plain_form_or_nothing(
    rows: Rows, data: st.DataObject
) -> None:
    ending = data.draw(st.sampled_from(["s", "es", "d", "ed", "ing", "er", "", "e"]))
    word = data.draw(st.sampled_from(sorted(rows)) | NAMES) + ending
    assume(word not in rows)
    found = WordTable(packed(rows)).find(word)
    if found is not None:
        plain = sorted(rows, key=str.encode)[found]
        assert plain[:3] == word[:3] or plain[:2] == word[:2]
        assert len(plain) <= len(word)


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("queries", "query"),
        ("boxes", "box"),
        ("files", "file"),
        ("testing", "test"),
        ("parsing", "parse"),
        ("tested", "test"),
        ("parsed", "parse"),
        ("tester", "test"),
        ("boldly", "bold"),
    ],
)
def test_find_falls_back_to_plain_forms(word: str, plain: str) -> None:
    row = [1, 2, 3, 4]
    table = table_of(aaa=row, **{plain: row}, zzz=row)
    assert table.find(word) == table.find(plain) == 1
    assert table.vector([word]) == table.vector([plain])


def test_a_word_itself_comes_before_its_plain_form() -> None:
    table = table_of(file=[1, 0, 0, 0], files=[0, 1, 0, 0])
    assert table.find("files") == 1


@pytest.mark.parametrize("word", ["", "as", "ios", "ring", "missing", "é", "x" * 25, "a" * 10_000])
def test_what_is_not_there_is_not_found(word: str) -> None:
    table = table_of(a=[1, 0, 0, 0], io=[1, 0, 0, 0], r=[1, 0, 0, 0])
    assert table.find(word) is None
    assert table.vector([word]) is None
    assert table.related(word) == []


def test_words_in_other_scripts_are_found() -> None:
    table = table_of(**{word: [1, 2, 3, 4] for word in ("übung", "日本", "привет", "a")})
    assert len({table.find(word) for word in ("übung", "日本", "привет", "a")} - {None}) == 4


# Vectors


@given(ROWS, st.lists(st.integers(0, 11), max_size=20), st.randoms(use_true_random=False))
def test_a_vector_is_the_sum_of_rows_in_any_order(
    rows: Rows, places: list[int], random: Random
) -> None:
    table = WordTable(packed(rows))
    words = [list(rows)[place % len(rows)] for place in places]
    total = [0] * DIMENSIONS
    for word in words:
        row, scale = rows[word]
        whole = round(scale * SCALE_UNIT)
        total = [sum_ + number * whole for sum_, number in zip(total, row, strict=True)]
    vector = table.vector(words)
    assert vector == unit(total)
    assert vector is None or all(type(number) is int for number in vector)
    random.shuffle(words)
    assert table.vector(words) == vector


def test_the_vector_of_a_long_text_with_the_largest_numbers_is_exact() -> None:
    rows: Rows = {
        "up": ([127, -127, 127, 1], LARGEST_SCALE),
        "down": ([127, 127, -127, -1], LARGEST_SCALE),
    }
    words = ["up"] * (MOST_WORDS - 100) + ["down"] * 100
    whole, up, down = round(LARGEST_SCALE * SCALE_UNIT), MOST_WORDS - 100, 100
    total = [
        (127 * up + 127 * down) * whole,
        (-127 * up + 127 * down) * whole,
        (127 * up - 127 * down) * whole,
        (up - down) * whole,
    ]
    assert WordTable(packed(rows)).vector(words) == unit(total)


def test_only_the_first_words_of_a_text_count() -> None:
    table = table_of(one=[1, 0, 0, 0], other=[0, 1, 0, 0])
    assert table.vector(["one"] * MOST_WORDS + ["other"]) == table.vector(["one"])


@given(VECTORS)
def test_a_unit_vector_has_the_length_of_one_and_the_same_direction(vector: list[int]) -> None:
    result = unit(vector)
    if not any(vector):
        assert result is None
        return
    assert result is not None
    rounding = sqrt(len(vector)) / 2
    assert abs(sqrt(dot(result, result)) - UNIT) <= rounding + UNIT / 1000
    assert cosine(result, vector) > 0.9999


@given(VECTORS)
def test_a_unit_vector_of_what_is_twice_as_long_is_nearly_the_same(vector: list[int]) -> None:
    one, two = unit(vector), unit([2 * number for number in vector])
    if one is None or two is None:
        assert one is two
    else:
        assert all(abs(a - b) <= 1 + UNIT // 1000 for a, b in zip(one, two, strict=True))


@given(PAIRS)
def test_a_cosine_has_bounds_and_no_direction(pairs: list[tuple[int, int]]) -> None:
    left, right = [one for one, _ in pairs], [other for _, other in pairs]
    found = cosine(left, right)
    assert -1 <= found <= 1
    assert found == cosine(right, left)
    assert found == -cosine([-number for number in left], right)
    assert cosine(left, left) == (1 if any(left) else 0)


@given(PAIRS)
def test_dot_is_the_sum_of_products(pairs: list[tuple[int, int]]) -> None:
    left, right = [one for one, _ in pairs], [other for _, other in pairs]
    assert dot(left, right) == sum(one * other for one, other in pairs) == dot(right, left)
    assert type(dot(left, right)) is int


# Related stems


@given(ROWS)
def test_related_stems_are_sorted_near_and_never_a_words_own(rows: Rows) -> None:
    table = WordTable(packed(rows))
    known = {"".join(stems(word)) for word in rows}
    for word in rows:
        related = table.related(word)
        shares = [share for _, share in related]
        assert shares == sorted(shares, reverse=True)
        assert all(0 <= share <= 1 for share in shares)
        names = [stem for stem, _ in related]
        assert len(set(names)) == len(names)
        assert set(names) <= known - {"".join(stems(word))}


def test_how_near_a_stem_is_comes_from_the_cosine() -> None:
    table = table_of(
        file=[100, 0, 0, 0], document=[80, 60, 0, 0], letter=[30, 95, 0, 0], cloud=[0, 0, 100, 0]
    )
    related = table.related("file")
    assert [stem for stem, _ in related] == ["document", "letter"]
    for (_, share), wanted in zip(related, (0.8, 30 / sqrt(30**2 + 95**2)), strict=True):
        assert share == pytest.approx((wanted - LEAST_COSINE) / (1 - LEAST_COSINE), abs=0.003)
    assert table.related("files") == related
    assert table.related("cloud") == []


# Files


@given(ROWS, st.data())
def test_a_table_that_is_cut_off_is_rejected(rows: Rows, data: st.DataObject) -> None:
    whole = packed(rows)
    end = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ValueError, match=r"not a word table|cut off"):
        WordTable(whole[:end])


@given(st.binary(max_size=400))
def test_a_foreign_file_is_rejected(content: bytes) -> None:
    assume(not content.startswith(MAGIC))
    with pytest.raises(ValueError, match="not a word table"):
        WordTable(content)


@pytest.mark.parametrize("rest", [b"", b"\xff" * 16, b"\xff" * 400, b"\1\0\0\0" * 4])
def test_counts_that_the_file_cannot_hold_are_rejected(rest: bytes) -> None:
    with pytest.raises(ValueError, match="cut off"):
        WordTable(MAGIC + rest)


def test_the_shipped_table_is_opened_once() -> None:
    assert shipped_table() is shipped_table() is not None

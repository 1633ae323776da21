"""How much texts overlap: figures, and what never changes them."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.overlap import LEAST_WORDS, Pair, Text, overlapping
from metier.core.weights import saturated

WORDS = ["pdf", "table", "merge", "chart", "query", "report", "cloud"]
IDF = {word: 1.0 + log(2 + number) for number, word in enumerate(WORDS)}


def compared(texts: list[Text], least: float = 0.0, mean: list[int] | None = None) -> list[Pair]:
    return overlapping(texts, IDF.__getitem__, mean, least)


def only(left: Text, right: Text, mean: list[int] | None = None) -> Pair:
    [pair] = compared([left, right], mean=mean)
    return pair


def test_the_figures_are_those_of_the_formula() -> None:
    left, right = {"pdf": 1.0, "table": 0.5}, {"pdf": 0.4, "chart": 2.0}
    pair = only(Text(left, [300, 400]), Text(right, [400, 300]), [0, 0])
    both = IDF["pdf"] * saturated(0.4)
    sums = [sum(IDF[word] * saturated(weight) for word, weight in one.items())
            for one in (left, right)]  # fmt: skip
    words = 2 * both / sum(sums)
    assert pair.words == pytest.approx(words, abs=1e-6)
    assert pair.meaning == pytest.approx(0.96)
    assert pair.overlap == pytest.approx(words + (1 - words) * 0.48, abs=1e-6)


def test_the_same_text_overlaps_fully_whatever_the_vectors() -> None:
    assert only(Text({"pdf": 1.0}, [1, 0]), Text({"pdf": 1.0}, [0, 1]), [0, 0]).overlap == 1


def test_opposite_meanings_take_nothing_away() -> None:
    pair = only(Text({"pdf": 1.0, "table": 1.0}, [5, 0]), Text({"pdf": 1.0}, [-5, 0]), [0, 0])
    assert pair.meaning == -1
    assert pair.overlap == pair.words


def test_words_that_count_against_a_text_are_not_shared() -> None:
    assert compared([Text({"pdf": 1.0, "table": 1.0}), Text({"pdf": -1.0, "chart": 1.0})]) == []


def test_meaning_alone_is_no_overlap() -> None:
    assert compared([Text({"pdf": 1.0}, [9, 9]), Text({"chart": 1.0}, [9, 9])], mean=[0, 0]) == []


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_texts_have_no_pair(count: int) -> None:
    assert compared([Text({"pdf": 1.0})] * count) == []


def test_a_text_without_words_overlaps_with_none() -> None:
    assert compared([Text({}), Text({}), Text({"pdf": 1.0})]) == []


def test_progress_ends_with_all() -> None:
    seen: list[tuple[int, int]] = []
    overlapping([Text({"pdf": 1.0})] * 3, IDF.__getitem__, None, 0.5, lambda *at: seen.append(at))
    assert seen == [(0, 3), (3, 3)]


TEXTS = st.lists(
    st.builds(
        Text,
        st.dictionaries(st.sampled_from(WORDS), st.floats(-1, 5), max_size=5),
        st.none() | st.lists(st.integers(-(2**14), 2**14), min_size=3, max_size=3),
    ),
    max_size=6,
)


@given(TEXTS)
def test_overlap_is_a_share_and_the_order_of_texts_does_not_matter(texts: list[Text]) -> None:
    found = compared(texts, mean=[1, 2, 3])
    backwards = compared(texts[::-1], mean=[1, 2, 3])
    last = len(texts) - 1
    turned = {(last - one.second, last - one.first): one[2:] for one in backwards}
    assert {(one.first, one.second): one[2:] for one in found} == turned
    for one in found:
        assert 0 <= one.words <= 1
        assert one.words - 1e-6 <= one.overlap <= 1
        assert -1 <= one.meaning <= 1
        assert one.first < one.second


@given(TEXTS, st.floats(0, 1))
def test_a_limit_leaves_out_pairs_below_it_and_no_other(texts: list[Text], least: float) -> None:
    everything = compared(texts, mean=[0, 0, 0])
    found = compared(texts, least, [0, 0, 0])
    assert found == [one for one in everything if one.overlap >= least]
    assert all(one.words >= LEAST_WORDS - 1e-6 for one in everything)
    assert found == sorted(found, key=lambda one: (-one.overlap, one.first, one.second))

"""Jaro-Winkler: exact at the border, and no name lost on the way there."""

from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from rapidfuzz.distance import Jaro, JaroWinkler

from metier.core.names import is_capability_name
from metier.resolve.matching import MAX_PREFIX, PREFIX_SCALE, THRESHOLD, FuzzyNames, similarity
from metier.resolve.matching import exact_similarity as exact
from soak import examples

pytestmark = pytest.mark.slow

BORDER = Fraction(9, 10)

words = st.text(alphabet="abcde12", min_size=1, max_size=6)
names = st.lists(words, min_size=1, max_size=4).map("-".join)
"""Legal names of few letters, so that many are alike."""


@st.composite
def relatives(draw: st.DrawFn) -> tuple[str, str]:
    """A name and what a few edits make of it."""
    name = draw(names)
    other = list(name)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(other)))
        kind = draw(st.sampled_from(["add", "drop", "swap", "change"]))
        if kind == "add":
            other.insert(at, draw(st.sampled_from("abcde")))
        elif kind == "swap" and at + 1 < len(other):
            other[at], other[at + 1] = other[at + 1], other[at]
        elif at < len(other):
            other[at : at + 1] = [] if kind == "drop" else ["e"]
    made = "".join(other)
    assume(is_capability_name(made))
    return name, made


def brute_force(pool: list[str], name: str) -> list[int]:
    return [at for at, one in enumerate(pool) if one != name and exact(name, one) >= BORDER]


def found(pool: list[str], name: str) -> list[int]:
    return [at for at, _ in FuzzyNames(pool).like(name)]


# The border


@pytest.mark.invariant(id="DCI-SCO-011")
def test_the_threshold_is_nine_tenths() -> None:
    assert THRESHOLD == 0.90


@pytest.mark.invariant(id="DCI-SCO-011")
def test_a_pair_that_is_exactly_at_the_border_matches_either_way() -> None:
    assert exact("evaluation", "evalu") == BORDER
    assert found(["evalu"], "evaluation") == [0]
    assert found(["evaluation"], "evalu") == [0]


@pytest.mark.invariant(id="DCI-SCO-011")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("evaluation", "evalu"),
        ("abcd", "ab"),
        ("abcdefgh", "abcd"),
        ("abcdefghijkl", "abcdef"),
        ("web-search-12", "web-se"),
    ],
)
def test_the_verdict_is_that_of_the_exact_fraction(left: str, right: str) -> None:
    reaches = exact(left, right) >= BORDER
    assert (found([right], left) == [0]) == reaches
    assert (found([left], right) == [0]) == reaches


@pytest.mark.invariant(id="DCI-SCO-011")
def test_just_below_the_border_nothing_matches() -> None:
    left, right = "abcdefghijk", "abcde"
    assert Fraction(89, 100) < exact(left, right) < BORDER
    assert found([right], left) == []


@pytest.mark.invariant(id="DCI-SCO-011")
def test_all_halves_of_names_are_exactly_at_the_border() -> None:
    for size in range(4, 19):
        whole = "abcdefghijklmnopqrstuvwxyz0123456789"[: 2 * size]
        assert exact(whole, whole[:size]) == BORDER
        assert found([whole[:size]], whole) == [0], size


def test_a_known_hint_that_is_no_proof() -> None:
    ((at, score),) = FuzzyNames(["pdf-creation"]).like("pdf-extraction")
    assert at == 0
    assert score == pytest.approx(0.938, abs=1e-3)


# Parameters


@pytest.mark.invariant(id="DCI-SCO-012")
@pytest.mark.parametrize(
    ("left", "right", "value"),
    [
        ("martha", "marhta", Fraction(173, 180)),
        ("dwayne", "duane", Fraction(21, 25)),
        ("dixon", "dicksonx", Fraction(61, 75)),
        ("abc", "xyz", Fraction(0)),
        ("same", "same", Fraction(1)),
        ("a", "a", Fraction(1)),
        ("a", "b", Fraction(0)),
    ],
)
def test_well_known_values(left: str, right: str, value: Fraction) -> None:
    assert exact(left, right) == exact(right, left) == value
    assert similarity(left, right) == round(float(value), 10)


@pytest.mark.invariant(id="DCI-SCO-012")
def test_the_prefix_counts_a_tenth_a_letter_up_to_four_letters() -> None:
    assert (PREFIX_SCALE, MAX_PREFIX) == (0.10, 4)
    gains = []
    for size in range(7):
        left, right = "abcdef"[:size] + "yqrstuvw", "abcdef"[:size] + "zqrstuvw"
        jaro = (2 * Fraction(len(left) - 1, len(left)) + 1) / 3
        gains.append((exact(left, right) - jaro) / (1 - jaro))
    assert gains == [Fraction(one, 10) for one in (0, 1, 2, 3, 4, 4, 4)]


@pytest.mark.invariant(id="DCI-SCO-012")
def test_half_the_crossed_letters_count_as_transpositions_rounded_down() -> None:
    one_swap = exact("zabcd", "yabdc")
    assert one_swap == (Fraction(4, 5) + Fraction(4, 5) + Fraction(3, 4)) / 3
    three_crossed = exact("zabcdefgh", "ybcadefgh")
    assert three_crossed == (Fraction(8, 9) + Fraction(8, 9) + Fraction(7, 8)) / 3


@pytest.mark.invariant(id="DCI-SCO-012")
@given(relatives())
@examples(125)
def test_the_fraction_agrees_with_rapidfuzz(pair: tuple[str, str]) -> None:
    left, right = pair
    assume(Jaro.similarity(left, right) > 0.7)  # below, rapidfuzz gives nothing for the prefix
    assert float(exact(left, right)) == pytest.approx(
        JaroWinkler.similarity(left, right, prefix_weight=0.1), abs=1e-9
    )
    assert similarity(left, right) == pytest.approx(float(exact(left, right)), abs=1e-9)


@given(names, names)
@examples(125)
def test_without_common_prefix_it_is_plain_jaro_for_any_two_names(left: str, right: str) -> None:
    assume(left[0] != right[0])
    assert float(exact(left, right)) == pytest.approx(Jaro.similarity(left, right), abs=1e-9)


@given(relatives())
@examples(125)
def test_a_similarity_lies_between_0_and_1_and_is_1_for_equal_names_only(
    pair: tuple[str, str],
) -> None:
    left, right = pair
    assert 0 <= exact(left, right) <= 1
    assert (exact(left, right) == 1) == (left == right)


# Many names


@pytest.mark.invariant(id="DCI-SCO-011")
@given(st.lists(relatives(), min_size=1, max_size=12))
@examples(75)
@example([("evaluation", "evalu"), ("evaluator", "evaluate")])
def test_the_names_found_are_those_of_brute_force(pairs: list[tuple[str, str]]) -> None:
    pool = sorted({other for _, other in pairs} | {name for name, _ in pairs})
    for name, other in pairs:
        assert found(pool, name) == brute_force(pool, name)
        assert found(pool, other) == brute_force(pool, other)


@pytest.mark.invariant(id="DCI-SCO-011")
@given(st.lists(names, unique=True, max_size=15), names)
@examples(75)
def test_random_names_are_judged_like_brute_force(pool: list[str], name: str) -> None:
    assert found(pool, name) == brute_force(pool, name)


@pytest.mark.invariant(id="DCI-SCO-011")
@given(relatives())
@examples(125)
def test_no_name_that_reaches_the_border_is_lost_by_the_bound(pair: tuple[str, str]) -> None:
    left, right = pair
    if left != right and exact(left, right) >= BORDER:
        assert found([right], left) == [0]


@given(relatives())
@examples(75)
def test_being_alike_is_symmetric(pair: tuple[str, str]) -> None:
    left, right = pair
    assert found([left], right) == found([right], left)


def test_the_name_itself_is_not_like_itself() -> None:
    assert found(["web-search", "web-searches"], "web-search") == [1]


def test_scores_are_given_with_ten_decimals() -> None:
    found = FuzzyNames(["web-searches", "web-searching"]).like("web-search")
    assert len(found) == 2
    for _, score in found:
        assert score == round(score, 10)
        assert THRESHOLD <= score < 1


def test_an_empty_list_and_the_longest_names_are_no_trouble() -> None:
    assert FuzzyNames([]).like("a") == []
    longest = "a" * 63
    assert found([f"{longest}b", "b"], f"{longest}c") == [0]

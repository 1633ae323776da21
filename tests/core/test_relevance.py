"""The formula of spec 5, to the letter, and the two ways in which a keyword is met."""

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.relevance import (
    SCORERS,
    budget_for,
    folded_text,
    is_alone,
    match_for,
    occurrences,
    recent,
    saturating_score,
    spec_score,
    time_of_day,
    without_messages,
)

TEXTS = st.text("ab -ßσςΣİI\u0301\u03071²日本_\n", max_size=60)
KEYWORDS = st.text("ab ßσİ\u0301日", min_size=1, max_size=4)
HITS = st.lists(st.integers(0, 300), min_size=1, max_size=40)


def by_the_spec(priority: float, keywords: Sequence[str], messages: Sequence[str]) -> float:
    """The algorithm of spec 5 line by line, with folding in the place of `toLowerCase`."""
    if not messages:
        return priority / 100
    recent_text = " ".join(messages).casefold()
    folded = [keyword.casefold() for keyword in keywords]
    matched_keywords = [keyword for keyword in folded if keyword in recent_text]
    if len(matched_keywords) == 0:
        return 0
    keyword_ratio = len(matched_keywords) / len(keywords)
    match_count = sum(len(re.findall(re.escape(keyword), recent_text)) for keyword in folded)
    density = min(match_count / 100, 1.0)
    return keyword_ratio * 0.7 + density * 0.3


def score_of(keywords: Sequence[str], messages: Sequence[str], match: str = "substring") -> float:
    text = folded_text(messages)
    return spec_score([occurrences(one.casefold(), text, match) for one in keywords])


# The formula


@pytest.mark.invariant(id="CARD-SCO-008")
@given(
    st.lists(KEYWORDS, min_size=1, max_size=6),
    st.lists(TEXTS, min_size=1, max_size=4),
    st.integers(1, 40),
)
def test_a_score_is_what_the_algorithm_of_the_spec_gives(
    keywords: list[str], messages: list[str], times: int
) -> None:
    messages = [message * times for message in messages]
    assert score_of(keywords, messages) == round(by_the_spec(50, keywords, messages), 12)


@pytest.mark.invariant(id="CARD-SCO-008")
@given(HITS)
def test_a_score_is_seven_tenths_ratio_and_three_tenths_density_within_0_and_1(
    hits: list[int],
) -> None:
    ratio = Fraction(sum(1 for count in hits if count), len(hits))
    density = min(Fraction(sum(hits), 100), Fraction(1))
    expected = ratio * Fraction(7, 10) + density * Fraction(3, 10) if ratio else Fraction(0)
    assert spec_score(hits) == pytest.approx(float(expected), abs=1e-12)
    assert 0 <= spec_score(hits) <= 1


@pytest.mark.invariant(id="CARD-SCO-004")
@pytest.mark.parametrize("keywords", [1, 2, 30])
def test_without_any_hit_the_score_is_zero(keywords: int) -> None:
    assert spec_score([0] * keywords) == 0


@pytest.mark.invariant(id="CARD-SCO-005")
@pytest.mark.parametrize(
    ("hits", "score"),
    [
        ([1], 0.703),
        ([1, 0], 0.353),
        ([1, 1, 0, 0, 0], 0.286),
        ([10, 1, 1, 1, 0], 0.599),
        ([1] * 5, 0.715),
    ],
)
def test_the_ratio_is_that_of_the_keywords_that_were_met(hits: list[int], score: float) -> None:
    assert spec_score(hits) == score


@pytest.mark.invariant(id="CARD-SCO-007")
@pytest.mark.parametrize(
    ("hits", "score"),
    [
        ([99], 0.997),
        ([100], 1.0),
        ([101], 1.0),
        ([50, 50], 1.0),
        ([20] * 5, 1.0),
        ([250, 0], 0.65),
        ([10**9, 0], 0.65),
    ],
)
def test_a_hundred_hits_in_all_are_full_density_and_more_change_nothing(
    hits: list[int], score: float
) -> None:
    assert spec_score(hits) == score


@given(HITS)
def test_more_hits_never_lower_a_score_and_their_order_does_not_matter(hits: list[int]) -> None:
    for formula in SCORERS.values():
        assert formula([hits[0] + 1, *hits[1:]]) >= formula(hits)
        assert formula(hits[::-1]) == pytest.approx(formula(hits), abs=1e-12)


@pytest.mark.invariant(id="CARD-SEL-004")
def test_scores_have_twelve_decimals_so_that_sums_meet_their_threshold() -> None:
    assert 0.7 + 0.19 * 0.3 < 0.757
    assert spec_score([19]) == 0.757
    assert spec_score([1, 0, 0]) == 0.236333333333
    assert saturating_score([1, 0, 0]) == 0.166666666667


@pytest.mark.invariant(id="CARD-SCO-001")
@pytest.mark.parametrize(
    ("priority", "score"), [(0, 0), (10, 0.1), (7, 0.07), (29, 0.29), (100, 1)]
)
def test_without_messages_the_score_is_a_hundredth_of_the_priority(
    priority: int, score: float
) -> None:
    assert without_messages(priority) == score == by_the_spec(priority, ["a"], [])


# The text


@pytest.mark.invariant(id="CARD-SCO-002")
def test_messages_are_joined_by_one_space_and_folded() -> None:
    assert folded_text(["Pull", "REQUEST"]) == "pull request"
    assert folded_text(["a ", "", "b"]) == "a   b"
    assert folded_text([]) == ""
    assert score_of(["pull request"], ["a pull", "request"]) == 0.703
    assert score_of(["pullrequest"], ["pull", "request"]) == 0


@pytest.mark.invariant(id="CARD-SCO-002")
@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        ("Deploy", "DEPLOY it"),
        ("straße", "in der STRASSE"),
        ("STRASSE", "die Straße"),
        ("groẞ", "gross"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("σίσυφοσ", "ΣΊΣΥΦΟΣ"),
        ("İstanbul", "nach İSTANBUL"),
        ("i\u0307stanbul", "nach İstanbul"),
        ("ﬁx", "a FIX"),
        ("ПРИВЕТ", "привет"),
        ("検索", "全文検索エンジン"),
    ],
)
def test_case_folds_in_every_script(keyword: str, message: str) -> None:
    assert score_of([keyword], [message]) == 0.703


@pytest.mark.parametrize(
    ("keyword", "message"),
    [("istanbul", "İstanbul"), ("ı", "I"), ("\u00e9", "e\u0301"), ("deploi", "deploy")],
)
def test_what_folding_does_not_make_equal_is_not_met(keyword: str, message: str) -> None:
    assert score_of([keyword], [message]) == 0


@given(st.lists(TEXTS, max_size=4))
def test_folding_each_message_or_all_of_them_is_the_same(messages: list[str]) -> None:
    assert folded_text(messages) == " ".join(message.casefold() for message in messages)


@pytest.mark.invariant(id="CARD-SEL-001")
@pytest.mark.parametrize(
    ("messages", "most", "kept"),
    [
        ([], 5, []),
        (["", " ", "\n\t", "\u3000"], 5, []),
        (["a", "", "b", " ", "c"], 2, ["b", "c"]),
        (["a", "b"], 5, ["a", "b"]),
        (["a", "b", "c"], 1, ["c"]),
        ([" a ", ""], 1, [" a "]),
    ],
)
def test_the_last_messages_that_are_not_blank_are_recent(
    messages: list[str], most: int, kept: list[str]
) -> None:
    assert recent(messages, most) == kept


# Occurrences


@pytest.mark.invariant(id="CARD-SCO-003")
@pytest.mark.invariant(id="CARD-SCO-006")
@given(KEYWORDS, TEXTS)
def test_a_substring_is_counted_without_overlaps(keyword: str, text: str) -> None:
    found = len(re.findall(re.escape(keyword), text))
    assert occurrences(keyword, text, "substring") == text.count(keyword) == found


@pytest.mark.invariant(id="CARD-SCO-006")
@pytest.mark.parametrize(
    ("keyword", "text", "count"),
    [("aa", "aaaaa", 2), ("aba", "ababa", 1), ("aba", "abaaba", 2), ("cat", "concatenate cat", 2)],
)
def test_occurrences_that_share_characters_count_once(keyword: str, text: str, count: int) -> None:
    assert occurrences(keyword, text, "substring") == count


def is_of_a_word(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "Nd"


def alone_by_hand(keyword: str, text: str) -> int:
    """Each place in turn: the keyword, nothing of a word beside it, nothing counted before."""
    count = free = 0
    for at in range(len(text)):
        end = at + len(keyword)
        beside = text[max(at - 1, 0) : at] + text[end : end + 1]
        if at >= free and text[at:end] == keyword and not any(map(is_of_a_word, beside)):
            count, free = count + 1, end
    return count


@given(KEYWORDS | st.sampled_from(["a a", "- -", " ", "a", "日"]), TEXTS)
def test_a_word_is_counted_where_nothing_of_a_word_stands_beside_it(
    keyword: str, text: str
) -> None:
    assert occurrences(keyword, text, "word") == alone_by_hand(keyword, text)


@pytest.mark.parametrize(
    ("keyword", "text", "count"),
    [
        ("cat", "concatenate", 0),
        ("cat", "cat, (cat) cat_cat cat-cat", 6),
        ("cat", "cats 1cat cat2 cat", 1),
        ("cat", "cat² cat", 2),
        ("cat", "cat٣ ٣cat", 0),
        ("e", "e\u0301 e", 1),
        ("cafe", "cafe\u0301", 0),
        ("a a", "a a a a", 2),
        ("a a", "ba a a", 1),
        ("c++", "c++ c++a c+++", 2),
        ("検索", "全文検索", 0),
        ("検索", "「検索」、検索。", 2),
        ("ключ", "ключи ключ", 1),
        ("cat", "", 0),
        ("cat", "cat", 1),
    ],
)
def test_words_end_where_no_letter_mark_or_digit_follows(
    keyword: str, text: str, count: int
) -> None:
    assert occurrences(keyword, text, "word") == count


@given(TEXTS, st.integers(0, 60), st.integers(0, 60))
def test_a_part_is_alone_when_neither_neighbour_is_of_a_word(
    text: str, one: int, other: int
) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    beside = text[max(start - 1, 0) : start] + text[end : end + 1]
    assert is_alone(text, start, end) is not any(map(is_of_a_word, beside))


# The other scorer


@pytest.mark.parametrize(
    ("hits", "score"),
    [
        ([0], 0),
        ([1], 0.5),
        ([2], 0.75),
        ([3], 0.875),
        ([1, 0], 0.25),
        ([1, 1], 0.5),
        ([2, 1, 0, 0], 0.3125),
        ([100], 1),
    ],
)
def test_a_saturating_score_halves_what_is_missing_with_every_hit(
    hits: list[int], score: float
) -> None:
    assert saturating_score(hits) == score


@given(HITS)
def test_a_saturating_score_is_the_mean_over_the_keywords(hits: list[int]) -> None:
    exact = sum(1 - Fraction(1, 2**count) for count in hits) / len(hits)
    assert saturating_score(hits) == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("match", ["substring", "word"])
def test_saturating_always_takes_whole_words_and_others_what_the_card_says(match: str) -> None:
    assert match_for("saturating", match) == "word"
    assert match_for("hybrid", match) == "word"
    assert match_for("spec", match) == match
    assert match_for("somebody's", match) == match


# The time of day


@pytest.mark.invariant(id="CARD-EXT-002")
def test_every_hour_has_its_part_of_the_day() -> None:
    parts = {"night": [*range(5), 23], "morning": range(5, 12), "afternoon": range(12, 18)}
    for name, hours in {**parts, "evening": range(18, 23)}.items():
        assert {time_of_day(hour) for hour in hours} == {name}


# The budget of a conversation


TABLE = [(50_000, 2_500), (0, 1_000), (10_000, 500)]


@pytest.mark.parametrize(
    ("length", "tokens"),
    [(0, 1_000), (9_999, 1_000), (10_000, 500), (49_999, 500), (50_000, 2_500), (10**9, 2_500)],
)
def test_the_row_with_the_largest_length_reached_gives_the_budget(length: int, tokens: int) -> None:
    assert budget_for(length, 1_500, TABLE) == tokens
    assert budget_for(length, 1_500, reversed(TABLE)) == tokens


@pytest.mark.parametrize("length", [0, 9_999])
def test_below_the_first_row_and_without_rows_the_general_budget_holds(length: int) -> None:
    assert budget_for(length, 1_500, [(10_000, 500)]) == 1_500
    assert budget_for(length, 1_500, []) == 1_500

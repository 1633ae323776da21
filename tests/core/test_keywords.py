"""Many keywords in one pass: never another count than one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.keywords import KeywordFinder, counts_in_each
from metier.core.relevance import is_alone, occurrences, starts
from soak import examples

pytestmark = pytest.mark.slow

FILLERS = [f"filler-{number}" for number in range(31)]
"""So many that they are not looked for one by one."""
OVERLAPPING = ["a", "aa", "aaa", "ab", "aba", "abab", "ba", "a a", "日日", "ß", "e\u0301", "é"]
LETTERS = "ab \u0301é日ß-1𝒳"
TEXTS = st.lists(st.sampled_from([*OVERLAPPING, *LETTERS]), max_size=30).map("".join)
SOME = st.lists(
    st.sampled_from(OVERLAPPING) | st.text(LETTERS, min_size=1, max_size=5), unique=True
)


def counts(keywords: list[str], text: str, match: str) -> dict[int, int]:
    """One by one, by their place; what does not occur is left out."""
    found = {place: occurrences(one, text, match) for place, one in enumerate(keywords)}
    return {place: count for place, count in found.items() if count}


@pytest.mark.invariant(id="CARD-SCO-006")
@examples(75)
@given(SOME, TEXTS)
def test_counts_are_those_of_str_count_for_few_and_for_many_keywords(
    some: list[str], text: str
) -> None:
    expected = {place: text.count(one) for place, one in enumerate(some) if one in text}
    assert KeywordFinder(some).count(text) == expected
    assert KeywordFinder([*some, *FILLERS]).count(text) == expected
    assert list(counts_in_each(some, [text, "", text])) == [expected, {}, expected]


def test_a_keyword_that_is_given_twice_is_counted_twice() -> None:
    forms = [" ab", " ab ", " ab", " ab "]
    assert list(counts_in_each(forms, [" ab ab "])) == [{0: 2, 1: 1, 2: 2, 3: 1}]


@examples(75)
@given(SOME, TEXTS)
def test_words_are_counted_alike_for_few_and_for_many_keywords(some: list[str], text: str) -> None:
    expected = counts(some, text, "word")
    assert KeywordFinder(some).count_alone(text) == expected
    assert KeywordFinder([*some, *FILLERS]).count_alone(text) == expected


@given(st.lists(st.text(min_size=1, max_size=4), min_size=35, max_size=50, unique=True), st.data())
def test_any_keywords_are_found_in_any_text_made_of_them(
    keywords: list[str], data: st.DataObject
) -> None:
    pieces = data.draw(st.lists(st.sampled_from(keywords) | st.text(max_size=3), max_size=20))
    text = "".join(pieces)
    finder = KeywordFinder(keywords)
    assert finder.count(text) == counts(keywords, text, "substring")
    assert finder.count_alone(text) == counts(keywords, text, "word")


LONG = [("a", 101), ("ab", 60), ("aab", 40), ("a-", 51), ("- a", 35), ("abcdefg" * 15, 1)]


@pytest.mark.parametrize(("unit", "times"), LONG)
@given(st.lists(st.integers(0, 130) | st.sampled_from(["-", "b", " "]), max_size=5))
def test_a_long_keyword_is_found_as_a_short_one_is(
    unit: str, times: int, pieces: list[int | str]
) -> None:
    keyword = unit * times
    text = "".join(unit * one if isinstance(one, int) else one for one in pieces)
    everywhere = [at for at in range(len(text)) if text.startswith(keyword, at)]
    assert list(starts(keyword, text)) == everywhere
    alone, free = 0, 0
    for at in everywhere:
        if at >= free and is_alone(text, at, at + len(keyword)):
            alone, free = alone + 1, at + len(keyword)
    assert occurrences(keyword, text, "word") == alone
    many = KeywordFinder([*FILLERS, keyword, *([unit] if times > 1 else [])])
    assert many.count_alone(text).get(len(FILLERS), 0) == alone
    assert many.count(text).get(len(FILLERS), 0) == text.count(keyword)
    assert many.count(text).get(len(FILLERS) + 1, 0) == (text.count(unit) if times > 1 else 0)
    found = [start for number, start, _ in many.everywhere(text) if number == len(FILLERS)]
    assert found == everywhere


@pytest.mark.parametrize(
    ("keyword", "text", "count"),
    [("aa", "aaaaaaa", 3), ("aba", "abababa", 2), ("abab", "abababab", 2), ("a a", "a a a a a", 2)],
)
def test_occurrences_of_a_keyword_do_not_share_characters(
    keyword: str, text: str, count: int
) -> None:
    finder = KeywordFinder([*FILLERS, keyword])
    assert finder.count(text) == {len(FILLERS): count} == {len(FILLERS): text.count(keyword)}


def test_occurrences_of_different_keywords_may_share_characters() -> None:
    keywords = ["search", "research", "arch", "searching", *FILLERS]
    assert KeywordFinder(keywords).count("researching") == {0: 1, 1: 1, 2: 1, 3: 1}


def test_an_occurrence_that_does_not_stand_alone_takes_no_room_from_the_next() -> None:
    keywords = ["a a", *FILLERS]
    assert KeywordFinder(keywords).count_alone("ba a a") == {0: 1}
    assert KeywordFinder(keywords).count("ba a a") == {0: 1}


@pytest.mark.parametrize("keywords", [[], ["a"], FILLERS])
def test_an_empty_text_holds_nothing(keywords: list[str]) -> None:
    assert KeywordFinder(keywords).count("") == KeywordFinder(keywords).count_alone("") == {}


@pytest.mark.parametrize("size", [29, 30, 31, 32])
def test_the_number_of_keywords_decides_nothing(size: int) -> None:
    keywords = [*OVERLAPPING, *FILLERS][:size]
    text = "aaaa ababab 日日日 filler-3 filler-17"
    assert KeywordFinder(keywords).count(text) == counts(keywords, text, "substring")
    assert KeywordFinder(keywords).count_alone(text) == counts(keywords, text, "word")


@pytest.mark.parametrize(
    "others",
    [
        [],
        FILLERS,
    ],
)
def test_half_of_a_surrogate_pair_is_a_character_like_any_other(others: list[str]) -> None:
    assert KeywordFinder(["deploy", *others]).count("deploy \ud83d it") == {0: 1}

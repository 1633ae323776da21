"""Token budgets: what is sent never exceeds the limit, whatever counts it."""

import itertools
from collections.abc import Iterable, Sequence

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st

from metier.core.budget import CountTokens, Fitted, Overflow, check_limit, count_tokens, fit, pages
from metier.errors import UsageError

pytestmark = pytest.mark.slow

TINY_BPE = tiktoken.Encoding(
    "tiny",
    pat_str=r"[\s\S]+",
    mergeable_ranks={
        **{bytes([value]): value for value in range(256)},
        **{
            token: 256 + place
            for place, token in enumerate(
                [b"--", b"---", b"\n\n", b"a\n", b"ab", b" a", b"\xe6\x97", "日".encode()]
            )
        },
    },
    special_tokens={},
)
"""Its pattern parts nothing, so tokens are joined across seams."""


def tiny_bpe(text: str) -> int:
    return len(TINY_BPE.encode_ordinary(text))


def utf8_bytes(text: str) -> int:
    return len(text.encode())


def white_space_words(text: str) -> int:
    return len(text.split())


def runs_of_one_character(text: str) -> int:
    """Equal neighbours are one token, so two parts may cost less than their sum."""
    return sum(1 for _ in itertools.groupby(text))


def dear_seams(text: str) -> int:
    """A line end or a dash costs extra, so a separator is never free."""
    return count_tokens(text) + 3 * text.count("\n") + 2 * text.count("-")


def with_overhead(text: str) -> int:
    """Even an empty text costs something."""
    return 3 + count_tokens(text)


def up_and_down(text: str) -> int:
    """More text may cost less: no tokenizer is that bad."""
    return len(text) * 5 % 17


COUNTERS: list[CountTokens] = [
    count_tokens,
    utf8_bytes,
    white_space_words,
    runs_of_one_character,
    dear_seams,
    with_overhead,
    up_and_down,
    tiny_bpe,
]
SEPARATORS = ["", " ", "\n", "\n\n---\n\n", "a", "-", "\u0301"]

every_counter = pytest.mark.parametrize("count", COUNTERS)
separators = st.sampled_from(SEPARATORS)
limits = st.integers(min_value=0, max_value=40)
texts = st.text(alphabet="ab \n-é\u0301日本שׁह्😀👩\u200d💻🏽", max_size=12) | st.text(max_size=6)
some_parts = st.lists(texts, max_size=8)
long_texts = st.lists(texts, max_size=12).map("".join)
overflows = st.sampled_from(["stop", "skip"])


def joined(parts: Iterable[str], separator: str) -> str:
    return separator.join(part for part in parts if part)


@pytest.mark.parametrize(
    ("length", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (65, 17), (400, 100)]
)
def test_four_characters_are_a_token_and_a_started_one_counts(length: int, tokens: int) -> None:
    assert count_tokens("x" * length) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("日本語文", 1), ("e\u0301" * 2, 1), ("👩\u200d💻", 1)]
)
def test_characters_are_counted_not_bytes(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@every_counter
@given(parts=some_parts, limit=limits, separator=separators, overflow=overflows)
@example(parts=["a", "b"], limit=2, separator="\n\n---\n\n", overflow="stop")
@example(parts=["日", "日", "ab"], limit=5, separator="", overflow="skip")
@example(parts=["ab", "ab"], limit=20, separator="", overflow="stop")
def test_the_joined_text_never_exceeds_the_limit(
    count: CountTokens, parts: Sequence[str], limit: int, separator: str, overflow: Overflow
) -> None:
    fitted = fit(parts, limit, separator=separator, count=count, overflow=overflow)
    assert fitted.text == joined((parts[place] for place in fitted.taken), separator)
    assert fitted.tokens == (count(fitted.text) if fitted.text else 0)
    assert fitted.tokens <= limit


@given(st.sampled_from(COUNTERS), some_parts, limits, separators, overflows)
def test_every_place_is_either_taken_or_left_and_both_are_in_order(
    count: CountTokens, parts: Sequence[str], limit: int, separator: str, overflow: Overflow
) -> None:
    fitted = fit(parts, limit, separator=separator, count=count, overflow=overflow)
    assert sorted([*fitted.taken, *fitted.left]) == list(range(len(parts)))
    assert list(fitted.taken) == sorted(fitted.taken)
    assert list(fitted.left) == sorted(fitted.left)


def places_before_the_first_that_does_not_fit(
    parts: Sequence[str], limit: int, separator: str, count: CountTokens
) -> int:
    """How many parts there are before the first whose text with all before it is too large."""
    too_large = (
        place
        for place, part in enumerate(parts)
        if part and count(joined(parts[: place + 1], separator)) > limit
    )
    return next(too_large, len(parts))


@every_counter
@given(parts=some_parts, limit=limits, separator=separators)
@example(parts=["aaaaaaaa", "a"], limit=1, separator="")
@example(parts=["a", "aaaaaaaa", "", "a"], limit=2, separator=" ")
def test_stop_takes_all_parts_before_the_first_that_does_not_fit_and_none_after(
    count: CountTokens, parts: Sequence[str], limit: int, separator: str
) -> None:
    end = places_before_the_first_that_does_not_fit(parts, limit, separator, count)
    fitted = fit(parts, limit, separator=separator, count=count, overflow="stop")
    assert list(fitted.taken) == list(range(end))


@every_counter
@given(parts=some_parts, limit=limits, separator=separators)
@example(parts=["a", "aaaaaaaa", "a"], limit=2, separator=" ")
def test_skip_takes_each_part_that_fits_after_what_is_in_already(
    count: CountTokens, parts: Sequence[str], limit: int, separator: str
) -> None:
    fitted = fit(parts, limit, separator=separator, count=count, overflow="skip")
    for place, part in enumerate(parts):
        inside = [parts[before] for before in fitted.taken if before < place]
        fits = not part or count(joined([*inside, part], separator)) <= limit
        assert (place in fitted.taken) == fits


def test_stop_is_what_happens_when_nothing_is_said() -> None:
    assert fit(["aaaa", "b" * 40, "cccc"], 5, separator=" ") == Fitted("aaaa", 1, [0], [1, 2])


def test_a_part_that_does_not_fit_ends_the_text() -> None:
    fitted = fit(["aaaa", "b" * 40, "cccc"], 5, separator=" ", overflow="stop")
    assert fitted == Fitted("aaaa", 1, [0], [1, 2])


def test_skip_leaves_a_part_out_and_tries_the_next() -> None:
    fitted = fit(["aaaa", "b" * 40, "cccc"], 5, separator=" ", overflow="skip")
    assert fitted == Fitted("aaaa cccc", 3, [0, 2], [1])


def test_a_text_of_exactly_the_limit_fits_and_one_character_more_does_not() -> None:
    assert fit(["aaaa", "bbb"], 2, separator=" ").taken == [0, 1]
    assert fit(["aaaa", "bbbb"], 2, separator=" ").left == [1]


def test_the_separator_is_part_of_what_is_counted() -> None:
    assert fit(["aaaa", "bbbb"], 2, separator="").text == "aaaabbbb"
    assert fit(["aaaa", "bbbb"], 2, separator="\n\n---\n\n").text == "aaaa"
    assert fit(["aaaa", "bbbb"], 4, separator="\n\n---\n\n").text == "aaaa\n\n---\n\nbbbb"


def test_parts_that_share_a_token_may_both_fit_although_their_sum_does_not() -> None:
    fitted = fit(["-", "--"], 1, separator="", count=tiny_bpe)
    assert (tiny_bpe("-") + tiny_bpe("--"), fitted.tokens, fitted.taken) == (2, 1, [0, 1])


def test_parts_whose_sum_fits_are_left_out_when_the_seam_costs_more() -> None:
    fitted = fit(["ab", "ab"], 3, separator="\n", count=dear_seams)
    assert (fitted.text, fitted.left) == ("ab", [1])


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (["", "a"], "a"),
        (["a", ""], "a"),
        (["a", "", "b"], "a--b"),
        (["", "", ""], ""),
        (["a", "", "", "b", ""], "a--b"),
    ],
)
def test_an_empty_part_takes_neither_room_nor_a_separator(parts: list[str], text: str) -> None:
    fitted = fit(parts, 1, separator="--")
    assert fitted == Fitted(text, count_tokens(text), list(range(len(parts))), [])


def test_a_part_of_white_space_is_a_part() -> None:
    assert fit([" ", "\n"], 1, separator="--").text == " --\n"


def test_after_the_stop_even_an_empty_part_is_left() -> None:
    assert fit(["a" * 5, ""], 1, separator="").left == [0, 1]
    assert fit(["a" * 5, ""], 1, separator="", overflow="skip").taken == [1]


def test_no_parts_give_no_text() -> None:
    assert fit([], 10, separator="--") == Fitted("", 0, [], [])


def test_nothing_costs_nothing_even_where_an_empty_text_would() -> None:
    assert fit(["a", ""], 2, separator="", count=with_overhead, overflow="skip") == Fitted(
        "", 0, [1], [0]
    )


def test_a_limit_of_zero_is_a_limit() -> None:
    assert fit(["a", ""], 0, separator="") == Fitted("", 0, [], [0, 1])
    check_limit(0)


@pytest.mark.parametrize("limit", [-1, -10_000])
@pytest.mark.parametrize("parts", [[], [""], ["a"]])
def test_a_negative_limit_is_refused(limit: int, parts: list[str]) -> None:
    with pytest.raises(UsageError, match="cannot be negative") as caught:
        fit(parts, limit, separator="")
    assert caught.value.hint
    with pytest.raises(UsageError):
        check_limit(limit)


@every_counter
@given(text=long_texts, limit=limits)
@example(text="", limit=0)
@example(text="日日日日", limit=1)
def test_pages_are_within_the_limit_and_make_up_the_text(
    count: CountTokens, text: str, limit: int
) -> None:
    try:
        made = pages(text, limit, count)
    except UsageError:
        assert any(count(char) > limit for char in text), "each character would have fitted"
        return
    assert "".join(made) == text
    assert all(made) or made == [""]
    assert all(count(page) <= limit for page in made if page)


@given(long_texts, st.integers(min_value=1, max_value=10))
def test_a_page_is_full_or_ends_at_a_break_and_is_never_less_than_half_full(
    text: str, limit: int
) -> None:
    room = limit * 4
    for page in pages(text, limit)[:-1]:
        assert len(page) == room or page.endswith((" ", "\n"))
        assert len(page) * 2 >= room


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("aaaaa\n\nb\nc dd ee", "aaaaa\n\n"),
        ("aaaaaa\nbb dd eeee", "aaaaaa\n"),
        ("aaaaaaaa ddddddd", "aaaaaaaa "),
        ("aaaaaaaaaaaaaaaa", "aaaaaaaaaaaa"),
        ("aaaaaa bb cc dddd", "aaaaaa bb cc"),
        ("aaaa\n\nbbbb\n\ncccc", "aaaa\n\nbbbb\n\n"),
        ("aaaaaa b\ncc dd ee", "aaaaaa b\n"),
    ],
)
def test_a_page_ends_after_a_blank_line_else_a_line_else_a_word(text: str, first: str) -> None:
    assert pages(text, 3)[0] == first


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a\n\nbbbbbbbbbbbbbbbb", "a\n\nbbbbbbbbb"),
        ("a\nbbbbbbbbbbbbbbbbb", "a\nbbbbbbbbbb"),
        ("a bbbbbbbbbbbbbbbbb", "a bbbbbbbbbb"),
        ("a\n\nbbbbbb\nbbbbbbbbb", "a\n\nbbbbbb\n"),
        ("a\nbbbbbb bbbbbbbbb", "a\nbbbbbb "),
    ],
)
def test_a_break_that_would_leave_the_page_half_empty_is_passed_over(text: str, first: str) -> None:
    assert pages(text, 3)[0] == first


def test_a_text_that_fits_is_one_page_whatever_breaks_it_has() -> None:
    assert pages("aa\n\nbb\ncc dd", 3) == ["aa\n\nbb\ncc dd"]


def test_where_no_break_is_every_page_is_full() -> None:
    assert pages("aaaaa", 2, len) == ["aa", "aa", "a"]
    assert pages("aaaaaaaaa", 1) == ["aaaa", "aaaa", "a"]


def test_an_empty_text_is_one_empty_page() -> None:
    assert pages("", 5) == pages("", 0) == [""]


def test_a_break_is_given_up_where_the_shorter_page_would_cost_more() -> None:
    def costly_ends(text: str) -> int:
        return 99 if text.endswith(" ") else len(text)

    assert pages("aaaa bbbbbbb", 7, costly_ends) == ["aaaa bb", "bbbbb"]


@pytest.mark.parametrize(
    ("text", "limit", "count"),
    [
        ("a", 0, count_tokens),
        ("😀", 3, utf8_bytes),
        ("ab😀", 3, utf8_bytes),
    ],
)
def test_where_not_one_character_fits_there_are_no_pages(
    text: str, limit: int, count: CountTokens
) -> None:
    with pytest.raises(
        UsageError, match=f"not even one character fits into {limit} tokens"
    ) as caught:
        pages(text, limit, count)
    assert "--max-tokens" in caught.value.hint


@pytest.mark.parametrize("text", ["", "a"])
def test_pages_of_less_than_no_tokens_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be negative"):
        pages(text, -1)


def test_paging_a_long_text_counts_little_more_than_the_text() -> None:
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return count_tokens(text)

    text = "word " * 20_000
    assert "".join(pages(text, 100, count)) == text
    assert counted < 30 * len(text)

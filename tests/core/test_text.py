"""Words: one tokenizer, whatever the script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.text import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("   ", []),
        ("Review this Pull-Request", ["review", "this", "pull", "request"]),
        ("clean_code", ["clean", "code"]),
        ("C++ and C#, v2.0", ["c", "and", "c", "v2", "0"]),
        ("don't", ["don", "t"]),
        ("a b a", ["a", "b", "a"]),
        ("x1y2", ["x1y2"]),
        ("--- *** !!!", []),
        ("_", []),
    ],
)
def test_ascii_text_splits_on_everything_but_letters_and_digits(
    text: str, expected: list[str]
) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Grüße_STRASSE", ["grüsse", "strasse"]),
        ("Straße", ["strasse"]),
        ("ﬁx", ["fix"]),
        ("ΣΊΣΥΦΟΣ σίσυφος", ["σίσυφοσ", "σίσυφοσ"]),
        ("ПРИВЕТ, мир", ["привет", "мир"]),
        ("naïve—café", ["naïve", "café"]),
    ],
)
def test_case_is_folded_not_only_lowered(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_composed_and_decomposed_spellings_are_one_word() -> None:
    assert words("cafe\u0301") == words("caf\u00e9") == ["caf\u00e9"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("x\u0304y", ["x\u0304y"]),
        ("ภาษาไทย", ["ภาษาไทย"]),
        ("שָׁלוֹם", words("שָׁלוֹם")),
    ],
)
def test_marks_stay_inside_their_word(text: str, expected: list[str]) -> None:
    assert words(text) == expected
    assert len(words(text)) == len(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("日本語 テスト", ["日本語", "テスト"]),
        ("検索、要約。", ["検索", "要約"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("بحث الويب", ["بحث", "الويب"]),
        ("٣ items", ["٣", "items"]),
    ],
)
def test_other_scripts_have_words_too(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("text", ["👍", "❤️", "👍🏽", "👩‍💻", "🇩🇪", "\u0301", "→", "½", "²"])
def test_what_holds_no_letter_or_digit_is_no_word(text: str) -> None:
    assert words(text) == []


def test_emoji_part_the_words_around_them() -> None:
    assert words("ship🚀it ❤️ now") == ["ship", "it", "now"]


@given(st.text())
def test_words_do_not_depend_on_the_normal_form_of_the_text(text: str) -> None:
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))


@given(st.text())
def test_a_word_holds_only_letters_marks_and_digits_and_at_least_one_that_is_no_mark(
    text: str,
) -> None:
    for word in words(text):
        kinds = [unicodedata.category(char) for char in word]
        assert all(kind[0] in "LM" or kind == "Nd" for kind in kinds)
        assert any(kind[0] != "M" for kind in kinds)


@given(st.text(alphabet=st.characters(max_codepoint=127)), st.sampled_from("éж日"))
def test_one_foreign_word_does_not_change_how_the_ascii_ones_are_read(
    text: str, foreign: str
) -> None:
    assert words(f"{text} {foreign}") == [*words(text), foreign]

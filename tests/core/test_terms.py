"""The words of the ranker."""

import re
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.terms import (
    ASKING,
    plain_words,
    raw_parts,
    raw_words,
    searchable,
    searched,
    terms,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["get", "user", "name", "getusernam"]),
        ("get_user_name", ["get", "user", "name", "getusernam"]),
        ("HTTPServer2go", ["http", "server2go", "httpserver2go"]),
        ("parseHTTP", ["pars", "http", "parsehttp"]),
        ("__init__", ["init"]),
        ("snake__CaseWord_", ["snake", "case", "word", "snakecaseword"]),
        ("Word", ["word"]),
        ("WORDS", ["word"]),
        ("tests/unit-test.py", ["test", "unit", "test", "py"]),
        ("_ ' __", []),
    ],
)
def test_identifiers_are_split_and_their_joined_form_is_kept(
    text: str, expected: list[str]
) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize("apostrophe", ["'", "’", ""])
@pytest.mark.parametrize(
    "word",
    [
        "don't",
        "can't",
        "won't",
        "isn't",
        "doesn't",
        "I'm",
        "I've",
        "let's",
        "that's",
        "what's",
        "there's",
    ],
)
def test_a_contraction_says_nothing(word: str, apostrophe: str) -> None:
    assert set(terms(word.replace("'", apostrophe))) <= {"let"} <= ASKING


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the user's file", ["user", "file"]),
        ("the USER’S file", ["user", "file"]),
        ("Müller’s Datei", ["müller", "datei"]),
        ("they'll parse", ["pars"]),
        ("'quoted' words", ["quot", "word"]),
        ("l'invoice", ["invoic"]),
        ("O'Reilly", ["reilli"]),
        ("rock'n'roll", ["rock", "n", "roll", "rocknrol"]),
    ],
)
def test_what_follows_an_apostrophe_is_dropped_if_it_says_nothing(
    text: str, expected: list[str]
) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("数字表", ["数字", "字表"]),
        ("表", ["表"]),
        ("数字、表", ["数字", "表"]),
        ("ひらカタ", ["ひら", "らカ", "カタ"]),
        ("한국어", ["한국", "국어"]),
        ("PDFを読む", ["pdf", "を読", "読む"]),
        ("Größe", ["grösse"]),
        ("GrößeTabelle", ["grösse", "tabel"]),
        ("e\u0301te\u0301", ["été"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("ภาษาไทย", ["ภาษาไทย"]),
        ("שָׁלוֹם", [normalize("NFC", "שָׁלוֹם")]),
    ],
)
def test_other_scripts_give_words_or_pairs_of_characters(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize("text", ["I don't understand", "thanks, go on", "looks good, continue"])
def test_a_follow_up_has_only_words_that_ask(text: str) -> None:
    assert set(terms(text)) <= ASKING


def test_words_that_ask_are_stems() -> None:
    assert "" not in ASKING
    assert all(terms(word) in ([word], []) for word in ("thank", "look", "continu", "go"))
    assert {"thank", "look", "continu", "go"} <= ASKING


TEXTS = st.text(st.sampled_from("abcXYZ019_'’-. /éßÜ表数字 \u0301\u0939\u093f\t\n"), max_size=40)


@given(TEXTS | st.text(max_size=30))
def test_raw_words_are_what_a_regular_expression_finds(text: str) -> None:
    marks = (
        r"\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u109f"
        r"\u1780-\u17dd"
    )
    expected = re.findall(rf"[\w'’{marks}]+", normalize("NFC", text))
    assert raw_words(text) == expected


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_ascii_words_are_the_same_beside_words_in_another_script(text: str) -> None:
    assert raw_words(f"{text} é") == [*raw_words(text), "é"]
    assert terms(f"{text} é") == [*terms(text), "é"]


@given(TEXTS)
def test_parts_hold_the_terms_and_the_plain_words(text: str) -> None:
    parts = raw_parts(text)
    assert [term for one in parts for term in one.terms] == terms(text)
    assert [word for one in parts for word in one.plain] == plain_words(text)


def test_plain_words_keep_stop_words_and_no_stems() -> None:
    assert plain_words("The parsed tables of userName") == [
        "the", "parsed", "tables", "of", "user", "name",
    ]  # fmt: skip


# Long texts


def test_a_searchable_text_has_each_word_between_spaces() -> None:
    assert searchable("Parse, the TABLE!") == (" parse the table ", 3)
    assert searchable("Größe — “quoted” → 表") == (" grösse quoted 表 ", 3)
    assert searchable("a—b…c") == (" a b c ", 3)
    assert searchable(" .,; ") == ("", 0)
    assert searchable("") == ("", 0)


@given(st.lists(st.sampled_from(["Parse", "tables", "don't", "x_y", "é", "表"]), max_size=8))
def test_the_size_of_a_searchable_text_is_its_number_of_words(words: list[str]) -> None:
    text, size = searchable(", ".join(words))
    assert text.split() == [word.lower() for word in words]
    assert size == len(words)


@pytest.mark.parametrize(
    ("word", "term", "expected"),
    [
        ("tables", "tabl", " tabl"),
        ("Tables", "tabl", " tabl"),
        ("queries", "queri", " queri"),
        ("pdf", "pdf", " pdf "),
        ("PDF", "pdf", " pdf "),
        ("runs", "run", " runs "),
        ("数字表", "数字", "数字"),
    ],
)
def test_a_long_stem_finds_all_forms_and_a_short_one_the_word_alone(
    word: str, term: str, expected: str
) -> None:
    assert searched(word, term) == expected


@pytest.mark.parametrize(
    "word",
    [
        "tables",
        "Parsing",
        "invoice",
        "pdf",
        "deploying",
        "数字表",
        "go",
        "Größe",
        "ÉTÉ",
        "e\u0301te\u0301",
        "हिन्दी",
        "ΣΊΣΥΦΟΣ",
    ],
)
def test_a_word_is_found_in_a_text_that_has_it(word: str) -> None:
    text, _ = searchable(f"Well, {word}: here it is.")
    found = terms(word)
    assert found
    for term in found:
        assert searched(word, term) in text


def test_a_short_word_is_not_found_inside_of_another() -> None:
    text, _ = searchable("The category of stable things")
    assert searched("category", "categori") in text
    assert searched("cat", "cat") not in text
    assert searched("table", "tabl") not in text


def test_many_different_signs_separate_words_as_a_few_do() -> None:
    signs = "".join(map(chr, range(0x2190, 0x2190 + 200)))
    assert raw_words("é".join(signs)) == ["é"] * 199

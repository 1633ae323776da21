"""Stems: words without stop words, by the original Porter algorithm."""

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.stems import STOP_WORDS, stems
from metier.core.text import words

SHIPPED = (
    (resources.files("metier") / "schemas" / "english-stopwords.v1.txt").read_text().split("\n")
)


# Words


@pytest.mark.invariant(id="DCI-SCO-015")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Map-Grid_Box/Lamp.Desk", ["map", "grid", "box", "lamp", "desk"]),
        ("map\tgrid\nbox,lamp;desk", ["map", "grid", "box", "lamp", "desk"]),
        ("skills/map_grid/SKILL.md", ["skill", "map", "grid", "skill", "md"]),
        ("MAP map Map", ["map", "map", "map"]),
        ("v2 3d x64", ["v2", "3d", "x64"]),
        ("GRÜN STRAẞE", ["grün", "strass"]),
        ("", []),
        ("--- / _", []),
    ],
)
def test_text_is_folded_and_split_at_all_but_letters_marks_and_digits(
    text: str, expected: list[str]
) -> None:
    assert stems(text) == expected


@pytest.mark.invariant(id="DCI-SCO-015")
@given(st.text(max_size=40))
def test_every_stem_comes_from_a_word_in_order(text: str) -> None:
    assert stems(text) == [one for word in words(text) for one in stems(word)]
    assert all(words(word) == [word] and len(stems(word)) <= 1 for word in words(text))


# Stop words


@pytest.mark.invariant(id="DCI-SCO-016")
def test_the_stop_words_are_those_of_the_shipped_file() -> None:
    assert SHIPPED[-1] == ""
    listed = SHIPPED[:-1]
    assert len(listed) == len(STOP_WORDS) == 107
    assert set(listed) == STOP_WORDS
    assert listed == sorted(listed)
    assert all(words(word) == [word] for word in listed)


@pytest.mark.invariant(id="DCI-SCO-016")
@pytest.mark.parametrize("word", sorted(STOP_WORDS))
def test_each_stop_word_is_removed_in_any_case(word: str) -> None:
    assert stems(f"map {word} grid {word.upper()}") == ["map", "grid"]


@pytest.mark.invariant(id="DCI-SCO-016")
@pytest.mark.parametrize(
    "word", ["about", "all", "use", "ing", "t", "don", "need", "skill", "would"]
)
def test_a_word_that_is_not_listed_stays(word: str) -> None:
    assert len(stems(word)) == 1


@pytest.mark.invariant(id="DCI-SCO-016")
def test_words_are_compared_with_the_list_before_they_are_stemmed() -> None:
    assert stems("thing things others owned") == ["thing", "thing", "other", "own"]


# Porter

PORTER = [
    # step 1a
    ("caresses", "caress"), ("ponies", "poni"), ("ties", "ti"), ("caress", "caress"),
    ("cats", "cat"), ("skies", "ski"), ("news", "new"),
    # step 1b
    ("feed", "feed"), ("agreed", "agre"), ("plastered", "plaster"), ("bled", "bled"),
    ("motoring", "motor"), ("sing", "sing"), ("conflated", "conflat"), ("troubled", "troubl"),
    ("sized", "size"), ("hopping", "hop"), ("falling", "fall"), ("hissing", "hiss"),
    ("fizzed", "fizz"), ("filing", "file"), ("dying", "dy"),
    # step 1c
    ("happy", "happi"), ("sky", "sky"),
    # steps 2 to 4
    ("relational", "relat"), ("conditional", "condit"), ("rational", "ration"),
    ("digitizer", "digit"), ("vietnamization", "vietnam"), ("operator", "oper"),
    ("feudalism", "feudal"), ("decisiveness", "decis"), ("hopefulness", "hope"),
    ("formality", "formal"), ("sensitivity", "sensit"), ("triplicate", "triplic"),
    ("electrical", "electr"), ("goodness", "good"), ("revival", "reviv"), ("airliner", "airlin"),
    ("adjustment", "adjust"), ("adoption", "adopt"), ("effective", "effect"),
    ("generalizations", "gener"), ("oscillators", "oscil"), ("evaluation", "evalu"),
    # step 5
    ("probate", "probat"), ("rate", "rate"), ("cease", "ceas"), ("controlling", "control"),
    ("rolling", "roll"),
]  # fmt: skip
NOT_LATER_PORTERS = [
    ("geology", "geologi"),  # the author's own programs say geolog
    ("possibly", "possibli"),  # possibl there
    ("generously", "gener"),  # Porter 2 says generous
    ("skies", "ski"),  # sky
    ("dying", "dy"),  # die
    ("ties", "ti"),  # tie
    ("exceedingly", "exceedingli"),  # exceed
    ("communication", "commun"),  # communic
]


@pytest.mark.invariant(id="DCI-SCO-017")
@pytest.mark.parametrize(("word", "stem"), PORTER)
def test_words_are_stemmed_as_in_the_paper_of_1980(word: str, stem: str) -> None:
    assert stems(word) == [stem]


@pytest.mark.invariant(id="DCI-SCO-017")
@pytest.mark.parametrize(("word", "stem"), NOT_LATER_PORTERS)
def test_it_is_the_original_algorithm_and_no_later_one(word: str, stem: str) -> None:
    assert stems(word) == [stem]


@pytest.mark.invariant(id="DCI-SCO-017")
@pytest.mark.parametrize("word", ["s", "y", "us", "os", "ed", "ie", "ls", "js", "ss", "é"])
def test_words_of_one_or_two_letters_are_not_stemmed(word: str) -> None:
    assert stems(word) == [word]


@pytest.mark.invariant(id="DCI-SCO-017")
def test_a_word_of_three_letters_is_stemmed() -> None:
    assert stems("ids apis ski") == ["id", "api", "ski"]


@pytest.mark.invariant(id="DCI-SCO-017")
@pytest.mark.parametrize("word", ["привет", "日本語", "naïve", "2024", "x86"])
def test_other_scripts_and_numbers_pass_without_harm(word: str) -> None:
    assert len(stems(word)) == 1
    assert stems(word) == stems(word.upper())


@pytest.mark.invariant(id="DCI-SCO-017")
def test_forms_of_one_word_meet_in_one_stem() -> None:
    assert len(set(stems("search searching searched searches SEARCH"))) == 1


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=14))
def test_a_stem_is_never_empty_and_never_longer_than_its_word(word: str) -> None:
    for stem in stems(word):
        assert 1 <= len(stem) <= len(word)

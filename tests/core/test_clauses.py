"""What a description says a skill is for, and what it says it is not for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.clauses import split_clauses

PHRASES = [
    "Do not use it for", "Do not invoke for", "Should not be used for", "Must not trigger on",
    "Shall not be applied to", "Do NOT activate on", "Do not call for", "Do not load for",
    "Don't use for", "Don’t use for", "Dont use for", "Don't trigger on",
    "Never use for", "Never invoke for", "Avoid using for", "Avoid use for",
    "Not for", "Not intended for", "Not meant for", "Not suitable for", "Not designed for",
    "Not applicable to", "Not recommended for", "Not to be used for",
    "It does not", "This skill does not", "It reads; does not",
    "Skip for", "Skip it when", "Skip this if", "Skip when",
    "Non usare per", "Non usarlo per", "Ne pas utiliser pour", "No usar para", "No utilizar para",
    "Não usar para", "Nao use para", "Nicht für", "Nicht verwenden", "Nicht geeignet",
]  # fmt: skip


@pytest.mark.parametrize("phrase", PHRASES)
def test_what_follows_a_phrase_counts_against(phrase: str) -> None:
    about, against = split_clauses(f"Draws charts. {phrase} invoices. Reads tables.")
    assert "invoices" in against
    assert "invoices" not in about
    assert "charts" not in against
    assert "charts" in about
    assert "tables" not in against
    assert "tables" in about


@pytest.mark.parametrize(
    "phrase", ["不要用于", "不要使用", "不适用", "不用于", "使用しない", "対象外"]
)
def test_a_phrase_in_chinese_or_japanese_ends_at_its_own_full_stop(phrase: str) -> None:
    about, against = split_clauses(f"画图。{phrase}发票。读表。")
    assert against == "发票。"
    assert "发票" not in about
    assert "画图" in about
    assert "读表" in about


@pytest.mark.parametrize(
    ("end", "goes_on"),
    [
        (". ", False),
        ("! ", False),
        ("? ", False),
        (".\n", False),
        ('." ', False),
        (".) ", False),
        ("\n\n", False),
        ("\n \n", False),
        (" - use it when ", False),
        (" or .csv and ", True),
        (", ", True),
        ("\n", True),
        ("; ", True),
    ],
)
def test_a_clause_ends_with_its_sentence_or_paragraph(end: str, goes_on: bool) -> None:
    about, against = split_clauses(f"Draws charts. Not for invoices{end}tables")
    assert "invoices" in against
    assert ("tables" in against) is goes_on
    assert ("tables" in about) is not goes_on


def test_several_clauses_are_joined() -> None:
    about, against = split_clauses("Not for pdf. Draws charts. Do not use for csv. Reads tables.")
    assert against.split() == ["pdf.", "for", "csv."]
    assert about.split() == ["Draws", "charts.", "Reads", "tables."]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Draws charts.",
        "Takes notes, and notifies.",
        "Nothing else is needed.",
        "Skip lists and other structures.",
        "Finds what is not tested.",
        "Use whether or not tables are there.",
        "Usable for knots.",
        "A service that does not sleep.",
    ],
)
def test_other_descriptions_stay_as_they_are(text: str) -> None:
    assert split_clauses(text) == (text, "")


PIECES = [
    "Not for ",
    "do not use ",
    "charts",
    ". ",
    "\n\n",
    "use when ",
    "不用于",
    "。",
    " it does not ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_word_is_lost_but_those_of_the_phrases_and_none_is_in_both(text: str) -> None:
    about, against = split_clauses(text)
    assert (about.count("charts") + against.count("charts")) == text.count("charts")

"""Names: what is a legal one, and what is made from a file's name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.names import (
    ability_id_from_filename,
    canonical_id,
    is_capability_name,
    is_document_id,
    loose_key,
    slug,
)

_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


@pytest.mark.invariant(id="DCI-TOK-001")
@pytest.mark.parametrize(
    "token", ["a", "1", "a1-b2", "web-search", "0-0", "a-b-c-d", "x" * 64, "2024-guide"]
)
def test_a_name_of_words_joined_by_single_hyphens_is_a_capability_name(token: str) -> None:
    assert is_capability_name(token)


@pytest.mark.invariant(id="DCI-TOK-001")
@pytest.mark.parametrize(
    "token",
    [
        "",
        "x" * 65,
        "-",
        "-a",
        "a-",
        "a--b",
        "web search",
        "web_search",
        "Web-Search",
        "café",
        "a/b",
        "a.b",
        " a",
        "a ",
        "a\n",
        "\na",
        "１",
        "а",  # Cyrillic
        "a\u200bb",
        "a\u2010b",  # a hyphen, but not the one on the keyboard
    ],
)
def test_everything_else_is_no_capability_name(token: str) -> None:
    assert not is_capability_name(token)


@pytest.mark.invariant(id="DCI-TOK-001")
@given(st.text(alphabet="ab1-A_ é\n", max_size=70))
def test_the_capability_name_rule_is_the_sentence_of_the_spec(token: str) -> None:
    expected = (
        1 <= len(token) <= 64
        and set(token) <= _LEGAL
        and not token.startswith("-")
        and not token.endswith("-")
        and "--" not in token
    )
    assert is_capability_name(token) is expected


@pytest.mark.parametrize("token", ["a", "a1", "a-", "a--b", "code-review", "x" * 50])
def test_a_document_id_starts_with_a_letter_and_may_end_with_a_hyphen(token: str) -> None:
    assert is_document_id(token, 50)


@pytest.mark.parametrize(
    "token", ["", "1a", "-a", "2024-guide", "A", "a_b", "a b", "é", "a\n", "x" * 51]
)
def test_what_starts_otherwise_or_is_too_long_is_no_document_id(token: str) -> None:
    assert not is_document_id(token, 50)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TypeScript Best", "typescript-best"),
        ("a  __  b", "a-b"),
        ("--a--", "a"),
        ("Größe", "gr-e"),
        ("日本", ""),
        ("", ""),
    ],
)
def test_a_slug_is_lower_case_with_one_dash_for_every_run_of_others(
    text: str, expected: str
) -> None:
    assert slug(text) == expected


@given(st.text())
def test_a_slug_is_empty_or_words_joined_by_single_hyphens(text: str) -> None:
    made = slug(text)
    assert made == "" or is_capability_name(made[:64].strip("-"))
    assert slug(made) == made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TypeScript-Best-Practices.md", "typescript-best-practices"),
        ("abilities/nested/Clean Code.md", "clean-code"),
        ("a.b.md", "a-b"),
        ("_private.md", "private"),
        ("2024-guide.md", "2024-guide"),
        ("no-suffix", "no-suffix"),
        ("notes.md.md", "notes-md"),
    ],
)
def test_an_ability_id_is_the_slug_of_the_file_name_without_its_suffix(
    name: str, expected: str
) -> None:
    assert ability_id_from_filename(name) == expected


def test_a_canonical_id_is_name_and_folder() -> None:
    assert canonical_id("web-search", "skills/web-search") == "web-search::skills/web-search"


@pytest.mark.parametrize(
    "spelling", ["abilityId", "ability_id", "ability-id", "AbilityID", "abilityid"]
)
def test_all_spellings_of_a_key_have_one_loose_form(spelling: str) -> None:
    assert loose_key(spelling) == loose_key("abilityId")


def test_different_keys_keep_different_loose_forms() -> None:
    assert loose_key("requires") != loose_key("required")

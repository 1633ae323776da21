"""`docs/capabilities/*.md` → Card."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.parse.cards import parse_card
from metier.values.documents import Card
from metier.values.files import Parsed
from metier.values.outcomes import Issue
from soak import examples

PATH = "docs/capabilities/search.md"
SMALL = "id: search\nname: Search\ndescription: d\ntriggers: {keywords: [find]}"


def parse(front: str, body: str = "Use search.") -> Parsed:
    return parse_card(f"---\n{front}\n---\n{body}\n".encode(), PATH)


def card_in(parsed: Parsed) -> Card:
    assert isinstance(parsed.document, Card), parsed.issues
    return parsed.document


def card(front: str, body: str = "Use search.") -> Card:
    return card_in(parse(front, body))


def places(issues: Sequence[Issue]) -> list[tuple[str, int, int]]:
    return [(issue.code, issue.line, issue.column) for issue in issues]


def test_every_field_has_its_place() -> None:
    parsed = parse(
        "id: web-search\n"
        "name: Web search\n"
        "description: 'Finds pages: quickly'\n"
        "triggers:\n"
        "  keywords: [search, look up, 'über']\n"
        "  sessionTypes: [main]\n"
        "  confidenceThreshold: 0.25\n"
        "priority: 40\n"
        "estimatedTokens: 120\n"
        "version: 1.0.0\n"
        "enabled: false",
        "\n# Search\n\nAsk for it.\n\n",
    )
    assert parsed.issues == []
    made = card_in(parsed)
    assert made == Card(
        id="web-search",
        name="Web search",
        description="Finds pages: quickly",
        keywords=("search", "look up", "über"),
        session_types=("main",),
        confidence_threshold=0.25,
        priority=40,
        estimated_tokens=120,
        sha256=made.sha256,
        version="1.0.0",
        enabled=False,
        path=PATH,
        data=made.data,
        body="# Search\n\nAsk for it.",
    )


def test_defaults_hold_where_nothing_is_written() -> None:
    made = card(SMALL)
    assert made.confidence_threshold == 0.6
    assert made.priority == 10
    assert made.estimated_tokens == 0
    assert made.session_types == ()
    assert made.version == ""
    assert made.enabled is True


@pytest.mark.parametrize(
    ("types", "threshold", "tokens"),
    [
        ("sessionTypes", "confidenceThreshold", "estimatedTokens"),
        ("session_types", "confidence_threshold", "estimated_tokens"),
        ("session-types", "confidence-threshold", "estimated-tokens"),
        ("session_types", "confidence-threshold", "token_budget"),
        ("session_types", "confidence-threshold", "tokenBudget"),
    ],
)
def test_keys_may_be_spelt_in_three_ways_at_every_depth(
    types: str, threshold: str, tokens: str
) -> None:
    parsed = parse(
        "id: a\nname: A\ndescription: d\n"
        f"triggers:\n  keywords: [k]\n  {types}: [isolated]\n  {threshold}: 1\n{tokens}: 7"
    )
    made = card_in(parsed)
    assert parsed.issues == []
    assert made.session_types == ("isolated",)
    assert made.confidence_threshold == 1
    assert made.estimated_tokens == 7
    assert made.data["triggers"] == {
        "keywords": ["k"],
        "sessionTypes": ["isolated"],
        "confidenceThreshold": 1,
    }


@pytest.mark.parametrize("key", ["id", "capability_id", "capabilityId", "capability-id"])
def test_the_id_has_a_second_name(key: str) -> None:
    made = card(f"{key}: search\nname: S\ndescription: d\ntriggers: {{keywords: [k]}}")
    assert made.id == "search"
    assert made.data["id"] == "search"


def test_of_two_names_of_one_key_the_first_counts_with_an_issue() -> None:
    parsed = parse(f"capability_id: first\n{SMALL}")
    assert card_in(parsed).id == "first"
    assert places(parsed.issues) == [("FM105", 3, 1)]


def test_of_two_nested_spellings_the_first_counts_with_an_issue() -> None:
    parsed = parse(
        "id: a\ntriggers:\n  keywords: [k]\n  session_types: [main]\n  sessionTypes: [isolated]"
    )
    assert card_in(parsed).session_types == ("main",)
    assert places(parsed.issues) == [("FM105", 6, 3)]


def test_positions_are_asked_for_in_our_spelling() -> None:
    parsed = parse("id: a\ntriggers:\n  keywords:\n    - k\n  session_types: [main, x]")
    assert parsed.matter is not None
    position = parsed.matter.position
    assert position(("id",)) == (2, 1)
    assert position(("triggers", "keywords", 0)) == (5, 7)
    assert position(("triggers", "sessionTypes")) == (6, 3)
    assert position(("triggers", "sessionTypes", 1)) == (6, 25)
    assert position(("triggers", "missing")) == (3, 1)


def test_a_number_as_id_name_or_version_is_taken_as_it_reads() -> None:
    made = card("id: 42\nname: 7\ndescription: 1.5\nversion: 2\ntriggers: {keywords: [k]}")
    assert (made.id, made.name, made.description, made.version) == ("42", "7", "1.5", "2")


@pytest.mark.parametrize(
    "triggers", ["text", "[a]", "5", "", "{keywords: text}", "{keywords: [1]}"]
)
def test_keywords_that_are_no_texts_leave_none(triggers: str) -> None:
    parsed = parse(f"id: a\nname: A\ndescription: d\ntriggers: {triggers}")
    assert card_in(parsed).keywords == ()


def test_a_file_without_front_matter_is_no_card() -> None:
    parsed = parse_card(b"# Search\n\nText.\n", PATH)
    assert parsed.document is None
    assert places(parsed.issues) == [("FM101", 1, 1)]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "FM114"),
        (b"---\nid: a\n", "FM102"),
        (b"---\nid: a\ndescription: x: y\n---\nbody", "FM104"),
        (b"---\nid: a\ndescription: caf\xe9 and more\n---\nbody", "FM110"),
        (b"---\n- a\n---\nbody", "FM109"),
        (b"---\nid: &a b\n---\nbody", "FM106"),
        (b"---\nid: a\0\n---\nbody", "FM111"),
    ],
)
def test_a_card_is_read_strictly(raw: bytes, code: str) -> None:
    parsed = parse_card(raw, PATH)
    assert parsed.document is None
    assert [issue.code for issue in parsed.issues] == [code]


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
@examples(50)
def test_any_bytes_give_a_card_or_an_error(raw: bytes) -> None:
    parsed = parse_card(raw, PATH)
    assert parsed.document is not None or any(issue.is_error for issue in parsed.issues)

"""The rules for capability cards: the fields, and the advice on cards that are valid."""

import json
import re
from typing import Any

import pytest

from metier.lint import lint_document
from metier.lint.cards import sentence_score
from metier.parse.kinds import parse_document
from metier.select.cards import calculate_relevance_score
from metier.values.capabilities import SelectionContext
from metier.values.documents import Card
from metier.values.outcomes import Issue

MISSING = object()
"""Stands for a key that is not there."""


def lint(**fields: Any) -> list[Issue]:
    """What is found in a good card with these fields, `body` among them, put in."""
    card = {
        "id": "web-search",
        "name": "Web search",
        "description": "Looks things up.",
        "triggers": {"keywords": ["search", "web"]},
        "body": "b" * 400,
        **fields,
    }
    body = card.pop("body")
    front = {key: value for key, value in card.items() if value is not MISSING}
    text = f"---\n{json.dumps(front, indent=1)}\n---\n{body}\n"
    parsed = parse_document("card", text.encode(), "docs/capabilities/web-search.md")
    return [*parsed.issues, *lint_document(parsed)]


def codes(**fields: Any) -> list[str]:
    return [issue.code for issue in lint(**fields)]


def trigger_codes(**triggers: object) -> list[str]:
    return codes(triggers={"keywords": ["search"], **triggers})


def test_a_card_with_every_field_is_clean() -> None:
    triggers = {
        "keywords": ["search", "web"],
        "sessionTypes": ["main", "isolated"],
        "confidenceThreshold": 0.3,
        "timeOfDay": ["morning"],
        "userTier": ["pro"],
        "environmentType": ["ci"],
    }
    more = {"match": "word", "estimatedTokens": 100, "version": "1.2", "enabled": True}
    assert codes(triggers=triggers, priority=20, **more) == []


@pytest.mark.parametrize("field", ["id", "name", "description"])
def test_id_name_and_description_are_required(field: str) -> None:
    assert codes(**{field: MISSING}) == ["CD601"]
    assert codes(**{field: None}) == ["CD601"]
    assert codes(**{field: ""}) == ["CD602"]
    assert codes(**{field: ["a"]}) == ["CD602"]


def test_triggers_with_at_least_one_keyword_are_required() -> None:
    assert codes(triggers=MISSING) == ["CD601"]
    assert codes(triggers={}) == ["CD601"]
    assert codes(triggers={"keywords": None}) == ["CD601"]
    assert codes(triggers={"keywords": []}) == ["CD602"]
    assert codes(triggers=["search"]) == ["CD602"]


@pytest.mark.parametrize("keywords", [[""], ["web", ""], ["web", 7], ["web", None], "web"])
def test_keywords_are_a_list_of_texts_none_of_them_empty(keywords: object) -> None:
    assert codes(triggers={"keywords": keywords}) == ["CD602"]


@pytest.mark.parametrize("card_id", ["a", "web-search", "2-b", "a" * 64])
def test_an_id_is_words_joined_by_single_hyphens(card_id: str) -> None:
    assert codes(id=card_id) == []


@pytest.mark.parametrize("card_id", ["Web", "web search", "web_search", "-a", "a--b", "a" * 65])
def test_any_other_id_is_an_error(card_id: str) -> None:
    assert codes(id=card_id) == ["CD602"]


@pytest.mark.parametrize("types", [[], ["main"], ["isolated"], ["main", "isolated"]])
def test_session_types_are_main_and_isolated(types: list[str]) -> None:
    assert trigger_codes(sessionTypes=types) == []


@pytest.mark.parametrize("types", [["Main"], ["main", "other"], "main", [7]])
def test_any_other_session_type_is_an_error(types: object) -> None:
    assert trigger_codes(sessionTypes=types) == ["CD602"]


@pytest.mark.parametrize("threshold", [-0.01, 1.01, "0.5", True])
def test_a_threshold_outside_0_to_1_is_an_error(threshold: object) -> None:
    assert trigger_codes(confidenceThreshold=threshold) == ["CD602"]


@pytest.mark.parametrize("times", [[], ["morning"], ["afternoon", "evening", "night"]])
def test_times_of_day_are_those_that_come(times: list[str]) -> None:
    assert trigger_codes(timeOfDay=times) == []


@pytest.mark.parametrize("times", [["noon"], ["morning", "Night"], [""], "morning", [7]])
def test_any_other_time_of_day_is_an_error(times: object) -> None:
    assert trigger_codes(timeOfDay=times) == ["CD602"]


@pytest.mark.parametrize("field", ["userTier", "environmentType"])
def test_the_optional_triggers_are_lists_of_texts(field: str) -> None:
    assert trigger_codes(**{field: ["a"]}) == []
    assert trigger_codes(**{field: "a"}) == ["CD602"]
    assert trigger_codes(**{field: [""]}) == ["CD602"]


def test_an_unknown_key_is_only_a_note_also_among_the_triggers() -> None:
    assert codes(colour="red") == ["CD603"]
    assert trigger_codes(words=["a"]) == ["CD603"]


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("match", ["substring", "word"], ["words", "", 7]),
        ("priority", [0, 10, 59], [-1, 101, "10", True]),
        ("estimatedTokens", [0, 100], [-1, 2001, 99.5, "100"]),
        ("enabled", [True, False], ["no", 0]),
        ("version", ["1.0.0", 2, 1.5], []),
    ],
)
def test_the_other_fields_have_their_limits(
    field: str, good: list[object], bad: list[object]
) -> None:
    assert [codes(**{field: value}) for value in good] == [[]] * len(good)
    assert [codes(**{field: value}) for value in bad] == [["CD602"]] * len(bad)


def test_at_its_limits_a_number_is_no_error() -> None:
    assert codes(priority=100) == ["CD605"]
    assert codes(estimatedTokens=2000) == ["CD606"]


def test_the_spec_spellings_of_other_systems_are_understood() -> None:
    triggers = {"keywords": ["web"], "session_types": ["main"], "confidence-threshold": 0.2}
    assert codes(triggers=triggers, id=MISSING, capability_id="web", token_budget=100) == []


def test_an_error_is_found_where_it_stands() -> None:
    (issue,) = lint(triggers={"keywords": ["web", ""]})
    assert (issue.line, issue.message) == (9, "'triggers.keywords[1]' must not be empty")


def test_every_error_is_told_at_once_and_advice_waits_until_there_is_none() -> None:
    found = codes(body="short", id="A B", name=MISSING, match="all", priority=500)
    assert found == ["CD601", "CD602", "CD602", "CD602"]


@pytest.mark.parametrize(
    ("hits", "keywords", "score"),
    [(1, 1, 0.703), (2, 2, 0.706), (3, 3, 0.709), (3, 5, 0.429), (2, 5, 0.286), (3, 10, 0.219)],
)
def test_a_sentence_scores_as_the_default_scorer_says(
    hits: int, keywords: int, score: float
) -> None:
    assert sentence_score(hits, keywords) == score


@pytest.mark.parametrize(
    ("keywords", "threshold", "found"),
    [
        (3, 0.709, []),
        (3, 0.71, ["CD604"]),
        (5, 0.42, []),
        (5, 0.43, ["CD604"]),
        (4, None, ["CD604"]),
        (3, None, []),
    ],
)
def test_a_threshold_that_no_sentence_reaches_is_found(
    keywords: int, threshold: float | None, found: list[str]
) -> None:
    words = [f"word{number}" for number in range(keywords)]
    assert codes(triggers={"keywords": words, "confidenceThreshold": threshold}) == found


@pytest.mark.parametrize("total", range(4, 40))
def test_the_hint_names_a_threshold_that_a_sentence_with_two_keywords_reaches(total: int) -> None:
    words = [f"word{number}." for number in range(total)]
    (issue,) = lint(triggers={"keywords": words, "confidenceThreshold": 0.6})
    told = re.match(r"lower it to ([0-9.]+) \(2 of ", issue.hint)
    assert told is not None
    card = Card(id="a", name="A", description="B", keywords=tuple(words))
    heard = SelectionContext(recent_messages=["It is word0. or word1. that matters"])
    reached = calculate_relevance_score(card, heard)
    assert float(told[1]) <= reached < float(told[1]) + 0.001


def test_the_figures_of_a_threshold_out_of_reach_are_those_of_the_formula() -> None:
    words = [f"word{number}" for number in range(5)]
    (issue,) = lint(triggers={"keywords": words})
    assert issue.message == "a sentence with 3 of 5 keywords scores 0.429, the threshold is 0.6"
    assert issue.hint == "lower it to 0.286 (2 of 5 keywords) or less, or keep fewer keywords"


@pytest.mark.parametrize(
    ("priority", "threshold", "found"),
    [(29, 0.3, []), (30, 0.3, ["CD605"]), (59, None, []), (60, None, ["CD605"])],
)
def test_a_priority_that_reaches_the_threshold_by_itself_is_found(
    priority: int, threshold: float | None, found: list[str]
) -> None:
    triggers = {"keywords": ["web"], "confidenceThreshold": threshold}
    assert codes(triggers=triggers, priority=priority) == found


@pytest.mark.parametrize(
    ("claimed", "found"), [(75, []), (100, []), (125, []), (74, ["CD606"]), (126, ["CD606"])]
)
def test_a_claimed_size_may_be_off_by_a_quarter(claimed: int, found: list[str]) -> None:
    assert codes(body="b" * 400, estimatedTokens=claimed) == found


@pytest.mark.parametrize(
    ("size", "found"), [(0, ["CD607"]), (199, ["CD607"]), (200, []), (800, []), (801, ["CD607"])]
)
def test_a_body_has_200_to_800_characters(size: int, found: list[str]) -> None:
    assert codes(body="b" * size) == found


def test_a_card_takes_its_defaults_from_the_spec() -> None:
    text = "---\nid: a\nname: A\ndescription: B\ntriggers: {keywords: [web]}\n---\nText.\n"
    card = parse_document("card", text.encode(), "a.md").document
    assert isinstance(card, Card)
    assert (card.confidence_threshold, card.priority, card.session_types) == (0.6, 10, ())
    assert card.enabled

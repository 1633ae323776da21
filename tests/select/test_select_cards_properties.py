"""What holds for every choice of cards, whatever the cards, the messages and the settings."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.arrays import numpy_arrays, plain_arrays
from metier.core.budget import count_tokens
from metier.core.relevance import saturating_score
from metier.select import cards as cards_module
from metier.select.cards import (
    MOST_PASSED_OVER,
    CardIndex,
    CardSelection,
    calculate_relevance_score,
    select_relevant_capabilities,
)
from metier.values.capabilities import SelectionContext
from metier.values.documents import Card
from metier.values.settings_tables import CapabilitiesConfig

pytestmark = pytest.mark.slow

T = TypeVar("T")
PIECES = ["a", "aa", "aba", "B", "ß", "SS", "İ", "日本", "e\u0301", "ς", " ", "-", "1"]
WORDS = [
    "a",
    "aa",
    "ABA",
    "b",
    "ss",
    "Bß",
    "i\u0307",
    "日",
    "本a",
    "e",
    "e\u0301",
    "Σ",
    "a-a",
    "1",
    "q",
]
MESSAGES = st.lists(
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.sampled_from(["", " \n"]),
    max_size=7,
)
IDS = "abcdefghij"
SOME_IDS = st.lists(st.sampled_from(IDS), max_size=3, unique=True).map(tuple)


def some(*values: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from([(), (), (), values[:1], values])


def filled(value: Callable[..., T], fields: dict[str, Any]) -> T:
    return value(**fields)


CARDS: st.SearchStrategy[Card] = st.fixed_dictionaries(
    {
        "id": st.sampled_from(IDS),
        "name": st.just("N"),
        "description": st.just("D"),
        "keywords": st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(tuple),
        "session_types": some("main", "isolated"),
        "time_of_day": some("morning", "night"),
        "user_tier": some("pro", "free"),
        "environment_type": some("ci", "desk"),
        "match": st.sampled_from(["substring", "substring", "word"]),
        "confidence_threshold": st.sampled_from([0.0, 0.0, 0.2, 0.353, 0.6, 0.703, 0.75, 1.0]),
        "priority": st.sampled_from([0, 10, 20, 60, 100]),
        "enabled": st.sampled_from([True, True, True, True, False]),
        "body": st.sampled_from(["", "x" * 10, "x" * 40, "x" * 90]),
    }
).map(partial(filled, Card))
SETTINGS: st.SearchStrategy[CapabilitiesConfig] = st.fixed_dictionaries(
    {
        "confidence_threshold": st.sampled_from([None, None, 0.0, 0.5, 0.703]),
        "force_include": SOME_IDS,
        "exclude": SOME_IDS,
        "scorer": st.sampled_from(["spec", "spec", "saturating"]),
        "recent_messages": st.integers(1, 6),
        "max_tokens": st.integers(0, 120),
        "overflow": st.sampled_from(["skip", "stop"]),
        "user_tier": st.sampled_from(["", "pro"]),
        "environment_type": st.sampled_from(["", "ci"]),
    }
).map(partial(filled, CapabilitiesConfig))
CONTEXTS: st.SearchStrategy[SelectionContext] = st.fixed_dictionaries(
    {
        "recent_messages": MESSAGES,
        "session_type": st.sampled_from(["main", "isolated"]),
        "time_of_day": st.sampled_from(["", "morning", "night"]),
        "user_tier": st.sampled_from(["", "free"]),
        "environment_type": st.sampled_from(["", "ci", "desk"]),
    }
).map(partial(filled, SelectionContext))


class Case(NamedTuple):
    cards: list[Card]
    told: SelectionContext
    config: CapabilitiesConfig

    def choose(self) -> CardSelection:
        return CardIndex(self.cards).choose(self.told, self.config)


def with_many(cards: list[Card]) -> list[Card]:
    """The same cards and so many others that all keywords are looked for at once."""
    others = [f"filler {number}" for number in range(35)]
    return [*cards, Card(id="filler", name="F", description="F", keywords=tuple(others))]


LISTS = st.lists(CARDS, max_size=7)
CASES = st.tuples(LISTS, st.booleans(), CONTEXTS, SETTINGS).map(
    lambda drawn: Case(with_many(drawn[0]) if drawn[1] else drawn[0], *drawn[2:])
)


def outline(selection: CardSelection) -> list[Any]:
    ranked = [(one.item.id, one.score) for one in selection.ranked]
    others = [(one.item.id, one.score, reason) for one, reason in selection.passed_over]
    return [ranked, others, list(selection.issues)]


@given(CASES)
def test_plain_arrays_choose_the_same_cards_as_numpys(case: Case) -> None:
    found = []
    for arrays in (plain_arrays(), numpy_arrays()):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cards_module, "arrays_for", lambda _work, arrays=arrays: arrays)
            found.append(outline(case.choose()))
    assert found[0] == found[1]


# The rules once more, the slow way


def recent_messages(case: Case) -> list[str]:
    kept = [message for message in case.told.recent_messages if message.strip()]
    return kept[len(kept) - min(len(kept), case.config.recent_messages) :]


def slow_count(keyword: str, text: str, match: str) -> int:
    """Go from place to place; `word` wants neither letter, mark nor digit beside it."""
    count = at = 0
    while at < len(text):
        end = at + len(keyword)
        beside = f"{text[:at][-1:]}{text[end:][:1]}" if match == "word" else ""
        in_word = any(re.match("[LM]|Nd", unicodedata.category(one)) for one in beside)
        is_here = text[at:end] == keyword and not in_word
        count, at = count + is_here, end if is_here else at + 1
    return count


def slow_score(card: Card, case: Case) -> float:
    messages = recent_messages(case)
    if not messages:
        return round(card.priority / 100, 12)
    text = " ".join(messages).casefold()
    is_saturating = case.config.scorer == "saturating"
    match = "word" if is_saturating else card.match
    hits = [slow_count(keyword.casefold(), text, match) for keyword in card.keywords]
    if is_saturating:
        return round(sum(1 - 0.5**count for count in hits) / len(hits), 12)
    matched = sum(1 for count in hits if count)
    if not matched:
        return 0
    return round(matched / len(hits) * 0.7 + min(sum(hits) / 100, 1.0) * 0.3, 12)


def slow_objection(card: Card, score: float, case: Case) -> str:
    told, config = case.told, case.config
    if card.id in config.exclude:
        return "excluded"
    if card.id in config.force_include:
        return ""
    if card.session_types and told.session_type not in card.session_types:
        return "session-type"
    tier, kind = (
        told.user_tier or config.user_tier,
        told.environment_type or config.environment_type,
    )
    if card.time_of_day and told.time_of_day not in card.time_of_day:
        return "trigger"
    if card.user_tier and tier not in card.user_tier:
        return "trigger"
    if card.environment_type and kind not in card.environment_type:
        return "trigger"
    limit = card.confidence_threshold
    if config.confidence_threshold is not None:
        limit = config.confidence_threshold
    return "below-threshold" if score < limit else ""


def known(case: Case) -> list[Card]:
    """The cards that count: of each id the first, if it is enabled."""
    first: dict[str, Card] = {}
    for card in case.cards:
        if card.id not in first:
            first[card.id] = card
    return [card for card in first.values() if card.enabled]


@pytest.mark.invariant(id="CARD-SEL-007")
@given(CASES)
def test_a_choice_is_what_the_rules_say(case: Case) -> None:
    judged = {card.id: (card, slow_score(card, case)) for card in known(case)}
    objections = {key: slow_objection(*pair, case) for key, pair in judged.items()}
    chosen = [key for key, objection in objections.items() if not objection]
    forced = [key for key in case.config.force_include if key in chosen]
    others = sorted(
        set(chosen).difference(forced),
        key=lambda key: (-judged[key][0].priority, -judged[key][1], key),
    )
    selection = case.choose()
    assert [one.item.id for one in selection.ranked] == [*forced, *others]
    for one in selection.ranked:
        assert (one.item, one.score) == judged[one.item.id]
    for one, reason in selection.passed_over:
        assert (one.score, reason) == (judged[one.item.id][1], objections[one.item.id])


@given(CASES)
def test_the_best_of_the_others_are_told_the_highest_score_first(case: Case) -> None:
    selection = case.choose()
    told = [(one.score, one.item.id) for one, _ in selection.passed_over]
    assert told == sorted(told, key=lambda pair: (-pair[0], pair[1]))
    inside = {one.item.id for one in selection.ranked}
    scores = [slow_score(card, case) for card in known(case) if card.id not in inside]
    best = sorted((score for score in scores if score > 0), reverse=True)[:MOST_PASSED_OVER]
    assert [score for score, _ in told if score > 0] == best
    assert len(told) <= MOST_PASSED_OVER


@pytest.mark.invariant(id="CARD-SCO-008")
@given(st.lists(CARDS, min_size=1, max_size=7, unique_by=lambda card: card.id), MESSAGES)
def test_the_fast_way_gives_every_card_the_score_of_the_formula(
    cards: list[Card], messages: list[str]
) -> None:
    told = SelectionContext(recent_messages=[one for one in messages if one.strip()])
    config = CapabilitiesConfig(confidence_threshold=0.0, recent_messages=100)
    for some_cards in (cards, with_many(cards)):
        whole = CardIndex(some_cards).choose(told._replace(session_type=""), config)
        found = [*whole.ranked, *(one for one, _ in whole.passed_over)]
        scores = {one.item.id: one.score for one in found}
        assert scores.keys() >= {card.id for card in cards if card.enabled}
        for card in cards:
            if card.enabled:
                assert scores[card.id] == calculate_relevance_score(card, told)


def behind_many(card: Card) -> list[Card]:
    """The card behind so many others with its score that it is not named unless it passes."""
    ids = [f"other-{number}" for number in range(MOST_PASSED_OVER + 1)]
    return [*(replace(card, id=id, confidence_threshold=1.1) for id in ids), card]


@given(CASES)
def test_whoever_is_near_a_threshold_is_judged_by_the_exact_score(case: Case) -> None:
    """Each card's own score as its threshold: it passes; slightly more: it does not."""
    plain = CapabilitiesConfig(scorer=case.config.scorer)
    bare = case._replace(told=SelectionContext(case.told.recent_messages), config=plain)
    for card in known(bare):
        score = slow_score(card, bare)
        free: dict[str, Any] = {"time_of_day": (), "user_tier": (), "environment_type": ()}
        for limit, is_in in ((score, True), (score + 1e-11, False)):
            one = replace(card, session_types=(), confidence_threshold=limit, **free)
            for cards in ([one], with_many([one]), behind_many(one)):
                chosen = bare._replace(cards=cards).choose().ranked
                assert ([made.item for made in chosen] == [one]) is is_in


@pytest.mark.invariant(id="CARD-SCO-009")
@given(CASES, st.randoms())
def test_equal_calls_give_equal_choices_in_any_order_of_the_cards(case: Case, random: Any) -> None:
    cards, messages = list(case.cards), list(case.told.recent_messages)
    selection = case.choose()
    assert outline(case.choose()) == outline(selection)
    assert (cards, messages) == (case.cards, case.told.recent_messages)
    cards = known(case)
    random.shuffle(cards)
    assert outline(case._replace(cards=cards).choose()) == outline(selection)


@pytest.mark.invariant(id="CARD-CFG-005")
@given(CASES)
def test_no_excluded_and_no_disabled_card_is_ever_chosen(case: Case) -> None:
    ids = {one.item.id for one in case.choose().ranked}
    assert ids & set(case.config.exclude) == set()
    assert ids <= {card.id for card in known(case)}


@pytest.mark.invariant(id="CARD-SEL-006")
@given(CASES, st.none() | st.integers(0, 60))
def test_the_text_of_what_is_selected_keeps_to_the_budget_and_is_as_much_as_fits(
    case: Case, budget: int | None
) -> None:
    told = case.told._replace(token_budget=budget)
    limit = case.config.max_tokens if budget is None else budget

    def shown(card: Card) -> str:
        return f"[{card.id}]{card.body}"

    selected = select_relevant_capabilities(case.cards, told, case.config, render=shown)
    ranked = [one.item for one in case.choose().ranked]
    fitting: list[Card] = []
    for card in ranked:
        if count_tokens("\n\n".join(map(shown, [*fitting, card]))) <= limit:
            fitting.append(card)
        elif case.config.overflow == "stop":
            break
    assert [one.item for one in selected] == fitting
    assert count_tokens("\n\n".join(shown(one.item) for one in selected)) <= limit


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20))
def test_a_saturating_score_lies_in_0_to_1(hits: list[int]) -> None:
    assert 0 <= saturating_score(hits) <= 1

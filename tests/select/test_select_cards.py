"""Which cards a conversation needs: what is asked of them, in which order, and who decides."""

import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from metier.config.capabilities import for_agent
from metier.core.arrays import PLAIN_WORK
from metier.core.keywords import KeywordFinder
from metier.errors import UsageError
from metier.select.cards import (
    MOST_PASSED_OVER,
    CardIndex,
    CardSelection,
    calculate_relevance_score,
    register_scorer,
    select_relevant_capabilities,
    token_budget,
)
from metier.values.capabilities import SelectionContext
from metier.values.documents import Card
from metier.values.settings_tables import CapabilitiesConfig

NEVER = "a keyword that nobody writes"


def card(id: str, *keywords: str, **fields: Any) -> Card:
    """A card with the keyword `deploy`, unless others are given."""
    return Card(
        id=id,
        name=id.title(),
        description=f"About {id}.",
        keywords=keywords or ("deploy",),
        **{"body": f"Text of {id}.", **fields},
    )


def context(*messages: str, **fields: Any) -> SelectionContext:
    return SelectionContext(recent_messages=messages, **fields)


def choose(
    cards: Sequence[Card], *messages: str, session_type: str = "main", **settings: Any
) -> CardSelection:
    """What is chosen for `messages`, one about deploying unless given, with these settings."""
    told = context(*(messages or ("deploy it",)), session_type=session_type)
    return CardIndex(cards).choose(told, CapabilitiesConfig(**settings))


def selected(
    cards: Sequence[Card], told: SelectionContext, config: CapabilitiesConfig, **options: Any
) -> list[str]:
    """The ids of what fits, where a card is shown as its bare text unless told otherwise."""
    shown = {"render": lambda one: one.body, **options}
    return [one.item.id for one in select_relevant_capabilities(cards, told, config, **shown)]


def ids(selection: CardSelection) -> list[str]:
    return [one.item.id for one in selection.ranked]


def reasons(selection: CardSelection) -> dict[str, str]:
    return {one.item.id: reason for one, reason in selection.passed_over}


def scores(selection: CardSelection) -> dict[str, float]:
    return {one.item.id: one.score for one in selection.ranked}


# Messages


@pytest.mark.invariant(id="CARD-SEL-001")
@pytest.mark.parametrize(
    ("messages", "most", "found"),
    [
        (["deploy", "1", "2", "3", "4"], 5, ["one"]),
        (["deploy", "1", "2", "3", "4", "5"], 5, []),
        (["deploy", "1", "", "2", " \n", "3", "4", "\t"], 5, ["one"]),
        (["deploy", "1"], 1, []),
        (["deploy", "1", "2", "3", "4", "5"], 6, ["one"]),
    ],
)
def test_only_the_last_messages_that_are_not_blank_are_looked_at(
    messages: list[str], most: int, found: list[str]
) -> None:
    assert ids(choose([card("one")], *messages, recent_messages=most)) == found


@pytest.mark.invariant(id="CARD-SEL-001")
def test_five_messages_are_recent_unless_the_settings_say_otherwise() -> None:
    assert CapabilitiesConfig().recent_messages == 5
    told = context("deploy", *"12345")
    assert CardIndex([card("one")]).choose(told).ranked == []


@pytest.mark.invariant(id="CARD-SCO-001")
@pytest.mark.parametrize("messages", [[], [""], ["", " \n", "\t"]])
def test_without_a_message_a_card_scores_a_hundredth_of_its_priority(messages: list[str]) -> None:
    cards = [card("high", priority=60), card("low", priority=59), card("none", priority=0)]
    told = SelectionContext(recent_messages=messages)
    for settings in (CapabilitiesConfig(), CapabilitiesConfig(scorer="saturating")):
        selection = CardIndex(cards).choose(told, settings)
        assert scores(selection) == {"high": 0.6}
        assert [(one.item.id, one.score) for one, _ in selection.passed_over] == [
            ("low", 0.59),
            ("none", 0),
        ]
    assert calculate_relevance_score(cards[0], SelectionContext()) == 0.6


@pytest.mark.invariant(id="CARD-SCO-002")
@pytest.mark.parametrize(
    ("keyword", "messages"),
    [
        ("Pull Request", ["a PULL", "request"]),
        ("STRASSE", ["die Straße"]),
        ("straße", ["STRASSE"]),
        ("ΟΔΟΣ", ["η οδός", "οδος"]),
        ("İZMİR", ["izmİr İzmİr"]),
        ("развёртывание", ["РАЗВЁРТЫВАНИЕ сейчас"]),
        ("部署", ["请部署到生产环境"]),
        ("배포", ["지금 배포해 주세요"]),
        ("נתונים", ["מסד נתונים"]),
    ],
)
def test_keywords_of_any_language_meet_messages_whatever_their_case(
    keyword: str, messages: list[str]
) -> None:
    selection = choose([card("one", keyword)], *messages)
    assert scores(selection) == {"one": pytest.approx(0.703, abs=0.003)}


# The score


@pytest.mark.invariant(id="CARD-SCO-003")
@pytest.mark.invariant(id="CARD-SCO-006")
def test_a_keyword_is_met_inside_words_and_each_time_it_stands_there() -> None:
    cards = [card("one", "cat", "aa"), card("two", "dog", "aa")]
    selection = choose(cards, "concatenate the cat aaaaa", confidence_threshold=0.0)
    assert scores(selection) == {"one": 0.712, "two": 0.356}


@pytest.mark.parametrize("others", [0, 40])
def test_a_card_may_ask_for_whole_words(others: int) -> None:
    cards = [
        card("word", "cat", match="word"),
        card("part", "cat"),
        *(card(f"other-{number}", f"keyword-{number}") for number in range(others)),
    ]
    assert ids(choose(cards, "concatenate", confidence_threshold=0.5)) == ["part"]
    assert ids(choose(cards, "a cat.", confidence_threshold=0.5)) == ["part", "word"]
    alone = calculate_relevance_score(cards[0], context("concatenate a cat"))
    assert alone == scores(choose(cards, "concatenate a cat"))["word"] == 0.703


@pytest.mark.invariant(id="CARD-SCO-004")
def test_a_card_without_a_met_keyword_scores_zero_whatever_its_priority() -> None:
    one = card("one", priority=100, confidence_threshold=0.0)
    assert calculate_relevance_score(one, context("nothing")) == 0
    assert scores(choose([one], "nothing")) == {"one": 0}
    assert ids(choose([card("two", priority=100)], "nothing")) == []


@pytest.mark.invariant(id="CARD-SCO-005")
@pytest.mark.invariant(id="CARD-SCO-007")
@pytest.mark.invariant(id="CARD-SCO-008")
@pytest.mark.parametrize(
    ("message", "score"),
    [
        ("cost", 0.143),
        ("cost tokens", 0.286),
        ("cost " * 2 + "tokens", 0.289),
        ("cost tokens model routing " + "cost " * 9, 0.599),
        ("cost tokens model routing budget", 0.715),
        ("cost tokens model routing budget " * 20, 1.0),
        ("cost tokens model routing budget " * 50, 1.0),
        ("cost " * 1000, 0.44),
    ],
)
def test_a_score_is_that_of_the_spec(message: str, score: float) -> None:
    one = card("token-economy", "cost", "tokens", "model", "routing", "budget")
    assert calculate_relevance_score(one, context(message)) == score
    assert scores(choose([one], message, confidence_threshold=0.0)) == {"token-economy": score}


@pytest.mark.invariant(id="CARD-SCO-009")
def test_scoring_needs_nobody_and_is_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("somebody was called")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    cards = [card(f"card-{number}", "deploy", f"word{number}") for number in range(60)]
    told = context("deploy word7 and word11")
    first = CardIndex(cards).choose(told)
    again = CardIndex(cards[::-1])
    assert [again.choose(told).ranked, again.choose(told).ranked] == [first.ranked] * 2


def test_every_score_stands_beside_its_part() -> None:
    [one] = choose([card("one")]).ranked
    assert (one.score, dict(one.parts)) == (0.703, {"relevance": 0.703})


# Session types and the other triggers


@pytest.mark.invariant(id="CARD-SEL-002")
@pytest.mark.parametrize(
    ("types", "session_type", "is_in"),
    [
        (("main",), "main", True),
        (("main",), "isolated", False),
        (("isolated",), "main", False),
        (("isolated",), "isolated", True),
        (("main", "isolated"), "isolated", True),
        ((), "main", True),
        ((), "isolated", True),
    ],
)
def test_a_card_is_for_the_session_types_that_it_names_or_for_all(
    types: tuple[str, ...], session_type: str, is_in: bool
) -> None:
    selection = choose([card("one", session_types=types)], session_type=session_type)
    assert ids(selection) == (["one"] if is_in else [])
    assert reasons(selection) == ({} if is_in else {"one": "session-type"})


TRIGGERS = [
    pytest.param("time_of_day", marks=pytest.mark.invariant(id="CARD-EXT-002")),
    pytest.param("user_tier", marks=pytest.mark.invariant(id="CARD-EXT-003")),
    pytest.param("environment_type", marks=pytest.mark.invariant(id="CARD-EXT-004")),
]


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize(
    ("wanted", "given", "is_in"),
    [
        (("evening", "morning"), "morning", True),
        (("evening",), "morning", False),
        (("evening",), "", False),
        ((), "morning", True),
        ((), "", True),
        (("Morning",), "morning", False),
    ],
)
def test_a_card_with_another_trigger_is_chosen_only_for_what_it_lists(
    trigger: str, wanted: tuple[str, ...], given: str, is_in: bool
) -> None:
    index = CardIndex([card("one", **{trigger: wanted})])
    selection = index.choose(context("deploy", **{trigger: given}))
    assert ids(selection) == (["one"] if is_in else [])
    assert reasons(selection) == ({} if is_in else {"one": "trigger"})


@pytest.mark.parametrize("trigger", TRIGGERS[1:])
def test_the_settings_say_what_the_conversation_does_not(trigger: str) -> None:
    index = CardIndex([card("one", **{trigger: ("here",)})])
    here: dict[str, Any] = {trigger: "here"}
    settings = CapabilitiesConfig(**here)
    assert ids(index.choose(context("deploy"), settings)) == ["one"]
    assert ids(index.choose(context("deploy", **{trigger: "there"}), settings)) == []


def test_all_triggers_of_a_card_must_hold_together() -> None:
    both = {"time_of_day": ("night",), "user_tier": ("pro",)}
    index = CardIndex([card("one", **both)])
    assert ids(index.choose(context("deploy", time_of_day="night"))) == []
    assert ids(index.choose(context("deploy", time_of_day="night", user_tier="pro"))) == ["one"]


# The threshold


@pytest.mark.invariant(id="CARD-SEL-004")
@pytest.mark.parametrize(
    ("threshold", "is_in"), [(0.703, True), (0.7030000000001, True), (0.703000000001, False)]
)
def test_a_card_is_chosen_from_its_threshold_on_compared_to_twelve_decimals(
    threshold: float, is_in: bool
) -> None:
    selection = choose([card("one", confidence_threshold=threshold)])
    assert ids(selection) == (["one"] if is_in else [])
    assert reasons(selection) == ({} if is_in else {"one": "below-threshold"})


@pytest.mark.invariant(id="CARD-SEL-004")
def test_a_sum_that_is_slightly_too_small_as_a_float_still_reaches_its_threshold() -> None:
    assert 0.7 + 0.19 * 0.3 < 0.757
    assert ids(choose([card("one", confidence_threshold=0.757)], "deploy " * 19)) == ["one"]
    assert ids(choose([card("one")], "deploy " * 19, confidence_threshold=0.757)) == ["one"]
    others = [
        card(f"other-{number}", confidence_threshold=1.1) for number in range(MOST_PASSED_OVER + 1)
    ]
    one = card("one", confidence_threshold=0.757)
    assert ids(choose([*others, one], "deploy " * 19)) == ["one"]


@pytest.mark.parametrize("scorer", ["spec", "saturating"])
def test_hits_count_for_a_card_behind_many_that_come_nearer_and_do_not_pass(scorer: str) -> None:
    message = "deploy " * 99 + "ship"
    others = [
        card(f"other-{number}", "deploy", "ship", NEVER, confidence_threshold=0.9)
        for number in range(2 * MOST_PASSED_OVER)
    ]
    one = card("one", "deploy", NEVER, confidence_threshold=0.49)
    assert ids(choose([*others, one], message, scorer=scorer)) == ["one"]


@pytest.mark.invariant(id="CARD-CFG-003")
def test_a_threshold_in_the_settings_replaces_every_cards_own() -> None:
    cards = [card("low", confidence_threshold=0.1), card("high", confidence_threshold=0.9)]
    assert ids(choose(cards)) == ["low"]
    assert ids(choose(cards, confidence_threshold=0.7)) == ["high", "low"]
    assert ids(choose(cards, confidence_threshold=0.95)) == []
    assert ids(choose(cards, "nothing", confidence_threshold=0.0)) == ["high", "low"]


@pytest.mark.invariant(id="CARD-CFG-003")
def test_a_threshold_in_the_settings_counts_without_messages_too() -> None:
    index = CardIndex([card("one", priority=20)])
    assert ids(index.choose(SelectionContext())) == []
    settings = CapabilitiesConfig(confidence_threshold=0.2)
    assert ids(index.choose(SelectionContext(), settings)) == ["one"]


# The order


@pytest.mark.invariant(id="CARD-SEL-005")
def test_cards_stand_by_priority_then_score_then_id() -> None:
    cards = [
        card("d"),
        card("c", "deploy", "it"),
        card("b", "deploy", "it"),
        card("a", "deploy", NEVER, confidence_threshold=0.1),
        card("z", "deploy", NEVER, confidence_threshold=0.1, priority=11),
    ]
    for some in (cards, cards[::-1]):
        assert ids(choose(some)) == ["z", "b", "c", "d", "a"]


@pytest.mark.invariant(id="CARD-SEL-007")
def test_each_rule_is_asked_in_its_turn_and_the_first_that_objects_is_named() -> None:
    wrong: dict[str, Any] = {"session_types": ("isolated",), "user_tier": ("pro",)}
    cards = [
        card("excluded", NEVER, **wrong),
        card("session", NEVER, "deploy", **wrong),
        card("trigger", NEVER, "deploy", user_tier=("pro",)),
        card("threshold", NEVER, "deploy"),
    ]
    assert reasons(choose(cards, exclude=("excluded",))) == {
        "excluded": "excluded",
        "session": "session-type",
        "trigger": "trigger",
        "threshold": "below-threshold",
    }


@pytest.mark.invariant(id="CARD-SEL-007")
def test_what_is_filtered_out_takes_no_room_in_the_budget_and_sorting_comes_before_it() -> None:
    big = "x" * 400
    cards = [
        card("excluded", body=big, priority=90),
        card("elsewhere", body=big, priority=80, session_types=("isolated",)),
        card("irrelevant", NEVER, body=big, priority=70),
        card("second", body=big, priority=20),
        card("first", "deploy", NEVER, body=big, priority=30, confidence_threshold=0.3),
        card("third", body=big, priority=10),
    ]
    settings = CapabilitiesConfig(exclude=("excluded",), max_tokens=201)
    assert selected(cards, context("deploy"), settings) == ["first", "second"]


# Forced and excluded ones


@pytest.mark.invariant(id="CARD-CFG-004")
def test_forced_cards_skip_threshold_and_session_type_and_go_first_in_their_order() -> None:
    cards = [
        card("best", priority=100),
        card("other"),
        card("elsewhere", NEVER, session_types=("isolated",), priority=1),
        card("late", NEVER, time_of_day=("night",), confidence_threshold=1.0, priority=50),
    ]
    forced = ("late", "other", "elsewhere")
    selection = choose(cards, force_include=forced, confidence_threshold=0.7)
    assert ids(selection) == [*forced, "best"]
    assert scores(selection) == {"late": 0, "other": 0.703, "elsewhere": 0, "best": 0.703}
    assert ids(choose(cards, "nothing", force_include=("elsewhere",))) == ["elsewhere"]
    assert ids(choose(cards, "", force_include=("elsewhere",))) == ["elsewhere", "best"]


@pytest.mark.invariant(id="CARD-CFG-004")
def test_forced_cards_keep_to_the_budget() -> None:
    cards = [card("forced", NEVER, body="x" * 400), card("small", body="x" * 40)]
    settings = CapabilitiesConfig(force_include=("forced",), max_tokens=99)
    assert selected(cards, context("deploy"), settings) == ["small"]


@pytest.mark.invariant(id="CARD-CFG-005")
@pytest.mark.parametrize("messages", [["deploy"], [NEVER], [""]])
def test_an_excluded_card_stays_out_even_when_it_is_forced(messages: list[str]) -> None:
    cards = [card("one", priority=100), card("two", priority=100)]
    selection = choose(cards, *messages, exclude=("one",), force_include=("one", "two"))
    assert ids(selection) == ["two"]
    assert reasons(selection) == {"one": "excluded"}


@pytest.mark.parametrize("key", ["force_include", "exclude"])
def test_names_that_no_card_has_change_nothing(key: str) -> None:
    settings: dict[str, Any] = {key: ("nobody", "One")}
    assert ids(choose([card("one")], **settings)) == ["one"]


def test_a_card_that_is_forced_twice_stands_where_it_is_named_first() -> None:
    cards = [card("one", NEVER), card("two", NEVER)]
    assert ids(choose(cards, force_include=("one", "two", "one"))) == ["one", "two"]


def test_a_disabled_card_is_not_there_not_even_when_it_is_forced() -> None:
    selection = choose([card("off", enabled=False), card("on")], force_include=("off",))
    assert (ids(selection), reasons(selection)) == (["on"], {})


def test_of_two_cards_with_one_id_the_first_counts() -> None:
    selection = choose([card("one", body="first"), card("one", body="second"), card("two")])
    assert [one.item.body for one in selection.ranked] == ["first", "Text of two."]


# Scorers


def always(score: float) -> Any:
    return lambda *_: score


@pytest.mark.invariant(id="CARD-EXT-001")
def test_a_scorer_that_is_given_takes_the_place_of_the_formula() -> None:
    def by_length(one: Card, told: SelectionContext) -> float:
        return len(one.id) / 10 if told.recent_messages else 1

    one = card("four", NEVER)
    assert calculate_relevance_score(one, context("x"), by_length) == 0.4
    cards = [one, card("sevenxx", NEVER, confidence_threshold=0.7)]
    told = context("nothing")
    for settings in (CapabilitiesConfig(), CapabilitiesConfig(scorer="saturating")):
        selection = CardIndex(cards).choose(told, settings, custom_scorer=by_length)
        assert scores(selection) == {"sevenxx": 0.7}
        assert reasons(selection) == {"four": "below-threshold"}
    chosen = select_relevant_capabilities(cards, told, custom_scorer=by_length)
    assert [one.item.id for one in chosen] == ["sevenxx"]


@pytest.mark.invariant(id="CARD-EXT-001")
def test_a_scorer_is_told_the_recent_messages_and_asked_without_any_too() -> None:
    met: list[Sequence[str]] = []

    def note(_: Card, told: SelectionContext) -> float:
        met.append(list(told.recent_messages))
        return 1

    index = CardIndex([card("one")])
    index.choose(context(*"123", " ", *"4567"), custom_scorer=note)
    assert ids(index.choose(SelectionContext(), custom_scorer=note)) == ["one"]
    assert met == [[*"34567"], []]


@pytest.mark.invariant(id="CARD-EXT-001")
def test_a_registered_scorer_is_chosen_by_its_name() -> None:
    register_scorer("test-half", always(0.5))
    cards = [card("one", NEVER, confidence_threshold=0.5), card("two", confidence_threshold=0.6)]
    assert scores(choose(cards, scorer="test-half")) == {"one": 0.5}
    register_scorer("test-half", always(0.6))
    assert ids(choose(cards, scorer="test-half")) == ["one", "two"]
    selection = CardIndex(cards).choose(
        context("deploy"), CapabilitiesConfig(scorer="test-half"), custom_scorer=always(0)
    )
    assert ids(selection) == []


@pytest.mark.parametrize("name", ["spec", "saturating"])
def test_a_built_in_scorer_cannot_be_replaced(name: str) -> None:
    with pytest.raises(UsageError, match="built in"):
        register_scorer(name, always(1))


@pytest.mark.parametrize("messages", [["deploy"], []])
def test_a_scorer_that_nobody_registered_is_a_usage_error(messages: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        CardIndex([card("one")]).choose(context(*messages), CapabilitiesConfig(scorer="spek"))
    assert "'spek'" in caught.value.message
    assert {"spec", "saturating"} <= set(caught.value.hint.removeprefix("known: ").split(", "))


def raises(*_: object) -> float:
    raise RuntimeError("out of order")


def gives(value: Any) -> Any:
    return lambda *_: value


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (raises, "out of order"),
        (gives(float("nan")), "nan"),
        (gives(float("inf")), "inf"),
        (gives(None), "NoneType"),
        (gives("much"), "much"),
    ],
)
def test_a_card_for_which_the_scorer_fails_is_left_out_and_the_others_stay(
    fault: Any, told: str
) -> None:
    def scorer(one: Card, where: SelectionContext) -> float:
        return float(fault(one, where)) if one.id == "bad" else 0.9

    cards = [card("bad", path="docs/bad.md"), card("good")]
    for settings in (CapabilitiesConfig(), CapabilitiesConfig(force_include=("bad",))):
        selection = CardIndex(cards).choose(context("x"), settings, custom_scorer=scorer)
        assert ids(selection) == ["good"]
        [issue] = selection.issues
        assert (issue.code, issue.path) == ("CARD_SCORER_FAILED", "docs/bad.md")
        assert issue.severity == "warning"
        assert "'bad'" in issue.message
        assert told in issue.message


def test_the_saturating_scorer_takes_whole_words_and_counts_each_hit_half() -> None:
    one = card("one", "cat", "dog", confidence_threshold=0.1)
    for message, score in [("concatenate", None), ("cat", 0.25), ("cat. cat dog", 0.625)]:
        selection = choose([one], message, scorer="saturating")
        assert scores(selection) == ({} if score is None else {"one": score})


# Settings of an agent


@pytest.mark.invariant(id="CARD-EXT-007")
def test_each_agent_has_the_settings_of_its_profile() -> None:
    profiles: dict[str, dict[str, Any]] = {
        "strict": {"confidenceThreshold": 0.9},
        "none": {"exclude": ["one"]},
    }
    agents = {"careful": "strict", "deaf": "none", "small": "minimal"}
    general = CapabilitiesConfig(profiles=profiles, agents=agents, force_include=("two",))
    index = CardIndex([card("one"), card("two", NEVER)])

    def found(agent: str | None) -> list[str]:
        return ids(index.choose(context("deploy"), for_agent(general, agent)))

    assert found(None) == found("stranger") == found("small") == ["two", "one"]
    assert found("careful") == found("deaf") == ["two"]
    assert for_agent(general, "small").max_tokens == 500
    assert for_agent(general, "stranger") is general


# What is told of the others


def test_the_best_of_the_others_are_named_with_their_score_and_the_reason() -> None:
    cards = [card(f"card-{number:02}", "deploy", *[NEVER] * number) for number in range(1, 31)]
    selection = choose([card("one"), *cards])
    assert ids(selection) == ["one"]
    assert list(reasons(selection)) == [f"card-{n:02}" for n in range(1, MOST_PASSED_OVER + 1)]
    first, reason = selection.passed_over[0]
    assert (first.score, reason) == (0.353, "below-threshold")


@pytest.mark.parametrize("scorer", ["spec", "saturating"])
def test_of_equal_ones_the_same_are_named_in_whatever_order_they_were_given(scorer: str) -> None:
    cards = [card(f"card-{number:02}", "deploy", *[NEVER] * 4) for number in range(40)]
    told = list(reasons(choose(cards[::-1], scorer=scorer)))
    assert told == list(reasons(choose(cards, scorer=scorer)))
    assert told == [f"card-{number:02}" for number in range(MOST_PASSED_OVER)]


def test_without_messages_too_only_the_best_of_the_others_are_named() -> None:
    cards = [card(f"card-{number:02}", priority=number) for number in range(1, 31)]
    told = reasons(CardIndex(cards).choose(SelectionContext()))
    assert list(told) == [f"card-{number}" for number in range(30, 30 - MOST_PASSED_OVER, -1)]


def test_cards_that_have_nothing_to_do_with_the_conversation_are_not_named() -> None:
    cards = [card("one", NEVER), card("two", NEVER)]
    assert reasons(choose(cards, exclude=("two",))) == {"two": "excluded"}


def test_no_cards_are_no_problem() -> None:
    assert CardIndex([]).choose(context("deploy")) == CardSelection([], [], [])
    assert CardIndex([]).choose(SelectionContext()) == CardSelection([], [], [])
    assert select_relevant_capabilities([], context("deploy")) == []


def test_half_of_a_surrogate_pair_in_a_message_is_no_problem() -> None:
    cards = [card(f"card-{number}", f"keyword{number}.") for number in range(31)]
    assert ids(choose(cards, "keyword7. \ud83d")) == ["card-7"]


def test_a_card_without_keywords_is_never_met_and_disturbs_nobody() -> None:
    empty = Card(id="empty", name="E", description="d", keywords=())
    assert ids(choose([empty, card("one")])) == ["one"]


# Within a budget


@pytest.mark.invariant(id="CARD-SEL-003")
def test_a_selected_card_comes_with_its_metadata_its_score_and_its_content() -> None:
    one = card("one", "deploy", version="1.2", priority=7, estimated_tokens=3, path="docs/one.md")
    [found] = select_relevant_capabilities([one], context("deploy"))
    assert found.item == one
    assert found.item.body == "Text of one."
    assert found.score == 0.703


@pytest.mark.invariant(id="CARD-SEL-006")
def test_what_is_counted_is_the_text_as_it_is_rendered_and_by_the_counter_given() -> None:
    cards = [card("a", body="x" * 40), card("b", body="x" * 40)]

    def found(budget: int, **options: Any) -> list[str]:
        told = context("deploy", token_budget=budget)
        return selected(cards, told, CapabilitiesConfig(), **options)

    assert (found(21), found(20), found(9)) == (["a", "b"], ["a"], [])
    framed = {"render": lambda one: f"<<{one.body}>>"}
    assert (found(23, **framed), found(22, **framed)) == (["a", "b"], ["a"])
    assert found(81, count=len) == ["a"]
    assert found(82, count=len) == ["a", "b"]


@pytest.mark.invariant(id="CARD-SEL-006")
@pytest.mark.parametrize(("overflow", "found"), [("skip", ["a", "c"]), ("stop", ["a"])])
def test_one_that_does_not_fit_is_skipped_unless_the_settings_say_stop(
    overflow: Any, found: list[str]
) -> None:
    cards = [card(id, body=id * size) for id, size in (("a", 40), ("b", 400), ("c", 40))]
    settings = CapabilitiesConfig(max_tokens=30, overflow=overflow)
    assert selected(cards, context("deploy"), settings) == found


def test_an_index_is_used_as_it_is() -> None:
    index = CardIndex([card("one")])
    found = select_relevant_capabilities(
        index,  # type: ignore[arg-type]  # taken, although the signature names cards alone
        context("deploy"),
    )
    assert found[0].item is index.cards[0]


BUDGETS = {0: 100, 20: 300, 50: 200}


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        (context(), 100),
        (context("x" * 19), 100),
        (context("x" * 10, "y" * 10), 300),
        (context("x" * 60), 200),
        (context("x", conversation_length=50), 200),
        (context("x" * 60, conversation_length=0), 100),
        (context("x" * 60, token_budget=7), 7),
        (context("x" * 60, token_budget=0), 0),
    ],
)
def test_the_budget_follows_the_length_of_the_conversation_unless_it_is_given(
    told: SelectionContext, tokens: int
) -> None:
    assert token_budget(told, CapabilitiesConfig(budgets=BUDGETS)) == tokens


@pytest.mark.invariant(id="CARD-CFG-002")
def test_without_a_table_the_budget_is_that_of_the_settings_1500_by_default() -> None:
    assert token_budget(context("x" * 99_999), CapabilitiesConfig()) == 1_500
    assert token_budget(context("x"), CapabilitiesConfig(max_tokens=42)) == 42
    cards = [card("fits", body="x" * 6_000), card("more", body="x" * 6_001, priority=11)]
    assert selected(cards, context("deploy"), CapabilitiesConfig()) == ["fits"]


@pytest.mark.invariant(id="CARD-ROLL-005")
def test_all_keywords_of_all_cards_are_looked_for_in_one_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What keeps a choice among thousands of cards far below 50 ms; `make bench` measures it."""
    cards = [card(f"card-{n}", f"word{n}", f"other{n}") for n in range(200)]
    index = CardIndex(cards)
    passes: list[int] = []
    original = KeywordFinder._matches

    def counted(finder: KeywordFinder, text: str) -> Sequence[tuple[int, int, int]]:
        passes.append(len(text))
        return original(finder, text)

    monkeypatch.setattr(KeywordFinder, "_matches", counted)
    index.choose(context("word7 other7 word9"))
    assert len(passes) == 1


CHOOSE = """
import sys
from metier.select.cards import CardIndex
from metier.values.capabilities import SelectionContext
from metier.values.documents import Card

count = int(sys.argv[1])
words = [f"word{number}" for number in range(count)]
index = CardIndex([Card(id="a", name="A", description="A", keywords=tuple(words))])
for _ in range(2):
    index.choose(SelectionContext(recent_messages=["word1"]))
    print("numpy" in sys.modules)
"""


@pytest.mark.parametrize(("keywords", "loaded"), [(100, "False"), (PLAIN_WORK, "True")])
def test_numpy_is_loaded_for_much_work_only(keywords: int, loaded: str) -> None:
    command = [sys.executable, "-c", CHOOSE, str(keywords)]
    found = subprocess.run(command, capture_output=True, check=True, text=True, timeout=300)
    assert found.stdout.split() == ["False", loaded]

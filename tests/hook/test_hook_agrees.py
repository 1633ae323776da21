"""Hooks choose by stored postings what the selector chooses by reading all, and `which` shows."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hook.hooks import Hooks
from metier.catalog import Catalog
from metier.config.capabilities import to_json
from metier.core.ranking import BY_MEANING, SMALL_POOL
from metier.core.relevance import recent
from metier.flow.which import SkillQuestion, which_comes
from metier.hook.cards import ConsideredCard, choose_cards
from metier.hook.catalog_file import ReadOnlyCatalog
from metier.hook.request import LOOKED_AT
from metier.hook.skills import suggest
from metier.hosts import HOOKED
from metier.index.cards import stored_cards
from metier.select.cards import CardIndex
from metier.values.capabilities import SelectionContext
from metier.values.settings_tables import CapabilitiesConfig
from soak import examples

pytestmark = pytest.mark.slow

TIMES = ("morning", "afternoon", "evening", "night")


class CardFacts(NamedTuple):
    """What is written into a card."""

    keywords: tuple[str, ...]
    threshold: float
    priority: int
    match: str
    session_types: tuple[str, ...]
    time_of_day: tuple[str, ...]
    user_tier: tuple[str, ...]
    enabled: bool


@contextmanager
def read_only(hooks: Hooks) -> Iterator[ReadOnlyCatalog]:
    catalog = ReadOnlyCatalog(hooks.room)
    try:
        yield catalog
    finally:
        catalog.close()


def prepared(folder: Path) -> Hooks:
    """An empty workspace in `folder`, in the place of the one that was there."""
    shutil.rmtree(folder, ignore_errors=True)
    return Hooks(folder)


# Cards

PARTS = (
    "a",
    "ab",
    "ba",
    "pay",
    "bill",
    "über",
    "ß",
    "ſ",
    "İ",
    "数",
    "数字",
    "e\u0301",
    "😀",
    "-",
    "_",
    "7",
)
ODD_PARTS = (" ", "\t", "\n", "\\", "\\t", "\\n", "\\\\", '"', "#", ":", "%", "'")
KEYWORDS = st.lists(st.sampled_from((*PARTS, *ODD_PARTS)), min_size=1, max_size=4).map("".join)
CARDS = st.lists(
    st.builds(
        CardFacts,
        keywords=st.lists(KEYWORDS, min_size=1, max_size=5).map(tuple),
        threshold=st.sampled_from([0.001, 0.1, 0.178, 0.25, 0.353, 0.5, 0.6, 0.703, 0.9, 1.0]),
        priority=st.integers(0, 100),
        match=st.sampled_from(["substring", "word"]),
        session_types=st.sampled_from([(), ("main",), ("isolated",), ("main", "isolated")]),
        time_of_day=st.sampled_from([(), (), ("morning",), ("night", "evening")]),
        user_tier=st.sampled_from([(), (), ("premium",)]),
        enabled=st.sampled_from([True, True, True, False]),
    ),
    min_size=2,
    max_size=8,
)
IDS = [f"card-{number}" for number in range(9)]


def config_of(values: dict[str, Any]) -> CapabilitiesConfig:
    return CapabilitiesConfig(**values)


CONFIGS = st.fixed_dictionaries(
    {
        "scorer": st.sampled_from(["spec", "saturating"]),
        "confidence_threshold": st.sampled_from([None, None, 0.05, 0.353, 1.0]),
        "force_include": st.lists(st.sampled_from(IDS[:4]), max_size=3, unique=True).map(tuple),
        "exclude": st.lists(st.sampled_from(IDS[:4]), max_size=2, unique=True).map(tuple),
        "recent_messages": st.sampled_from([1, 2, 5]),
        "user_tier": st.sampled_from(["", "premium"]),
    }
).map(config_of)


@st.composite
def messages_about(draw: st.DrawFn, cards: Sequence[CardFacts]) -> list[str]:
    """Messages that hold keywords of the cards, whole, in capitals or by halves, among others."""
    keywords = [keyword for card in cards for keyword in card.keywords]
    pieces = st.sampled_from([*keywords, *PARTS, *ODD_PARTS, " ", " ", "x"])
    changed = st.one_of(
        pieces,
        pieces.map(str.upper),
        pieces.map(lambda one: one[1:]),
        pieces.map(lambda one: one * 2),
    )
    message = st.lists(changed, max_size=12).map(draw(st.sampled_from([" ", ""])).join)
    return draw(st.lists(message, max_size=7))


def write_cards(hooks: Hooks, cards: Sequence[CardFacts]) -> None:
    for id, one in zip(IDS, cards, strict=False):
        triggers = {
            "sessionTypes": one.session_types,
            "timeOfDay": one.time_of_day,
            "userTier": one.user_tier,
        }
        hooks.card(
            id,
            *one.keywords,
            threshold=one.threshold,
            priority=one.priority,
            match=one.match,
            triggers=triggers,
            enabled=one.enabled,
        )
    hooks.prepare()


def by_hook(
    hooks: Hooks, messages: Sequence[str], config: CapabilitiesConfig, session: str, moment: str
) -> list[ConsideredCard]:
    told: dict[str, Any] = to_json(config)
    with read_only(hooks) as catalog:
        seen = recent(messages, config.recent_messages)
        return choose_cards(catalog, seen, told, config.scorer, session, moment)


def by_selector(
    hooks: Hooks, messages: Sequence[str], config: CapabilitiesConfig, session: str, moment: str
) -> list[tuple[str, float]]:
    context = SelectionContext(messages, session_type=session, time_of_day=moment)
    with hooks.as_user(), Catalog.open(hooks.root) as catalog:
        chosen = CardIndex(stored_cards(catalog.store)).choose(context, config)
    return [(one.item.id, one.score) for one in chosen.ranked]


def test_hooks_choose_the_cards_that_the_selector_chooses(tmp_path: Path) -> None:
    @examples(50)
    @given(CARDS, st.lists(CONFIGS, min_size=1, max_size=6), st.data())
    def check(
        cards: list[CardFacts], configs: list[CapabilitiesConfig], data: st.DataObject
    ) -> None:
        hooks = prepared(tmp_path / "workspace")
        write_cards(hooks, cards)
        for config in configs:
            messages = data.draw(messages_about(cards))
            assert sum(map(len, messages)) < LOOKED_AT
            session = data.draw(st.sampled_from(["main", "isolated"]))
            moment = data.draw(st.sampled_from(TIMES))
            met = by_hook(hooks, messages, config, session, moment)
            passed = [(one.id, one.score) for one in met if not one.outcome]
            assert passed == by_selector(hooks, messages, config, session, moment)
            assert [one.outcome != "" for one in met] == sorted(one.outcome != "" for one in met)

    check()


def test_hooks_give_the_cards_that_do_not_pass_the_selectors_reasons(tmp_path: Path) -> None:
    @examples(60)
    @given(CARDS, CONFIGS, st.data())
    def check(cards: list[CardFacts], config: CapabilitiesConfig, data: st.DataObject) -> None:
        hooks = prepared(tmp_path / "workspace")
        write_cards(hooks, cards)
        messages = data.draw(messages_about(cards))
        context = SelectionContext(messages, session_type="main", time_of_day="morning")
        with hooks.as_user(), Catalog.open(hooks.root) as catalog:
            chosen = CardIndex(stored_cards(catalog.store)).choose(context, config)
        expected = {
            one.item.id: (one.score, why) for one, why in chosen.passed_over if one.score > 0
        }
        met = by_hook(hooks, messages, config, "main", "morning")
        found = {one.id: (one.score, one.outcome) for one in met if one.outcome and one.score > 0}
        assert found == expected

    check()


@pytest.mark.parametrize("scorer", ["spec", "saturating"])
@pytest.mark.parametrize("match", ["substring", "word"])
def test_scorers_and_matches_agree_on_plain_cards(scorer: str, match: str, tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    for number, words in enumerate((["pay"], ["pay", "bill"], ["payment"], ["say", "day"])):
        hooks.card(f"card-{number}", *words, threshold=0.01, match=match)
    hooks.prepare()
    config = CapabilitiesConfig(scorer=scorer)
    messages = ["Payment? I PAY, you say; pay the bill, pay-day.", "payments"]
    met = by_hook(hooks, messages, config, "main", "night")
    passed = [(one.id, one.score) for one in met if not one.outcome]
    assert passed == by_selector(hooks, messages, config, "main", "night")
    expected = {
        ("spec", "substring"): {"card-0": 0.715, "card-1": 0.718, "card-2": 0.706, "card-3": 0.706},
        ("spec", "word"): {"card-0": 0.709, "card-1": 0.712, "card-2": 0.703, "card-3": 0.706},
        ("saturating", "word"): {"card-0": 0.875, "card-1": 0.6875, "card-2": 0.5, "card-3": 0.5},
    }
    assert dict(passed) == expected[scorer, "word" if scorer == "saturating" else match]


@pytest.mark.parametrize("configured", [None, 0.0])
def test_a_threshold_of_zero_passes_without_any_keyword_as_in_the_selector(
    configured: float | None, tmp_path: Path
) -> None:
    hooks = Hooks(tmp_path)
    hooks.card("always", "unmet", threshold=0.5 if configured == 0.0 else 0.0)
    hooks.prepare()
    config = CapabilitiesConfig(confidence_threshold=configured)
    expected = by_selector(hooks, ["hello"], config, "main", "night")
    assert expected == [("always", 0.0)]
    met = by_hook(hooks, ["hello"], config, "main", "night")
    assert [(one.id, one.score) for one in met if not one.outcome] == expected


def test_without_messages_priorities_decide_alike(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    for number, priority in enumerate((0, 19, 20, 21, 100)):
        hooks.card(f"card-{number}", "unmet", threshold=0.2, priority=priority)
    hooks.prepare()
    for messages in ([], [" ", "\n"]):
        met = by_hook(hooks, messages, CapabilitiesConfig(), "main", "night")
        passed = [(one.id, one.score) for one in met if not one.outcome]
        assert passed == [("card-4", 1.0), ("card-3", 0.21), ("card-2", 0.2)]
        assert passed == by_selector(hooks, messages, CapabilitiesConfig(), "main", "night")


# Skills

WORDS = [
    "parse", "table", "invoice", "running", "runs", "runner", "database", "query", "the", "of",
    "with", "Größe", "数字表", "pdf", "csv", "chart", "deploy", "cloud", "node", "test", "testing",
    "parseTable", "cloud_node", "don't",
]  # fmt: skip
PLACES = ("skills", ".claude/skills", ".codex/skills", ".gemini/skills", ".agents/skills")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=15).map(" ".join)


class SkillFacts(NamedTuple):
    """What is written into a skill."""

    name: str
    place: str
    about: str
    not_for: str
    when: str
    examples: list[str]
    body: str
    is_manual: bool


SKILLS = st.lists(
    st.builds(
        SkillFacts,
        name=st.sampled_from(["skill", "table", "invoice", "deploy-cloud", "pdf"]),
        place=st.sampled_from(PLACES),
        about=TEXTS,
        not_for=st.sampled_from(["", "", "Not for a chart.", "Do not use it for pdf or csv."]),
        when=st.sampled_from(["", "", "Use it for every query."]),
        examples=st.lists(TEXTS, max_size=2),
        body=TEXTS,
        is_manual=st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=10,
)
PROMPTS = st.lists(st.sampled_from((*WORDS, "unheard", "RUNNING,", "please")), max_size=40)


def write_skills(hooks: Hooks, skills: Sequence[SkillFacts]) -> None:
    for number, one in enumerate(skills):
        matter = {
            "name": f"{one.name}-{number}",
            "description": f"{one.about}. {one.not_for}",
            **({"when_to_use": one.when} if one.when else {}),
            **({"examples": one.examples} if one.examples else {}),
            **({"disable-model-invocation": True} if one.is_manual else {}),
        }
        lines = [f"{key}: {json.dumps(value)}" for key, value in matter.items()]
        text = "\n".join(["---", *lines, "---", one.body, ""])
        hooks.workspace.write(f"{one.place}/{one.name}-{number}/SKILL.md", text)
    hooks.prepare()


def test_hooks_and_which_give_the_same_skills_in_the_same_order(tmp_path: Path) -> None:
    hosts = st.sampled_from([None, *HOOKED])

    @examples(12)
    @given(SKILLS, st.lists(st.tuples(PROMPTS.map(" ".join), hosts), min_size=4, max_size=8))
    def check(skills: list[SkillFacts], asked: list[tuple[str, str | None]]) -> None:
        hooks = prepared(tmp_path / "workspace")
        write_skills(hooks, skills)
        with (
            hooks.as_user(), Catalog.open(hooks.root) as full, read_only(hooks) as light
        ):  # fmt: skip
            threshold = full.config.capabilities.skill_threshold
            for task, host in asked:
                question = SkillQuestion(task, host, 100)
                answer = which_comes(full.store, full.config.capabilities, question)
                found = suggest(light, ["before", task], len(skills), threshold, host)
                assert [
                    (one.name, one.description, one.path, one.score, not one.outcome)
                    for one in found
                ] == [
                    (one.name, one.description, one.path, one.evidence, one.fires)
                    for one in answer.skills
                ]
                named = suggest(light, [task], answer.most, threshold, host)
                assert [one.name for one in named if not one.outcome] == [
                    one.name for one in answer.named
                ]

    check()


def test_hooks_and_which_agree_where_only_the_best_are_looked_at(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    rng = Random(7)
    for number in range(SMALL_POOL + 30):
        hooks.skill(f"{rng.choice(WORDS[:8])}-{number:03}", " ".join(rng.choices(WORDS, k=12)))
    hooks.prepare()
    with hooks.as_user(), Catalog.open(hooks.root) as full, read_only(hooks) as light:
        for _ in range(5):
            task = " ".join(rng.choices(WORDS, k=9))
            answer = full.which(task, limit=100, everything=False)
            found = suggest(light, [task], 99, 0.0)
            assert 0 < len(found) <= BY_MEANING
            assert [(one.path, one.score) for one in found] == [
                (one.path, one.evidence) for one in answer.skills
            ]


def test_a_threshold_and_a_count_say_what_is_named(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    for number in range(6):
        hooks.skill(f"skill-{number}", "parse table " + "and other words " * number)
    hooks.prepare()
    with read_only(hooks) as catalog:
        everything = suggest(catalog, ["parse a table"], 10, 0.0)
        scores = [one.score for one in everything]
        assert len(scores) == 6
        assert scores == sorted(scores, reverse=True)
        for most in (1, 3, 6):
            found = suggest(catalog, ["parse a table"], most, scores[3])
            named = [one.name for one in found if not one.outcome]
            assert named == [one.name for one in everything[: min(most, 4)]]
            outcomes = [one.outcome for one in found if one.outcome]
            assert outcomes == (["beyond-the-count"] if most <= 3 else ["below-threshold"] * 2)


def test_only_the_prompt_counts_for_skills_and_not_what_was_said_before(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    hooks.skill("invoice", "Reads an invoice.")
    hooks.skill("chart", "Draws a chart.")
    hooks.prepare()
    with read_only(hooks) as catalog:
        found = suggest(catalog, ["the invoice", "a chart"], 3, 0.0)
        assert [(one.name, one.score > 0) for one in found] == [("chart", True), ("invoice", False)]
        assert suggest(catalog, [], 3, 0.0) == []
        assert suggest(catalog, [""], 3, 0.0) == []


def test_of_equally_good_skills_the_first_by_path_are_named(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    for start in (20, 0):
        for number in range(start, start + 20):
            hooks.skill(f"skill{number:02}", "parse a table", folder=f"skills/{number:02}")
        hooks.prepare()
    with read_only(hooks) as catalog:
        paths = [one.path for one in suggest(catalog, ["parse"], 3, 0.0)]
    assert paths == [f"skills/{number:02}/SKILL.md" for number in range(4)]


def test_skills_that_others_hide_leave_room_for_those_in_use(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    for number in range(30):
        folder = f"skills/{number:02}"
        hooks.skill(
            "parser", f"parse parse parse table {WORDS[number % 8]} {number}", folder=folder
        )
    hooks.skill("other", "This one can parse, among many other things that it does for you.")
    hooks.prepare()
    with read_only(hooks) as catalog:
        found = suggest(catalog, ["parse a table"], 3, 0.0)
    assert {one.name: not one.outcome for one in found} == {"parser": True, "other": False}

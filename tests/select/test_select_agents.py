"""Which agent a task is for: every signal of the arithmetic, by itself and together."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.stems import STOP_WORDS
from metier.errors import UsageError
from metier.index.agents import STANDARD_PROFILE
from metier.select.agents import select_agents
from metier.values.agents import STANDARD, AgentMatch, AgentProfile


def profile(agent_id: str = "one", /, **data: Any) -> AgentProfile:
    """An agent whose description says nothing."""
    return AgentProfile.of({"agentId": agent_id, "description": "zz", **data})


def told(agent_id: str = "one", /, **selection: Any) -> AgentProfile:
    return profile(agent_id, selectionMetadata=selection)


def match(one: AgentProfile, task: str, required: tuple[str, ...] = ()) -> AgentMatch | None:
    """The match of one agent among the results, if it was kept."""
    found = select_agents([one, STANDARD_PROFILE], task, 10, required_capabilities=required)
    return next((each for each in found if each.agent_id == one.agent_id), None)


STRONG = {"exampleTasks": ["tidy the attic now"]}
"""0.6 for the task below."""
TASK = "Tidy the attic, now!"


def added(**selection: Any) -> float:
    """What selection metadata adds to an agent that would be kept whatever they take off."""
    strong = profile(expertise=["tidy"] * 8, selectionMetadata=selection)
    found = match(strong, TASK)
    assert found is not None
    return round(found.raw - 8 * 0.15, 9)


# Example tasks


@pytest.mark.invariant(id="INV-AGT-SEL-005")
@pytest.mark.parametrize(
    ("examples", "points"),
    [
        (["tidy the attic now"], 0.6),
        (["  TIDY — the_attic; now? "], 0.6),
        (["attic", "tidy the attic now"], 0.6),
        (["tidy the attic now", "attic"], 0.6),
        (["attic"], 0.4),
        (["tidy the attic"], 0.4),
        (["please tidy the attic now, dear"], 0.4),
        (["attic", "tidy", "now"], 0.4),
        (["the"], None),
        (["att"], None),
        (["tidy attic"], None),
        (["attic tidy"], None),
        (["tidy the attics now"], None),
        ([""], None),
        (["!"], None),
    ],
)
def test_the_best_example_counts_equal_or_containing_as_whole_words(
    examples: list[str], points: float | None
) -> None:
    found = match(told(exampleTasks=examples), TASK)
    assert (found.raw if found else None) == points
    if found:
        assert found.parts == {"exampleTasks": points}


@pytest.mark.parametrize("task", ["the", "what is it", "", "!!"])
def test_a_task_of_stop_words_only_is_part_of_no_example(task: str) -> None:
    assert match(told(exampleTasks=[f"tidy {task} attic"]), task) is None


def test_an_example_of_stop_words_only_counts_when_it_is_the_task() -> None:
    found = match(told(exampleTasks=["what is it"]), "What is it?")
    assert found is not None
    assert found.raw == 0.6
    assert match(told(exampleTasks=["!"]), "?") is None


# Not for


@pytest.mark.invariant(id="INV-AGT-SEL-006")
@pytest.mark.parametrize(
    ("not_for", "points"),
    [
        (["attic"], -0.5),
        (["attic", "tidy", "tidy the attic now"], -0.5),
        (["never tidy the attic now or later"], -0.5),
        (["the"], 0),
        (["att"], 0),
        (["attic tidy"], 0),
    ],
)
def test_one_match_of_what_it_is_not_for_takes_half_a_point_off(
    not_for: list[str], points: float
) -> None:
    assert added(notForTasks=not_for) == points


@pytest.mark.invariant(id="INV-AGT-SEL-006")
def test_what_it_is_not_for_takes_confidence_to_zero_not_below_and_strong_signals_win() -> None:
    (fallback,) = select_agents([told(notForTasks=["attic"])], TASK)
    assert fallback.agent_id == STANDARD
    found = match(told(**STRONG, notForTasks=["attic"], primaryIntents=["tidy"]), TASK)
    assert found is not None
    assert found.confidence == pytest.approx(0.4)


# Labels


@pytest.mark.parametrize(
    ("key", "points"),
    [
        ("primaryIntents", 0.3),
        ("negativeIntents", -0.3),
        ("keywords", 0.15),
        ("antiKeywords", -0.2),
    ],
)
def test_each_label_counts_when_all_its_words_are_in_the_task(key: str, points: float) -> None:
    assert added(**{key: ["attic"]}) == points
    assert added(**{key: ["now attic"]}) == points
    assert added(**{key: ["tidy", "attic"]}) == 2 * points
    assert added(**{key: ["the"]}) == points
    assert added(**{key: ["tic", "ATTICS", "attic cellar", "", "-"]}) == 0
    assert added(**{key: ["Tidy-NOW"]}) == points


@pytest.mark.parametrize(("field", "points"), [("capabilities", 0.1), ("expertise", 0.15)])
def test_capabilities_and_expertise_count_as_labels(field: str, points: float) -> None:
    def found(*labels: str) -> float | None:
        one = match(profile(**{field: list(labels)}), "build a rest api in go")
        return one.raw if one else None

    assert found("rest-api") == points
    assert found("rest-api", "go") == 2 * points
    assert found("ui", "rest-apis", "graphql api") is None


def test_a_short_label_is_a_word_not_a_part_of_one() -> None:
    assert match(told(keywords=["ui"]), "build a house") is None
    assert match(told(keywords=["ui"]), "a new UI") is not None


def test_secondary_signals_are_not_scored() -> None:
    assert added(secondarySignals=["attic", "tidy"]) == 0


@pytest.mark.parametrize(
    ("role", "points"),
    [("Attic expert", 0.1), ("attic tidy now", 0.1), ("the of", None), ("attics", None)],
)
def test_a_role_counts_once_for_any_word_that_is_no_stop_word(
    role: str, points: float | None
) -> None:
    found = match(profile(role=role), TASK)
    assert (found.raw if found else None) == points


# Description


@pytest.mark.parametrize(
    ("shared", "points"), [(0, 0), (2, 0), (3, 0.15), (4, 0.2), (5, 0.25), (6, 0.25), (9, 0.25)]
)
def test_shared_words_of_the_description_count_from_3_to_5(shared: int, points: float) -> None:
    words = [f"word{number}" for number in range(shared)]
    one = AgentProfile.of(
        {"agentId": "one", "description": " ".join([*words, *words, "the", "of"])}
    )
    found = match(one, " ".join(["the of of zz", *reversed(words)]))
    assert (found.raw if found else 0) == pytest.approx(points)


# What is required


@pytest.mark.parametrize(
    ("required", "points"),
    [
        (("react",), 0.25),
        (("react", "css grid"), 0.25),
        (("CSS-Grid",), 0.25),
        (("react", "vue"), 0.05),
        (("react", "vue", "go", "php"), 0.025),
        (("react", "css_grid", "vue"), 0.066666666667),
        (("vue",), 0),
        (("css",), 0),
        ((), 0),
    ],
)
def test_required_capabilities_count_all_or_by_their_share(
    required: tuple[str, ...], points: float
) -> None:
    one = profile(capabilities=["react", "css-grid"], selectionMetadata=STRONG)
    found = match(one, TASK, required)
    assert found is not None
    assert found.raw == pytest.approx(0.6 + points, abs=1e-12)


# Redirects


def test_each_redirect_phrase_in_the_task_takes_half_a_point_off() -> None:
    phrases = [{"phrase": "the attic", "suggest": "x"}, {"phrase": "tidy", "suggest": "y"}]
    off = [{"phrase": "attic the", "suggest": "x"}, {"phrase": "att", "suggest": "y"}]
    assert added(redirectWhen=phrases) == -1
    assert added(redirectWhen=phrases[:1]) == -0.5
    assert added(redirectWhen=off) == 0
    assert added(redirectWhen=[{"phrase": "tidy the attic now please", "suggest": "x"}]) == 0
    found = match(told(**STRONG, primaryIntents=["tidy"], redirectWhen=phrases[:1]), TASK)
    assert found is not None
    assert any("redirects to 'x'" in reason for reason in found.reasons)


# Sum, threshold, order


def test_parts_add_up_to_the_raw_sum_and_each_has_its_reason() -> None:
    one = profile(
        capabilities=["attic"],
        expertise=["tidy"],
        role="attic",
        selectionMetadata={**STRONG, "keywords": ["attic"], "antiKeywords": ["now"]},
    )
    found = match(one, TASK)
    assert found is not None
    assert found.parts == {
        "exampleTasks": 0.6,
        "keyword": 0.15,
        "antiKeyword": -0.2,
        "capability": 0.1,
        "expertise": 0.15,
        "role": 0.1,
    }
    assert found.raw == 0.9
    assert len(found.reasons) == len(found.parts)


def test_the_threshold_is_0_1_inclusive() -> None:
    assert match(profile(capabilities=["attic"]), TASK) is not None
    almost = profile(
        capabilities=["attic"], selectionMetadata={"keywords": ["tidy"], "antiKeywords": ["now"]}
    )
    assert match(almost, TASK) is None


def test_sums_are_rounded_so_that_equal_ones_are_equal() -> None:
    three = told("b", keywords=["tidy", "attic"])
    one = told("a", primaryIntents=["tidy"])
    found = select_agents([three, one], TASK)
    assert [(each.agent_id, each.confidence) for each in found] == [("a", 0.3), ("b", 0.3)]


@pytest.mark.invariant(id="INV-AGT-SEL-002")
def test_confidence_is_clamped_and_the_raw_sum_stands_beside_it() -> None:
    found = match(told(**STRONG, primaryIntents=["tidy", "attic", "now"]), TASK)
    assert found is not None
    assert (found.confidence, found.raw) == (1.0, 1.5)


LABELS = st.lists(
    st.sampled_from(["tidy", "attic", "now", "the attic", "cellar", "tidy the attic now", "the"]),
    max_size=4,
)
SELECTION_LISTS = (
    "exampleTasks", "notForTasks", "primaryIntents", "negativeIntents", "keywords", "antiKeywords",
)  # fmt: skip
PROFILES = st.lists(
    st.builds(
        lambda agent_id, team, enabled, capabilities, role, selection: profile(
            agent_id,
            team=team,
            enabled=enabled,
            capabilities=capabilities,
            role=role,
            selectionMetadata=selection,
        ),
        st.sampled_from(["a", "b", "c", "d", STANDARD]),
        st.sampled_from(["x", "y"]),
        st.booleans(),
        LABELS,
        st.sampled_from(["", "attic", "the"]),
        st.fixed_dictionaries(dict.fromkeys(SELECTION_LISTS, LABELS)),
    ),
    max_size=5,
    unique_by=lambda one: one.agent_id,
)


@pytest.mark.invariant(id="INV-AGT-SEL-001")
@pytest.mark.invariant(id="INV-AGT-SEL-002")
@pytest.mark.invariant(id="INV-AGT-SEL-003")
@pytest.mark.invariant(id="INV-AGT-SEL-004")
@given(PROFILES, st.integers(1, 6), st.integers(), st.sampled_from([None, "x"]))
def test_selection_is_a_total_order_that_shuffling_does_not_change(
    profiles: list[AgentProfile], limit: int, seed: int, team: str | None
) -> None:
    options: dict[str, Any] = {"team": team, "required_capabilities": ["attic"], "exclude": ["b"]}
    found = select_agents(profiles, TASK, limit, **options)
    shuffled = list(profiles)
    random.Random(seed).shuffle(shuffled)
    assert select_agents(shuffled, TASK, limit, **options) == found
    assert found == sorted(found, key=lambda one: (-one.confidence, one.agent_id))
    assert 1 <= len(found) <= limit
    assert all(0.1 <= one.confidence <= 1 for one in found)
    assert all(one.confidence == max(0, min(1, one.raw)) for one in found if one.parts)
    by_id = {one.agent_id: one for one in profiles}
    for one in found:
        asked = by_id.get(one.agent_id)
        if one.agent_id != STANDARD:
            assert asked is not None
            assert asked.enabled
            assert one.agent_id != "b"
            assert team is None or asked.team == team


@pytest.mark.invariant(id="INV-AGT-SEL-001")
def test_equal_confidences_are_settled_by_id() -> None:
    agents = [told(name, keywords=["attic"]) for name in ("b", "c", "a")]
    assert [one.agent_id for one in select_agents(agents, TASK)] == ["a", "b", "c"]


@pytest.mark.invariant(id="INV-AGT-SEL-003")
def test_the_best_comes_first_and_the_default_limit_is_3() -> None:
    agents = [told(name, keywords=["tidy", "attic", "now"][:n]) for n, name in enumerate("abcd", 0)]
    found = select_agents([*agents, told("e", primaryIntents=["tidy", "now"])], TASK)
    assert [one.agent_id for one in found] == ["e", "d", "c"]


def test_a_limit_below_1_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        select_agents([], TASK, 0)


# Standard


@pytest.mark.invariant(id="INV-AGT-SEL-004")
@pytest.mark.parametrize(
    "profiles",
    [
        [],
        [STANDARD_PROFILE],
        [profile(STANDARD, enabled=False)],
        [profile(STANDARD, team="other")],
        [profile("weak")],
        [told("off", **STRONG, notForTasks=["attic"], negativeIntents=["tidy"])],
    ],
)
def test_when_nobody_fits_the_answer_is_standard_with_one_half(
    profiles: list[AgentProfile],
) -> None:
    (found,) = select_agents(profiles, TASK, team="x", exclude=[STANDARD])
    assert (found.agent_id, found.confidence, found.parts) == (STANDARD, 0.5, {})
    assert found.reasons


@pytest.mark.invariant(id="INV-AGT-SEL-004")
def test_standard_is_a_candidate_like_any_other_and_cannot_be_kept_out() -> None:
    strong = profile(STANDARD, enabled=False, team="other", selectionMetadata=STRONG)
    rival = profile("rival", team="x", selectionMetadata={"keywords": ["attic"]})
    found = select_agents([rival, strong], TASK, team="x", exclude=[STANDARD])
    assert [(one.agent_id, one.confidence) for one in found] == [(STANDARD, 0.6), ("rival", 0.15)]


def test_standard_is_not_added_to_agents_that_fit() -> None:
    found = select_agents([told(keywords=["attic"]), STANDARD_PROFILE], TASK)
    assert [one.agent_id for one in found] == ["one"]


def test_the_bundled_standard_says_nothing_that_could_match() -> None:
    assert STANDARD_PROFILE.selection == {}
    assert STANDARD_PROFILE.role == ""
    assert (STANDARD_PROFILE.capabilities, STANDARD_PROFILE.expertise) == ((), ())
    words = STANDARD_PROFILE.description.lower().rstrip(".").split()
    assert len(set(words) - STOP_WORDS) < 3


def test_disabled_excluded_and_other_teams_are_no_candidates() -> None:
    agents = [
        profile("disabled", enabled=False, selectionMetadata=STRONG),
        profile("excluded", selectionMetadata=STRONG, team="x"),
        profile("elsewhere", selectionMetadata=STRONG, team="y"),
        profile("teamless", selectionMetadata=STRONG),
        profile("kept", selectionMetadata={"keywords": ["attic"]}, team="x"),
    ]
    found = select_agents(agents, TASK, team="x", exclude={"excluded"})
    assert [one.agent_id for one in found] == ["kept"]

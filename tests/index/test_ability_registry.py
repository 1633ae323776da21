"""The registry of abilities (spec 1): one ability an id, by falling priority, AND-ed filters."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.index.abilities import AbilityRegistry
from metier.values.documents import Ability


def ability(ability_id: str, **fields: Any) -> Ability:
    return Ability(ability_id=ability_id, **fields)


def ids(abilities: Iterable[Ability]) -> list[str]:
    return [one.id for one in abilities]


# One ability an id


@pytest.mark.invariant(id="INV-ABL-001")
def test_registering_a_known_id_replaces_the_ability() -> None:
    registry = AbilityRegistry([ability("a", content="old", tags=("go",))])
    registry.register(ability("a", content="new"))
    assert registry.get("a") == ability("a", content="new")
    assert registry.list() == [ability("a", content="new")]
    assert registry.list(tags=["go"]) == []
    assert len(registry) == 1


@pytest.mark.invariant(id="INV-ABL-001")
def test_a_replaced_ability_keeps_its_place() -> None:
    registry = AbilityRegistry([ability("a"), ability("b"), ability("c")])
    registry.register(ability("a", content="new"))
    assert ids(registry) == ["a", "b", "c"]
    assert ids(registry.list()) == ["a", "b", "c"]


@pytest.mark.invariant(id="INV-ABL-001")
def test_registering_says_that_the_ability_is_in() -> None:
    registry = AbilityRegistry()
    assert registry.register(ability("a")) is True
    assert registry.register(ability("a", content="new")) is True


@pytest.mark.invariant(id="INV-ABL-001")
def test_ids_are_told_apart_to_the_letter() -> None:
    registry = AbilityRegistry([ability("a-b"), ability("a_b"), ability("A-b")])
    assert ids(registry.list()) == ["a-b", "a_b", "A-b"]


def test_an_unknown_id_is_none_and_does_not_exist() -> None:
    registry = AbilityRegistry([ability("a")])
    assert registry.get("b") is None
    assert not registry.exists("b")
    assert registry.exists("a")


def test_removing_says_whether_there_was_something_to_remove() -> None:
    registry = AbilityRegistry([ability("a"), ability("b")])
    assert registry.remove("a") is True
    assert registry.remove("a") is False
    assert not registry.exists("a")
    assert registry.get("a") is None
    assert ids(registry.list()) == ["b"]


def test_a_removed_id_that_comes_back_takes_the_last_place() -> None:
    registry = AbilityRegistry([ability("a"), ability("b")])
    registry.remove("a")
    registry.register(ability("a"))
    assert ids(registry.list()) == ["b", "a"]


# Order


@pytest.mark.invariant(id="INV-ABL-002")
def test_abilities_come_by_falling_priority() -> None:
    registry = AbilityRegistry(
        ability(f"p{priority}", priority=priority) for priority in (7, 100, 1, 99, 51)
    )
    assert ids(registry.list()) == ["p100", "p99", "p51", "p7", "p1"]


@pytest.mark.invariant(id="INV-ABL-002")
def test_equal_priorities_keep_the_order_of_registration() -> None:
    registry = AbilityRegistry(
        ability(name, priority=priority)
        for name, priority in [("z", 5), ("b", 9), ("y", 5), ("a", 9), ("x", 5)]
    )
    assert ids(registry.list()) == ["b", "a", "z", "y", "x"]


@pytest.mark.invariant(id="INV-ABL-002")
def test_an_unset_priority_counts_as_fifty() -> None:
    unset = Ability.of({"abilityId": "unset"}, "")
    registry = AbilityRegistry([ability("less", priority=49), unset, ability("more", priority=51)])
    assert ids(registry.list()) == ["more", "unset", "less"]
    assert Ability.of({"abilityId": "wrong", "priority": "high"}, "").priority == 50


@pytest.mark.invariant(id="INV-ABL-002")
def test_a_replaced_ability_is_sorted_by_its_new_priority() -> None:
    registry = AbilityRegistry([ability("a", priority=90), ability("b")])
    registry.register(ability("a", priority=10))
    assert ids(registry.list()) == ["b", "a"]


@pytest.mark.invariant(id="INV-ABL-002")
def test_filtered_abilities_are_sorted_too() -> None:
    registry = AbilityRegistry(
        ability(name, priority=priority, category=category)
        for name, priority, category in [("a", 1, "x"), ("b", 9, "y"), ("c", 5, "x")]
    )
    assert ids(registry.list(category="x")) == ["c", "a"]


def test_a_returned_list_is_the_callers_own() -> None:
    registry = AbilityRegistry([ability("a")])
    registry.list().clear()
    assert ids(registry.list()) == ["a"]


# Filters


def test_the_category_is_compared_as_it_is_written() -> None:
    registry = AbilityRegistry(
        ability(category or "none", category=category)
        for category in ("code", "Code", "code-review", "")
    )
    assert ids(registry.list(category="code")) == ["code"]
    assert ids(registry.list(category="")) == ["none"]
    assert registry.list(category="review") == []


def test_one_shared_tag_is_enough() -> None:
    registry = AbilityRegistry(
        [ability("a", tags=("go", "ci")), ability("b", tags=("ci",)), ability("c", tags=("rust",))]
    )
    assert ids(registry.list(tags=["go", "ci"])) == ["a", "b"]
    assert ids(registry.list(tags={"rust", "unheard-of"})) == ["c"]
    assert registry.list(tags=["g", "Go"]) == []


def test_no_tags_asked_for_means_no_filter() -> None:
    registry = AbilityRegistry([ability("a", tags=("go",)), ability("b")])
    assert ids(registry.list(tags=[])) == ["a", "b"]


@pytest.mark.invariant(id="INV-ABL-005")
@pytest.mark.parametrize(
    ("enabled", "listed"), [(True, ["on"]), (False, ["off"]), (None, ["on", "off"])]
)
def test_the_enabled_filter_asks_for_on_for_off_or_for_both(
    enabled: bool | None, listed: list[str]
) -> None:
    registry = AbilityRegistry([ability("on"), ability("off", enabled=False)])
    assert ids(registry.list(enabled=enabled)) == listed


@pytest.mark.invariant(id="INV-ABL-005")
def test_a_disabled_ability_is_still_got_by_its_id() -> None:
    off = ability("off", enabled=False)
    registry = AbilityRegistry([off])
    assert registry.list(enabled=True) == []
    assert registry.get("off") is off
    assert registry.exists("off")


@pytest.mark.invariant(id="INV-ABL-005")
@pytest.mark.parametrize(
    ("written", "enabled"), [({}, True), ({"enabled": True}, True), ({"enabled": False}, False)]
)
def test_an_ability_is_enabled_unless_its_front_matter_says_false(
    written: dict[str, Any], enabled: bool
) -> None:
    assert Ability.of(written, "").enabled is enabled


@pytest.mark.invariant(id="INV-ABL-004")
@pytest.mark.parametrize(
    ("applicable_to", "exclude_from", "applies"),
    [
        ((), (), True),
        (("*",), (), True),
        (("coder",), (), True),
        (("writer", "coder"), (), True),
        (("writer", "*"), (), True),
        (("writer",), (), False),
        (("Coder",), (), False),
        (("code", "coder-two"), (), False),
        ((), ("coder",), False),
        (("*",), ("coder",), False),
        (("coder",), ("coder",), False),
        (("*",), ("writer",), True),
        ((), ("writer",), True),
        ((), ("*",), True),
        (("coder",), ("*",), True),
        (("writer",), ("*",), False),
    ],
)
def test_an_agent_is_refused_when_excluded_and_else_needs_to_be_named_if_anybody_is(
    applicable_to: tuple[str, ...], exclude_from: tuple[str, ...], applies: bool
) -> None:
    one = ability("a", applicable_to=applicable_to, exclude_from=exclude_from)
    assert one.applies_to("coder") is applies
    assert ids(AbilityRegistry([one]).list(applicable_to="coder")) == (["a"] if applies else [])


@pytest.mark.invariant(id="INV-ABL-004")
def test_applicability_is_not_asked_when_no_agent_is_given() -> None:
    registry = AbilityRegistry(
        [ability("a", applicable_to=("coder",)), ability("b", exclude_from=("coder",))]
    )
    assert ids(registry.list()) == ["a", "b"]


def test_an_ability_must_pass_every_filter_given() -> None:
    asked: dict[str, Any] = {
        "category": "code",
        "tags": ["go"],
        "enabled": True,
        "applicable_to": "coder",
    }
    right: dict[str, Any] = {"category": "code", "tags": ("go",), "applicable_to": ("coder",)}
    registry = AbilityRegistry(
        [
            ability("right", **right),
            ability("other-category", **{**right, "category": "prose"}),
            ability("other-tags", **{**right, "tags": ("rust",)}),
            ability("off", **{**right, "enabled": False}),
            ability("other-agent", **{**right, "applicable_to": ("writer",)}),
        ]
    )
    assert ids(registry.list(**asked)) == ["right"]
    for left_out in asked:
        fewer = {key: value for key, value in asked.items() if key != left_out}
        assert len(registry.list(**fewer)) == 2


# All of it at once

names = st.sampled_from(["coder", "writer", "*"])
abilities = st.builds(
    Ability,
    ability_id=st.sampled_from("abcdefgh"),
    content=st.sampled_from(["old", "new"]),
    category=st.sampled_from(["", "code", "Code"]),
    tags=st.lists(st.sampled_from(["go", "ci", "Go"]), max_size=2).map(tuple),
    applicable_to=st.lists(names, max_size=2).map(tuple),
    exclude_from=st.lists(names, max_size=2).map(tuple),
    priority=st.integers(1, 3),
    enabled=st.booleans(),
)


def naive_list(
    registered: list[Ability],
    category: str | None,
    tags: Collection[str],
    enabled: bool | None,
    agent: str | None,
) -> list[Ability]:
    """The spec, rule by rule, as slowly as one likes."""
    places: list[str] = []
    for one in registered:
        if one.id not in places:
            places.append(one.id)
    latest = [[one for one in registered if one.id == key][-1] for key in places]
    kept = []
    for one in latest:
        if category is not None and one.category != category:
            continue
        if tags and not [tag for tag in one.tags if tag in tags]:
            continue
        if enabled is True and not one.enabled:
            continue
        if enabled is False and one.enabled:
            continue
        if agent is not None:
            if agent in one.exclude_from:
                continue
            if one.applicable_to and not {agent, "*"} & set(one.applicable_to):
                continue
        kept.append(one)
    return [one for priority in (3, 2, 1) for one in kept if one.priority == priority]


@pytest.mark.invariant(id="INV-ABL-001")
@pytest.mark.invariant(id="INV-ABL-002")
@pytest.mark.invariant(id="INV-ABL-004")
@pytest.mark.invariant(id="INV-ABL-005")
@given(
    registered=st.lists(abilities, max_size=12),
    category=st.sampled_from([None, "", "code"]),
    tags=st.lists(st.sampled_from(["go", "ci"]), max_size=2),
    enabled=st.sampled_from([None, True, False]),
    agent=st.sampled_from([None, "coder", "writer"]),
)
def test_a_list_is_what_the_rules_say(
    registered: list[Ability],
    category: str | None,
    tags: list[str],
    enabled: bool | None,
    agent: str | None,
) -> None:
    registry = AbilityRegistry(registered)
    listed = registry.list(category=category, tags=tags, enabled=enabled, applicable_to=agent)
    assert listed == naive_list(registered, category, tags, enabled, agent)

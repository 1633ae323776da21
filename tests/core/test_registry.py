"""A collection by id: what a second item with a known id does, and in which order items come."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.registry import OnDuplicate, Registry
from metier.errors import UsageError


class Item(NamedTuple):
    id: str
    value: int


def registry_of(ids: str, on_duplicate: OnDuplicate) -> Registry[Item]:
    """A registry with one item for each letter; its value is its place."""
    registry = Registry[Item](lambda item: item.id, on_duplicate=on_duplicate)
    for place, one in enumerate(ids):
        registry.register(Item(one, place))
    return registry


MODES: list[OnDuplicate] = ["replace", "reject", "keep-first"]
every_mode = pytest.mark.parametrize("mode", MODES)


@every_mode
def test_a_new_registry_is_empty(mode: OnDuplicate) -> None:
    registry = registry_of("", mode)
    assert (len(registry), list(registry)) == (0, [])
    assert (registry.get("a"), registry.exists("a"), registry.remove("a")) == (None, False, False)


@every_mode
def test_a_new_id_is_added_at_the_end(mode: OnDuplicate) -> None:
    registry = registry_of("ba", mode)
    assert registry.register(Item("c", 7)) is True
    assert list(registry) == [Item("b", 0), Item("a", 1), Item("c", 7)]
    assert len(registry) == 3


@every_mode
def test_an_item_is_known_by_its_exact_id(mode: OnDuplicate) -> None:
    registry = registry_of("ab", mode)
    assert registry.get("b") == Item("b", 1)
    assert registry.exists("b")
    assert (registry.get("B"), registry.exists("B"), registry.exists("")) == (None, False, False)


def test_replace_takes_the_new_item_and_keeps_the_place() -> None:
    registry = registry_of("abc", "replace")
    assert registry.register(Item("a", 9)) is True
    assert list(registry) == [Item("a", 9), Item("b", 1), Item("c", 2)]
    assert (registry.get("a"), len(registry)) == (Item("a", 9), 3)


def test_keep_first_refuses_the_new_item_and_says_so() -> None:
    registry = registry_of("abc", "keep-first")
    assert registry.register(Item("a", 9)) is False
    assert list(registry) == [Item("a", 0), Item("b", 1), Item("c", 2)]
    assert (registry.get("a"), len(registry)) == (Item("a", 0), 3)


def test_reject_raises_and_leaves_everything_as_it_was() -> None:
    registry = registry_of("abc", "reject")
    with pytest.raises(UsageError, match="'a' is already registered") as caught:
        registry.register(Item("a", 9))
    assert (caught.value.exit_code, bool(caught.value.hint)) == (2, True)
    assert list(registry) == [Item("a", 0), Item("b", 1), Item("c", 2)]


@every_mode
def test_a_removed_item_is_gone(mode: OnDuplicate) -> None:
    registry = registry_of("abc", mode)
    assert registry.remove("b") is True
    assert (registry.exists("b"), registry.get("b"), len(registry)) == (False, None, 2)
    assert [item.id for item in registry] == ["a", "c"]
    assert registry.remove("b") is False


@every_mode
def test_an_id_that_was_removed_can_come_again_and_comes_last(mode: OnDuplicate) -> None:
    registry = registry_of("abc", mode)
    registry.remove("a")
    assert registry.register(Item("a", 9)) is True
    assert list(registry) == [Item("b", 1), Item("c", 2), Item("a", 9)]


def test_an_item_that_counts_as_false_is_an_item_too() -> None:
    registry = Registry[int](str, on_duplicate="replace")
    registry.register(0)
    assert (registry.get("0"), registry.exists("0"), len(registry)) == (0, True, 1)
    assert registry.remove("0") is True


def test_a_registry_can_be_gone_through_more_than_once() -> None:
    registry = registry_of("ab", "replace")
    assert list(registry) == list(registry)


steps = st.tuples(st.sampled_from(["register", "remove"]), st.sampled_from("abcd"), st.integers())


@pytest.mark.parametrize("mode", ["replace", "keep-first"])
@given(st.lists(steps, max_size=20))
def test_the_order_is_that_of_first_registration(
    mode: OnDuplicate, some_steps: list[tuple[str, str, int]]
) -> None:
    registry = registry_of("", mode)
    expected: list[Item] = []
    for verb, key, value in some_steps:
        places = [place for place, item in enumerate(expected) if item.id == key]
        if verb == "remove":
            assert registry.remove(key) is bool(places)
            expected = [item for item in expected if item.id != key]
        else:
            assert registry.register(Item(key, value)) is (mode == "replace" or not places)
            if not places:
                expected.append(Item(key, value))
            elif mode == "replace":
                expected[places[0]] = Item(key, value)
        assert list(registry) == expected
        assert len(registry) == len(expected)

"""Properties that are computed once."""

import pytest

from metier.core.once import once


class Text:
    """Counts how often its length is computed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.computed = 0

    @once
    def length(self) -> int:
        """How many characters it has."""
        self.computed += 1
        return len(self.text)

    @once
    def nothing(self) -> None:
        self.computed += 1

    @once
    def broken(self) -> int:
        self.computed += 1
        raise ValueError(self.text)


def test_nothing_is_computed_before_it_is_read() -> None:
    assert Text("abc").computed == 0


def test_a_property_is_computed_when_first_read_and_then_kept() -> None:
    one = Text("abc")
    assert one.length == 3
    one.text = "longer"
    assert (one.length, one.computed) == (3, 1)


def test_a_property_that_is_none_is_kept_too() -> None:
    one = Text("")
    assert [one.nothing, one.nothing] == [None, None]
    assert one.computed == 1


def test_every_object_has_its_own() -> None:
    first, second = Text("abc"), Text("a")
    assert (first.length, second.length, first.length) == (3, 1, 3)
    assert (first.computed, second.computed) == (1, 1)


def test_properties_of_one_object_are_kept_apart() -> None:
    one = Text("abc")
    assert (one.length, one.nothing, one.length) == (3, None, 3)
    assert one.computed == 2


def test_what_raised_is_computed_again() -> None:
    one = Text("abc")
    for _ in range(2):
        with pytest.raises(ValueError, match="abc"):
            _ = one.broken
    assert one.computed == 2


def test_the_docstring_is_kept() -> None:
    assert vars(Text)["length"].__doc__ == "How many characters it has."
    assert vars(Text)["nothing"].__doc__ is None

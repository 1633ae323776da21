"""The garbage collector is out of the way for a while, and then as it was."""

import gc
from collections.abc import Iterator

import pytest

from metier.core.process import without_garbage_collection


@pytest.fixture(params=[True, False], ids=["on before", "off before"])
def before(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether the collector is on when the test begins; put back afterwards."""
    was = gc.isenabled()
    on: bool = request.param
    switch(on)
    yield on
    switch(was)


def switch(on: bool) -> None:
    if on:
        gc.enable()
    else:
        gc.disable()


def test_the_collector_is_off_within_and_as_before_after(before: bool) -> None:
    with without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled() is before


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_collector_is_as_before_after_an_exception(
    before: bool, error: type[BaseException]
) -> None:
    with pytest.raises(error), without_garbage_collection():
        raise error
    assert gc.isenabled() is before


def test_the_inner_of_two_does_not_switch_it_on(before: bool) -> None:
    with without_garbage_collection():
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() is before

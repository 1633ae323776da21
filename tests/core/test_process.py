"""The environment that programs inherit, and code that runs without garbage collection."""

import gc
from collections.abc import Iterator

import pytest

from metier.core.process import minimal_environment, without_garbage_collection


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


def test_a_nested_pause_does_not_switch_the_collector_on(before: bool) -> None:
    with without_garbage_collection():
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() is before


# Environment


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.delenv("LANG", raising=False)
    monkeypatch.setenv("SECRET", "secret")


@pytest.mark.usefixtures("variables")
def test_programs_inherit_three_variables_if_they_are_set() -> None:
    assert minimal_environment() == {"HOME": "/home/user", "PATH": "/bin"}


@pytest.mark.usefixtures("variables")
def test_programs_inherit_the_variables_that_are_named() -> None:
    named = minimal_environment(["SECRET", "NOT_SET"])
    assert named == {"HOME": "/home/user", "PATH": "/bin", "SECRET": "secret"}

"""The environment that programs inherit, and code that runs without garbage collection."""

import gc
import os
import sys
from collections.abc import Iterator

import pytest

from metier.core.process import minimal_environment, output_of, without_garbage_collection


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


def printed_by(code: str, seconds: float = 60) -> bytes | None:
    return output_of([sys.executable, "-c", code], dict(os.environ), seconds)


def test_the_whole_output_of_a_program_is_read_and_what_it_complains_about_is_not() -> None:
    code = "import sys; print('a' * 1_000_000); print('no', file=sys.stderr)"
    assert printed_by(code) == b"a" * 1_000_000 + b"\n"


def test_a_program_gets_no_input_and_the_given_environment() -> None:
    assert printed_by("import sys; print(repr(sys.stdin.read()))") == b"''\n"
    assert output_of(["/usr/bin/env"], {"ONE": "1"}, 60) in (b"ONE=1\n", None)


def test_a_program_that_fails_or_is_not_there_has_no_output() -> None:
    assert printed_by("print('a'); raise SystemExit(3)") is None
    assert output_of(["/nowhere/program"], {}, 60) is None


@pytest.mark.parametrize("start", ["", "import os; os.close(1); "], ids=["open", "closed"])
def test_a_program_that_takes_too_long_is_ended(start: str) -> None:
    code = f"{start}import threading; threading.Event().wait(300)"
    assert printed_by(code, seconds=0.2) is None

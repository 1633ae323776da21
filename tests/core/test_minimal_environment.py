"""Programs inherit three variables, and those that are named."""

import pytest

from metier.core.process import minimal_environment


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.delenv("LANG", raising=False)
    monkeypatch.setenv("SECRET", "secret")


def test_it_has_three_variables_as_far_as_they_are_set() -> None:
    assert minimal_environment() == {"HOME": "/home/user", "PATH": "/bin"}


def test_it_has_what_is_named_besides() -> None:
    named = minimal_environment(["SECRET", "NOT_SET"])
    assert named == {"HOME": "/home/user", "PATH": "/bin", "SECRET": "secret"}

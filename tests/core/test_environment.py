"""The environment of programs: little, and nothing that nobody named."""

import pytest

from metier.core.environment import small_environment


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.delenv("LANG", raising=False)
    monkeypatch.setenv("SECRET", "of the user")


def test_it_has_three_variables_as_far_as_they_are_set() -> None:
    assert small_environment() == {"HOME": "/home/somebody", "PATH": "/bin"}


def test_it_has_what_is_named_besides() -> None:
    named = small_environment(["SECRET", "NOT_SET"])
    assert named == {"HOME": "/home/somebody", "PATH": "/bin", "SECRET": "of the user"}

"""Names of the last version, and of other programs, lead to the command."""

import pytest

from metier.cli import COMMANDS, MEANT, MOVED, run


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_command_that_moved_names_the_new_one(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*old.split(), "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"error: 'metier {old}' is now 'metier {new}' (USAGE)",
        f"hint: metier {new.removesuffix(' --capability')} --help",
    ]
    assert new.split()[0] in COMMANDS
    assert run(err.splitlines()[1].removeprefix("hint: metier ").split()) == 0


def test_the_commands_of_hooks_are_known_by_their_old_names() -> None:
    assert {"stats": "hook stats", "hook refresh": "refresh"}.items() <= MOVED.items()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("search", "list --search"),
        ("find", "list --search"),
        ("ls", "list"),
        ("validate", "lint"),
        ("check", "lint"),
        ("status", "doctor"),
        ("update", "refresh"),
        ("sync", "refresh"),
        ("logs", "hook stats decisions"),
    ],
)
def test_an_unknown_command_suggests_by_meaning(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed, "web"]) == 2
    error = capsys.readouterr().err.splitlines()[0]
    assert error == f"error: no such command '{typed}'; did you mean '{meant}'? (USAGE)"


def test_every_suggestion_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(MEANT) == 9
    assert not MEANT.keys() & {*COMMANDS, *MOVED}
    for meant in MEANT.values():
        words = [word for word in meant.split() if not word.startswith("-")]
        assert run([*words, "--help"]) == 0
        options = [word for word in meant.split() if word.startswith("-")]
        assert all(option in capsys.readouterr().out for option in options)

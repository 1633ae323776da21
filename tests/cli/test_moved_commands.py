"""Commands of the last version say what they are called now."""

import pytest

from metier.cli import COMMANDS, MOVED, run


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_command_that_moved_names_the_new_one(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*old.split(), "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"error: 'metier {old}' is now 'metier {new}' (USAGE)",
        f"hint: metier {new} -h",
    ]
    assert new.split()[0] in COMMANDS


def test_the_commands_of_hooks_are_known_by_their_old_names() -> None:
    assert {"stats": "hook stats", "hook refresh": "refresh"}.items() <= MOVED.items()

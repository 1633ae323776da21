"""Names of the last version, and of other programs, lead to the command."""

import pytest

from metier.cli import COMMANDS, MEANT, MOVED, run


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_command_that_moved_names_the_new_one(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(old.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"error: 'metier {old}' is now 'metier {new}' (USAGE)",
        f"hint: metier {new.removesuffix(' --capability')} --help",
    ]
    assert new.split()[0] in COMMANDS
    assert run(err.splitlines()[1].removeprefix("hint: metier ").split()) == 0


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["providers", "web-search"], "metier list --capability web-search"),
        (["providers", "web search", "--json"], "metier list --capability 'web search' --json"),
        (["providers", "--json", "web-search"], "metier list --help"),
        (["report", "list"], "metier reports list"),
        (["stats", "decisions", "--limit", "3"], "metier hook stats decisions --limit 3"),
        (["hook", "refresh", "--root", "x"], "metier refresh --root x"),
    ],
)
def test_the_hint_for_a_command_that_moved_keeps_the_arguments(
    typed: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(typed) == 2
    assert capsys.readouterr().err.splitlines()[1] == f"hint: {hint}"


def test_the_commands_of_hooks_are_known_by_their_old_names() -> None:
    assert {"stats": "hook stats", "hook refresh": "refresh"}.items() <= MOVED.items()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("search", "which' or 'list --search"),
        ("find", "which' or 'list --search"),
        ("ls", "list"),
        ("validate", "lint"),
        ("check", "lint"),
        ("status", "doctor"),
        ("update", "refresh"),
        ("sync", "refresh"),
        ("logs", "hook stats decisions"),
        ("test", "lint"),
        ("serve", "mcp' or 'web"),
        ("suggest", "which"),
        ("skills", "list"),
        ("cards", "list cards"),
        ("clean", "state prune"),
    ],
)
def test_an_unknown_command_suggests_by_meaning(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed, "web"]) == 2
    error = capsys.readouterr().err.splitlines()[0]
    assert error == f"error: no such command '{typed}'; did you mean '{meant}'? (USAGE)"


@pytest.mark.parametrize(
    ("typed", "rest"),
    [
        ("help", "did you mean --help?"),
        ("version", "did you mean --version?"),
        ("install", "did you mean 'hook install' or 'mcp install'?"),
        ("uninstall", "did you mean 'hook uninstall' or 'mcp uninstall'?"),
        ("remove", "did you mean 'hook uninstall' or 'mcp uninstall'?"),
        ("config", "settings are in metier.toml: docs/reference/settings.md"),
        ("settings", "settings are in metier.toml: docs/reference/settings.md"),
    ],
)
def test_an_unknown_command_of_several_meanings_names_each(
    typed: str, rest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed]) == 2
    error = capsys.readouterr().err.splitlines()[0]
    assert error == f"error: no such command '{typed}'; {rest} (USAGE)"


@pytest.mark.parametrize("typed", ["rest", "tryst-me", "deploy", "publish"])
def test_an_unknown_command_suggests_nothing_far_off(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"error: no such command '{typed}' (USAGE)"


def test_every_suggestion_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert not MEANT.keys() & {*COMMANDS, *MOVED}
    for meant in {one for meanings in MEANT.values() for one in meanings}:
        words = [word for word in meant.split() if not word.startswith("-")]
        assert run([*words, "--help"]) == 0
        options = [word for word in meant.split() if word.startswith("-")]
        assert all(option in capsys.readouterr().out for option in options)

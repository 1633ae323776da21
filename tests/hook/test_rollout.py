"""Who is told when hooks hand over less than their settings say, and when new settings count."""

import os

import pytest

from conftest import trust
from hook.hooks import Hooks, card_ids, context_in, filled, skill_lines
from hook.journal_rows import LEAST, decided, log_rows
from metier.cli import run
from metier.flow.hook_log import failed_refresh, killed_since, resume
from metier.hook.journal import Journal
from metier.storage.room import Room

pytestmark = pytest.mark.slow

__all__ = ["filled"]


@pytest.fixture
def without_spawning(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hook has the catalog refreshed in the background."""
    monkeypatch.setattr(Journal, "_spawn", lambda _: None)


def ask(hooks: Hooks, **env: str) -> list[str]:
    """The cards that a hook hands over, run in this process."""
    return card_ids(context_in("codex", hooks.served("codex", hooks.asked("codex"), **env)))


# The kill switch


def test_the_kill_switch_is_one_line_of_the_log_when_it_acts(filled: Hooks) -> None:
    filled.settings("maxInjectionShare = 0.5")
    filled.prepare()
    log_rows(filled, *[decided(True)] * (LEAST - 1))
    assert ask(filled) == ["billing"]
    assert (filled.log(), killed_since(filled.room)) == ([], None)
    for _ in range(3):
        assert ask(filled) == []
    (line,) = filled.log()
    assert line.partition(" ")[2] == (
        "kill switch: on: 100% of the last 20 requests injected, the limit is 50%;"
        " to undo: metier hook stats resume"
    )
    flag = filled.state / "monitor.flag"
    assert killed_since(filled.room) == flag.stat().st_mtime
    resume(filled.room)
    assert (ask(filled), len(filled.log())) == (["billing"], 1)
    assert killed_since(filled.room) is None


# The environment


@pytest.mark.parametrize("value", ["bogus", "ON", "x" * 5_000, "a\n\x1b[2J b"])
def test_a_mode_that_nobody_knows_is_one_line_of_the_log(value: str, filled: Hooks) -> None:
    assert ask(filled, METIER_CAPABILITIES=value) == []
    (line,) = filled.log()
    start = (
        "codex: METIER_CAPABILITIES is not one of off, monitor, soft, on and counts as monitor: "
    )
    assert line.partition(" ")[2].startswith(start + value[:1])
    assert len(line) < 600


@pytest.mark.parametrize("value", ["", "off", "monitor", "soft", "on"])
def test_a_mode_that_is_known_is_not_logged(value: str, filled: Hooks) -> None:
    ask(filled, METIER_CAPABILITIES=value)
    assert filled.log() == []


# When new settings count


def refresh(hooks: Hooks, *options: str) -> int:
    with hooks.as_user():
        return run(["refresh", *options, "--root", str(hooks.root), "--quiet"])


@pytest.mark.usefixtures("without_spawning")
@pytest.mark.parametrize("options", [(), ("--background",)])
def test_a_changed_mode_counts_after_any_refresh(options: tuple[str, ...], filled: Hooks) -> None:
    """A hook knows only what the catalog holds, and hands nothing over until that is made."""
    filled.settings('mode = "monitor"')
    trust(filled.root, speak=True, environ=filled.environ)
    assert ask(filled) == []
    assert refresh(filled, *options) == 0
    assert ask(filled) == []
    assert filled.rows()[-1]["mode"] == "monitor"
    assert [one[0] for one in filled.rows()[-1]["cards"]] == ["billing"]


@pytest.mark.usefixtures("without_spawning")
@pytest.mark.parametrize("options", [(), ("--background",)])
def test_settings_that_need_no_other_trust_count_after_any_refresh(
    options: tuple[str, ...], filled: Hooks
) -> None:
    settings = filled.root / "metier.toml"
    filled.workspace.write("metier.toml", f"# the same\n{settings.read_text()}")
    assert ask(filled) == []
    assert refresh(filled, *options) == 0
    assert ask(filled) == ["billing"]


@pytest.mark.usefixtures("without_spawning")
def test_a_refresh_that_failed_is_known_until_one_ends_well(filled: Hooks) -> None:
    users = Room(str(filled.user_state.parent), "user")
    assert failed_refresh(filled.room, users) is None
    filled.user_settings('[capabilities]\nmdoe = "monitor"\n')
    assert refresh(filled, "--background") == 2
    failure = failed_refresh(filled.room, users)
    assert failure is not None
    assert failure.what == "ConfigError: unknown setting 'capabilities.mdoe'"
    filled.user_settings('[capabilities]\nmode = "monitor"\n')
    assert refresh(filled, "--background") == 0
    moment = failure.at + 1  # the log has seconds
    os.utime(filled.state / "hook.state", (moment, moment))
    assert failed_refresh(filled.room) is None


@pytest.mark.usefixtures("without_spawning")
def test_settings_of_the_workspace_that_are_wrong_leave_the_users_own_documents(
    filled: Hooks, capsys: pytest.CaptureFixture[str]
) -> None:
    filled.user_settings("[capabilities]\nskillThreshold = 0.3\n")
    filled.user_skill("pdf-user", "Extracts invoices from PDF files. Use it for every PDF.")
    filled.settings('mdoe = "monitor"')
    with filled.as_user():
        assert run(["refresh", "--background", "--root", str(filled.root)]) == 0
    told = capsys.readouterr().err
    assert "settings of the workspace are ignored: unknown setting 'capabilities.mdoe'" in told
    printed = filled.served("codex", filled.asked("codex"))
    text = context_in("codex", printed)
    assert (card_ids(text), len(skill_lines(text))) == ([], 1)
    filled.settings("")
    filled.prepare()
    assert ask(filled) == ["billing"]

"""`metier trust`, `--trust-once`, METIER_TRUST, and what asks for trust on its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.printed import Printed
from cli.run_workspace import Agents, agents, tool
from cli.typed import answered
from conftest import Workspace, record_of, trust
from metier.cli import run
from metier.errors import UsageError
from metier.flow.boundary import check_digest
from metier.hosts.known import HOOKS

pytestmark = pytest.mark.slow

__all__ = ["agents"]

SETTINGS = """
mounts = [{ path = "../team" }]

[lint]
ignore = ["SK304"]

[tools]
allow = ["build"]

[tools.build]
argv = ["sh", "build.sh", "two words"]
environment = ["CI_TOKEN"]

[tools.other]
argv = ["true"]

[mcp.far]
url = "https://mcp.example.com/x"

[mcp.notes]
command = "python3"
args = ["-m", "notes"]
env = { NOTES_FOLDER = "notes" }

[models.house]
base-url = "https://llm.example.com/v1"
api-key-env = "HOUSE_KEY"

[probes.web-search]
argv = ["curl", "https://example.com"]
"""
SPEAK = "its skills, cards and abilities may be put into prompts by a hook"
NEEDS_TRUST = "error: running an agent needs trust, and you have not given it"
NOBODY = f"sha256:{'0' * 64}"

Metier = Callable[..., Printed]


@pytest.fixture
def demanding(agents: Agents) -> Agents:
    """A workspace that asks for one power of nearly every kind."""
    agents.write("metier.toml", SETTINGS)
    agents.write("build.sh", "echo built >> calls; echo built\n")
    (agents.root.parent / "team").mkdir()
    agents.agent("one", tool("a", "build"))
    agents.skill("good")
    return agents


@pytest.fixture
def metier(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Metier:
    """Run a command in the workspace as it is, where there is no terminal."""
    for host in HOOKS.values():
        if host.moved_by[0]:
            monkeypatch.delenv(host.moved_by[0], raising=False)

    def call(*arguments: str) -> Printed:
        code = run([*arguments, "--root", str(tmp_path / "workspace")])
        return Printed(code, *capsys.readouterr())

    return call


def record(home: Path) -> dict[str, Any]:
    """What the user's record says, by workspace."""
    files = sorted((home / ".config/metier/trust").glob("*.json"))
    return {
        workspace: entry
        for file in files
        for workspace, entry in json.loads(file.read_text())["workspaces"].items()
    }


def entry(home: Path, workspace: Workspace) -> Any:
    return record(home)[os.path.realpath(workspace.root)]


def rows(text: str) -> list[list[str]]:
    """The lines of a review: what kind of thing, and which."""
    return [line.split(maxsplit=1) for line in text.splitlines()]


def shows(screen: str, metier: Metier, *, speak: bool) -> bool:
    """Whether a screen has all that `trust --show` has; `speak` only if that is asked for."""
    shown = rows(metier("trust", "--show").out)
    asked = [row for row in shown if speak or row[0] != "speak"]
    found = [row for row in rows(screen) if row in shown]
    return found == asked


def digest_of(metier: Metier) -> str:
    digest: str = metier("trust", "--show", "--json").data["digest"]
    return digest


# Showing


def test_every_power_is_shown_as_what_it_is(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    shown = metier("trust", "--show")
    told = rows(shown.out)
    assert [row for row in told if row[0] != "file"] == [
        ["workspace", os.path.realpath(demanding.root)],
        ["server", "far: https://mcp.example.com/x"],
        ["server", "notes: python3 -m notes; env: NOTES_FOLDER=notes"],
        ["model", "house: https://llm.example.com/v1, key in HOUSE_KEY"],
        ["setting", 'mounts.team = {"path": "../team"}'],
        ["probe", "web-search: curl https://example.com"],
        ["setting", 'tools.allow = ["build"]'],
        ["command", "build: sh build.sh 'two words'; sees CI_TOKEN; asks for your consent"],
        ["command", "other: true"],
        ["agent", "one (agents/one.json); tools: build"],
        ["step", "a of one calls build with {}"],
        ["key", "HOUSE_KEY is sent to llm.example.com"],
        ["speak", SPEAK],
        ["digest", digest_of(metier)],
    ]
    (file,) = [row[1] for row in told if row[0] == "file"]
    assert file.startswith("build.sh  sha256:")
    assert (shown.code, shown.err) == (0, "state: not trusted\n")
    assert record(empty_home) == {}
    assert not demanding.state.exists()


def test_a_workspace_without_powers_shows_that_its_text_may_speak(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("good")
    assert rows(metier("trust", "--show").out) == [
        ["workspace", os.path.realpath(workspace.root)],
        ["speak", SPEAK],
        ["digest", digest_of(metier)],
    ]


def test_json_has_the_power_set_and_what_it_would_be_agreed_to(
    demanding: Agents, metier: Metier
) -> None:
    shown = metier("trust", "--show", "--json")
    data = shown.data
    assert (shown.code, shown.err) == (0, "")
    assert (data["workspace"], data["state"]) == (os.path.realpath(demanding.root), "new")
    assert (data["speak"], data["changes"], data["schemaVersion"]) == (False, [], "1")
    assert data["powers"]["settings"]["tools.other"] == {"argv": ["true"]}
    assert list(data["powers"]["files"]) == ["build.sh"]
    assert data["powers"]["agents"]["agents/one.json"]["tools"] == ["build"]
    assert [(one["tool"], one["agent"]) for one in data["consents"]] == [("build", "one")]
    assert data["keys"] == {"HOUSE_KEY": ["llm.example.com"]}
    assert "lint.ignore" not in data["powers"]["settings"]


def test_the_state_is_told(demanding: Agents, metier: Metier) -> None:
    demanding.trust(speak=True)
    assert metier("trust", "--show").err == "state: trusted; hooks may use its text\n"
    data = metier("trust", "--show", "--json").data
    assert (data["state"], data["speak"]) == ("trusted", True)
    demanding.write("build.sh", "rm -rf /\n")
    shown = metier("trust", "--show")
    assert shown.err == "state: changed since it was trusted\n"
    data = metier("trust", "--show", "--json").data
    assert (data["state"], data["speak"]) == ("changed", False)


def test_what_is_shown_cannot_speak_to_the_terminal(agents: Agents, metier: Metier) -> None:
    agents.write(
        "metier.toml", '[tools.a]\nargv = ["true", "\\u001b]0;owned\\u0007\\u009b2J", "\\u202e"]\n'
    )
    agents.agent("one", tool("a", "a", given={"x\x1b[2J": "\x9b2J\u202e"}))
    for shown in (metier("trust", "--show").out, metier("trust", "--show", "--json").out):
        assert "owned" in shown
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)


def test_what_changed_is_told_line_by_line(demanding: Agents, metier: Metier) -> None:
    demanding.trust()
    demanding.write(
        "metier.toml",
        SETTINGS.replace('["true"]', '["false"]').replace("[mcp.far]", "[mcp.near]"),
    )
    demanding.write("build.sh", "echo otherwise\n")
    demanding.agent("two", tool("b", "other"))
    changes = metier("trust", "--show", "--json").data["changes"]
    assert [line for line in changes if "build.sh" not in line and "two" not in line] == [
        '- mcp.far = {"url": "https://mcp.example.com/x"}',
        '+ mcp.near = {"url": "https://mcp.example.com/x"}',
        '- tools.other = {"argv": ["true"]}',
        '+ tools.other = {"argv": ["false"]}',
    ]
    assert [line[0] for line in changes if "build.sh" in line] == ["-", "+"]
    (agent,) = [line for line in changes if "agents/two.json" in line]
    assert agent.startswith('+ agents/two.json = {"delegates": []')
    told = rows(metier("trust", "--show").out)
    assert [row[1] for row in told if row[0] == "changed"] == changes


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 9, "workspaces": {}}', "\0"])
def test_a_damaged_record_is_one_error_and_trusts_nothing(
    demanding: Agents, metier: Metier, empty_home: Path, text: str
) -> None:
    digest = demanding.trust()
    file = record_of(demanding.root)
    file.write_text(text)
    for more in (("--show",), ("--accept", digest), ("--revoke",)):
        told = metier("trust", *more)
        assert (told.code, told.out) == (2, "")
        first, where, hint = told.err.splitlines()
        assert first.startswith("error: the trust record cannot be read: ")
        assert first.endswith("(TRUST_RECORD_INVALID)")
        assert where == f"  {file}"
        assert hint == "hint: move it away, and trust the workspace again: metier trust"
    assert file.read_text() == text
    listed = metier("list")
    assert listed.code == 0
    assert "this workspace is not trusted (the trust record cannot be read" in listed.err
    assert metier("run", "one", "x").code == 3


# Accepting

HOOKS_OFF = "hooks do not use its text: that takes your answer to 'metier trust' on a terminal"


def test_the_digest_that_was_shown_is_accepted_without_a_question(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    digest = digest_of(metier)
    accepted = metier("trust", "--accept", digest)
    assert accepted == (0, "", f"trusted: {os.path.realpath(demanding.root)}\n{HOOKS_OFF}\n")
    kept = entry(empty_home, demanding)
    assert (kept["digest"], kept["speak"]) == (digest, False)
    assert [(one["tool"], one["agent"]) for one in kept["consents"]] == [("build", "one")]
    assert metier("trust", "--show").err == "state: trusted; hooks may not use its text\n"
    assert metier("run", "one", "x").out == "built\n"
    assert demanding.calls() == ["built"]


def test_accepting_as_json_tells_the_state_afterwards(demanding: Agents, metier: Metier) -> None:
    told = metier("trust", "--accept", digest_of(metier), "--json")
    assert (told.code, told.data["state"], told.data["speak"]) == (0, "trusted", False)


def test_another_digest_is_refused_and_named(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    before = digest_of(metier)
    demanding.write("build.sh", "echo otherwise\n")
    for digest in (before, NOBODY):
        refused = metier("trust", "--accept", digest)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.splitlines() == [
            "error: the powers of this workspace have another digest; nothing was recorded"
            " (TRUST_DIGEST_DIFFERS)",
            f"  {digest_of(metier)}",
            "hint: metier trust --show says what is in it",
        ]
    assert record(empty_home) == {}


@pytest.mark.parametrize(
    "digest",
    ["", "sha256:", "sha256:12", f"sha256:{'g' * 64}", f"sha256:{'A' * 64}", "0" * 64,
     f"sha512:{'0' * 64}", f" {NOBODY}", f"{NOBODY}\n", "record", "none", "*"],
)  # fmt: skip
def test_what_is_no_digest_is_wrong_usage(
    demanding: Agents, metier: Metier, empty_home: Path, digest: str
) -> None:
    refused = metier("trust", "--accept", digest)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: ")
    assert "metier trust --show" in refused.err
    assert record(empty_home) == {}


def test_accepting_never_lets_a_workspace_speak(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    digest = digest_of(metier)
    metier("trust", "--accept", digest)
    assert entry(empty_home, demanding)["speak"] is False
    demanding.trust(speak=True)
    metier("trust", "--accept", digest)  # nothing is taken back that was given on a terminal
    assert entry(empty_home, demanding)["speak"] is True
    demanding.write("build.sh", "echo otherwise\n")
    metier("trust", "--accept", digest_of(metier))
    assert entry(empty_home, demanding)["speak"] is False
    assert metier("refresh", "--background").err == "found 0 skills and 0 cards\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_workspace_of_another_user_cannot_be_trusted(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    os.chown(demanding.root, 54321, 54321)
    refused = metier("trust", "--accept", digest_of(metier))
    assert refused.code == 3
    assert "belongs to another user of this system" in refused.err
    assert "safe-directories" in refused.err
    assert record(empty_home) == {}


# Revoking


def test_trust_can_be_taken_back(demanding: Agents, metier: Metier, empty_home: Path) -> None:
    demanding.trust(speak=True)
    assert metier("refresh", "--background").err == "found 1 skill and 0 cards\n"
    assert metier("trust", "--revoke") == (0, "", "no longer trusted\n")
    assert record(empty_home) == {}
    assert metier("refresh", "--background").err == "found 0 skills and 0 cards\n"
    assert metier("run", "one", "x").code == 3
    assert metier("trust", "--revoke") == (0, "", "it was not trusted\n")


def test_only_this_workspace_is_forgotten(
    demanding: Agents, metier: Metier, empty_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    trust(tmp_path / "other")
    demanding.trust()
    metier("trust", "--revoke")
    assert list(record(empty_home)) == [os.path.realpath(tmp_path / "other")]


def test_trust_can_be_taken_back_whatever_the_settings_have_become(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    demanding.trust()
    demanding.write("metier.toml", "[broken")
    assert metier("trust", "--revoke").code == 0
    assert record(empty_home) == {}


@pytest.mark.parametrize(
    "given", [("--show", "--revoke"), ("--show", "--accept", NOBODY), ("--revoke", "--accept", "")]
)
def test_what_does_not_go_together_is_refused(
    demanding: Agents, metier: Metier, empty_home: Path, given: tuple[str, ...]
) -> None:
    demanding.trust()
    refused = metier("trust", *given)
    assert (refused.code, refused.out) == (2, "")
    assert "--show, --accept and --revoke cannot be combined (USAGE)" in refused.err
    assert list(record(empty_home)) == [os.path.realpath(demanding.root)]


# Asking


@pytest.mark.parametrize("more", [(), ("--json",), ("--quiet",)])
def test_without_a_terminal_nothing_is_asked_and_nothing_recorded(
    demanding: Agents, metier: Metier, empty_home: Path, more: tuple[str, ...]
) -> None:
    refused = metier("trust", *more)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.splitlines() == [
        "error: trusting a workspace needs a terminal to ask on; nothing was recorded"
        " (WORKSPACE_UNTRUSTED)",
        f"  {os.path.realpath(demanding.root)}",
        "hint: metier trust --show, then metier trust --accept DIGEST; hooks stay off with that",
    ]
    assert record(empty_home) == {}


def test_an_answer_in_a_pipe_is_no_answer(demanding: Agents, empty_home: Path) -> None:
    """What somebody pipes in is not what somebody has read."""
    finished = subprocess.run(
        [sys.executable, "-m", "metier", "trust"],
        cwd=demanding.root,
        input=b"y\ny\n",
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert finished.returncode == 3
    assert record(empty_home) == {}


def test_yes_on_a_terminal_trusts_and_lets_speak(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    shown = metier("trust", "--show").out
    seen = answered(demanding.root, "y\n", "trust")
    assert (seen.code, seen.questions, seen.out) == (0, 1, shown)
    assert seen.lines[0] == "Trust this workspace? [y/N]: y"
    assert seen.lines[-1] == f"trusted: {os.path.realpath(demanding.root)}"
    assert entry(empty_home, demanding)["speak"] is True
    assert metier("run", "one", "x").out == "built\n"
    assert metier("refresh", "--background").err == "found 1 skill and 0 cards\n"


@pytest.mark.parametrize("typed", ["n\n", "\n", "\x04"], ids=["n", "return", "Ctrl-D"])
def test_anything_but_yes_on_a_terminal_records_nothing(
    demanding: Agents, empty_home: Path, typed: str
) -> None:
    seen = answered(demanding.root, typed, "trust")
    assert seen.code != 0
    assert seen.questions == 1
    assert "Traceback" not in seen.screen
    assert record(empty_home) == {}
    if typed != "\x04":
        assert (seen.code, seen.lines[-2]) == (
            3,
            "error: not trusted, nothing was recorded (WORKSPACE_UNTRUSTED)",
        )


def test_after_a_change_the_difference_is_shown_and_asked_about(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    first = answered(demanding.root, "y\n", "trust").code
    demanding.write("metier.toml", SETTINGS.replace('["true"]', '["false"]'))
    seen = answered(demanding.root, "n\n", "trust")
    assert (first, seen.code, seen.questions) == (0, 3, 1)
    assert [row[1] for row in rows(seen.out) if row[0] == "changed"] == [
        '- tools.other = {"argv": ["true"]}',
        '+ tools.other = {"argv": ["false"]}',
    ]
    assert metier("trust", "--show", "--json").data["state"] == "changed"
    assert answered(demanding.root, "y\n", "trust").code == 0
    assert entry(empty_home, demanding)["digest"] == digest_of(metier)


def test_one_that_is_trusted_and_speaks_is_not_asked_about(demanding: Agents) -> None:
    demanding.trust(speak=True)
    seen = answered(demanding.root, "n\n", "trust")
    assert (seen.code, seen.questions) == (0, 0)
    assert seen.lines == ["you already trust this workspace; metier trust --revoke undoes that"]


def test_one_that_is_trusted_and_silent_is_asked_about(demanding: Agents, empty_home: Path) -> None:
    demanding.trust()
    assert answered(demanding.root, "n\n", "trust").code == 3
    assert entry(empty_home, demanding)["speak"] is False
    assert answered(demanding.root, "y\n", "trust").code == 0
    assert entry(empty_home, demanding)["speak"] is True


# Commands in a workspace that is not trusted

SHARED_STATE = '[state]\nurl = "postgresql://db.example.org/metier"\nnamespace = "team"\n'


def test_what_is_ignored_is_one_line(demanding: Agents, metier: Metier) -> None:
    metier("refresh")
    listed = metier("list")
    assert (listed.code, listed.out.split("\t")[0]) == (0, "good")
    assert listed.err == (
        "note: this workspace is not trusted; ignored: mounts.team, tools.allow, tools.build"
        " and 5 more; to review it: metier trust\n"
    )
    assert metier("list", "--quiet").err == ""


def test_where_nothing_is_ignored_nothing_is_said(workspace: Workspace, metier: Metier) -> None:
    workspace.skill("good")
    workspace.write("metier.toml", "[lint]\nignore = ['SK304']\n")
    metier("refresh")
    listed = metier("list")
    assert (listed.code, listed.err) == (0, "")


@pytest.mark.parametrize(
    "command", [("runs",), ("runs", "show", "a"), ("reports",), ("state", "show")]
)
def test_commands_about_runs_say_that_shared_state_is_ignored(
    workspace: Workspace, metier: Metier, command: tuple[str, ...]
) -> None:
    workspace.write("metier.toml", SHARED_STATE)
    said = [line for line in metier(*command).err.splitlines() if "[state]" in line]
    assert said == [
        "warning: [state] of this workspace is ignored, since you do not trust it: these are the"
        " runs and reports on this machine; to use it: metier trust"
    ]


def test_schedules_of_ignored_shared_state_need_trust(workspace: Workspace, metier: Metier) -> None:
    workspace.write("metier.toml", SHARED_STATE)
    for command in (("list",), ("remove", "nightly")):
        refused = metier("schedule", *command)
        assert (refused.code, refused.out) == (3, "")
        assert "error: a schedule needs shared state; [state] of this workspace needs trust" in (
            refused.err
        )


@pytest.mark.parametrize("more", [(), ("--json",), ("--events",)])
def test_an_agent_does_not_run_without_trust(
    demanding: Agents, metier: Metier, empty_home: Path, more: tuple[str, ...]
) -> None:
    refused = metier("run", "one", "x", "--allow-tool", "build", *more)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.splitlines()[-3:] == [
        f"{NEEDS_TRUST} (WORKSPACE_UNTRUSTED)",
        f"  {os.path.realpath(demanding.root)}",
        "hint: metier trust shows what it may do, and asks; without a terminal: set METIER_TRUST"
        " to the digest that metier trust --show prints",
    ]
    assert demanding.calls() == []
    assert record(empty_home) == {}
    assert metier("runs", "list", "--json").data == []


@pytest.mark.parametrize("action", ["resume", "fork"])
def test_a_run_does_not_go_on_without_trust(demanding: Agents, metier: Metier, action: str) -> None:
    demanding.trust()
    done = metier("run", "one", "x", "--json").data["runId"]
    demanding.write("build.sh", "echo otherwise >> calls\n")
    refused = metier("runs", action, done)
    assert (refused.code, refused.out) == (3, "")
    assert "have changed since you trusted it (WORKSPACE_UNTRUSTED)" in refused.err
    assert demanding.calls() == ["built"]


def test_on_a_terminal_a_run_offers_a_review_first(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    seen = answered(demanding.root, "n\n", "run", "one", "x")
    assert (seen.code, seen.questions, seen.out) == (3, 1, "")
    assert shows(seen.screen, metier, speak=False)
    assert NEEDS_TRUST in seen.screen
    assert (demanding.calls(), record(empty_home)) == ([], {})
    seen = answered(demanding.root, "y\n", "run", "one", "x")
    assert (seen.code, seen.questions, seen.out) == (0, 1, "built\n")
    assert demanding.calls() == ["built"]
    kept = entry(empty_home, demanding)
    assert (kept["digest"], kept["speak"]) == (digest_of(metier), False)  # nobody asked about that
    assert answered(demanding.root, "n\n", "run", "one", "x").questions == 0


def test_on_a_terminal_a_program_that_reads_json_is_not_asked(demanding: Agents) -> None:
    seen = answered(demanding.root, "y\n", "run", "one", "x", "--json")
    assert (seen.code, seen.questions, demanding.calls()) == (3, 0, [])


# Once


def test_once_needs_a_terminal(demanding: Agents, metier: Metier, empty_home: Path) -> None:
    refused = metier("run", "one", "x", "--trust-once")
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.splitlines() == [
        "error: --trust-once asks a question, and there is no terminal (WORKSPACE_UNTRUSTED)",
        f"  {os.path.realpath(demanding.root)}",
        "hint: metier trust --accept sha256:… needs none",
    ]
    assert (demanding.calls(), record(empty_home)) == ([], {})


def test_once_is_for_one_command(demanding: Agents, metier: Metier, empty_home: Path) -> None:
    seen = answered(demanding.root, "y\n", "run", "one", "x", "--trust-once")
    assert (seen.code, seen.questions, seen.out) == (0, 1, "built\n")
    assert shows(seen.screen, metier, speak=False)
    assert "Trust this workspace for this one command? [y/N]: y" in seen.lines
    assert record(empty_home) == {}
    assert metier("run", "one", "x").code == 3
    assert demanding.calls() == ["built"]


def test_no_to_once_does_nothing(demanding: Agents, empty_home: Path) -> None:
    seen = answered(demanding.root, "n\n", "run", "one", "x", "--trust-once")
    assert (seen.code, seen.questions, seen.out) == (3, 1, "")
    assert "error: not trusted, nothing was done (WORKSPACE_UNTRUSTED)" in seen.lines
    assert (demanding.calls(), record(empty_home)) == ([], {})


@pytest.mark.parametrize("command", [("trust",), ("hook", "install", "codex"), ("mcp",)])
def test_no_flag_gives_power_to_what_a_host_starts(
    demanding: Agents, metier: Metier, command: tuple[str, ...]
) -> None:
    refused = metier(*command, "--trust-once")
    assert (refused.code, "no such option --trust-once" in refused.err) == (2, True)


# METIER_TRUST


def test_a_digest_that_was_cut_says_how_much_of_it_is_there() -> None:
    with pytest.raises(UsageError, match="it needs 64 hexadecimal digits and has 4"):
        check_digest("sha256:dead", "METIER_TRUST is not a digest such as sha256:…")


def test_a_digest_in_the_environment_trusts_one_process(
    demanding: Agents, metier: Metier, empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METIER_TRUST", digest_of(metier))
    assert metier("run", "one", "x").out == "built\n"
    assert record(empty_home) == {}
    assert metier("refresh", "--background").err == "found 0 skills and 0 cards\n"
    monkeypatch.delenv("METIER_TRUST")
    assert metier("run", "one", "x").code == 3


def test_another_digest_in_the_environment_trusts_nothing(
    demanding: Agents, metier: Metier, monkeypatch: pytest.MonkeyPatch
) -> None:
    demanding.trust(speak=True)  # the environment is asked first
    monkeypatch.setenv("METIER_TRUST", NOBODY)
    assert metier("run", "one", "x").code == 3
    assert demanding.calls() == []
    listed = metier("list")
    assert (listed.code, "this workspace is not trusted" in listed.err) == (0, True)


def test_a_digest_that_differs_is_shown_beside_that_of_the_workspace(
    demanding: Agents, metier: Metier, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f"METIER_TRUST is {NOBODY}, this workspace has {digest_of(metier)}"
    monkeypatch.setenv("METIER_TRUST", NOBODY)
    refused = metier("run", "one", "x").err
    assert f"needs trust: {said} (WORKSPACE_UNTRUSTED)" in refused
    assert "hint: review it with metier trust --show, then add its digest to METIER_TR" in refused
    noted = metier("list").err
    assert f"not trusted ({said}); ignored: " in noted
    assert "to review it: metier trust --show" in noted


@pytest.mark.parametrize("separator", [" ", ",", ", ", "\n"])
def test_each_of_several_digests_in_the_environment_is_trusted(
    demanding: Agents, metier: Metier, monkeypatch: pytest.MonkeyPatch, separator: str
) -> None:
    now = digest_of(metier)
    for digests in ((NOBODY, now), (now, NOBODY)):
        monkeypatch.setenv("METIER_TRUST", separator.join(digests))
        assert metier("run", "one", "x").code == 0
    monkeypatch.setenv("METIER_TRUST", separator.join((NOBODY, now[:-1])))
    assert metier("run", "one", "x").code == 2


@pytest.mark.parametrize(
    ("word", "code"), [("record", 0), ("", 0), ("none", 3), ("yes", 2), ("1", 2), ("sha256:1", 2)]
)
def test_words_in_the_environment(
    demanding: Agents, metier: Metier, monkeypatch: pytest.MonkeyPatch, word: str, code: int
) -> None:
    demanding.trust()
    monkeypatch.setenv("METIER_TRUST", word)
    assert metier("run", "one", "x").code == code
    assert demanding.calls() == ["built"] * (code == 0)


def test_a_server_says_that_it_ignores_the_digest_in_the_environment(
    demanding: Agents, metier: Metier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METIER_OFFLINE", "1")  # a server sets it for its process
    monkeypatch.setenv("METIER_TRUST", digest_of(metier))
    refused = metier("mcp", "--http", "--allow-run")
    assert (refused.code, "needs a token" in refused.err) == (2, True)
    assert refused.err.startswith("warning: METIER_TRUST is ignored by servers; use metier trust")


# Init

HARMLESS = (
    "this workspace is trusted: nothing in it needs a review;"
    " hooks may not use its text yet: metier trust"
)
TO_REVIEW = "this workspace is not trusted; to review what it may do: metier trust"


def test_a_fresh_workspace_is_trusted_and_does_not_speak(
    workspace: Workspace, metier: Metier, empty_home: Path
) -> None:
    workspace.skill("good")
    made = metier("init")
    assert (made.code, made.err.splitlines()[0]) == (0, HARMLESS)
    kept = entry(empty_home, workspace)
    assert (kept["speak"], kept["consents"]) == (False, [])
    assert metier("trust", "--show").err == "state: trusted; hooks may not use its text\n"
    assert "trusted; hooks may not use its text yet" in metier("doctor").out
    assert metier("refresh", "--background").err == "found 0 skills and 0 cards\n"
    again = metier("init")
    assert (again.code, HARMLESS in again.err, TO_REVIEW in again.err) == (0, False, False)


def test_init_as_json_prints_the_same_as_ever(workspace: Workspace, metier: Metier) -> None:
    made = metier("init", "--json")
    assert (made.code, made.data["made"]) == (0, ["metier.toml"])
    assert metier("trust", "--show", "--json").data["state"] == "trusted"


def a_command(agents: Agents) -> None:
    agents.write("metier.toml", '[tools.a]\nargv = ["true"]\n')


def a_server(agents: Agents) -> None:
    agents.write("metier.toml", '[mcp.a]\nurl = "https://example.com/mcp"\n')


def a_setting_of_another_file(agents: Agents) -> None:
    agents.write("pyproject.toml", '[tool.metier.probes.a]\nargv = ["true"]\n')


def an_agent(agents: Agents) -> None:
    agents.agent("one", tool("a", "count"))


@pytest.mark.parametrize("power", [a_command, a_server, a_setting_of_another_file, an_agent])
def test_a_workspace_that_brings_powers_is_not_trusted_by_init(
    agents: Agents, metier: Metier, empty_home: Path, power: Callable[[Agents], None]
) -> None:
    (agents.root / "metier.toml").unlink()
    power(agents)
    made = metier("init")
    assert (made.code, made.err.splitlines()[0]) == (0, TO_REVIEW)
    assert record(empty_home) == {}


def test_init_does_not_trust_what_has_changed_since(
    workspace: Workspace, metier: Metier, empty_home: Path
) -> None:
    metier("init")
    before = record(empty_home)
    workspace.write("metier.toml", '[tools.a]\nargv = ["true"]\n')
    assert TO_REVIEW in metier("init").err
    workspace.write("metier.toml", "")
    metier("init")
    assert record(empty_home) == before


# Hooks

NOW_SPEAKS = "its skills, cards and abilities may be put into prompts from now on"
OWN_ONLY = "the hook uses your own skills and cards; not those of this workspace:"
INSTALL = ("hook", "install", "claude-code", "--project")


@pytest.mark.parametrize("is_trusted", [True, False])
def test_installing_a_hook_on_a_terminal_lets_a_harmless_workspace_speak_and_says_so(
    workspace: Workspace, empty_home: Path, is_trusted: bool
) -> None:
    workspace.skill("good")
    if is_trusted:
        workspace.trust()
    seen = answered(workspace.root, "n\n", *INSTALL)
    assert (seen.code, seen.questions) == (0, 0)
    said = seen.lines.index(NOW_SPEAKS)
    assert seen.lines[said + 1] == "    hint: metier trust --revoke undoes that"
    assert "found 1 skill and 0 cards" in seen.lines
    assert entry(empty_home, workspace)["speak"] is True


def test_installing_a_hook_on_a_terminal_asks_about_powers_first(
    demanding: Agents, metier: Metier, empty_home: Path
) -> None:
    seen = answered(demanding.root, "n\n", *INSTALL)
    assert (seen.code, seen.questions) == (0, 1)
    assert shows(seen.screen, metier, speak=True)
    assert "not trusted: the hook uses your own skills and cards only" in seen.lines
    assert "found 0 skills and 0 cards" in seen.lines
    assert (demanding.root / ".claude/settings.json").is_file()
    assert record(empty_home) == {}
    seen = answered(demanding.root, "y\n", *INSTALL)
    assert (seen.code, seen.questions, NOW_SPEAKS in seen.lines) == (0, 1, True)
    assert "found 1 skill and 0 cards" in seen.lines
    assert entry(empty_home, demanding)["speak"] is True


def test_installing_a_hook_without_a_terminal_lets_nobody_speak(
    workspace: Workspace, metier: Metier, empty_home: Path
) -> None:
    workspace.skill("good")
    for is_trusted in (False, True):
        if is_trusted:
            workspace.trust()
        before = record(empty_home)
        installed = metier(*INSTALL)
        assert (installed.code, OWN_ONLY in installed.err.splitlines()) == (0, True)
        assert "found 0 skills and 0 cards" in installed.err
        assert NOW_SPEAKS not in installed.err
        assert record(empty_home) == before


@pytest.mark.parametrize(
    "arguments",
    [("hook", "install", "claude-code", "--user"), (*INSTALL, "--dry-run"),
     ("hook", "uninstall", "claude-code", "--project"), ("refresh", "--background")],
)  # fmt: skip
def test_nothing_else_about_hooks_lets_a_workspace_speak(
    workspace: Workspace, empty_home: Path, arguments: tuple[str, ...]
) -> None:
    workspace.skill("good")
    seen = answered(workspace.root, "y\n", *arguments)
    assert (seen.code, seen.questions) == (0, 0)
    assert record(empty_home) == {}

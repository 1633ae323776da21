"""`metier hook stats`: what it prints, on which stream, and how it exits."""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import metier
from cli.printed import Printed, write_log
from conftest import Workspace
from flow.decisions import START, decision, injecting, verdict
from metier.cli import run
from metier.storage.hook_files import LOG
from metier.storage.places import user_room

SCHEMA = json.loads(
    (Path(metier.__file__).parent / "schemas" / "hook-stats.v1.schema.json").read_text()
)
CARD = """---
id: {id}
name: Data desk
description: Figures from the reporting database.
triggers:
  keywords: [sql, report, figures]
  sessionTypes: [main]
  confidenceThreshold: 0.15
priority: 8
estimatedTokens: 15
version: 1.0.0
---
Questions that can be answered with numbers go to the reporting database.
"""
NOTHING = "no decision is logged yet\nhint: metier hook install HOST\n"
DAY = 86_400


class Result(Printed):
    __slots__ = ()

    @property
    def rows(self) -> dict[str, list[str]]:
        """The cells of each line after its first."""
        return {line.split("\t")[0]: line.split("\t")[1:] for line in self.out.splitlines()}


Stats = Callable[..., Result]


@pytest.fixture(autouse=True)
def coordinated_time() -> Iterator[None]:
    """Times are printed as they are at the place where one is: here that is Greenwich."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def stats(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Stats:
    """Run the command on the workspace."""

    def call(*arguments: str) -> Result:
        code = run(["hook", "stats", *arguments, "--root", str(workspace.root)])
        return Result(code, *capsys.readouterr())

    return call


def files(workspace: Workspace) -> dict[str, bytes]:
    """All files of the workspace and of its state."""
    found = [*workspace.root.rglob("*"), *workspace.state.rglob("*")]
    return {str(one): one.read_bytes() for one in found if one.is_file()}


def build_catalog(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    """Two cards and two skills, known, in a workspace that the user lets speak."""
    for name in ("billing", "returns"):
        workspace.write(f"docs/capabilities/{name}.md", CARD.format(id=name))
    workspace.skill("pdf")
    workspace.skill("brave")
    workspace.trust(speak=True)
    assert run(["refresh", "--root", str(workspace.root)]) == 0
    capsys.readouterr()


# Nothing to show


@pytest.mark.parametrize("action", [(), ("decisions",)])
def test_an_empty_log_is_one_clear_line_and_how_to_begin(
    workspace: Workspace, stats: Stats, action: tuple[str, ...]
) -> None:
    assert stats(*action) == (0, "", NOTHING)
    assert stats(*action, "--quiet") == (0, "", "")
    write_log(workspace.root)
    assert stats(*action) == (0, "", NOTHING)
    write_log(workspace.root, b"broken", b"lines")
    assert stats(*action) == (0, "", f"{NOTHING}warning: 2 lines of the log cannot be read\n")


def test_an_empty_log_as_json_follows_the_schema(workspace: Workspace, stats: Stats) -> None:
    shown = stats("--json")
    assert (shown.code, shown.err, shown.data["overall"]["requests"]) == (0, "", 0)
    jsonschema.validate(shown.data, SCHEMA)
    assert stats("decisions", "--json").data == []
    assert [path.name for path in workspace.root.iterdir()] == [".git"]
    assert not workspace.state.exists()


def test_a_filter_that_nothing_passes_is_told_apart(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, decision(1), decision(2, host="codex"))
    for action in ((), ("decisions",)):
        assert stats(*action, "--since", "2026-11-01") == (0, "", "no decision matches\n")
        near = stats(*action, "--host", "claudecode").err
        assert near == "no decision matches\nhint: did you mean 'claude-code'?\n"
        far = stats(*action, "--host", "vim").err
        assert far == "no decision matches\nhint: known hosts: claude-code, codex\n"


# Figures


def test_the_figures_of_one_host_are_one_table(workspace: Workspace, stats: Stats) -> None:
    skills = [["pdf", "skills/pdf", 2.5, "injected"]]
    write_log(
        workspace.root,
        injecting(0, tokens=1_200, milliseconds=4, skills=skills),
        decision(1, milliseconds=2, error="ValueError: no"),
        decision(2, milliseconds=30),
        verdict(0, True),
        verdict(1, False),
    )
    shown = stats()
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        "\tall",
        "requests\t3",
        "that inject\t1 (33.3%)",
        "tokens a request\t400.0",
        "tokens p50 / p95, where injected\t1,200 / 1,200",
        "ms p50 / p95\t4.0 / 30.0",
        "errors\t1 (33.3%)",
        "labelled\t2",
        "of them right\t1 (50.0%)",
        "from\t2025-11-15 15:10:41",
        "to\t2025-11-15 15:10:43",
        "hosts\tclaude-code 3",
        "modes\ton 3",
        "",
        "most used\tkind\ttimes\tmean score",
        "billing\tcard\t1\t0.50",
        "pdf\tskill\t1\t2.50",
    ]


def test_hosts_modes_and_arms_are_compared_when_there_are_several(
    workspace: Workspace, stats: Stats
) -> None:
    write_log(
        workspace.root,
        injecting(1, arm="A"),
        decision(2, arm="B", scorer="bm25", host="codex", mode="soft"),
        decision(3, arm="B", scorer="bm25", host="codex", mode="soft"),
        verdict(1, True),
    )
    shown = stats()
    tables = shown.out.split("\n\n")
    assert tables[1].splitlines()[:3] == [
        "host\tclaude-code\tcodex",
        "requests\t1\t2",
        "that inject\t1 (100.0%)\t0 (0.0%)",
    ]
    assert tables[2].startswith("mode\ton\tsoft\n")
    assert tables[3].splitlines() == [
        "arm\tA (spec)\tB (bm25)",
        "requests\t1\t2",
        "that inject\t1 (100.0%)\t0 (0.0%)",
        "tokens a request\t400.0\t0.0",
        "tokens p50 / p95, where injected\t400 / 400\t- / -",
        "ms p50 / p95\t7.1 / 7.1\t7.1 / 7.1",
        "errors\t0 (0.0%)\t0 (0.0%)",
        "labelled\t1\t0",
        "of them right\t1 (100.0%)\t0",
    ]


def test_a_single_arm_is_shown(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, injecting(1, arm="A"))
    assert "\narm\tA (spec)\n" in stats().out


LOGS: list[list[Any]] = [
    [injecting(1)],
    [decision(1), b"broken", verdict(1, True)],
    [injecting(1, arm="A"), decision(2, arm="B", host="codex", mode="off", error="x")],
]


@pytest.mark.parametrize("lines", LOGS)
@pytest.mark.parametrize("built", [True, False])
def test_json_follows_the_schema_and_holds_everything(
    workspace: Workspace,
    stats: Stats,
    capsys: pytest.CaptureFixture[str],
    lines: list[Any],
    built: bool,
) -> None:
    if built:
        build_catalog(workspace, capsys)
    write_log(workspace.root, *lines)
    shown = stats("--json")
    jsonschema.validate(shown.data, SCHEMA)
    assert (shown.code, shown.err) == (0, "")
    assert shown.data["overall"]["requests"] == sum(
        isinstance(one, dict) and "host" in one for one in lines
    )
    assert shown.data["skippedLines"] == lines.count(b"broken")
    assert shown.data["first"] == "2025-11-15T15:10:42+00:00"
    assert shown.data["skills"]["unused"] == (["brave", "pdf"] if built else None)


def test_the_schema_refuses_what_is_not_said(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, injecting(1))
    data = stats("--json").data
    for place in (data, data["overall"], data["cards"], data["cards"]["mostUsed"][0]):
        place["more"] = 1
        assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(data)
        del place["more"]
    jsonschema.validate(data, SCHEMA)


# What exists


def test_what_was_never_used_is_named(
    workspace: Workspace, stats: Stats, capsys: pytest.CaptureFixture[str]
) -> None:
    build_catalog(workspace, capsys)
    write_log(workspace.root, injecting(1))
    shown = stats()
    assert shown.rows["unused"] == ["count", "names"]
    assert shown.rows["cards"] == ["1 of 2", "returns"]
    assert shown.rows["skills"] == ["2 of 2", "brave, pdf"]
    assert "1 request: too few to call a card or skill unused\n" in shown.err
    usage = stats("--json").data["cards"]
    assert (usage["existing"], usage["unused"]) == (2, ["returns"])
    write_log(workspace.root, *(injecting(number) for number in range(1, 21)))
    assert "too few" not in stats().err


def test_of_many_that_were_never_used_ten_are_named(
    workspace: Workspace, stats: Stats, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        workspace.skill(f"skill-{number:02}")
    build_catalog(workspace, capsys)
    write_log(workspace.root, injecting(1))
    count, names = stats().rows["skills"]
    assert (count, names.count(", "), names[-3:]) == ("14 of 14", 10, ", …")
    assert len(stats("--json").data["skills"]["unused"]) == 14


def test_the_catalog_is_asked_as_it_is(
    workspace: Workspace, stats: Stats, capsys: pytest.CaptureFixture[str]
) -> None:
    build_catalog(workspace, capsys)
    write_log(workspace.root, injecting(1))
    workspace.write("docs/capabilities/new.md", CARD.format(id="new"))
    assert stats("--json").data["cards"]["unused"] == ["returns"]


def test_no_catalog_is_made(workspace: Workspace, stats: Stats) -> None:
    workspace.skill("pdf")
    write_log(workspace.root, injecting(1))
    before = files(workspace)
    shown = stats()
    assert (shown.code, shown.err, "unused" in shown.out) == (0, "", False)
    assert stats("decisions").code == stats("--json").code == 0
    assert files(workspace) == before


def test_a_damaged_catalog_does_not_keep_the_figures_back(
    workspace: Workspace, stats: Stats, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.trust(speak=True)
    assert run(["refresh", "--root", str(workspace.root)]) == 0
    capsys.readouterr()
    write_log(workspace.root, injecting(1))
    write_log(
        workspace.root, b"no database at all, but long enough to be read" * 99, name="metier.db"
    )
    shown = stats()
    assert (shown.code, shown.rows["requests"]) == (0, ["1"])
    assert shown.err == ""


# What the mode held back


def watched(number: int, *cards: str, mode: str = "monitor", tokens: int = 400) -> dict[str, Any]:
    """A line of one that would have handed these cards and a skill over."""
    rows = [[name, 0.5, 0.25, mode, 200] for name in cards]
    skills = [["pdf", "skills/pdf", 2.5, mode]]
    return decision(number, mode=mode, tokens=tokens, cards=rows, skills=skills)


@pytest.mark.parametrize("mode", ["monitor", "soft"])
def test_what_would_have_been_handed_over_is_shown(
    workspace: Workspace, stats: Stats, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    build_catalog(workspace, capsys)
    write_log(
        workspace.root,
        watched(1, "billing", mode=mode, tokens=300),
        watched(2, "billing", "gone", mode=mode, tokens=500),
        decision(3, mode=mode),
    )
    shown = stats()
    assert shown.out.splitlines()[1:4] == [
        "requests\t3",
        "that inject\t0 (0.0%)",
        "that would inject\t2 (66.7%), 400 tokens each: 2 cards, 1 skill",
    ]
    assert shown.out.split("\n\n")[1:] == [
        "would be used\tkind\ttimes\tmean score\n"
        "billing\tcard\t2\t0.50\ngone\tcard\t1\t0.50\npdf\tskill\t2\t2.50",
        "unused\tcount\tnames\ncards\t1 of 2\treturns\nskills\t1 of 2\tbrave\n",
    ]
    assert shown.err == (
        "what only the mode (monitor, soft) held back does not count as unused\n"
        "3 requests: too few to call a card or skill unused\n"
    )
    jsonschema.validate(stats("--json").data, SCHEMA)
    assert stats("--json").data["cards"]["unused"] == ["billing", "returns"]


def test_what_was_handed_over_and_what_was_held_back_are_told_apart(
    workspace: Workspace, stats: Stats
) -> None:
    write_log(workspace.root, injecting(1), watched(2, "returns"), decision(3), decision(4))
    shown = stats()
    assert shown.rows["that inject"] == ["0 (0.0%)", "1 (33.3%)"]  # those of the modes
    assert shown.rows["that would inject"] == ["1 (25.0%), 400 tokens each: 1 card, 1 skill"]
    assert "\nmost used\tkind\ttimes\tmean score\nbilling\tcard\t1\t0.50\n\n" in shown.out
    assert "\nwould be used\tkind\ttimes\tmean score\nreturns\tcard\t1\t0.50\n" in shown.out


def test_watching_in_vain_is_shown_and_elsewhere_nothing_is_said(
    workspace: Workspace, stats: Stats
) -> None:
    write_log(workspace.root, decision(1, mode="monitor"))
    assert stats().rows["that would inject"] == ["0 (0.0%)"]
    write_log(workspace.root, injecting(1), decision(2, mode="soft"), decision(3, mode="off"))
    assert "would" not in stats().out


def test_of_many_that_would_be_used_ten_are_named(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, watched(1, *(f"card-{number:02}" for number in range(12))))
    shown = stats()
    assert shown.rows["that would inject"][0].endswith(": 12 cards, 1 skill")
    assert shown.out.count("\tcard\t") == 10


# Since and host


@pytest.mark.parametrize(
    ("since", "requests"),
    [("7d", 2), ("9d", 3), ("1w", 2), ("30m", 1), ("36h", 1), ("999999w", 3), ("0d", 0)],
)
def test_since_takes_a_span_that_ends_now(
    workspace: Workspace, stats: Stats, since: str, requests: int
) -> None:
    now = time.time()
    ages = (8 * DAY, 6 * DAY, 60)
    write_log(workspace.root, *(decision(number, at=now - age) for number, age in enumerate(ages)))
    assert stats("--since", since, "--json").data["overall"]["requests"] == requests
    assert len(stats("decisions", "--since", since, "--json").data) == requests


@pytest.mark.parametrize(
    ("since", "requests"),
    [
        ("2025-11-15", 2),
        ("2025-11-15T15:10:42", 1),
        ("2025-11-15T16:10:42+01:00", 1),
        ("2025-11-16", 0),
        ("1969-01-01", 2),
        ("1000-01-01", 2),
    ],
)
def test_since_takes_a_date(workspace: Workspace, stats: Stats, since: str, requests: int) -> None:
    write_log(workspace.root, decision(0), decision(1))
    assert stats("--since", since, "--json").data["overall"]["requests"] == requests


def test_a_date_begins_at_midnight_here(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, decision(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "XXX-9")  # nine hours ahead: there it is the 16th already
        time.tzset()
        assert stats("--since", "2025-11-16").rows["from"] == ["2025-11-16 00:10:41"]


@pytest.mark.parametrize(
    "since", ["", "yesterday", "7", "7y", "-7d", "2026-13-01", "9999-12-31", "1234567d", "７d"]
)
def test_since_refuses_anything_else(workspace: Workspace, stats: Stats, since: str) -> None:
    shown = stats("--since", since)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.splitlines() == [
        f"error: '{since}' is not a time (USAGE)",
        "hint: --since 7d, or --since 2026-11-01",
    ]


def test_one_host_can_be_asked_for(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, decision(1), decision(2, host="codex"))
    assert stats("--host", "codex").rows["hosts"] == ["codex 1"]
    assert stats("--host", "codex", "--json").data["host"] == "codex"
    (one,) = stats("decisions", "--host", "codex", "--json").data
    assert one["id"] == decision(2)["id"]


# Decisions


def test_decisions_are_one_line_each_the_latest_last(workspace: Workspace, stats: Stats) -> None:
    cards = [["billing", 0.75, 0.5, "injected", 90], ["returns", 0.4, 0.5, "below-threshold", 90]]
    better = [["returns", 0.4, 0.5, "below-threshold", 90], ["attic", 0.45, 0.5, "rejected", 90]]
    skills = [["pdf", "skills/pdf", 2.5, "injected"], ["brave", "skills/brave", 9, "over-budget"]]
    write_log(
        workspace.root,
        injecting(1, cards=cards, skills=skills, milliseconds=3.14159),
        decision(2, cards=better, host="codex"),
        decision(3, skills=skills[1:]),
        decision(4),
        decision(5, error="ValueError: no"),
    )
    names = [decision(number)["id"] for number in range(1, 6)]
    when = "11-15 15:10"
    assert stats("decisions") == (
        0,
        f"{names[0]}\t{when}\tclaude-code\t3.1\t0.40\tbilling, pdf; not returns (below-threshold)\n"
        f"{names[1]}\t{when}\tcodex\t7.1\t0.45\tnot attic (rejected)\n"
        f"{names[2]}\t{when}\tclaude-code\t7.1\t9.00\tnot brave (over-budget)\n"
        f"{names[3]}\t{when}\tclaude-code\t7.1\t\t\n"
        f"{names[4]}\t{when}\tclaude-code\t7.1\t\terror: ValueError: no\n",
        "",
    )


def test_a_failed_decision_is_shown_with_the_reason_in_the_log(
    workspace: Workspace, stats: Stats
) -> None:
    write_log(workspace.root, decision(5, error="ValueError"), decision(9, error="ValueError"))
    line = b"2025-11-15T15:10:46+0000 claude-code: ValueError: there is no prompt\n"
    (workspace.state / LOG).write_bytes(line)
    first, second = stats("decisions").out.splitlines()
    assert first.endswith("\terror: ValueError: there is no prompt")
    assert second.endswith("\terror: ValueError")


def test_twenty_are_shown_or_as_many_as_are_wanted(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, *(decision(number) for number in range(30)), b"broken")
    shown = stats("decisions")
    assert len(shown.out.splitlines()) == 20
    assert shown.out.splitlines()[-1].startswith(decision(29)["id"])
    assert (
        shown.err
        == "20 of 30 decisions: --limit 30 shows all\nwarning: 1 line of the log cannot be read\n"
    )
    assert len(stats("decisions", "--limit", "7").out.splitlines()) == 7
    assert len(stats("decisions", "--limit", "99", "--json").data) == 30


def test_decisions_as_json_hold_what_was_logged_and_the_label(
    workspace: Workspace, stats: Stats
) -> None:
    write_log(workspace.root, injecting(1), decision(2), verdict(1, False))
    first, second = stats("decisions", "--json").data
    assert (first["right"], second["right"]) == (False, None)
    assert (first["at"], first["tokens"], first["injected"]) == (START + 1, 400, True)
    assert first["cards"] == [{"name": "billing", "score": 0.5, "outcome": "injected"}]


def test_no_terminal_obeys_what_the_log_holds(workspace: Workspace, stats: Stats) -> None:
    cards = [["\x1b[2J", 0.5, 0.2, "injected", 1]]
    write_log(workspace.root, injecting(1, cards=cards, error="a\n\x1b]0;b", host="\ud800\x07"))
    for arguments in ((), ("decisions",), ("--json",), ("decisions", "--json")):
        shown = stats(*arguments)
        assert shown.code == 0
        assert "\x1b" not in shown.out + shown.err
        assert "\x07" not in shown.out + shown.err
    assert len(stats("decisions").out.splitlines()) == 1


# Labels


@pytest.mark.parametrize(("word", "right"), [("right", True), ("wrong", False)])
def test_a_label_is_kept_and_counted(
    workspace: Workspace, stats: Stats, word: str, right: bool
) -> None:
    wanted = decision(1)["id"]
    write_log(workspace.root, decision(1))
    assert stats("label", wanted[:12], word) == (0, f"{wanted}: {word}\n", "")
    assert stats("label", wanted, word, "--json").data == {"id": wanted, "right": right}
    overall = stats("--json").data["overall"]
    assert (overall["labelled"], overall["right"]) == (1, int(right))


def test_a_label_of_an_unknown_decision_is_refused(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, decision(1))
    before = files(workspace)
    shown = stats("label", "zzzzzz", "right")
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.splitlines()[0] == "error: no decision is called 'zzzzzz' (NOT_FOUND)"
    assert shown.err.splitlines()[-1] == f"hint: the latest: {decision(1)['id']}"
    assert files(workspace) == before


# The kill switch


def test_resume_removes_the_flag_and_says_what_it_said(workspace: Workspace, stats: Stats) -> None:
    flag = write_log(workspace.root, b"62% inject, 50% may", name="monitor.flag")
    assert stats("resume") == (
        0,
        "hooks follow their settings again; they were stopped because: 62% inject, 50% may\n",
        "",
    )
    assert not flag.exists()
    assert stats("resume") == (0, "nothing has stopped the hooks\n", "")


def test_resume_as_json(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, b"why", name="monitor.flag")
    assert stats("resume", "--json").data == {"resumed": True, "reason": "why"}
    assert stats("resume", "--json").data == {"resumed": False, "reason": ""}


@pytest.mark.parametrize("lines", [[], [decision(1)]])
def test_a_kill_switch_is_told_with_the_figures(
    workspace: Workspace, stats: Stats, lines: list[Any]
) -> None:
    write_log(workspace.root, *lines)
    flag = write_log(workspace.root, b"why", name="monitor.flag")
    os.utime(flag, (START, START))
    told = "warning: kill switch on since 2025-11-15 15:10; to undo: metier hook stats resume\n"
    assert stats().err.endswith(f"{told}    why: why\n")
    assert stats("--json").data["killSwitch"] == "why"
    jsonschema.validate(stats("--json").data, SCHEMA)
    stats("resume")
    assert "warning" not in stats().err
    assert stats("--json").data["killSwitch"] == ""


# What is wrong with the settings

TYPO = '[capabilities]\nmdoe = "monitor"\n'


ENOUGH = [decision(number) for number in range(1, 21)]
"""Requests enough to call something unused."""


@pytest.mark.parametrize("lines", [[], ENOUGH])
@pytest.mark.parametrize("built", [True, False])
def test_wrong_settings_are_one_line_beside_the_figures(
    workspace: Workspace,
    stats: Stats,
    capsys: pytest.CaptureFixture[str],
    lines: list[Any],
    built: bool,
) -> None:
    if built:
        build_catalog(workspace, capsys)
    write_log(workspace.root, *lines)
    before = stats()
    workspace.write("metier.toml", TYPO)
    told = "warning: hooks cannot read the settings: unknown setting 'capabilities.mdoe'\n"
    figures = before.out.partition("\nunused")[0]  # hooks use the user's own documents now
    assert stats() == (0, figures, before.err + told)
    jsonschema.validate(stats("--json").data, SCHEMA)
    assert stats("--json").err == told


def test_wrong_settings_that_are_asked_for_are_an_error(workspace: Workspace, stats: Stats) -> None:
    write_log(workspace.root, decision(1))
    file = workspace.write("other.toml", TYPO)
    for arguments in ((), ("--json",)):
        shown = stats(*arguments, "--config", str(file))
        assert (shown.code, shown.out) == (2, "")


@pytest.mark.parametrize("speaks", [True, False])
def test_the_last_refresh_is_told_when_it_has_failed(
    workspace: Workspace, stats: Stats, capsys: pytest.CaptureFixture[str], speaks: bool
) -> None:
    if speaks:
        build_catalog(workspace, capsys)
    write_log(workspace.root, *ENOUGH)
    write_log(
        workspace.root,
        b"2025-11-15T15:09:00+0000 refresh: ConfigError: an older one",
        b"2025-11-15T16:10:41+0100 refresh: ConfigError: unknown setting 'capabilities.mdoe'",
        b"2025-11-15T15:11:00+0000 codex: ValueError: \x1b no refresh: this",
        b"tomorrow refresh: nonsense",
        name="hook.log",
    )
    told = (
        "warning: the last refresh for hooks failed, 2025-11-15 15:10:"
        " ConfigError: unknown setting 'capabilities.mdoe'\n"
    )
    state = (workspace.state if speaks else Path(user_room().path)) / "hook.state"
    state.unlink(missing_ok=True)
    assert stats().err == stats("--json").err == told
    state.parent.mkdir(parents=True, exist_ok=True)
    state.touch()
    os.utime(state, (START - 0.1, START - 0.1))  # one ended well before
    assert stats().err == told
    os.utime(state, (START + 60, START + 60))  # one has ended well since
    assert stats().err == ""


# Wrong usage


@pytest.mark.parametrize(
    "arguments",
    [
        ("label",),
        ("label", "19a2"),
        ("label", "19a2", "maybe"),
        ("label", "19a2", "right", "wrong"),
        ("label", "19a2", "right", "--since", "7d"),
        ("resume", "19a2"),
        ("resume", "--host", "codex"),
        ("decisions", "19a2"),
        ("decisions", "--limit", "0"),
        ("--limit", "3"),
        ("resume", "--limit", "3"),
        ("wibble",),
    ],
)
def test_what_does_not_go_together_is_refused(
    workspace: Workspace, stats: Stats, arguments: tuple[str, ...]
) -> None:
    write_log(workspace.root, decision(1))
    write_log(workspace.root, b"why", name="monitor.flag")
    before = files(workspace)
    shown = stats(*arguments)
    error, hint = shown.err.splitlines()
    assert (shown.code, shown.out) == (2, "")
    assert (error.startswith("error: "), error.endswith(" (USAGE)")) == (True, True)
    assert hint.startswith("hint: metier hook stats")
    assert files(workspace) == before

"""Tables, colour and bars on a terminal and only there; pipes, encodings and Ctrl-C."""

import os
import signal
import subprocess
import sys

import pytest

from cli.printed import write_log
from cli.terminals import ESCAPE, STYLE, at_terminal, environment, piped, received, terminal
from conftest import Workspace
from flow.decisions import decision

pytestmark = pytest.mark.slow


@pytest.fixture
def two(workspace: Workspace) -> Workspace:
    """Two skills with long descriptions; one has no name."""
    workspace.skill("brave-search", "Searches far and wide. Use it when nothing is near. " * 4)
    nameless = workspace.skill("searx", "Searches at home. Use it when nobody may know. " * 4)
    workspace.write(
        str(nameless.relative_to(workspace.root)), nameless.read_text().replace("name: searx\n", "")
    )
    return workspace


def many(workspace: Workspace, count: int) -> Workspace:
    for number in range(count):
        workspace.skill(f"skill-{number}", f"Does the thing with number {number}. Use it for that.")
    return workspace


@pytest.mark.parametrize("columns", [pytest.param(40), 100, 400])
def test_a_table_shows_every_name_and_fits_the_terminal(two: Workspace, columns: int) -> None:
    header, *rows = at_terminal(two, "list", "-q", columns=columns).plain
    assert header.split() == ["name", "path", "description"]
    assert [row.split()[0] for row in rows] == ["brave-search", "searx"]
    assert max(len(row.rstrip()) for row in rows) <= columns


@pytest.mark.parametrize(("count", "is_paged"), [(5, False), (50, True)])
def test_a_table_longer_than_the_terminal_goes_through_the_pager(
    workspace: Workspace, count: int, is_paged: bool
) -> None:
    seen = at_terminal(many(workspace, count), "list", "-q", PAGER="sed s/^/|/")
    assert len(seen.plain) == count + 1
    assert {line.startswith("|") for line in seen.plain} == {is_paged}


def test_notes_are_wrapped_between_words_on_a_terminal(two: Workspace) -> None:
    seen = at_terminal(two, "which", "mend the roof", "--host", "codex", columns=50)
    *_, last, rest = seen.plain
    assert (last, rest) == ("hint: --expect SKILL says why a skill does not", "  fire")


def test_lines_of_a_report_are_wrapped_between_words_on_a_terminal_only(two: Workspace) -> None:
    two.skill("a", folder=".claude/skills/a")
    arguments = ("listing", "-q", "--host", "claude-code")
    wrapped = next(
        line for line in at_terminal(two, *arguments, columns=60).plain if "needed" in line
    )
    assert len(wrapped) <= 60
    piped = at_terminal(two, *arguments, pipe=True).piped.splitlines()
    assert any(len(line) > 60 for line in piped)


@pytest.mark.parametrize(("count", "is_paged"), [(1, False), (50, True)])
def test_findings_longer_than_the_terminal_go_through_the_pager(
    workspace: Workspace, count: int, is_paged: bool
) -> None:
    for number in range(count):
        workspace.skill(f"skill-{number}", '""')
    seen = at_terminal(workspace, "lint", "-q", "--select", "SK", PAGER="sed s/^/|/")
    assert {line.startswith("|") for line in seen.plain} == {is_paged}


def test_a_list_on_a_terminal_ends_with_its_count(two: Workspace) -> None:
    assert at_terminal(two, "list").plain[-1] == "2 skills"
    assert (
        at_terminal(two, "list", "--limit", "1").plain[-1] == "1 of 2 skills: --limit 2 shows all"
    )


LISTS = [
    (("list",), ["name", "path", "description"], "2 skills"),
    (("list", "--capability", "web"), ["name", "path", "description"], "1 skill"),
    (("list", "abilities"), ["name", "priority", "tags", "description"], "1 ability"),
    (("reports", "list"), ["report", "outcome", "required", "selected"], "1 report"),
    (("runs", "list"), ["run", "state", "ago", "what"], "1 run"),
    (("select", "search the web"), ["agent", "confidence", "description"], "1 agent"),
    (
        ("hook", "stats", "decisions"),
        ["id", "time", "host", "ms", "left", "injected"],
        "1 decision",
    ),
]


@pytest.mark.parametrize(
    ("command", "columns", "count"), LISTS, ids=[" ".join(command) for command, *_ in LISTS]
)
def test_every_list_has_a_header_and_a_count_on_a_terminal_and_neither_in_a_pipe(
    workspace: Workspace, command: tuple[str, ...], columns: list[str], count: str
) -> None:
    workspace.skill("brave-search", extra="capabilities: [web]")
    workspace.skill("searx")
    workspace.write("abilities/style.md", "---\ndescription: Style.\n---\nBe plain.\n")
    write_log(workspace.root, decision(1))
    if command[0] == "reports":
        piped(workspace, "resolve", "-r", "web")
    if command[0] == "runs":
        workspace.trust()
        piped(workspace, "run", "standard", "x")
    seen = at_terminal(workspace, *command)
    rows = int(count.split()[0])
    header = next(line for line in seen.plain if line.split()[:1] == columns[:1])
    assert header.split() == columns
    after = seen.plain[seen.plain.index(header) + 1 :]
    assert after[rows] == count
    lines = piped(workspace, *command).stdout.decode().splitlines()
    assert [line.split("\t")[0] for line in lines] == [line.split()[0] for line in after[:rows]]


def test_codes_are_never_cut(workspace: Workspace) -> None:
    rows = at_terminal(workspace, "explain", columns=80).plain
    assert any(row.startswith("CONFIG_INVALID ") for row in rows)


def test_a_table_on_a_hopelessly_narrow_terminal_is_cut_and_no_error(two: Workspace) -> None:
    seen = at_terminal(two, "list", "-q", columns=8)
    assert (seen.code, len(seen.plain)) == (0, 3)


def test_elsewhere_a_row_is_a_line_with_tabs(two: Workspace) -> None:
    seen = at_terminal(two, "list", "-q", pipe=True)
    assert seen.screen == ""
    assert [line.count("\t") for line in seen.piped.splitlines()] == [2, 2]
    assert ESCAPE not in seen.piped


COMMANDS = [("list",), ("lint",), ("show", "skill", "searx"), ("doctor",), ("explain", "FM104")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_gets_colour(two: Workspace, command: tuple[str, ...]) -> None:
    assert STYLE.search(at_terminal(two, *command).screen)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_color_means_none(two: Workspace, command: tuple[str, ...]) -> None:
    assert ESCAPE not in at_terminal(two, *command, NO_COLOR="1").screen


@pytest.mark.parametrize("command", [*COMMANDS, ("refresh",), ("demo", "--fast")])
def test_a_pipe_gets_neither_colour_nor_bars(two: Workspace, command: tuple[str, ...]) -> None:
    finished = piped(two, *command)
    assert ESCAPE.encode() not in finished.stdout + finished.stderr
    assert b"\r" not in finished.stdout + finished.stderr


def test_an_error_is_coloured_on_a_terminal(workspace: Workspace) -> None:
    seen = at_terminal(workspace, "list", "--root", "nowhere")
    assert STYLE.search(seen.screen)
    assert seen.plain[0] == "error: the workspace is not a folder (USAGE)"


def test_reading_much_shows_a_bar_beside_the_data(workspace: Workspace) -> None:
    seen = at_terminal(many(workspace, 600), "refresh", pipe=True)
    assert "reading  [" in seen.screen
    assert "100%" in seen.screen
    assert seen.piped.startswith("600 skills, ")
    assert "checking  [" in at_terminal(workspace, "lint").screen
    assert "[" not in at_terminal(workspace, "refresh").screen


@pytest.mark.parametrize(("count", "options"), [(600, ("--quiet",)), (400, ())])
def test_no_bar_when_quiet_or_when_there_is_little(
    workspace: Workspace, count: int, options: tuple[str, ...]
) -> None:
    assert "[" not in at_terminal(many(workspace, count), "refresh", *options).screen


INTERRUPTED = """
import itertools, os, signal
from metier.flow import entries as read
from metier.__main__ import main
original, files = read.read_entry, itertools.count(1)

def read_entry(*given, **more):
    if next(files) == 1500:
        os.kill(os.getpid(), signal.SIGINT)
    return original(*given, **more)

read.read_entry = read_entry
main()
"""
"""A refresh during which somebody presses Ctrl-C, always at the same file."""


def test_control_c_stops_without_a_traceback_and_breaks_nothing(workspace: Workspace) -> None:
    many(workspace, 3000)
    with terminal(100) as (keyboard, screen):
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, "refresh"],
            cwd=workspace.root,
            env=environment(),
            stdin=screen,
            stdout=screen,
            stderr=screen,
        )
        os.close(screen)
        text = b"".join(received(keyboard))
        assert process.wait(60) == 130
    assert text.rstrip().endswith(b"stopped")
    assert b"Traceback" not in text
    assert piped(workspace, "list").stdout.count(b"\n") == 3000


@pytest.mark.parametrize("command", [("list",), ("lint",), ("show", "skill", "searx")])
def test_documents_cannot_speak_to_the_terminal(
    workspace: Workspace, command: tuple[str, ...]
) -> None:
    """Skills are written by strangers."""
    title, clear, blink = r"\e]0;owned\a", r"\e[2J\x9b2J", r"\e[35;5m"
    workspace.skill("searx", f'"Searches. Use it now. {title}{clear}{blink}"', body="x\x1b[2Jx")
    workspace.skill(f'"{title}{clear}{blink}"', folder="skills/other")
    screen = at_terminal(workspace, *command, columns=400).screen
    assert "\x1b[35;5m" not in screen
    assert [character for character in STYLE.sub("", screen) if character in "\x1b\x07\x9b"] == []


def test_a_reader_that_has_seen_enough_causes_no_noise(workspace: Workspace) -> None:
    assert first_line_of(many(workspace, 600))[1] == b""


def test_a_reader_that_has_seen_enough_is_no_finding(workspace: Workspace) -> None:
    assert first_line_of(many(workspace, 600))[0] in (0, 141, -signal.SIGPIPE)


def first_line_of(workspace: Workspace) -> tuple[int, bytes]:
    """`metier list --json | head -1`: exit code and standard error of the first."""
    piped(workspace, "refresh")
    process = subprocess.Popen(
        [sys.executable, "-m", "metier", "list", "--json"],
        cwd=workspace.root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"[\n"
    process.stdout.close()
    noise = process.stderr.read()
    process.stderr.close()
    return process.wait(60), noise


@pytest.mark.parametrize("command", [("list",), ("list", "--json"), ("show", "skill", "searx")])
@pytest.mark.parametrize(
    "changes",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        pytest.param(
            {"PYTHONIOENCODING": "latin-1"},
        ),
    ],
    ids=["C", "C, not coerced", "ascii", "latin-1"],
)
def test_every_text_can_be_printed_in_every_locale(
    workspace: Workspace, command: tuple[str, ...], changes: dict[str, str]
) -> None:
    workspace.skill("searx", "Sucht überall: 使用 🔍. Use it when needed.".replace(":", ","))
    finished = piped(workspace, *command, "-q", **changes)
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert b"searx" in finished.stdout


@pytest.mark.parametrize("closed", ["2>&-", ">&-"])
def test_a_closed_stream_is_no_error(two: Workspace, closed: str) -> None:
    piped(two, "refresh")
    finished = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m metier list {closed}'],
        cwd=two.root,
        env=environment(),
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert (finished.returncode, finished.stderr) == (0, b"")


@pytest.mark.parametrize("columns", [80, 40])
def test_scores_take_one_line_each_and_ids_are_cut_last(workspace: Workspace, columns: int) -> None:
    for id in ("python-style", "release-branches"):
        workspace.write(f"abilities/{id}.md", "Text.\n")
    workspace.write("abilities/review.md", "---\nconflicts: [python-style]\n---\nText.\n")
    seen = at_terminal(workspace, "inject", "--task", "x", "--explain", columns=columns)
    lines = [line for line in seen.plain if line.startswith(("python-style", "release-branches"))]
    assert len(lines) == 2
    assert all(len(line) <= columns for line in lines)


# Words stay whole


@pytest.fixture
def wordy(workspace: Workspace) -> Workspace:
    """Findings, checks and files that are left out, each too long for one line."""
    workspace.skill("changelog", "Records changes. Use it when something has changed.")
    workspace.skill("changelog", "Records other changes.", folder="packages/api/skills/changelog")
    workspace.skill("invoice-check", "Checks invoices: totals, tax and dates are compared.")
    workspace.skill("übersicht", "Says what 使用 there is. Use it when that is not known at all.")
    workspace.skill("off", extra="enabled: false")
    workspace.write("skills/unclosed-front-matter/SKILL.md", "---\nname: unclosed-front-matter\n")
    return workspace


@pytest.mark.parametrize("columns", [80, 70])
@pytest.mark.parametrize(
    "command",
    [("lint", "--notes"), ("doctor",), ("explain", "FM104"), ("explain", "USAGE")],
    ids=" ".join,
)
def test_lines_are_broken_between_words(
    wordy: Workspace, command: tuple[str, ...], columns: int
) -> None:
    piped(wordy, "refresh")
    elsewhere = piped(wordy, *command)
    text = (elsewhere.stdout + elsewhere.stderr).decode()
    assert max(map(len, text.splitlines())) > columns
    seen = at_terminal(wordy, *command, columns=columns).plain
    assert " ".join(seen).split() == text.split()
    long = [line for line in seen if len(line) > columns]
    assert [line for line in long if max(map(len, line.split())) < columns - 24] == []


@pytest.mark.parametrize("command", [("lint",), ("doctor",), ("explain", "FM104")])
def test_a_hopelessly_narrow_terminal_is_no_error(
    wordy: Workspace, command: tuple[str, ...]
) -> None:
    assert "Traceback" not in at_terminal(wordy, *command, columns=8).screen


@pytest.mark.parametrize(("columns", "has_paths"), [(80, False), (160, True)])
def test_a_list_of_abilities_shows_paths_where_there_is_room_for_them(
    workspace: Workspace, columns: int, has_paths: bool
) -> None:
    front = "---\ntags: [review, pull-request, python]\ndescription: How it is done here.\n---\n"
    workspace.write("abilities/code-review-in-pairs.md", f"{front}Text.\n")
    header, row = at_terminal(workspace, "list", "abilities", "-q", columns=columns).plain
    assert header.split() == ["name", "priority", "tags", *["path"] * has_paths, "description"]
    assert ("abilities/code-review-in-pairs.md" in row) is has_paths
    assert "abiliti…" not in row
    assert b"\tabilities/code-review-in-pairs.md\t" in piped(workspace, "list", "abilities").stdout

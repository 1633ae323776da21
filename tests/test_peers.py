"""The comparison with other tools: tables and page, what is skipped, and real measurements."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.folders import own_folders
from benchmarks.peers import measuring
from benchmarks.peers.__main__ import installed, until_interrupted
from benchmarks.peers.environments import CONSTRAINTS, Missing, environment
from benchmarks.peers.inputs import Input, bad_workspaces, some_skills
from benchmarks.peers.known import PEERS
from benchmarks.peers.measuring import Measuring, kill_counts, quality
from benchmarks.peers.processes import Done, Failed, Tool, failure_line
from benchmarks.peers.protocol import Linted, Linter, Peer
from benchmarks.peers.report import (
    Context,
    Row,
    as_json,
    better,
    page,
    ratio,
    terminal,
    terminal_table,
)
from benchmarks.quality.data import Task

from conftest import REPOSITORY

CONTEXT = Context("2026-11-18", "3.11.7", "3.40.1", "Linux", "5 of 10 real files", 3, is_busy=False)
ROWS = [
    Row("index 5 skills", "metier", "0.1.0", {"skills": "5"}, 0.5, 0.2, 30.4),
    Row("index 5 skills", "skillport", "1.1.2", {"skills": "5"}, 1.5, 3.0, 300.0),
    Row("index 5 skills", "fastmcp", "4.1.2", {"failure": "no a|b"}),
    Row("kill -9", "DBOS", "3.4.0", {"steps lost": "0"}),
]


def test_cpu_time_is_compared_with_metiers_in_the_same_measurement() -> None:
    assert [ratio(row, ROWS) for row in ROWS] == [1.0, pytest.approx(15.0), None, None]


def test_the_table_has_a_heading_for_each_measurement_and_only_columns_that_are_filled() -> None:
    assert terminal_table(ROWS).splitlines() == [
        "index 5 skills",
        "  tool             wall      CPU       memory  × metier  skills  failure",
        "  metier 0.1.0     500.0 ms  200.0 ms  30 MB   1         5",
        "  skillport 1.1.2  1.50 s    3.00 s    300 MB  15        5",
        "  fastmcp 4.1.2                                                  no a|b",
        "",
        "kill -9",
        "  tool        steps lost",
        "  DBOS 3.4.0  0",
    ]


def test_the_terminal_says_with_what_it_was_measured_and_what_the_others_do_better() -> None:
    shown = terminal(ROWS, CONTEXT)
    assert shown.startswith("One run on 2026-11-18: Python 3.11.7")
    assert terminal_table(ROWS) in shown
    assert shown.endswith("against metier:\n\n- nothing")


def test_rankings_of_synthetic_skills_are_said_to_say_little() -> None:
    made = CONTEXT._replace(skills="9 of 9 synthetic skills, seed 7")
    for text in (terminal(ROWS, made), page(ROWS, made)):
        assert "rankings among them say little" in text
    assert "say little" not in terminal(ROWS, CONTEXT)


def test_the_json_has_every_row_with_its_ratio() -> None:
    made = json.loads(json.dumps(as_json(ROWS, CONTEXT)))
    assert made["context"]["date"] == "2026-11-18"
    assert [row["tool"] for row in made["rows"]] == ["metier", "skillport", "fastmcp", "DBOS"]
    assert made["rows"][1]["ratio"] == pytest.approx(15.0)
    assert made["rows"][2]["cells"] == {"failure": "no a|b"}


def test_the_page_says_when_with_what_and_what_was_not_measured() -> None:
    text = page(ROWS, CONTEXT)
    assert "One run on 2026-11-18: Python 3.11.7, SQLite 3.40.1, Linux; 5 of 10 real files" in text
    assert "| skillport 1.1.2 | 1.50 s | 3.00 s | 300 MB | 15 | 5 |  |" in text
    assert r"no a\|b" in text
    assert text.index("## Index 5 skills") < text.index("## Kill -9")
    assert "against metier:\n\n- nothing\n" in text
    assert "## What was not measured" in text
    assert "busy" not in text
    assert "busy with other work" in page(ROWS, CONTEXT._replace(is_busy=True))


def test_whatever_another_tool_does_better_is_listed() -> None:
    scores = "nDCG@10 / hit@1"
    rows = [
        *ROWS,
        Row("index 5 skills", "SQLite FTS5", "3.40.1", {}, 0.1, 0.05, 30.4),
        Row("search", "metier", "0.1.0", {scores: "99.4 / 98.5"}, 0.002, 0.002, 69.0),
        Row("search", "skillport", "1.1.2", {scores: "99.6 / 98.4"}, 0.01, 0.01, 60.0),
        Row("search", "fastmcp", "4.1.2", {scores: "99.4 / 99.0"}, 0.01, 0.01, 69.0),
    ]
    assert better(rows).splitlines()[2:] == [
        "- SQLite FTS5, index 5 skills: 0.25 × the CPU time, 0.2 × the wall time",
        "- skillport, search: 0.87 × the memory, nDCG@10 / hit@1 99.6 / 98.4 against 99.4 / 98.5",
    ]
    assert better(rows) in page(rows, CONTEXT)


def test_the_page_in_docs_lists_every_peer_and_what_it_does_better() -> None:
    text = (REPOSITORY / "docs" / "comparison.md").read_text("utf-8")
    assert text.endswith(page([], CONTEXT).partition("From their documentation")[2])
    for peer in PEERS.values():
        assert f"| {peer.name} " in text


def test_every_package_of_a_peer_is_pinned_and_no_pin_has_an_address() -> None:
    pins = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    named = {pin.partition("==")[0].lower() for pin in pins}
    assert {name for peer in PEERS.values() for name in peer.packages} <= named


def test_what_runs_in_the_python_of_a_peer_needs_the_standard_library_only() -> None:
    code = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); import benchmarks.peers.worker"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_a_peer_that_cannot_be_installed_is_skipped_visibly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    tools, skipped = installed(["metier", "agnix"], tmp_path / "environments", tmp_path)
    assert [tool.peer.name for tool in tools] == ["metier"]
    assert [(row.what, row.tool) for row in skipped] == [("not installed", "agnix")]
    assert "agnix" in skipped[0].cells["skipped"]
    assert "skipped: agnix (" in capsys.readouterr().err
    assert "agnix" in terminal_table(skipped)
    assert "agnix" in page(skipped, CONTEXT)
    assert isinstance(environment(PEERS["agnix"], tmp_path / "environments"), Missing)


def test_an_interrupted_run_keeps_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    def rows() -> Iterator[Row]:
        yield ROWS[0]
        raise KeyboardInterrupt

    assert until_interrupted(rows()) == [ROWS[0]]
    assert "interrupted" in capsys.readouterr().err


def test_a_command_that_does_not_end_in_time_is_killed() -> None:
    launcher = str(Path(measuring.__file__).with_name("launcher.py"))
    forever = [sys.executable, "-c", "input()"]
    words = [sys.executable, "-I", "-S", launcher, "0.2", *forever]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        cost = json.loads(process.stdout.read())
    assert cost["status"] is None


def test_steps_count_as_repeated_or_lost_by_their_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "KILLED_STEPS", 4)
    before = "begin 0\nend 0\nbegin 1\nend 1\nbegin 2\n"
    after = "begin 1\nend 1\nbegin 2\nend 2\n"
    counts = kill_counts(before, after, failed=False)
    assert counts == {"finished": 2, "repeated": 1, "lost": 1, "failed": 0}


def test_quality_is_the_mean_over_the_tasks() -> None:
    tasks = [Task("draw", frozenset(["a"])), Task("paint", frozenset(["b"]))]
    given = Input("x", Path(), 2, tasks)
    assert quality([["a"], ["a", "b"]], given) == "81.5 / 50.0"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "no message"),
        ("error: no folder\n", "error: no folder"),
        ("│ ValueError: bad │\n╰──────╯\n", "ValueError: bad"),
        ("KeyError: 'a'\nExtension modules: b, c\n", "KeyError: 'a'"),
    ],
)
def test_a_failure_is_the_last_line_that_names_an_error(text: str, line: str) -> None:
    assert failure_line(text) == line


def test_all_tools_get_the_same_skills_and_none_that_stops_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_path / "mine"
    matter = "name: {}\ndescription: one two three four five six seven eight"
    for folder, text in (
        ("a/chart", matter.format("chart")),
        ("a/chart/inner", matter.format("inner")),
        ("b/chart", matter.format("painter")),
        ("c/dated", matter.format("dated") + "\nupdated: 2026-01-31"),
        ("d/twice", matter.format("chart")),
    ):
        (corpus / folder).mkdir(parents=True)
        (corpus / folder / "SKILL.md").write_text(f"---\n{text}\n---\n\nX\n")
    monkeypatch.setenv("METIER_CORPUS", str(corpus))
    given, made_of = some_skills(tmp_path / "scratch", 10)
    files = [str(file.relative_to(given.skills)) for file in given.skills.rglob("SKILL.md")]
    assert {*files} == {f"{name}/SKILL.md" for name in ("chart", "chart-2", "inner", "twice")}
    assert made_of == "the files of mine, without 1 that stop the index of a tool"
    assert {name for task in given.tasks for name in task.relevant} == {"chart-2", "inner"}
    assert {task.text for task in given.tasks} == {"one three five seven"}


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    with own_folders(tmp_path):
        yield tmp_path


def tools_of(scratch: Path, *names: str) -> list[Tool]:
    tools, skipped = installed(names, scratch / "environments", scratch)
    assert not skipped
    return tools


@pytest.mark.slow
def test_metier_and_full_text_search_find_a_skill_in_processes_of_their_own(scratch: Path) -> None:
    skills = scratch / "real" / "skills"
    for name, what in (("chart", "Draws charts of numbers."), ("mail", "Sends letters by mail.")):
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: {what}\n---\n\nX\n"
        )
    (skills.parent / "metier.toml").write_text("host-folders = false\n")
    given = Input("two", skills, 2, [Task("draw charts of numbers", frozenset(["chart"]))])
    measured = Measuring(tools_of(scratch, "metier", "SQLite FTS5"), scratch, 1, scratch)
    rows = [*measured.index(given), *measured.search(given), *measured.quality([given])]
    assert [row.tool for row in rows if row.what == "index 2 skills"] == ["metier", "SQLite FTS5"]
    assert [row.tool for row in rows if row.what.startswith("index again")] == ["metier"]
    assert all(row.cells["skills"] == "2" for row in rows if row.what.startswith("index"))
    found = [row for row in rows if row.what.startswith("search")]
    assert [row.cells["nDCG@10 / hit@1"] for row in found] == ["100.0 / 100.0"] * 2
    assert all(row.wall and row.cpu is not None and row.memory for row in found)
    assert set(rows[-1].cells.values()) == {"100.0 / 100.0"}


@pytest.mark.slow
def test_each_index_starts_without_what_another_kept(scratch: Path) -> None:
    ((_, skills), *_) = bad_workspaces(scratch)
    for tool in tools_of(scratch, "metier", "SQLite FTS5"):
        for name in ("first", "second"):
            state = scratch / f"{tool.peer.name}-{name}"
            state.mkdir(0o700)
            assert isinstance(tool.work("index", skills, state), Done)
            assert any(file.suffix == ".db" for file in state.rglob("*"))


@pytest.mark.slow
def test_one_bad_file_does_not_stop_metier(scratch: Path) -> None:
    index, lint = Measuring(tools_of(scratch, "metier"), scratch, 1, scratch).bad_files()
    assert set(index.cells.values()) <= {"20", "21"}
    assert set(lint.cells.values()) == {"21"}


@pytest.mark.slow
def test_a_killed_run_of_metier_is_completed(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "KILLS", 1)
    (row,) = Measuring(tools_of(scratch, "metier"), scratch, 1, scratch).kills()
    repeated, _, finished = row.cells["finished steps that ran again"].partition(" of ")
    assert int(repeated) <= 1
    assert 50 <= int(finished) < 100
    assert row.cells["steps lost"] == "0"


def test_a_linter_that_breaks_gives_its_last_line_and_no_figures(scratch: Path) -> None:
    def command(_programs: Path, _skills: Path) -> list[str]:
        return [sys.executable, "-c", "raise SystemExit('it broke')"]

    broken = Peer(
        name="broken",
        about="a linter that breaks",
        lint=Linter(command=command, read=lambda output, _errors: Linted(*json.loads(output))),
    )
    (whole,) = tools_of(scratch, "metier")
    outcome = whole._replace(peer=broken).lint(scratch)
    assert outcome == Failed("it broke")
    assert not isinstance(outcome, Done)

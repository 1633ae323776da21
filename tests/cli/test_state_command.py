"""`metier state adopt`: what is taken over, from where, and what never is."""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cli.printed import Printed, looked_at, write_log
from cli.run_workspace import Agents, agents, prompt, tool
from cli.typed import answered
from conftest import Workspace, record_of
from flow.decisions import decision, injecting, text_of, verdict
from metier.cli import run
from metier.run.sqlite_store import SqliteRunStore
from metier.storage.hook_files import OLDER_DECISIONS as OLDER_FILE

pytestmark = pytest.mark.slow

__all__ = ["agents"]

OLD = ".metier"
SECRET = b"s" * 32
Metier = Callable[..., Printed]
NOTHING = {"runs": 0, "reports": 0, "decisions": 0}
EVERYTHING = {"runs": 3, "reports": 2, "decisions": 4}


class Before(NamedTuple):
    """What a workspace told of its state before that was left behind."""

    runs: list[Any]
    reports: list[Any]
    decisions: list[Any]


@pytest.fixture
def metier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Metier:
    """Run a command in the workspace as it is."""

    def call(*arguments: str, root: str = "workspace") -> Printed:
        code = run([*arguments, "--root", str(tmp_path / root)])
        return Printed(code, *capsys.readouterr())

    return call


@pytest.fixture
def used(agents: Agents, metier: Metier) -> Before:
    """A workspace with runs, reports and decisions in its state; it is trusted."""
    agents.agent("leaf", tool("work"), prompt("say"))
    agents.agent("bad", tool("work"), tool("no", "fail"))
    agents.skill("alpha", extra="capabilities: [one]")
    looked_at(agents.root)
    for agent in ("leaf", "bad", "leaf"):
        metier("run", agent, "x")
    for wanted in ("one", "two"):
        metier("resolve", "-r", wanted)
    write_log(agents.root, injecting(1), decision(2), decision(3), verdict(1, right=True))
    return told(metier)


def told(metier: Metier, root: str = "workspace") -> Before:
    """All that the state of a workspace has to tell."""

    def of(*arguments: str) -> Any:
        return metier(*arguments, "--json", root=root).data

    runs = [of("runs", "show", one["runId"]) for one in of("runs", "list")]
    reports = [of("reports", "show", one["reportId"]) for one in of("reports", "list")]
    return Before(runs, reports, of("hook", "stats", "decisions"))


@pytest.fixture
def old(agents: Agents, used: Before) -> Path:
    """The same state where version 0.1 kept it, and nothing where it is now."""
    folder = agents.root / OLD
    shutil.move(agents.state, folder)
    for file in folder.iterdir():
        if file.name not in ("runs.db", "reports", "decisions.jsonl"):
            file.unlink()
    with closing(SqliteRunStore.open(str(folder / "runs.db"))) as store:
        store.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    (folder / "secret").write_bytes(SECRET)
    (folder / "metier.db").write_bytes(b"a catalog")
    (folder / ".gitignore").write_text("*\n")
    assert not agents.state.exists()
    return folder


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder, with its time."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


# From version 0.1


def test_runs_reports_and_decisions_of_version_0_1_are_taken_over(
    old: Path, used: Before, metier: Metier
) -> None:
    adopted = metier("state", "adopt")
    assert adopted == (
        0,
        "copied: 3 runs, 2 reports, 4 decisions\n",
        f"found in {old}: 3 runs, 2 reports, 4 decisions\n",
    )
    assert told(metier) == used
    (label,) = [
        one["right"] for one in metier("hook", "stats", "decisions", "--json").data if one["right"]
    ]
    assert label is True


def test_json_counts_what_was_taken_over(old: Path, metier: Metier) -> None:
    assert metier("state", "adopt", "--json").data == EVERYTHING
    assert metier("state", "adopt", "--json").data == NOTHING


def test_nothing_is_doubled_when_it_is_done_twice(old: Path, used: Before, metier: Metier) -> None:
    metier("state", "adopt")
    again = metier("state", "adopt")
    assert (again.code, again.out) == (0, "copied: 0 runs, 0 reports, 0 decisions\n")
    assert told(metier) == used


def test_what_is_there_already_stays(old: Path, used: Before, metier: Metier) -> None:
    metier("run", "leaf", "newer")
    metier("resolve", "-r", "one")
    now = told(metier)
    assert metier("state", "adopt", "--json").data == EVERYTHING
    after = told(metier)
    assert after.runs == [*now.runs, *used.runs]
    assert after.reports == [*now.reports, *used.reports]


def test_a_run_that_was_taken_over_goes_on(old: Path, agents: Agents, metier: Metier) -> None:
    metier("state", "adopt")
    failed = next(one for one in told(metier).runs if one["state"] == "failed")
    before = len(agents.calls())
    assert metier("runs", "resume", failed["runId"]).code == 1
    assert len(agents.calls()) == before + 1  # what was done is not done again


def test_a_run_that_was_at_work_waits(old: Path, used: Before, metier: Metier) -> None:
    with closing(sqlite3.connect(old / "runs.db")) as database, database:
        database.execute("UPDATE run SET state = 'running', owner = 'somebody', lease = 9e99")
    metier("state", "adopt")
    assert [one["state"] for one in told(metier).runs] == ["pending"] * 3
    assert metier("runs", "resume", used.runs[0]["runId"]).code == 0


def test_a_dry_run_takes_nothing(old: Path, agents: Agents, metier: Metier) -> None:
    dry = metier("state", "adopt", "--dry-run")
    assert dry == (
        0,
        "",
        f"found in {old}: 3 runs, 2 reports, 4 decisions\nnothing was copied (--dry-run)\n",
    )
    assert metier("state", "adopt", "--dry-run", "--json").data == EVERYTHING
    assert not agents.state.exists()


def test_a_log_that_was_turned_over_is_taken_over_too(
    old: Path, used: Before, metier: Metier
) -> None:
    (old / OLDER_FILE).write_bytes(text_of([decision(8), decision(9)]))
    assert metier("state", "adopt", "--json").data == {**EVERYTHING, "decisions": 6}
    assert len(metier("hook", "stats", "decisions", "--json").data) == 5


def test_where_there_is_nothing_to_take_over_it_says_so(
    agents: Agents, metier: Metier, tmp_path: Path
) -> None:
    agents.trust()
    for more in ((), (str(tmp_path / "never"),)):
        refused = metier("state", "adopt", *more)
        assert (refused.code, refused.out) == (2, "")
        assert "error: there is no state to copy (NOT_FOUND)" in refused.err
    agents.write(f"{OLD}/.gitignore", "*\n")
    assert metier("state", "adopt").code == 2


# From a place where the workspace was


@pytest.fixture
def moved(agents: Agents, used: Before, tmp_path: Path) -> Path:
    """The workspace is now called 'elsewhere', and trusted there; the state of before."""
    state = agents.state
    shutil.move(agents.root, tmp_path / "elsewhere")
    looked_at(tmp_path / "elsewhere")
    return state


def test_the_state_of_a_workspace_that_has_moved_is_taken_over(
    moved: Path, agents: Agents, used: Before, metier: Metier
) -> None:
    assert told(metier, "elsewhere") == Before([], [], [])
    adopted = metier("state", "adopt", str(agents.root), root="elsewhere")
    assert adopted == (
        0,
        "copied: 3 runs, 2 reports, 4 decisions\n",
        f"found in {moved}: 3 runs, 2 reports, 4 decisions\n",
    )
    assert told(metier, "elsewhere") == used
    again = metier("state", "adopt", str(agents.root), "--json", root="elsewhere")
    assert again.data == NOTHING
    assert told(metier, "elsewhere") == used


def test_the_state_of_another_place_stays_where_it_is(
    moved: Path, agents: Agents, metier: Metier, tmp_path: Path
) -> None:
    (moved / "secret.state").write_bytes(SECRET)
    before = everything(moved)
    metier("state", "adopt", str(agents.root), root="elsewhere")
    assert everything(moved) == before
    here = everything(Workspace(tmp_path / "elsewhere").state)
    assert [name for name, (_, content) in here.items() if SECRET in content] == []


def test_the_place_where_it_is_now_is_wrong_usage(used: Before, metier: Metier) -> None:
    root = str(metier("trust", "--show", "--json").data["workspace"])
    refused = metier("state", "adopt", f"{root}/../workspace/.")
    assert (refused.code, refused.out) == (2, "")
    assert "error: this is where the workspace is now (USAGE)" in refused.err


# What is refused


def test_without_trust_nothing_is_taken_over(
    old: Path, agents: Agents, metier: Metier, empty_home: Path
) -> None:
    record_of(agents.root).unlink()
    for more in ((), ("--dry-run",), ("--json",)):
        refused = metier("state", "adopt", *more)
        assert (refused.code, refused.out) == (3, "")
        assert refused.err.splitlines()[-3:] == [
            "error: copying state needs trust, and you have not given it (WORKSPACE_UNTRUSTED)",
            f"  {agents.root}",
            (
                "hint: metier trust shows what it may do, and asks; without a terminal: "
                "set METIER_TRUST to the digest that metier trust --show prints"
            ),
        ]
    assert not agents.state.exists()


@pytest.mark.parametrize("more", [(), ("--trust-once",)])
def test_on_a_terminal_it_asks_first(
    old: Path, agents: Agents, empty_home: Path, more: tuple[str, ...]
) -> None:
    record_of(agents.root).unlink()
    seen = answered(agents.root, "n\n", "state", "adopt", *more)
    assert (seen.code, seen.questions, seen.out) == (3, 1, "")
    assert not agents.state.exists()
    seen = answered(agents.root, "y\n", "state", "adopt", *more)
    assert (seen.code, seen.questions) == (0, 1)
    assert seen.out == "copied: 3 runs, 2 reports, 4 decisions\n"
    assert record_of(agents.root).exists() is not bool(more)


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, timeout=300)


@pytest.mark.skipif(not shutil.which("git"), reason="no git here")
@pytest.mark.parametrize("what", [OLD, f"{OLD}/runs.db", f"{OLD}/reports"])
def test_state_that_came_with_the_repository_is_nobody_s(
    old: Path, agents: Agents, metier: Metier, what: str
) -> None:
    git(agents.root, "init")
    assert metier("state", "adopt", "--dry-run").code == 0  # not tracked
    git(agents.root, "add", "--force", what)
    for more in ((), ("--dry-run",)):
        refused = metier("state", "adopt", *more)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.splitlines() == [
            "error: git tracks .metier: it came with the repository, and is not your state (USAGE)",
            f"  {old}",
        ]
    assert not agents.state.exists()


@pytest.mark.skipif(not shutil.which("git"), reason="no git here")
def test_asking_git_runs_nothing_of_the_workspace(
    old: Path, agents: Agents, metier: Metier
) -> None:
    git(agents.root, "init")
    script = agents.write("evil.sh", "#!/bin/sh\necho ran >> evil.log\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "core.pager", "filter.x.clean", "alias.ls"):
        git(agents.root, "config", key, str(script))
    git(agents.root, "config", "core.hooksPath", str(agents.root))
    assert metier("state", "adopt", "--json").data == EVERYTHING
    assert not (agents.root / "evil.log").exists()


# What never comes along


def test_nothing_is_deleted_and_nothing_is_written_beside(old: Path, metier: Metier) -> None:
    before = everything(old)
    for _ in range(2):
        assert metier("state", "adopt").code == 0
        assert everything(old) == before
    assert metier("state", "adopt", "--dry-run").code == 0
    assert everything(old) == before


def test_secrets_settings_trust_and_databases_never_come_along(
    old: Path, agents: Agents, metier: Metier, empty_home: Path
) -> None:
    marked = b"from before " + SECRET
    names = ("secret", "secret.state", "metier.db", "restricted.db", "metier.toml", "trust.json",
             "speak.trust", "hook.state", "hook.log", "monitor.flag", "monitor.resumed",
             "cards/database-1/far.md", "reports/mine.json", "unknown")  # fmt: skip
    for name in names:
        agents.write(f"{OLD}/{name}", marked)
    record = record_of(agents.root).read_bytes()
    assert metier("state", "adopt").code == 0
    metier("inject", "--task", "x")  # whatever makes a secret has made it now
    for top in (agents.state, empty_home):
        files = everything(top)
        assert files
        assert [name for name, (_, content) in files.items() if SECRET in content] == []
    assert record_of(agents.root).read_bytes() == record
    assert "kill switch" not in metier("hook", "stats").err


# Garbage

GARBAGE = [b"", b"garbage " * 1000, b"SQLite format 3\0" + b"\xff" * 4096, b"{", b"\0" * 8192]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_a_record_of_runs_that_is_none_is_one_error(
    old: Path, agents: Agents, metier: Metier, garbage: bytes
) -> None:
    (old / "runs.db").write_bytes(garbage)
    refused = metier("state", "adopt")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.splitlines()[0].startswith("error: the old runs cannot be read: ")
    assert refused.err.splitlines()[1] == f"  {old / 'runs.db'}"
    assert not (agents.state / "runs.db").exists()


@pytest.mark.parametrize("cut", [100, 4096, 5000, 9000])
def test_a_record_of_runs_that_is_cut_short_is_one_error_or_what_is_left(
    old: Path, metier: Metier, cut: int
) -> None:
    whole = (old / "runs.db").read_bytes()
    (old / "runs.db").write_bytes(whole[:-cut] if cut < len(whole) else b"")
    adopted = metier("state", "adopt")
    assert adopted.code in (0, 1)
    assert "Traceback" not in adopted.err
    assert metier("runs", "list").code == 0


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA user_version = 9",
        "DROP TABLE step",
        "ALTER TABLE run RENAME COLUMN agent TO other",
        "ALTER TABLE run RENAME TO old_run",
    ],
)
def test_a_record_of_another_shape_is_one_error(
    old: Path, agents: Agents, metier: Metier, statement: str
) -> None:
    with closing(sqlite3.connect(old / "runs.db")) as database, database:
        database.execute("DROP VIEW any_checkpoint")
        database.execute(statement)
    refused = metier("state", "adopt")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.splitlines()[0].startswith("error: the old runs cannot be read: ")


def test_a_view_in_place_of_a_table_is_not_asked(old: Path, metier: Metier) -> None:
    with closing(sqlite3.connect(old / "runs.db")) as database, database:
        database.execute("DROP VIEW any_checkpoint")
        database.execute("ALTER TABLE run RENAME TO real")
        database.execute("CREATE VIEW run AS SELECT * FROM real")
    assert metier("state", "adopt").code == 1


ROWS = {
    "run": "UPDATE run SET {column} = {value} WHERE id = (SELECT max(id) FROM run)",
    "step": "UPDATE step SET {column} = {value}"
    " WHERE id = 'work' AND run = (SELECT key FROM run ORDER BY id DESC LIMIT 1)",
}
"""What spoils one row of the newest run."""
WRONG = [
    ("run", "state", "'bogus'"),
    ("run", "state", "7"),
    ("run", "agent", "7"),
    ("run", "agent", "x'00ff'"),
    ("run", "task", "x'ff'"),
    ("run", "id", "'../../etc/passwd'"),
    ("run", "id", "''"),
    ("run", "id", "7"),
    ("run", "created", "'long ago'"),
    ("run", "created", "9e999"),
    ("run", "created", "-1e300"),
    ("run", "finished", "'never'"),
    ("run", "request", "0"),
    ("run", "profile", "0"),
    ("run", "profile", "1.5"),
    ("run", "failure", "'{'"),
    ("run", "failure", "'[]'"),
    ("run", "failure", "'7'"),
    ("run", "usage", "'{}'"),
    ("run", "usage", "'[1]'"),
    ("run", "usage", "'\"x\"'"),
    ("run", "output", "'{'"),
    ("run", "output", "x'ff'"),
    ("run", "parent", "7"),
    ("step", "state", "'bogus'"),
    ("step", "id", "''"),
    ("step", "id", "x'ff'"),
    ("step", "seq", "'first'"),
    ("step", "seq", "1e300"),
    ("step", "attempts", "'many'"),
    ("step", "input", "'{'"),
    ("step", "output", "'{'"),
    ("step", "failure", "'[]'"),
    ("step", "usage", "'{}'"),
    ("step", "started", "'then'"),
    ("step", "finished", "9e999"),
    ("step", "memory", "0"),
    ("step", "step_index", "'x'"),
]


@pytest.mark.parametrize(("table", "column", "value"), WRONG)
def test_a_row_that_makes_no_sense_spoils_nothing_else(
    old: Path, used: Before, metier: Metier, table: str, column: str, value: str
) -> None:
    statement = ROWS[table].format(column=column, value=value)
    with closing(sqlite3.connect(old / "runs.db")) as database, database:
        database.execute(statement)
    adopted = metier("state", "adopt")
    assert (adopted.code, "Traceback" in adopted.err) == (0, False), adopted.err
    listed = metier("runs", "list", "--json")
    assert listed.code == 0, listed.err
    known = {one["runId"] for one in listed.data}
    assert {one["runId"] for one in used.runs[1:]} <= known
    for one in listed.data:
        for action in ("show", "steps"):
            shown = metier("runs", action, one["runId"])
            assert shown.code == 0, shown.err
    assert metier("doctor").code == 0


@pytest.mark.parametrize("data", ["{", "[]", "7", "null", '"x"', '{"agentId": 7}', "x"])
def test_a_profile_or_request_that_makes_no_sense_spoils_nothing_else(
    old: Path, used: Before, metier: Metier, data: str
) -> None:
    for column in ("profile", "request"):
        with closing(sqlite3.connect(old / "runs.db")) as database, database:
            database.execute("INSERT OR REPLACE INTO blob VALUES (12345, ?)", (data,))
            newest = "(SELECT max(id) FROM run)"
            database.execute(f"UPDATE run SET {column} = 12345 WHERE id = {newest}")
        adopted = metier("state", "adopt")
        assert (adopted.code, "Traceback" in adopted.err) == (0, False), adopted.err
    listed = metier("runs", "list", "--json")
    assert listed.code == 0, listed.err
    assert {one["runId"] for one in used.runs[1:]} <= {one["runId"] for one in listed.data}
    for one in listed.data:
        shown = metier("runs", "show", one["runId"])
        assert shown.code == 0, shown.err


def test_a_value_under_a_key_that_is_not_its_own_is_not_taken_over(
    old: Path, agents: Agents, metier: Metier
) -> None:
    """Keys are hashes: whoever may choose one could have a later run read other words."""
    with closing(sqlite3.connect(old / "runs.db")) as database, database:
        for key, data in database.execute("SELECT key, data FROM blob").fetchall():
            if '"systemPrompt":"Do."' in data.replace(": ", ":"):
                other = data.replace("Do.", "Do evil.")
                database.execute("UPDATE blob SET data = ? WHERE key = ?", (other, key))
    metier("state", "adopt")
    fresh = metier("run", "leaf", "fresh", "--json").data["runId"]
    assert "Do evil." not in json.dumps(metier("runs", "show", fresh, "--json").data)
    with closing(sqlite3.connect(agents.state / "runs.db")) as database:
        (profile,) = database.execute(
            "SELECT data FROM blob JOIN run ON profile = blob.key WHERE id = ?", (fresh,)
        ).fetchone()
    assert "Do evil." not in profile


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"run_id": "ID"}', "[" * 100_000, "\0", "\udcff"]
)
def test_reports_that_are_none_are_left_out(
    old: Path, used: Before, metier: Metier, text: str
) -> None:
    file = old / "reports" / "20000101T000000.000000-0000.json"
    file.write_bytes(text.replace("ID", file.stem).encode(errors="surrogateescape"))
    adopted = metier("state", "adopt", "--json")
    assert (adopted.code, adopted.data) == (0, EVERYTHING)
    assert told(metier).reports == used.reports


def test_a_report_under_another_name_is_left_out(old: Path, metier: Metier) -> None:
    first, _ = sorted((old / "reports").iterdir())
    shutil.copy(first, old / "reports" / "20000101T000000.000000-0000.json")
    shutil.copy(first, old / "reports" / "..json")
    assert metier("state", "adopt", "--json").data["reports"] == 2


def test_lines_that_are_no_decisions_are_left_out(old: Path, used: Before, metier: Metier) -> None:
    lines = [b"", b"{", b"[]", b"7", b"\xff" * 50, b"{}", b"[" * 10_000, b"x" * 300_000]
    lines += text_of(
        [
            {"id": "7"},
            {"label": 7, "right": True},
            decision(5, cards=7),
            decision(5, injected="yes"),
            decision(5, at=1e300),
            decision(5, tokens=-1),
        ]
    ).splitlines()
    log = old / "decisions.jsonl"
    log.write_bytes(text_of(lines) + log.read_bytes() + b'{"id": "half')
    assert metier("state", "adopt", "--json").data["decisions"] == 4
    assert told(metier).decisions == used.decisions
    assert "cannot be read" not in metier("hook", "stats").err


def test_one_line_that_is_there_many_times_is_taken_over_once(old: Path, metier: Metier) -> None:
    log = old / "decisions.jsonl"
    log.write_bytes(log.read_bytes() * 3)
    assert metier("state", "adopt", "--json").data["decisions"] == 4
    assert len(metier("hook", "stats", "decisions", "--json").data) == 3


@pytest.mark.parametrize("name", ["runs.db", "reports", "decisions.jsonl"])
def test_links_are_not_followed(
    old: Path, agents: Agents, metier: Metier, tmp_path: Path, name: str
) -> None:
    shutil.move(old / name, tmp_path / name)
    (old / name).symlink_to(tmp_path / name)
    adopted = metier("state", "adopt", "--json")
    kind = {"runs.db": "runs", "decisions.jsonl": "decisions"}.get(name, name)
    assert "Traceback" not in adopted.err
    if adopted.code == 0:
        assert adopted.data == {**EVERYTHING, kind: 0}
    else:
        assert (adopted.code, name) == (1, "runs.db")
        assert adopted.err.startswith("error: the old runs cannot be read: ")


def test_a_link_in_place_of_the_folder_is_not_followed(
    old: Path, agents: Agents, metier: Metier, tmp_path: Path
) -> None:
    shutil.move(old, tmp_path / "other")
    old.symlink_to(tmp_path / "other")
    adopted = metier("state", "adopt")
    assert (adopted.code, adopted.out, "Traceback" in adopted.err) == (1, "", False)
    assert not (agents.state / "runs.db").exists()


@pytest.mark.parametrize("name", ["runs.db", "decisions.jsonl"])
def test_a_pipe_in_place_of_a_file_holds_nobody_up(old: Path, metier: Metier, name: str) -> None:
    (old / name).unlink()
    os.mkfifo(old / name)
    adopted = metier("state", "adopt")
    assert adopted.code in (0, 1)
    assert "Traceback" not in adopted.err


def test_a_folder_in_place_of_each_file_is_no_crash(old: Path, metier: Metier) -> None:
    for name in ("decisions.jsonl", "reports", "runs.db"):
        if (old / name).is_dir():
            shutil.rmtree(old / name)
            (old / name).write_text("in the way")
        else:
            (old / name).unlink()
            (old / name).mkdir()
        adopted = metier("state", "adopt")
        assert adopted.code in (0, 1)
        assert "Traceback" not in adopted.err


# Usage


@pytest.mark.parametrize("arguments", [(), ("adpot",), ("adopt", "a", "b")])
def test_wrong_usage_is_told(agents: Agents, metier: Metier, arguments: tuple[str, ...]) -> None:
    refused = metier("state", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.splitlines()[0].endswith("(USAGE)")


def test_the_doctor_names_old_state_once(old: Path, metier: Metier) -> None:
    first, second = metier("doctor").out, metier("doctor").out
    assert "metier state adopt" in first
    assert "metier state adopt" not in second

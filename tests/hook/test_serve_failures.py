"""Whatever goes wrong in a hook: exit code 0, nothing on standard output, one line in a log."""

import ctypes
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hook.hooks import (
    HOSTS,
    PROMPT,
    Hooks,
    as_bytes,
    card_ids,
    context_in,
    fill,
    filled,
    lines_of,
    references,
)
from metier.__main__ import main
from metier.hook.catalog_file import ReadOnlyCatalog
from metier.hook.journal import Journal
from metier.hook.serve import _warn
from metier.index.migrations import MIGRATIONS
from soak import examples

pytestmark = pytest.mark.slow

__all__ = ["filled"]

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
DROP_FROM_BOUNDS, MAY_WRITE_ANYWHERE, MAY_READ_ANYWHERE = 24, 1, 2
"""PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hooks]:
    """A workspace for those who ask very often, and who have nothing refreshed."""
    hooks = Hooks(tmp_path_factory.mktemp("hooks"))
    fill(hooks)
    with mock.patch.object(Journal, "_spawn"):
        yield hooks


def assert_silent(hooks: Hooks, given: bytes | Mapping[str, Any], host: str = "codex") -> str:
    """Run a hook that fails; the one line that it logged."""
    assert hooks.run(host, given) == b""
    logged = [*hooks.log(), *hooks.user_log()]
    assert len(logged) == 1
    assert f" {host}: " in logged[0]
    return logged[0]


def assert_logged_here(hooks: Hooks) -> None:
    """Run a hook that fails in the workspace, and logs there."""
    assert_silent(hooks, hooks.asked("codex"))
    assert len(hooks.log()) == 1


# Standard input

VALID = json.dumps({"prompt": PROMPT, "cwd": "@ROOT@", "hook_event_name": "UserPromptSubmit"})
"""What would be answered, were it alone."""
INPUTS: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t ",
    "not JSON": b"prompt: refund the invoice",
    "truncated": VALID.encode()[:-10],
    "truncated in an escape": b'{"prompt": "refund \\u00',
    "an array": f"[{VALID}]".encode(),
    "a text": b'"refund the invoice"',
    "a number": b"7",
    "null": b"null",
    "two objects": (VALID + VALID).encode(),
    "something behind it": (VALID + "\nx").encode(),
    "5 MB": VALID.replace("Please", "invoice " * 650_000).encode(),
    "5 MB of nothing": b" " * 5_000_000,
    "100,000 brackets": b"[" * 100_000,
    "100,000 brackets, closed": b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects": b'{"prompt":' * 100_000,
    "brackets in a field": VALID[:-1].encode()
    + b', "more": '
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}",
    "not UTF-8": b"\xff\xfe\x00refund",
    "UTF-16": VALID.encode("utf-16"),
    "NULs": b"\0" * 1_000,
    "a number of 10,000 digits": VALID[:-1].encode() + b', "more": ' + b"7" * 10_000 + b"}",
}


@pytest.mark.parametrize("raw", INPUTS.values(), ids=INPUTS.keys())
def test_input_that_makes_no_sense_costs_one_line_in_the_log(raw: bytes, filled: Hooks) -> None:
    line = assert_silent(filled, raw.replace(b"@ROOT@", str(filled.root).encode()))
    assert len(line) < 700
    assert not any(row["injected"] for row in filled.rows())


def test_the_log_says_that_the_input_is_not_json(filled: Hooks) -> None:
    assert "the input is not JSON: " in assert_silent(filled, INPUTS["empty"])


def test_what_stands_alone_is_answered(filled: Hooks) -> None:
    raw = VALID.replace("@ROOT@", str(filled.root)).encode()
    assert card_ids(filled.text("codex", raw)) == ["billing"]


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_is_answered_with_silence(host: str, filled: Hooks) -> None:
    assert_silent(filled, b"{", host)


ODD: dict[str, Any] = {
    "byte order mark": lambda valid: b"\xef\xbb\xbf" + valid,
    "spaces around it": lambda valid: b"\n\n  " + valid + b"\r\n\t",
    "no UTF-8 in a text": lambda valid: valid.replace(b"Please", b"Pl\xff\xfease"),
    "a line end in a text": lambda valid: valid.replace(b"Please", b"Please\n"),
    "NaN beside it": lambda valid: valid.replace(b"{", b'{"more": NaN, ', 1),
    "infinity beside it": lambda valid: valid.replace(b"{", b'{"more": [-Infinity], ', 1),
    "keys twice": lambda valid: valid.replace(b"{", b'{"prompt": 7, ', 1),
    "3 MB beside it": lambda valid: valid.replace(b"{", b'{"more": "%s", ' % (b"x" * 3_000_000), 1),
    "nested 200 times": lambda valid: valid.replace(
        b"{", b'{"more": ' + b"[" * 200 + b"]" * 200 + b", ", 1
    ),
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD.keys())
def test_input_that_can_be_understood_is_answered(change: Any, filled: Hooks) -> None:
    raw = change(as_bytes(filled.asked("claude-code")))
    assert card_ids(filled.text("claude-code", raw)) == ["billing"]
    assert filled.log() == filled.user_log() == []


def test_half_a_character_in_the_prompt_fails_nothing(filled: Hooks) -> None:
    raw = as_bytes(filled.asked("codex", prompt="refund the invoice \ud83d"))
    assert b"\\ud83d" in raw
    context_in("codex", filled.run("codex", raw))
    assert len(filled.rows()) == 1


@pytest.mark.parametrize("prompt", ["refund the invoice \ud83d", "refund\udc00 the invoice"])
def test_half_a_character_in_the_prompt_costs_no_more_than_itself(
    prompt: str, filled: Hooks
) -> None:
    assert card_ids(filled.text("codex", filled.asked("codex", prompt))) == ["billing"]


def test_a_failure_is_one_line_whatever_its_text_holds(filled: Hooks) -> None:
    error = OSError(f"/no\nwhere\r\u2028\x1b{'x' * 3_000}")
    with mock.patch("metier.hook.serve.ReadOnlyCatalog", side_effect=error):
        assert filled.served("codex", filled.asked("codex")) == ""
    (line,) = filled.log()
    assert " codex: OSError: /no where" in line
    assert len(line) < 700


# Any JSON at all

FIELDS = [
    "prompt",
    "initialPrompt",
    "user_prompt",
    "cwd",
    "workspaceRoot",
    "workspace_roots",
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "agent",
    "agent_id",
    "agent_type",
    "agentType",
    "agentName",
    "transcript_path",
    "transcriptPath",
    "messages",
    "hook_event_name",
    "hookEventName",
    "event",
    "model",
    "source",
]
ANY_TEXT = st.text(st.characters(), max_size=20)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.just("invoice refund")
)
ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("role", "content", "text", "message", "payload", "parts", "type"))
            | ANY_TEXT,
            inner | st.sampled_from(("user", "model")),
            max_size=4,
        )
    ),
    max_leaves=10,
)


def asking(hooks: Hooks) -> st.SearchStrategy[dict[str, Any]]:
    """Requests with anything in any field; most of them for this workspace."""
    usual: dict[str, Any] = {"cwd": str(hooks.root), "prompt": PROMPT, "session_id": "s"}
    changes = st.dictionaries(st.sampled_from(FIELDS), ANY_JSON, max_size=6)
    return changes.map(lambda changed: {**usual, **changed})


def test_a_request_with_anything_in_any_field_gets_one_object_or_nothing(shared: Hooks) -> None:
    @examples(100)
    @given(asking(shared), st.sampled_from(HOSTS))
    def check(request: dict[str, Any], host: str) -> None:
        references(context_in(host, shared.served(host, request)))

    check()


def test_a_transcript_of_anything_gets_one_object_or_nothing(shared: Hooks) -> None:
    file = shared.home / "transcript"
    lines = st.lists(ANY_JSON.map(json.dumps).map(str.encode) | st.binary(max_size=40), max_size=6)

    @examples(50)
    @given(lines)
    def check(content: list[bytes]) -> None:
        file.write_bytes(b"\n".join(content))
        request = shared.asked("gemini", transcript_path=str(file))
        assert "billing" in card_ids(context_in("gemini", shared.served("gemini", request)))

    check()


def test_bytes_of_any_kind_get_one_object_or_nothing(shared: Hooks) -> None:
    valid = as_bytes(shared.asked("claude-code"))
    cut = st.tuples(st.integers(0, len(valid)), st.integers(0, len(valid)), st.binary(max_size=5))
    changed = cut.map(lambda one: valid[: min(one[:2])] + one[2] + valid[max(one[:2]) :])

    @examples(100)
    @given(st.binary(max_size=60) | changed)
    def check(raw: bytes) -> None:
        references(context_in("claude-code", shared.served("claude-code", raw)))

    check()


def test_a_process_that_is_asked_anything_ends_well(shared: Hooks) -> None:
    @examples(25)
    @given(asking(shared).map(as_bytes) | st.binary(max_size=60), st.sampled_from(HOSTS))
    def check(raw: bytes, host: str) -> None:
        context_in(host, shared.run(host, raw))

    check()


# The catalog


def test_without_a_state_folder_one_is_made_for_what_was_decided(filled: Hooks) -> None:
    for file in filled.state.iterdir():
        file.unlink()
    filled.state.rmdir()
    with mock.patch.object(Journal, "_spawn"):
        assert filled.served("codex", filled.asked("codex")) == ""
    assert (filled.log(), filled.user_log()) == ([], [])
    assert [row["injected"] for row in filled.rows()] == [False]
    assert filled.state.stat().st_mode & 0o777 == 0o700


def test_in_a_folder_that_is_no_workspace_the_user_is_told(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    (hooks.root / "metier.toml").unlink()
    with mock.patch.object(Journal, "_spawn"):
        assert hooks.served("codex", hooks.asked("codex")) == ""
    assert ["no catalog" in line for line in hooks.user_log()] == [True]
    assert not hooks.state.exists()


def test_outside_of_any_workspace_the_decisions_are_the_users(filled: Hooks) -> None:
    with mock.patch.object(Journal, "_spawn"):
        for cwd in (str(filled.home), "/", "/nowhere"):
            assert filled.served("codex", filled.asked("codex", cwd=cwd)) == ""
    kept = (filled.user_state / "decisions.jsonl").read_text().splitlines()
    assert len(kept) == 3
    assert (filled.log(), filled.user_log()) == ([], [])


def test_the_log_of_the_user_lies_below_home_when_nothing_else_is_said(filled: Hooks) -> None:
    assert filled.run("codex", b"{", XDG_STATE_HOME="") == b""
    (log,) = (filled.home / ".local/state/metier").glob("user-*/hook.log")
    assert len(lines_of(log)) == 1


def test_a_request_without_a_folder_is_for_the_one_it_is_run_in(filled: Hooks) -> None:
    request = filled.asked("codex")
    del request["cwd"]
    below = filled.root / "docs" / "capabilities"
    finished = subprocess.run(
        [sys.executable, "-m", "metier", "hook", "codex"],
        input=as_bytes(request),
        capture_output=True,
        cwd=below,
        env={**os.environ, **filled.environ},
        check=True,
        timeout=120,
    )
    assert card_ids(context_in("codex", finished.stdout)) == ["billing"]


def test_a_workspace_may_have_any_name(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path / "a%20b?mode=rw&c#d 'e\" ü")
    fill(hooks)
    assert card_ids(hooks.text("codex", hooks.asked("codex"))) == ["billing"]


def database(hooks: Hooks) -> Path:
    """The catalog without its companions."""
    for name in ("metier.db-wal", "metier.db-shm"):
        (hooks.state / name).unlink(missing_ok=True)
    return hooks.state / "metier.db"


def test_a_missing_catalog_is_logged_in_the_workspace(filled: Hooks) -> None:
    database(filled).unlink()
    assert_logged_here(filled)
    assert not database(filled).exists()


@pytest.mark.parametrize(
    "content", [b"", b"no database " * 1_000, b"SQLite format 3\0" + b"x" * 99]
)
def test_a_catalog_that_is_no_database_is_logged(content: bytes, filled: Hooks) -> None:
    database(filled).write_bytes(content)
    assert_logged_here(filled)
    assert database(filled).read_bytes() == content


def test_a_catalog_that_is_a_folder_is_logged(filled: Hooks) -> None:
    database(filled).unlink()
    (filled.state / "metier.db").mkdir()
    assert_logged_here(filled)


def test_a_catalog_that_was_cut_is_logged(filled: Hooks) -> None:
    file = database(filled)
    file.write_bytes(file.read_bytes()[:5_000])
    assert_logged_here(filled)


def test_settings_that_make_no_sense_are_logged(filled: Hooks) -> None:
    with closing(sqlite3.connect(filled.state / "metier.db")) as connection:
        for number, value in enumerate(("{", "[]", "7", '{"mode": "on"}', '{"mode": []}')):
            connection.execute("UPDATE setting SET value = ? WHERE name = 'capabilities'", (value,))
            connection.commit()
            assert filled.run("codex", filled.asked("codex")) == b""
            assert len(filled.log()) == number + 1


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_an_older_catalog_is_silent(version: int, filled: Hooks) -> None:
    database(filled).unlink()
    with closing(sqlite3.connect(filled.state / "metier.db")) as connection:
        for migration in MIGRATIONS[:version]:
            for statement in migration.statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
    with mock.patch.object(Journal, "_spawn"):
        assert filled.served("codex", filled.asked("codex")) == ""
    assert len(filled.rows()) == 1


def test_a_newer_catalog_that_looks_otherwise_is_logged(filled: Hooks) -> None:
    with closing(sqlite3.connect(filled.state / "metier.db")) as connection:
        connection.execute("ALTER TABLE card RENAME COLUMN facts TO other_facts")
    assert_logged_here(filled)


def test_a_newer_catalog_is_not_read_by_an_older_program(filled: Hooks) -> None:
    with closing(sqlite3.connect(filled.state / "metier.db")) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    assert_logged_here(filled)


def test_a_writer_does_not_keep_hooks_from_reading(filled: Hooks) -> None:
    with closing(sqlite3.connect(filled.state / "metier.db", isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("DELETE FROM card")
        assert card_ids(filled.text("codex", filled.asked("codex"))) == ["billing"]
        connection.execute("ROLLBACK")
    assert filled.log() == []


def test_a_hook_cannot_write_into_the_catalog(filled: Hooks) -> None:
    catalog = ReadOnlyCatalog(filled.room)
    with closing(catalog), pytest.raises(sqlite3.OperationalError, match="readonly"):
        catalog.rows("DELETE FROM card")


@pytest.mark.parametrize("pragma", ["locking_mode = EXCLUSIVE", "journal_mode = DELETE"])
def test_a_catalog_that_nobody_else_may_read_is_logged(pragma: str, filled: Hooks) -> None:
    with closing(sqlite3.connect(filled.state / "metier.db", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("DELETE FROM card")
        assert "locked" in assert_silent(filled, filled.asked("codex"))
        assert filled.rows()[-1]["milliseconds"] < 5_000  # nobody waits for the lock
        connection.execute("ROLLBACK")


def test_a_mode_that_nobody_knows_hands_nothing_over(filled: Hooks) -> None:
    for number, mode in enumerate(("ON", "true", "1", "x" * 5_000)):
        assert filled.run("codex", filled.asked("codex"), METIER_CAPABILITIES=mode) == b""
        assert len(filled.rows()) == number + 1
    assert {row["mode"] for row in filled.rows()} == {"monitor"}


@pytest.mark.parametrize("settings", ['scorer = "mine"', 'compare = ["mine", "mine"]'])
def test_in_place_of_a_scorer_that_hooks_do_not_know_the_usual_one_is_used(
    settings: str, filled: Hooks
) -> None:
    filled.settings(settings)
    filled.prepare()
    assert card_ids(filled.text("codex", filled.asked("codex"))) == ["billing"]
    assert ["'mine'" in line for line in filled.log()] == [True]


# The state folder


def test_a_state_folder_that_is_a_file_tells_the_user(filled: Hooks) -> None:
    for file in filled.state.iterdir():
        file.unlink()
    filled.state.rmdir()
    filled.state.write_text("")
    assert_silent(filled, filled.asked("codex"))
    assert len(filled.user_log()) == 1
    assert filled.state.read_text() == ""


@pytest.mark.parametrize("name", ["decisions.jsonl", "hook.state"])
def test_a_folder_in_the_place_of_a_file_takes_no_answer_away(name: str, filled: Hooks) -> None:
    (filled.state / name).unlink(missing_ok=True)
    (filled.state / name).mkdir()
    with mock.patch.object(Journal, "_spawn"):
        printed = filled.served("codex", filled.asked("codex"))
    assert card_ids(context_in("codex", printed)) == ["billing"]


def test_a_log_that_cannot_be_written_is_done_without(filled: Hooks) -> None:
    (filled.state / "hook.log").mkdir()
    database(filled).unlink()
    assert filled.run("codex", filled.asked("codex")) == b""


def test_a_log_that_has_grown_too_large_begins_anew(filled: Hooks) -> None:
    file = filled.state / "hook.log"
    file.write_text("x" * 99 + "\n")
    database(filled).unlink()
    filled.run("codex", filled.asked("codex"))
    assert len(lines_of(file)) == 2
    file.write_text(("x" * 99 + "\n") * 10_001)
    filled.run("codex", filled.asked("codex"))
    assert len(lines_of(file)) == 1


def without_privileges() -> None:
    """Take away, in a process to come, what lets root write everywhere."""
    library = ctypes.CDLL(None)
    for one in (MAY_WRITE_ANYWHERE, MAY_READ_ANYWHERE):
        if AS_ROOT and library.prctl(DROP_FROM_BOUNDS, one, 0, 0, 0) != 0:
            os._exit(77)


def run_without_privileges(hooks: Hooks) -> bytes:
    finished = subprocess.run(
        [sys.executable, "-m", "metier", "hook", "codex"],
        input=as_bytes(hooks.asked("codex")),
        capture_output=True,
        cwd=hooks.home,
        env={**os.environ, **hooks.environ},
        preexec_fn=without_privileges,
        timeout=120,
        check=False,
    )
    if finished.returncode == 77:
        pytest.skip("root cannot be kept from writing here")
    assert (finished.returncode, finished.stderr) == (0, b"")
    return finished.stdout


@pytest.fixture
def read_only(filled: Hooks) -> Iterator[Hooks]:
    """A state folder in which nothing can be made, written or locked."""
    database(filled)
    (filled.state / "secret.state").unlink(missing_ok=True)
    for file in filled.state.iterdir():
        file.chmod(0o400)
    filled.state.chmod(0o500)
    yield filled
    filled.state.chmod(0o700)


def test_a_state_folder_that_cannot_be_written_is_answered_from(read_only: Hooks) -> None:
    before = sorted(read_only.state.iterdir())
    assert card_ids(context_in("codex", run_without_privileges(read_only))) == ["billing"]
    assert sorted(read_only.state.iterdir()) == before


def test_a_state_folder_that_cannot_be_written_tells_the_user(read_only: Hooks) -> None:
    run_without_privileges(read_only)
    assert len(read_only.user_log()) == 1


@pytest.mark.parametrize("name", ["hook.log", "decisions.jsonl", "decisions.jsonl and hook.log"])
def test_a_link_in_the_state_folder_leads_to_no_other_file(name: str, filled: Hooks) -> None:
    """Whatever has put it there: state is in regular files."""
    victim = filled.home / "victim"
    victim.write_text("mine\n" * 250_000)
    for one in name.split(" and "):
        (filled.state / one).unlink(missing_ok=True)
        (filled.state / one).symlink_to(victim)
    filled.run("codex", filled.asked("codex"))
    database(filled).unlink()
    filled.run("codex", filled.asked("codex"))
    assert victim.read_text() == "mine\n" * 250_000


def test_a_secret_that_was_cut_short_is_made_anew(filled: Hooks) -> None:
    (filled.state / "secret.state").write_bytes(b"short")
    printed = {filled.run("codex", filled.asked("codex")) for _ in range(2)}
    assert len(printed) == 1
    assert len((filled.state / "secret.state").read_bytes()) == 32


# Streams


def finish(hooks: Hooks, redirection: str, given: bytes | None = None) -> None:
    """Run a hook with a redirection of the shell; it must end well and say nothing."""
    finished = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m metier hook codex {redirection}', sys.executable],
        input=as_bytes(hooks.asked("codex")) if given is None else given,
        capture_output=True,
        cwd=hooks.home,
        env={**os.environ, **hooks.environ},
        timeout=120,
        check=False,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, b"", b"")


@pytest.mark.parametrize("redirection", [">&-", "<&-", "<&- >&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_cost_one_line_in_the_log(redirection: str, filled: Hooks) -> None:
    finish(filled, redirection)
    assert len(filled.log()) + len(filled.user_log()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_finds_no_room_costs_one_line_in_the_log(filled: Hooks) -> None:
    finish(filled, ">/dev/full")
    assert len(filled.log()) == 1


@pytest.mark.parametrize("size", [1, 8_000])
def test_a_reader_that_has_gone_costs_one_line_in_the_log(size: int, filled: Hooks) -> None:
    filled.card("billing", "invoice", body="word " * (size // 5))
    filled.settings("maxTokens = 100000")
    filled.prepare()
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(
        [sys.executable, "-m", "metier", "hook", "codex"],
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=filled.home,
        env={**os.environ, **filled.environ},
    )
    os.close(writing)
    try:
        _, complaint = process.communicate(as_bytes(filled.asked("codex")), timeout=120)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, complaint) == (0, b"")
    assert len(filled.log()) == 1


# The program itself


def test_an_installation_that_is_broken_is_silent_too(filled: Hooks) -> None:
    broken = filled.home / "broken"
    broken.mkdir()
    (broken / "Stemmer.py").write_text("raise ImportError('built for another Python')\n")
    path = os.pathsep.join([str(broken), *filter(None, [os.environ.get("PYTHONPATH")])])
    assert filled.run("codex", filled.asked("codex"), PYTHONPATH=path) == b""
    [line] = [*filled.log(), *filled.user_log()]
    assert "codex: ImportError: built for another Python" in line


def test_an_answer_that_cannot_even_be_loaded_is_logged(
    filled: Hooks, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in filled.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(filled.root)
    monkeypatch.setattr(sys, "argv", ["metier", "hook", "codex"])
    monkeypatch.setitem(sys.modules, "metier.hook.serve", None)
    main()
    assert capfd.readouterr() == ("", "")
    [line] = filled.log()
    assert "codex: ModuleNotFoundError: import of metier.hook.serve halted" in line


def test_a_log_that_cannot_be_written_breaks_no_host(
    filled: Hooks, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["metier", "hook", "codex"])
    for name in ("serve", "journal"):
        monkeypatch.setitem(sys.modules, f"metier.hook.{name}", None)
    main()
    assert capfd.readouterr() == ("", "")


def test_a_home_that_is_ignored_is_named_on_standard_error(
    filled: Hooks, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (filled.home.parent / ".git").mkdir()
    for name in ("METIER_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(filled.home))
    _warn(mock.Mock(may_speak=False, workspace=str(filled.root)), str(filled.root))
    told = capfd.readouterr().err
    assert f"metier: HOME is ignored: {filled.home} is inside a workspace\n" in told

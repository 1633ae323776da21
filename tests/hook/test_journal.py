"""What hooks write down: a row for every decision, the kill switch, the arms of a comparison."""

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conftest import state_of
from hook.hooks import (
    HOSTS,
    NEUTRAL,
    PROMPT,
    SESSION,
    Hooks,
    as_bytes,
    card_ids,
    closed,
    context_in,
    filled,
)
from hook.journal_rows import LEAST, decided, log_rows, row
from metier.flow.hook_figures import statistics
from metier.flow.hook_log import failures, read_decisions, resume, why_failed
from metier.hook import journal
from metier.hook.journal import Journal
from metier.storage.lightjson import scan
from metier.storage.places import state_room

pytestmark = pytest.mark.slow

__all__ = ["filled"]

NAME = {"type": "string", "minLength": 1}
OUTCOMES = [
    "injected",
    "over-budget",
    "below-threshold",
    "excluded",
    "session-type",
    "trigger",
    "monitor",
    "soft",
    "beyond-the-count",
]


def listed(*items: Any) -> dict[str, Any]:
    """The schema of a list with just these items."""
    return {"type": "array", "prefixItems": list(items), "items": False, "minItems": len(items)}


COUNT = {"type": "integer", "minimum": 0}
SCORE = {"type": "number", "minimum": 0}
ROW = closed(
    id={"type": "string", "pattern": "^[0-9a-f]+-[0-9a-f]+$"},
    at={"type": "number", "minimum": 1_700_000_000},
    host={"enum": list(HOSTS)},
    event={"type": "string"},
    session={"type": "string", "pattern": "^([0-9a-f]{12})?$"},
    session_type={"enum": ["main", "isolated"]},
    mode={"enum": ["off", "monitor", "soft", "on"]},
    scorer=NAME,
    arm={"enum": ["", "A", "B"]},
    cards={"type": "array", "items": listed(NAME, SCORE, SCORE, {"enum": OUTCOMES}, COUNT)},
    skills={"type": "array", "items": listed(NAME, NAME, SCORE, {"enum": OUTCOMES})},
    tokens=COUNT,
    characters=COUNT,
    injected={"type": "boolean"},
    milliseconds={"type": "number", "exclusiveMinimum": 0},
    error={"type": "string"},
)


def journal_of(folder: Path) -> Journal:
    """The journal of a workspace that has state already."""
    state_room(str(folder)).make()
    made = Journal()
    made.enter(str(folder))
    return made


# Rows


@pytest.mark.invariant(id="CARD-ROLL-004")
@pytest.mark.parametrize("host", HOSTS)
def test_every_decision_is_a_row_with_its_scores_its_tokens_and_its_time(
    host: str, filled: Hooks
) -> None:
    filled.settings('exclude = ["weather"]')
    filled.prepare()
    text = filled.text(host, filled.asked(host, f"{PROMPT} while it may rain"))
    filled.run(host, filled.asked(host, "unheard of"))
    first, second = filled.rows()
    for one in (first, second):
        jsonschema.validate(one, ROW)
        assert (one["host"], one["mode"], one["scorer"], one["arm"]) == (host, "on", "spec", "")
        assert (one["session_type"], one["error"]) == ("main", "")
    assert first["session"] == second["session"] != ""
    assert (first["injected"], first["characters"]) == (True, len(text))
    assert first["tokens"] == -(-len(text) // 4)
    if host == "cursor":
        return  # it tells no prompt
    assert [one[:4] for one in first["cards"]] == [
        ["billing", 0.706, 0.2, "injected"],
        ["weather", 0.353, 0.2, "excluded"],
    ]
    assert 0 < first["cards"][0][4] <= first["tokens"]
    assert [one[0] for one in first["skills"] if one[3] == "injected"] == ["pdf"]
    assert second["cards"] == []
    assert {one[3] for one in second["skills"]} == {"below-threshold"}
    assert (second["tokens"], second["characters"], second["injected"]) == (0, 0, False)


@pytest.mark.invariant(id="CARD-ROLL-001")
@pytest.mark.invariant(id="CARD-ROLL-004")
@pytest.mark.parametrize(
    ("settings", "mode", "outcome"),
    [
        ('mode = "monitor"', "monitor", "monitor"),
        ('mode = "soft"\nsoftSessionTypes = ["isolated"]', "soft", "soft"),
    ],
)
def test_what_would_have_been_handed_over_is_logged_with_its_score(
    settings: str, mode: str, outcome: str, filled: Hooks
) -> None:
    filled.settings(settings)
    filled.prepare()
    assert filled.run("codex", filled.asked("codex")) == b""
    (logged,) = filled.rows()
    jsonschema.validate(logged, ROW)
    assert (logged["mode"], logged["injected"]) == (mode, False)
    assert [one[:4] for one in logged["cards"]] == [["billing", 0.706, 0.2, outcome]]
    assert [(one[0], one[3]) for one in logged["skills"]] == [
        ("pdf", outcome),
        ("sql", "below-threshold"),
    ]


def test_monitoring_tells_how_many_tokens_a_card_would_cost(filled: Hooks) -> None:
    filled.run("codex", filled.asked("codex"))
    filled.run("codex", filled.asked("codex"), METIER_CAPABILITIES="monitor")
    on, monitor = (one["cards"][0][4] for one in filled.rows())
    assert monitor == on > 0


def test_a_decision_that_is_switched_off_is_a_row_too(filled: Hooks) -> None:
    for value in ("mode = 'off'", "enabled = false"):
        filled.settings(value)
        filled.prepare()
        filled.run("codex", filled.asked("codex"))
    rows = filled.rows()
    assert len(rows) == 2
    for one in rows:
        jsonschema.validate(one, ROW)
        assert (one["mode"], one["cards"], one["skills"], one["injected"]) == ("off", [], [], False)


@pytest.mark.invariant(id="CARD-ROLL-004")
def test_a_failure_is_a_row_so_that_errors_can_be_counted(filled: Hooks) -> None:
    filled.run("codex", {**filled.asked("codex"), "prompt": 5})
    filled.run("codex", filled.asked("codex", NEUTRAL))
    failed = {**ROW["properties"], "mode": {"const": "failed"}, "scorer": {"type": "string"}}
    jsonschema.validate(filled.rows()[0], closed(**{**failed, "error": NAME}))
    jsonschema.validate(filled.rows()[1], ROW)
    assert filled.rows()[1]["error"] == ""
    assert len(filled.log()) == 1
    figures = statistics(read_decisions(filled.room))
    assert (figures.overall.requests, figures.overall.errors) == (2, 1)
    assert (figures.skipped, figures.overall.injecting) == (0, 0)


def test_the_reason_of_a_failure_is_found_in_the_log(filled: Hooks) -> None:
    filled.run("codex", {**filled.asked("codex"), "prompt": 5})
    [failed] = read_decisions(filled.room)
    [line] = filled.log()
    reason = why_failed(failed, failures(filled.room))
    assert reason.startswith(f"{failed.error}: ")
    assert line.endswith(f" codex: {reason}")
    other = failed._replace(error="OSError")
    assert why_failed(other, failures(filled.room)) == "OSError"
    assert why_failed(failed, {}) == failed.error


@pytest.mark.invariant(id="CARD-ROLL-004")
def test_the_rows_are_what_statistics_read(filled: Hooks) -> None:
    for prompt in (PROMPT, PROMPT, NEUTRAL):
        filled.run("codex", filled.asked("codex", prompt))
    figures = statistics(read_decisions(filled.room))
    assert (figures.skipped, figures.overall.requests, figures.overall.injecting) == (0, 3, 2)
    assert [(one.name, one.uses) for one in figures.cards.most_used] == [("billing", 2)]
    assert [(one.name, one.uses) for one in figures.skills.most_used] == [("pdf", 2)]
    assert figures.overall.tokens_p50 == filled.rows()[0]["tokens"]


def test_the_best_of_those_that_did_not_pass_are_named(filled: Hooks) -> None:
    for number in range(12):
        words = ["comet", *(f"unmet-{other}" for other in range(number))]
        filled.card(f"card-{number:02}", *words, threshold=0.9)
    filled.prepare()
    filled.run("codex", filled.asked("codex", f"{PROMPT} and the comet"))
    cards = filled.rows()[-1]["cards"]
    assert cards[0][0] == "billing"
    assert [one[0] for one in cards[1:]] == [f"card-{number:02}" for number in range(5)]
    assert {one[3] for one in cards[1:]} == {"below-threshold"}


# What is not written


def everything_in(folder: Path) -> bytes:
    return b"\n".join(one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file())


def test_neither_the_prompt_nor_the_session_is_written_anywhere(filled: Hooks) -> None:
    secret, session = "zebrafinch quagmire", "session-0f3a-hummingbird"
    path = filled.home / "transcript.jsonl"
    path.write_text(json.dumps({"role": "user", "content": f"{secret} invoice"}) + "\n{")
    for host in HOSTS:
        told = filled.asked(host, f"{secret} refund the invoice in this PDF {secret}")
        told.update(session_id=session, transcript_path=str(path))
        told["messages"] = [{"role": "user", "content": secret}]
        for one in ("sessionId", "conversation_id"):
            if one in told:
                told[one] = session
        raw = as_bytes(told)
        filled.run(host, raw)
        filled.run(host, raw[:-5])
        filled.run(host, raw.replace(b"zebrafinch", b"zebrafinch \\ud83d"))
        filled.run(host, raw, METIER_CAPABILITIES="monitor")
    path.unlink()
    assert len(filled.rows()) >= 2 * len(HOSTS)
    assert len(filled.user_log()) == len(HOSTS)
    for folder in (filled.state, filled.home):
        written = everything_in(folder)
        for word in (*secret.split(), "hummingbird"):
            assert word.encode() not in written


def test_a_conversation_keeps_its_name_and_shares_it_with_no_other(filled: Hooks) -> None:
    for session in (SESSION, "other", SESSION, "\ud800", ""):
        filled.served("codex", filled.asked("codex", NEUTRAL, session_id=session))
    names = [one["session"] for one in filled.rows()]
    assert names[0] == names[2]
    assert len({*names[:2], names[3]}) == 3
    assert names[4] == ""


# One file, many processes

KEEP_50 = """
import sys
from metier.hook.journal import Journal
from metier.storage.lightjson import scan
journal = Journal()
journal.enter(sys.argv[1])
for number in range(50):
    row = {"id": "", "at": 1763219441.125, "who": sys.argv[2], "number": number}
    journal.keep({**row, "filler": "x" * 3000})
"""


def together(
    commands: list[list[str]],
    given: bytes = b"",
    env: dict[str, str] | None = None,
    folder: Path | None = None,
) -> None:
    """Run processes at once; each must end well."""
    running = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
            cwd=folder,
        )
        for command in commands
    ]
    try:
        for one in running:
            one.communicate(given, timeout=300)
        assert [one.returncode for one in running] == [0] * len(running)
    finally:
        for one in running:
            one.kill()
            one.wait()


def rows_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_20_processes_that_write_at_once_lose_no_row_and_tear_none(tmp_path: Path) -> None:
    state_room(str(tmp_path)).make()
    command = [sys.executable, "-c", KEEP_50, str(tmp_path)]
    together([[*command, str(number)] for number in range(20)])
    rows = rows_in(state_of(tmp_path) / "decisions.jsonl")
    found = [(one["who"], one["number"]) for one in rows]
    assert sorted(found) == sorted((str(who), number) for who in range(20) for number in range(50))


def test_a_row_is_written_in_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writes may have another's between them, however seldom."""
    pieces: list[bytes] = []
    write = os.write

    def noted(descriptor: int, data: bytes) -> int:
        pieces.append(data)
        return write(descriptor, data)

    keeper = journal_of(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", noted)
        keeper.keep(row(filler="x" * 100_000))
    assert [piece.count(b"\n") for piece in pieces] == [1]
    assert rows_in(state_of(tmp_path) / "decisions.jsonl") == [json.loads(pieces[0])]


def test_20_hooks_at_once_log_20_rows(filled: Hooks) -> None:
    command = [sys.executable, "-m", "metier", "hook", "codex"]
    together([command] * 20, as_bytes(filled.asked("codex")), filled.environ)
    rows = filled.rows()
    assert len(rows) == 20
    for one in rows:
        jsonschema.validate(one, ROW)
        assert one["injected"] is True
    assert filled.log() == []


def test_20_failures_at_once_log_20_lines(filled: Hooks) -> None:
    command = [sys.executable, "-m", "metier", "hook", "codex"]
    together([command] * 20, b"{", filled.environ, filled.home)
    assert len(filled.user_log()) == 20
    assert all(" codex: " in line for line in filled.user_log())


# Rotation


def test_a_full_journal_is_put_aside_and_two_files_hold_the_latest_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LARGEST_JOURNAL", 2_000)
    keeper = journal_of(tmp_path)
    newer, older = (state_of(tmp_path) / one for one in ("decisions.jsonl", "decisions.1.jsonl"))
    for number in range(200):
        keeper.keep(row(number, filler="x" * 100))
        kept = [one["number"] for one in [*rows_in(older), *rows_in(newer)]]
        assert kept == list(range(number + 1))[-len(kept) :]
        assert newer.stat().st_size < 2_500
        assert number < 20 or len(kept) > 10
    assert older.stat().st_size < 2_500
    names = sorted(one.name for one in state_of(tmp_path).iterdir())
    assert names == [older.name, newer.name, "decisions.jsonl.lock"]


def test_a_journal_of_eight_megabytes_is_full(filled: Hooks) -> None:
    file = filled.state / "decisions.jsonl"
    line = json.dumps(row(filler="x" * 900)) + "\n"
    file.write_text(line * (8_000_000 // len(line)))
    filled.run("codex", filled.asked("codex"))
    assert not (filled.state / "decisions.1.jsonl").exists()
    with file.open("a") as stream:
        stream.write(line * 2)
    filled.run("codex", filled.asked("codex"))
    assert len(filled.rows()) == 1
    assert (filled.state / "decisions.1.jsonl").stat().st_size > 8_000_000


def test_two_that_find_the_journal_full_at_once_lose_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LARGEST_JOURNAL", 2_000)
    first, second = journal_of(tmp_path), journal_of(tmp_path)
    newer, older = (state_of(tmp_path) / one for one in ("decisions.jsonl", "decisions.1.jsonl"))
    newer.write_text(
        "".join(f"{json.dumps(row(number, filler='x' * 100))}\n" for number in range(20))
    )
    has_come = threading.Event()

    def keep() -> None:
        with contextlib.suppress(OSError):
            second.keep(row(98))
        has_come.set()

    other = threading.Thread(target=keep)
    replace, flock, open_file = os.replace, fcntl.flock, os.open

    def slow_replace(old: str, new: str, **folders: int) -> None:
        if threading.current_thread() is not other:
            other.start()
            has_come.wait(60)  # at the same point, or at its end
        replace(old, new, **folders)

    def told_flock(descriptor: int, operation: int) -> None:
        if threading.current_thread() is other:
            has_come.set()
        flock(descriptor, operation)

    def slow_open(path: str, flags: int, mode: int = 0o777, **folder: int) -> int:
        if threading.current_thread() is not other and other.ident is not None:
            other.join(60)
        return open_file(path, flags, mode, **folder)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", slow_replace)
        patch.setattr(fcntl, "flock", told_flock)
        patch.setattr(os, "open", slow_open)
        first.keep(row(99))
        other.join(60)
    kept = [one["number"] for one in [*rows_in(older), *rows_in(newer)]]
    assert sorted(kept) == [*range(20), 98, 99]


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_journal_that_another_puts_aside_at_that_moment_costs_no_row(
    moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment is just before the file is opened: first, again under the lock, and once more."""
    monkeypatch.setattr(journal, "LARGEST_JOURNAL", 2_000)
    keeper = journal_of(tmp_path)
    newer, older = (state_of(tmp_path) / one for one in ("decisions.jsonl", "decisions.1.jsonl"))
    newer.write_text("".join(f"{json.dumps(row(one, filler='x' * 100))}\n" for one in range(20)))
    open_file, opened = os.open, 0

    def late_open(path: str, flags: int, mode: int = 0o777, **folder: int) -> int:
        nonlocal opened
        opened += path == newer.name
        if opened == moment and newer.exists() and not older.exists():
            newer.rename(older)
        return open_file(path, flags, mode, **folder)

    with monkeypatch.context() as patch, contextlib.suppress(OSError):
        patch.setattr(os, "open", late_open)
        keeper.keep(row(20))
    assert [one["number"] for one in [*rows_in(older), *rows_in(newer)]] == [*range(21)]


# The kill switch


@pytest.fixture
def limited(filled: Hooks) -> Hooks:
    """Where at most half of the requests may inject."""
    filled.settings("maxInjectionShare = 0.5")
    filled.prepare()
    return filled


SHARES = {
    "19 of 19": ([True] * 19, False),
    "20 of 20": ([True] * 20, True),
    "10 of 20": ([True] * 10 + [False] * 10, False),
    "11 of 20": ([True] * 11 + [False] * 9, True),
    "26 of the last 50": ([False] * 100 + [True] * 26 + [False] * 24, True),
    "25 of the last 50": ([True] * 100 + [False] * 25 + [True] * 25, False),
    "none of 60": ([False] * 60, False),
}


@pytest.mark.parametrize(("injected", "is_killed"), SHARES.values(), ids=SHARES.keys())
def test_too_large_a_share_of_the_latest_requests_stops_hooks(
    injected: list[bool], is_killed: bool, limited: Hooks
) -> None:
    log_rows(limited, *map(decided, injected))
    text = context_in("codex", limited.served("codex", limited.asked("codex")))
    assert (limited.state / "monitor.flag").exists() == is_killed
    assert limited.rows()[-1]["mode"] == ("monitor" if is_killed else "on")
    assert (text == "") == is_killed


def test_only_requests_that_could_inject_count(limited: Hooks) -> None:
    log_rows(limited, *[decided(False, "monitor"), decided(False, "off")] * 40)
    log_rows(limited, *[decided(True, "soft")] * 19)
    limited.served("codex", limited.asked("codex"))
    assert not (limited.state / "monitor.flag").exists()
    limited.served("codex", limited.asked("codex"))
    assert (limited.state / "monitor.flag").exists()


def test_without_a_limit_nothing_stops_hooks(filled: Hooks) -> None:
    log_rows(filled, *[decided(True)] * 60)
    assert filled.run("codex", filled.asked("codex")) != b""
    assert not (filled.state / "monitor.flag").exists()


def test_a_limit_of_one_never_stops_hooks(filled: Hooks) -> None:
    filled.settings("maxInjectionShare = 1")
    filled.prepare()
    log_rows(filled, *[decided(True)] * 60)
    assert filled.run("codex", filled.asked("codex")) != b""


def test_stopped_hooks_print_nothing_and_go_on_logging(limited: Hooks) -> None:
    for _ in range(LEAST):
        assert limited.run("codex", limited.asked("codex")) != b""
    for host in HOSTS:
        assert limited.run(host, limited.asked(host)) == b""
    assert [one["mode"] for one in limited.rows()] == ["on"] * LEAST + ["monitor"] * len(HOSTS)
    reason = (limited.state / "monitor.flag").read_text()
    assert "100%" in reason
    assert "50%" in reason
    assert reason.count("\n") == 1


def test_lines_that_make_no_sense_do_not_count(limited: Hooks) -> None:
    lines = [b"{", b"\xff", b"[]", b"null", b'{"mode": "on", "injected": 1}', b'{"label": "x"}']
    (limited.state / "decisions.jsonl").write_bytes(b"\n".join(lines * 20) + b"\n")
    assert limited.run("codex", limited.asked("codex")) != b""


@pytest.mark.parametrize("moment", ['"x"', "null", "[]"])
def test_a_row_with_an_odd_time_fails_nothing(moment: str, limited: Hooks) -> None:
    (limited.state / "decisions.jsonl").write_text(f'{{"mode": "on", "at": {moment}}}\n')
    assert limited.run("codex", limited.asked("codex")) != b""


def test_a_long_journal_is_not_read_through_for_the_latest_rows(
    limited: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_rows(limited, *[decided(False)] * 5_000)
    scanned: list[str] = []

    def counted(text: str) -> Any:
        scanned.append(text)
        return scan(text)

    monkeypatch.setattr("metier.hook.journal.scan", counted)
    assert limited.served("codex", limited.asked("codex")) != ""
    assert 50 <= len(scanned) <= 500


def test_a_flag_that_a_person_has_set_stops_hooks_without_any_limit(filled: Hooks) -> None:
    (filled.state / "monitor.flag").touch()
    assert filled.run("codex", filled.asked("codex")) == b""
    assert filled.rows()[-1]["mode"] == "monitor"
    resume(filled.room)
    assert card_ids(filled.text("codex", filled.asked("codex"))) == ["billing"]


def test_hooks_resume_when_the_flag_that_they_have_set_is_removed(limited: Hooks) -> None:
    log_rows(limited, *[decided(True)] * LEAST)
    assert limited.run("codex", limited.asked("codex")) == b""
    resume(limited.room)
    assert card_ids(limited.text("codex", limited.asked("codex"))) == ["billing"]
    assert limited.rows()[-1]["mode"] == "on"


def test_long_rows_stop_hooks_as_well(limited: Hooks) -> None:
    skills = [["name-" * 10, "skills/" + "folder/" * 40, 1.5, "injected"]] * 21
    log_rows(limited, *[{**decided(True), "skills": skills}] * LEAST)
    assert limited.run("codex", limited.asked("codex")) == b""


# Two scorers

COMPARED = 'compare = ["spec", "saturating"]'


def test_conversations_are_split_into_two_stable_halves_of_one_scorer_each(filled: Hooks) -> None:
    filled.settings(COMPARED)
    filled.prepare()
    sessions = [f"session-{number}" for number in range(400)] * 2
    for session in sessions:
        filled.served("codex", filled.asked("codex", "the invoice", session_id=session))
    rows = filled.rows()
    assert len(rows) == 800
    arms = [one["arm"] for one in rows]
    assert arms[:400] == arms[400:]
    assert 160 <= arms[:400].count("A") <= 240
    assert set(arms) == {"A", "B"}
    scorers = {"A": "spec", "B": "saturating"}
    scores = {"A": 0.353, "B": 0.25}
    for one in rows:
        assert one["scorer"] == scorers[one["arm"]]
        assert one["cards"][0][:2] == ["billing", scores[one["arm"]]]


def test_the_arm_of_a_conversation_is_the_same_in_every_process(filled: Hooks) -> None:
    filled.settings(COMPARED)
    filled.prepare()
    for seed in ("1", "2"):
        for session in "abcdef":
            given = filled.asked("codex", session_id=session)
            filled.run("codex", given, PYTHONHASHSEED=seed)
    arms = [one["arm"] for one in filled.rows()]
    assert arms[:6] == arms[6:]
    assert set(arms) == {"A", "B"}


def test_a_request_without_a_conversation_is_in_neither_arm(filled: Hooks) -> None:
    filled.settings(f'{COMPARED}\nscorer = "saturating"')
    filled.prepare()
    filled.run("codex", filled.asked("codex", session_id=None))
    assert [(one["arm"], one["scorer"]) for one in filled.rows()] == [("", "saturating")]


def test_equal_conversations_are_in_one_arm_whatever_the_host(filled: Hooks) -> None:
    filled.settings(COMPARED)
    filled.prepare()
    for host in HOSTS:
        filled.served(host, filled.asked(host))
    assert len({one["arm"] for one in filled.rows()}) == 1

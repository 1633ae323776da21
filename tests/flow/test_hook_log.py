"""The log of hook decisions: reading it, adding labels, the kill switch."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from flow.decisions import START, decision, injecting, room_of, text_of, verdict, write_log
from metier.errors import NotFoundError
from metier.flow.hook_figures import (
    statistics,
)
from metier.flow.hook_log import (
    LATEST,
    LONGEST_LINE,
    Decision,
    Decisions,
    kill_switch,
    label,
    read_decisions,
    resume,
)
from metier.storage.hook_files import DECISIONS as FILE
from metier.storage.hook_files import FLAG
from metier.storage.hook_files import OLDER_DECISIONS as OLDER_FILE


def ids(decisions: Decisions) -> list[str]:
    return [one.id for one in decisions]


# Reading


def test_where_nothing_was_logged_there_is_nothing_to_read(tmp_path: Path) -> None:
    for _ in range(2):
        decisions = read_decisions(room_of(tmp_path))
        assert (ids(decisions), decisions.labels, decisions.skipped) == ([], {}, 0)
        (tmp_path / "state").mkdir(exist_ok=True)
    assert not (tmp_path / "state" / FILE).exists()


def test_a_line_becomes_a_decision(tmp_path: Path) -> None:
    cards = [["billing", 0.5, 0.25, "injected", 400], ["returns", 0, 0.25, "below-threshold", 90]]
    skills = [["pdf", "skills/pdf", 2.5, "injected"]]
    line = injecting(7, arm="B", cards=cards, skills=skills, error="late", milliseconds=3)
    write_log(tmp_path, line)
    (one,) = read_decisions(room_of(tmp_path))
    assert one == Decision(
        id=line["id"],
        at=START + 7,
        host="claude-code",
        event="UserPromptSubmit",
        mode="on",
        scorer="spec",
        arm="B",
        cards=(("billing", 0.5, "injected"), ("returns", 0.0, "below-threshold")),  # type: ignore[arg-type]  # equal as tuples
        skills=(("pdf", 2.5, "injected"),),  # type: ignore[arg-type]  # equal as tuples
        tokens=400,
        injected=True,
        milliseconds=3.0,
        error="late",
    )
    assert one.to_json()["cards"][1] == {
        "name": "returns",
        "score": 0.0,
        "outcome": "below-threshold",
    }


def test_the_older_file_is_read_first(tmp_path: Path) -> None:
    write_log(tmp_path, decision(3), decision(4))
    write_log(tmp_path, decision(9), decision(1), name=OLDER_FILE)
    wanted = [decision(number)["id"] for number in (9, 1, 3, 4)]
    assert ids(read_decisions(room_of(tmp_path))) == wanted


def test_the_older_file_may_be_the_only_one(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1), name=OLDER_FILE)
    assert ids(read_decisions(room_of(tmp_path))) == [decision(1)["id"]]


def test_a_file_that_is_renamed_while_both_are_opened_is_read_once(tmp_path: Path) -> None:
    log = write_log(tmp_path, decision(1))
    os.link(log, log.with_name(OLDER_FILE))
    assert ids(read_decisions(room_of(tmp_path))) == [decision(1)["id"]]


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in decision(5).items() if name != key}


NO_ROWS: list[Any] = ["", {}, None, ["abcd"], [[]], [["a", 1, 1]], [{}]]
BROKEN: list[Any] = [
    *(
        b"{",
        b"null",
        b"[]",
        b"17",
        b'"label"',
        b"[1, 2]",
        b"{}",
        b"\0" * 40,
        b"\xff\xfe",
        b"nonsense",
    ),
    *(json.dumps(decision(5)).encode()[:cut] for cut in (1, 40, -1)),
    json.dumps(decision(5)).encode() * 2,
    json.dumps(decision(5)).encode("utf-16"),
    b"[" * 100_000,
    *(without(key) for key in ("id", "at", "host", "mode", "cards", "skills")),
    *(without(key) for key in ("tokens", "injected", "milliseconds")),
    *(decision(5, id=value) for value in ("", 1, None)),
    *(decision(5, at=value) for value in ("now", -1, LATEST + 1, None, True, 10**400)),
    json.dumps(decision(5)).replace("7.1", "NaN").encode(),
    json.dumps(decision(5)).replace("7.1", "1e999").encode(),
    *(decision(5, milliseconds=value) for value in (-0.5, "7", False, 10**400)),
    *(decision(5, tokens=value) for value in (-1, 1.5, "4", True, 10**400)),
    *(decision(5, injected=value) for value in (1, "true", None)),
    *(decision(5, **{key: 3}) for key in ("host", "event", "mode", "scorer", "arm", "error")),
    *(decision(5, cards=value) for value in NO_ROWS),
    decision(5, cards=[["a", "0.5", 0.25, "injected", 1]]),
    decision(5, cards=[["a", 0.5, 0.25, None, 1]]),
    decision(5, skills=[["a", 0.5, "skills/a", "injected"]]),
    decision(5, skills=[[None, "skills/a", 0.5, "injected"]]),
    {"label": "", "right": True},
    {"label": 3, "right": True},
    *({"label": decision(1)["id"], "right": value} for value in (1, "yes", None)),
    {"label": decision(1)["id"]},
]


@pytest.mark.parametrize("line", BROKEN, ids=lambda line: repr(line)[:60])
def test_a_line_that_makes_no_sense_is_counted_and_the_others_are_read(
    line: Any, tmp_path: Path
) -> None:
    write_log(tmp_path, decision(1), line, decision(2), verdict(2, True))
    decisions = read_decisions(room_of(tmp_path))
    assert ids(decisions) == [decision(1)["id"], decision(2)["id"]]
    assert (decisions.skipped, decisions.labels) == (1, {decision(2)["id"]: True})


@pytest.mark.parametrize(
    "line",
    [
        decision(5, later="a field that nobody knows yet"),
        decision(5, cards=[["a", 1, 0.25, "injected", 1, "more"]]),
        *(without(key) for key in ("event", "session", "session_type", "scorer", "arm", "error")),
        json.dumps(decision(5)).encode() + b"\r",
        decision(5, error="\ud800"),
        decision(5, host="Größe", at=0),
    ],
    ids=lambda line: repr(line)[:60],
)
def test_a_line_of_another_version_is_read(line: Any, tmp_path: Path) -> None:
    write_log(tmp_path, line)
    decisions = read_decisions(room_of(tmp_path))
    assert (ids(decisions), decisions.skipped) == ([decision(5)["id"]], 0)


def test_empty_lines_are_nothing(tmp_path: Path) -> None:
    write_log(tmp_path, b"", decision(1), b"  ", b"\t\r")
    decisions = read_decisions(room_of(tmp_path))
    assert (ids(decisions), decisions.skipped) == ([decision(1)["id"]], 0)


@pytest.mark.parametrize(("cut", "read", "skipped"), [(1, 2, 0), (2, 1, 1), (90, 1, 1)])
def test_a_last_line_counts_once_it_is_complete(
    cut: int, read: int, skipped: int, tmp_path: Path
) -> None:
    log = write_log(tmp_path, decision(1), decision(2))
    log.write_bytes(log.read_bytes()[:-cut])
    decisions = read_decisions(room_of(tmp_path))
    assert (len(ids(decisions)), decisions.skipped) == (read, skipped)


@pytest.mark.parametrize("length", [LONGEST_LINE, LONGEST_LINE + 1, 2 * LONGEST_LINE, 3_000_000])
def test_a_line_that_is_too_long_is_one_line_that_makes_no_sense(
    length: int, tmp_path: Path
) -> None:
    write_log(tmp_path, decision(1), b"x" * length, decision(2))
    decisions = read_decisions(room_of(tmp_path))
    assert (len(ids(decisions)), decisions.skipped) == (2, 1)


def test_even_a_valid_line_may_be_too_long(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1), decision(2, error="x" * LONGEST_LINE), decision(3))
    decisions = read_decisions(room_of(tmp_path))
    assert (len(ids(decisions)), decisions.skipped) == (2, 1)


def peak_of_statistics(root: Path) -> int:
    """The most memory that was held at once, in bytes."""
    tracemalloc.start()
    try:
        statistics(read_decisions(room_of(root)))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_log_is_never_held_in_memory(tmp_path: Path) -> None:
    cards = [[f"card-{number}", 0.5, 0.25, "injected", 1] for number in range(100)]
    log = write_log(tmp_path, *(decision(number, cards=cards) for number in range(400)))
    assert log.stat().st_size > 1_500_000
    assert peak_of_statistics(tmp_path) < 400_000


def test_a_file_without_line_ends_is_never_held_in_memory(tmp_path: Path) -> None:
    write_log(tmp_path, b"x" * 20 * LONGEST_LINE)
    assert peak_of_statistics(tmp_path) < 4 * LONGEST_LINE


def test_a_log_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state" / FILE).mkdir(parents=True)
    with pytest.raises(OSError, match="not a regular file"):
        read_decisions(room_of(tmp_path))


def test_skipped_lines_are_those_of_the_last_pass(tmp_path: Path) -> None:
    log = write_log(tmp_path, decision(1), b"{")
    decisions = read_decisions(room_of(tmp_path))
    assert decisions.skipped == 1
    log.write_bytes(log.read_bytes() + b"}\n")
    assert (len(ids(decisions)), decisions.skipped) == (1, 2)


# Labels


def labelled(root: Path) -> dict[str, bool]:
    return dict(read_decisions(room_of(root)).labels)


def test_a_label_is_one_more_line(tmp_path: Path) -> None:
    log = write_log(tmp_path, decision(1), decision(2))
    before = log.read_bytes()
    wanted = decision(1)["id"]
    assert label(room_of(tmp_path), wanted, True, now=lambda: 17.23456) == wanted
    line = {"label": wanted, "right": True, "at": 17.235}
    assert log.read_bytes() == before + text_of([line])
    label(room_of(tmp_path), wanted, False)
    assert labelled(tmp_path) == {wanted: False}
    assert len(ids(read_decisions(room_of(tmp_path)))) == 2


def test_the_beginning_of_an_id_is_enough_when_only_one_has_it(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1, id="abcd-1111"), decision(2, id="abce-2222"))
    assert label(room_of(tmp_path), "abcd", True) == "abcd-1111"
    assert labelled(tmp_path) == {"abcd-1111": True}


def test_a_whole_id_is_meant_even_when_others_begin_with_it(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1, id="abcd-1"), decision(2, id="abcd"), decision(3, id="abcd-2"))
    assert label(room_of(tmp_path), "abcd", False) == "abcd"


def test_a_decision_that_is_logged_twice_is_one(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1, id="abcd-1"), decision(2, id="abcd-1"))
    assert label(room_of(tmp_path), "abcd", True) == "abcd-1"


@pytest.mark.parametrize("length", [0, 1, 3])
def test_three_characters_are_too_few(length: int, tmp_path: Path) -> None:
    write_log(tmp_path, decision(1))
    with pytest.raises(NotFoundError):
        label(room_of(tmp_path), decision(1)["id"][:length], True)


def refused(root: Path, wanted: str) -> NotFoundError:
    """The error of a label that is not kept; the log stays as it was."""
    folder = root / "state"
    before = {file.name: file.read_bytes() for file in folder.glob("*")}
    with pytest.raises(NotFoundError) as caught:
        label(room_of(root), wanted, True)
    assert {file.name: file.read_bytes() for file in folder.glob("*")} == before
    return caught.value


def test_a_beginning_of_several_ids_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, *(decision(number) for number in range(5)))
    error = refused(tmp_path, "19a2f3c4")
    assert error.message == "5 decisions begin with '19a2f3c4'"
    assert error.hint == f"the latest: {', '.join(decision(one)['id'] for one in (4, 3, 2))}"


def test_an_unknown_id_is_refused_with_the_one_that_is_near(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1), decision(2, id="ffffffffffff-ffff"))
    error = refused(tmp_path, decision(1)["id"].replace("3f2a", "3f2b"))
    assert error.message == "no decision is called '19a2f3c40001-3f2b'"
    assert error.hint == f"did you mean '{decision(1)['id']}'?"


def test_an_unknown_id_is_refused_with_the_latest_when_none_is_near(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1), decision(2), decision(3), decision(4))
    error = refused(tmp_path, "zzzz")
    assert error.hint == f"the latest: {', '.join(decision(one)['id'] for one in (4, 3, 2))}"


def test_where_nothing_is_logged_the_hint_is_how_to_begin(tmp_path: Path) -> None:
    assert refused(tmp_path, "19a2f3c4").hint == "metier hook install HOST"


def test_the_id_of_a_label_alone_is_unknown(tmp_path: Path) -> None:
    write_log(tmp_path, verdict(1, True))
    refused(tmp_path, decision(1)["id"])


def test_a_decision_in_the_older_file_is_labelled_in_the_newer_one(tmp_path: Path) -> None:
    older = write_log(tmp_path, decision(1), name=OLDER_FILE)
    before = older.read_bytes()
    label(room_of(tmp_path), decision(1)["id"], True)
    assert older.read_bytes() == before
    assert labelled(tmp_path) == {decision(1)["id"]: True}


def test_a_label_does_not_run_into_a_line_that_nobody_finished(tmp_path: Path) -> None:
    log = write_log(tmp_path, decision(1), decision(2))
    log.write_bytes(log.read_bytes()[:-30])
    label(room_of(tmp_path), decision(1)["id"], True)
    decisions = read_decisions(room_of(tmp_path))
    assert (ids(decisions), decisions.skipped) == ([decision(1)["id"]], 1)
    assert decisions.labels == {decision(1)["id"]: True}


LABEL_ON_A_FULL_DISK = """
import os, resource, sys
from metier.flow.hook_log import label
from metier.storage.room import Room
room = Room(os.path.join(sys.argv[1], "state"))
size = os.path.getsize(room.file("decisions.jsonl"))
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))
try:
    label(room, sys.argv[2], True)
except OSError as error:
    print(error.strerror)
"""


def test_a_label_that_does_not_fit_is_an_error_and_spoils_no_other(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1))
    wanted = decision(1)["id"]
    finished = subprocess.run(
        [sys.executable, "-c", LABEL_ON_A_FULL_DISK, str(tmp_path), wanted],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert finished.stdout == "No space left on device\n"
    assert labelled(tmp_path) == {}
    label(room_of(tmp_path), wanted, True)
    assert labelled(tmp_path) == {wanted: True}


# The kill switch


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"62% of the requests inject, 50% may\n", "62% of the requests inject, 50% may"),
        (b"too often\r\nmore\n", "too often"),
        (b"no line end", "no line end"),
        (b"", "no reason is given"),
        (b"\n\n", "no reason is given"),
        (b"caf\xe9", "caf\ufffd"),
        (b"x" * 5_000, "x" * 1_000),
    ],
)
def test_the_flag_says_why(content: bytes, reason: str, tmp_path: Path) -> None:
    flag = write_log(tmp_path, name=FLAG)
    flag.write_bytes(content)
    assert kill_switch(room_of(tmp_path)) == reason


def test_without_a_flag_the_switch_is_off(tmp_path: Path) -> None:
    assert kill_switch(room_of(tmp_path)) == ""
    write_log(tmp_path, decision(1))
    assert kill_switch(room_of(tmp_path)) == ""


def test_a_flag_that_cannot_be_read_is_a_flag(tmp_path: Path) -> None:
    (tmp_path / "state" / FLAG).mkdir(parents=True)
    assert kill_switch(room_of(tmp_path)) == "no reason is given"
    with pytest.raises(OSError, match=FLAG):
        resume(room_of(tmp_path))


def test_resume_removes_the_flag_and_nothing_else(tmp_path: Path) -> None:
    log, flag = write_log(tmp_path, decision(1)), write_log(tmp_path, b"why", name=FLAG)
    for _ in range(2):
        resume(room_of(tmp_path))
        assert (flag.exists(), kill_switch(room_of(tmp_path))) == (False, "")
    assert log.exists()

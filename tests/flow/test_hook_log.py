"""The log of what hooks decided: reading it, counting it, adding labels, the kill switch."""

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
    MOST_USED,
    Group,
    HeldBack,
    Statistics,
    Used,
    percentile,
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


def figures_of(root: Path, *lines: Any, **asked: Any) -> Statistics:
    write_log(root, *lines)
    return statistics(read_decisions(room_of(root)), **asked)


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


# Figures


@pytest.mark.parametrize(
    ("percent", "value"), [(0, 15), (5, 15), (20, 15), (21, 20), (40, 20), (50, 35), (100, 50)]
)
def test_a_percentile_is_the_one_of_the_nearest_rank(percent: int, value: int) -> None:
    assert percentile([50, 15, 40, 20, 35], percent) == value


def test_a_percentile_of_few_values_is_one_of_them() -> None:
    assert percentile([4, 8], 50) == 4
    assert percentile([4, 8], 95) == 8
    assert percentile([3.5], 50) == percentile([3.5], 95) == 3.5
    assert percentile(list[int](), 50) is None


def test_figures_of_nothing_are_none(tmp_path: Path) -> None:
    figures = figures_of(tmp_path)
    assert figures.overall == Group(
        requests=0,
        injecting=0,
        injection_rate=None,
        tokens_mean=None,
        tokens_p50=None,
        tokens_p95=None,
        milliseconds_p50=None,
        milliseconds_p95=None,
        errors=0,
        error_rate=None,
        labelled=0,
        right=0,
        right_share=None,
    )
    assert (figures.first, figures.last) == (None, None)
    assert (figures.hosts, figures.modes, figures.arms, figures.scorers) == ({}, {}, {}, {})


def test_figures_of_a_small_log(tmp_path: Path) -> None:
    figures = figures_of(
        tmp_path,
        injecting(1, tokens=300, milliseconds=4),
        injecting(2, tokens=100, milliseconds=2, host="codex"),
        decision(3, milliseconds=9, error="ValueError: no"),
        decision(4, milliseconds=1, mode="soft"),
        verdict(1, True),
        verdict(3, False),
        verdict(4, True),
        b"broken",
    )
    assert figures.overall == Group(
        requests=4,
        injecting=2,
        injection_rate=0.5,
        tokens_mean=100.0,
        tokens_p50=100,
        tokens_p95=300,
        milliseconds_p50=2.0,
        milliseconds_p95=9.0,
        errors=1,
        error_rate=0.25,
        labelled=3,
        right=2,
        right_share=2 / 3,
    )
    assert (figures.first, figures.last, figures.skipped) == (START + 1, START + 4, 1)
    assert {name: one.requests for name, one in figures.hosts.items()} == {
        "claude-code": 3,
        "codex": 1,
    }
    assert {name: one.requests for name, one in figures.modes.items()} == {"on": 3, "soft": 1}
    assert figures.modes["soft"].injection_rate == 0
    assert figures.hosts["codex"].tokens_mean == 100


def test_what_was_only_weighed_costs_no_tokens(tmp_path: Path) -> None:
    cards = [["billing", 0.5, 0.25, "monitor", 900]]
    figures = figures_of(
        tmp_path, decision(1, mode="monitor", tokens=900, cards=cards), injecting(2, tokens=100)
    )
    assert (figures.overall.tokens_mean, figures.overall.tokens_p95) == (50, 100)
    assert figures.cards.most_used == (Used("billing", 1, 0.5),)


def test_arms_are_compared_with_their_counts(tmp_path: Path) -> None:
    figures = figures_of(
        tmp_path,
        injecting(1, arm="A", scorer="spec", tokens=300, milliseconds=4),
        decision(2, arm="B", scorer="bm25", milliseconds=8),
        injecting(3, arm="B", scorer="bm25", tokens=500, milliseconds=6),
        injecting(4, tokens=900),
        verdict(1, True),
        verdict(2, False),
        verdict(3, True),
        verdict(4, True),
    )
    assert list(figures.arms) == ["A", "B"]
    assert figures.scorers == {"A": ("spec",), "B": ("bm25",)}
    left, right = figures.arms["A"], figures.arms["B"]
    assert (left.requests, left.injection_rate, left.tokens_mean) == (1, 1.0, 300)
    assert (left.labelled, left.right, left.right_share) == (1, 1, 1.0)
    assert (right.requests, right.injection_rate, right.tokens_mean) == (2, 0.5, 250)
    assert (right.milliseconds_p50, right.milliseconds_p95) == (6, 8)
    assert (right.labelled, right.right, right.right_share) == (2, 1, 0.5)
    assert figures.overall.right_share == 0.75


def test_time_begins_with_since_and_ends_before_until(tmp_path: Path) -> None:
    lines = [decision(number) for number in range(5)]
    figures = figures_of(tmp_path, *lines, since=START + 1, until=START + 3)
    assert (figures.overall.requests, figures.first, figures.last) == (2, START + 1, START + 2)
    assert (figures.since, figures.until) == (START + 1, START + 3)


def test_one_host_can_be_asked_for(tmp_path: Path) -> None:
    lines = [decision(1), injecting(2, host="codex"), decision(3, host="codex")]
    figures = figures_of(tmp_path, *lines, host="codex")
    assert (figures.overall.requests, list(figures.hosts)) == (2, ["codex"])
    assert figures_of(tmp_path, *lines, host="code").overall.requests == 0


def test_the_last_label_counts_and_one_of_nothing_does_not(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1), verdict(1, False), decision(2), name=OLDER_FILE)
    figures = figures_of(
        tmp_path, verdict(2, True), verdict(1, True), verdict(2, False), verdict(9, True)
    )
    assert (figures.overall.labelled, figures.overall.right) == (2, 1)


def test_the_most_used_come_by_count_then_name(tmp_path: Path) -> None:
    uses = {f"card-{letter}": 1 + (letter in "xc") for letter in "xqwertyuiopc"}
    rows = [[name, 0.5, 0.2, "injected", 1] for name, times in uses.items() for _ in range(times)]
    left = [["card-q", 0.9, 0.2, "over-budget", 1]] * 5
    figures = figures_of(tmp_path, injecting(1, cards=rows + left))
    names = [one.name for one in figures.cards.most_used]
    assert len(uses) > MOST_USED == len(names)
    assert names == ["card-c", "card-x", *sorted(set(uses) - {"card-c", "card-x"})[:8]]
    assert [one.uses for one in figures.cards.most_used] == [2, 2, *[1] * 8]


def test_a_mean_score_is_that_of_the_times_of_use(tmp_path: Path) -> None:
    scored = [(0.25, "injected"), (0.75, "injected"), (0.1, "below-threshold"), (1, "rejected")]
    lines = [
        decision(number, skills=[["pdf", "skills/pdf", score, outcome]])
        for number, (score, outcome) in enumerate(scored)
    ]
    figures = figures_of(tmp_path, *lines)
    assert figures.skills.most_used == (Used("pdf", 2, 0.5),)
    assert figures.cards.most_used == ()


def test_what_exists_and_was_not_used_is_named(tmp_path: Path) -> None:
    lines = [injecting(1), injecting(9, cards=[["late", 1, 0, "injected", 1]])]
    figures = figures_of(
        tmp_path, *lines, until=START + 5, cards=["late", "billing", "attic"], skills=[]
    )
    assert (figures.cards.existing, figures.cards.unused) == (3, ("attic", "late"))
    assert (figures.skills.existing, figures.skills.unused) == (0, ())
    unknown = figures_of(tmp_path, *lines)
    assert (unknown.cards.existing, unknown.cards.unused) == (None, None)


def test_what_only_the_mode_held_back_is_counted_apart(tmp_path: Path) -> None:
    watched = [["attic", 0.5, 0.2, "monitor", 1], ["billing", 1, 0.2, "over-budget", 1]]
    elsewhere = [["pdf", "skills/pdf", 2.5, "soft"]]
    figures = figures_of(
        tmp_path,
        injecting(1),
        decision(2, mode="monitor", tokens=300, cards=watched),
        decision(3, mode="soft", tokens=100, skills=elsewhere),
        decision(4, mode="monitor", tokens=900),
    )
    assert figures.held_back == HeldBack(
        requests=2,
        share=0.5,
        tokens_mean=200.0,
        cards=(Used("attic", 1, 0.5),),
        skills=(Used("pdf", 1, 2.5),),
    )
    assert figures_of(tmp_path).held_back == HeldBack(0, None, None, (), ())


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
        timeout=60,
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

"""What holds for every log: figures are those of a plain count, nothing in it can do harm."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metier
from flow.decisions import decision, room_of, text_of, write_log
from metier.flow.hook_figures import statistics
from metier.flow.hook_log import read_decisions
from metier.storage.hook_files import DECISIONS as FILE
from metier.storage.hook_files import OLDER_DECISIONS as OLDER_FILE
from metier.storage.room import Room

pytestmark = pytest.mark.slow

BOUND = 300
"""Seconds after which another process counts as stuck."""
SCHEMA = Path(metier.__file__).parent / "schemas" / "hook-stats.v1.schema.json"
FORM = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))

NAMES = [f"name-{number:02}" for number in range(14)]
OUTCOMES = ["injected", "below-threshold", "over-budget", "monitor"]
scores = st.integers(-8, 32).map(lambda eighths: eighths / 8)
cards = st.lists(
    st.tuples(st.sampled_from(NAMES), scores, scores, st.sampled_from(OUTCOMES), st.just(9)),
    max_size=6,
)
skills = st.lists(
    st.tuples(st.sampled_from(NAMES), st.just("skills/x"), scores, st.sampled_from(OUTCOMES)),
    max_size=4,
)
moments = st.integers(1_000, 1_020)
decisions = st.fixed_dictionaries(
    {
        "id": st.sampled_from([f"00ff{number:02}-abcd" for number in range(30)]),
        "at": moments,
        "host": st.sampled_from(["claude-code", "codex", "cursor"]),
        "mode": st.sampled_from(["on", "monitor", "soft", "off"]),
        "scorer": st.sampled_from(["spec", "bm25"]),
        "arm": st.sampled_from(["", "A", "B"]),
        "cards": cards,
        "skills": skills,
        "tokens": st.integers(0, 2_000),
        "injected": st.booleans(),
        "milliseconds": st.integers(0, 400).map(lambda quarters: quarters / 4),
        "error": st.sampled_from(["", "", "ValueError"]),
    }
)
labels = st.fixed_dictionaries(
    {"label": st.sampled_from([f"00ff{n:02}-abcd" for n in range(34)]), "right": st.booleans()}
)
Line = dict[str, Any]


@contextmanager
def workspace(older: bytes, newer: bytes) -> Iterator[Room]:
    """The state of a workspace with these two files."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write_log(root, name=OLDER_FILE).write_bytes(older)
        write_log(root, name=FILE).write_bytes(newer)
        yield room_of(root)


# A plain count, straight from the lines


def least_not_exceeded(values: Sequence[float], percent: int) -> float | None:
    """The definition of a nearest-rank percentile, tried on one value after the other."""
    for value in sorted(values):
        if sum(other <= value for other in values) * 100 >= percent * len(values):
            return value
    return None


def plain_group(lines: Sequence[Line], right: dict[str, bool]) -> Line:
    injected = [one["tokens"] for one in lines if one["injected"]]
    spent = [one["milliseconds"] for one in lines]
    errors = [one for one in lines if one["error"]]
    labelled = [right[one["id"]] for one in lines if one["id"] in right]
    return {
        "requests": len(lines),
        "injecting": len(injected),
        "injectionRate": len(injected) / len(lines) if lines else None,
        "tokensMean": sum(injected) / len(lines) if lines else None,
        "tokensP50": least_not_exceeded(injected, 50),
        "tokensP95": least_not_exceeded(injected, 95),
        "millisecondsP50": least_not_exceeded(spent, 50),
        "millisecondsP95": least_not_exceeded(spent, 95),
        "errors": len(errors),
        "errorRate": len(errors) / len(lines) if lines else None,
        "labelled": len(labelled),
        "right": sum(labelled),
        "rightShare": sum(labelled) / len(labelled) if labelled else None,
    }


def plain_groups(lines: Sequence[Line], right: dict[str, bool], key: str) -> dict[str, Line]:
    values = sorted({one[key] for one in lines if one[key]})
    return {
        value: plain_group([one for one in lines if one[key] == value], right) for value in values
    }


def plain_usage(lines: Sequence[Line], key: str, score: int) -> Line:
    rows = [row for one in lines for row in one[key] if row[3] == "injected"]
    used = []
    for name in NAMES:
        found = [row[score] for row in rows if row[0] == name]
        if found:
            used.append({"name": name, "uses": len(found), "meanScore": sum(found) / len(found)})
    ranked = sorted(used, key=lambda one: -one["uses"])
    names = {row[0] for row in rows}
    return {
        "mostUsed": ranked[:10],
        "existing": len(NAMES),
        "unused": tuple(name for name in NAMES if name not in names),
    }


@given(
    entries=st.lists(decisions | labels, max_size=40),
    cut=st.integers(0, 40),
    since=st.none() | moments,
    until=st.none() | moments,
    host=st.sampled_from(["", "", "codex", "unknown"]),
)
def test_figures_are_those_of_a_plain_count(
    entries: list[Line], cut: int, since: int | None, until: int | None, host: str
) -> None:
    right = {one["label"]: one["right"] for one in entries if "label" in one}
    counted = [
        one
        for one in entries
        if "label" not in one
        and (since is None or one["at"] >= since)
        and (until is None or one["at"] < until)
        and (not host or one["host"] == host)
    ]
    with workspace(text_of(entries[:cut]), text_of(entries[cut:])) as root:
        figures = statistics(
            read_decisions(root), since=since, until=until, host=host, cards=NAMES, skills=NAMES
        )
    made = figures.to_json()
    assert made["overall"] == plain_group(counted, right)
    for name, key in (("hosts", "host"), ("modes", "mode"), ("arms", "arm")):
        assert made[name] == plain_groups(counted, right, key)
    assert made["cards"] == plain_usage(counted, "cards", 1)
    assert made["skills"] == plain_usage(counted, "skills", 2)
    assert figures.skipped == 0
    assert figures.first == min((one["at"] for one in counted), default=None)
    assert figures.last == max((one["at"] for one in counted), default=None)


# Nothing in the log can do harm

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KEYS = ["label", "right", *decision()]
strange = st.dictionaries(st.sampled_from(KEYS), json_values, max_size=6)


@st.composite
def half_right(draw: Callable[..., Any]) -> Line:
    """A decision with some fields that may be anything."""
    return {**decision(draw(st.integers(0, 99))), **draw(strange)}


def damaged(line: bytes, place: int, junk: bytes) -> bytes:
    place %= len(line) + 1
    return line[:place] + junk + line[place + len(junk) :]


whole = st.integers(0, 99).map(lambda number: json.dumps(decision(number)).encode())
garbage = (
    st.binary()
    | (half_right() | strange | json_values).map(lambda value: json.dumps(value).encode())
    | st.builds(damaged, whole, st.integers(0, 500), st.binary(min_size=1, max_size=4))
)


lines_of_garbage = st.lists(garbage, max_size=8)


@given(older=lines_of_garbage, newer=lines_of_garbage, ends=st.booleans())
def test_no_bytes_in_the_log_do_any_harm(
    older: list[bytes], newer: list[bytes], ends: bool
) -> None:
    text = text_of(newer)
    with workspace(text_of(older), text if ends else text[:-1]) as root:
        made = statistics(read_decisions(root), cards=["a"], skills=[])
        listed = [one.to_json() for one in read_decisions(root)]
    data = json.loads(json.dumps({**made.to_json(), "killSwitch": ""}, allow_nan=False))
    FORM.validate(data)
    assert len(listed) == made.overall.requests


@given(lines=st.lists(st.tuples(st.binary(), st.integers(0, 99)), max_size=20))
def test_whole_lines_are_found_among_any_others(lines: list[tuple[bytes, int]]) -> None:
    parts: list[Any] = []
    for junk, number in lines:
        parts += [b"!" + junk.replace(b"\n", b" "), decision(number)]
    with workspace(b"", text_of(parts)) as root:
        found = read_decisions(root)
        assert [one.id for one in found] == [decision(number)["id"] for _, number in lines]
        assert found.skipped == len(lines)


# Several processes at once

WRITERS, LABELS = 4, 400
LABEL_OFTEN = """
import sys
from metier.flow.hook_log import label
from metier.storage.room import Room
print(flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3]), int(sys.argv[4])):
    label(Room(sys.argv[1]), sys.argv[2], number % 3 == 0, now=lambda: number)
"""
"""Ready, then on a sign many labels at once; each has a moment of its own."""


def test_labels_of_several_processes_are_all_kept(tmp_path: Path) -> None:
    log = write_log(tmp_path, decision(1))
    given = [sys.executable, "-c", LABEL_OFTEN, str(tmp_path / "state"), decision(1)["id"]]
    starts = range(0, WRITERS * LABELS, LABELS)
    pipe = subprocess.PIPE
    running = [
        subprocess.Popen([*given, str(start), str(start + LABELS)], stdin=pipe, stdout=pipe)
        for start in starts
    ]
    with ExitStack() as stack:
        for one in running:
            stack.enter_context(one)
            stack.callback(one.kill)
            assert one.stdout is not None
            assert one.stdout.readline() == b"\n"
        for one in running:
            assert one.stdin is not None
            one.stdin.write(b"\n")
            one.stdin.flush()
        assert [one.wait(BOUND) for one in running] == [0] * WRITERS
    lines = [json.loads(line) for line in log.read_bytes().splitlines() if line]
    assert lines[0] == decision(1)
    assert sorted(line["at"] for line in lines[1:]) == list(range(WRITERS * LABELS))
    assert {line["right"] == (line["at"] % 3 == 0) for line in lines[1:]} == {True}
    found = read_decisions(room_of(tmp_path))
    assert found.labels == {decision(1)["id"]: lines[-1]["right"]}
    assert (len(list(found)), found.skipped) == (1, 0)

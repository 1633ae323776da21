"""Figures of earlier evaluations."""

from pathlib import Path

import pytest

from metier.evals.figures import figures_of
from metier.flow.eval_history import FILE, history, keep, remembered
from metier.storage.room import Room
from metier.values.evals import CaseResult, EvalCase, Evaluation

SECRET = "a prompt that stays out of the file"


def evaluation(*, named: bool = True, task: str = SECRET) -> Evaluation:
    case = EvalCase(task=task, skills=["a"])
    results = [CaseResult(case=case, right=["a"], named=["a"] if named else [])]
    return Evaluation(
        results=results, figures=figures_of(results), skills=[], confusions=[], host="codex"
    )


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(str(tmp_path), "state")


def test_figures_are_kept_in_order_and_tasks_are_not(room: Room) -> None:
    for at, named in ((1.0, True), (2.0, False)):
        keep(room, remembered(evaluation(named=named), "c" * 40, at=at))
    first, second = history(room)
    assert (first.at, first.cases, first.host, first.commit) == (1.0, 1, "codex", "c" * 40)
    assert (first.figures["recall"], second.figures["recall"]) == (1.0, 0.0)
    assert "speaksWrongly" not in first.figures
    assert SECRET.encode() not in room.read(FILE)


def test_given_files_and_changed_skills_are_kept(room: Room) -> None:
    keep(room, remembered(evaluation(), "c" * 40, changed=True, given=["a.yaml"]))
    keep(room, remembered(evaluation(), "", changed=True))
    first, second = history(room)
    assert (first.changed, first.files) == (True, ["a.yaml"])
    assert (second.changed, second.files) == (None, [])


def test_equal_cases_have_equal_digests(room: Room) -> None:
    one, other = evaluation(), evaluation(task="another")
    digests = [remembered(each, "").digest for each in (one, evaluation(named=False), other)]
    assert digests[0] == digests[1] != digests[2]
    assert history(room) == []


def test_only_the_latest_are_kept(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.flow.eval_history.MOST_KEPT", 3)
    for number in range(5):
        keep(room, remembered(evaluation(), "", at=float(number)))
    assert [one.at for one in history(room)] == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"version": 9, "evaluations": [{}]}', b'{"version": 1}', b"[" * 100_000],
)
def test_a_damaged_file_counts_as_none(room: Room, content: bytes) -> None:
    room.make()
    room.write(FILE, content)
    assert history(room) == []


def test_odd_values_are_read_as_nothing(room: Room) -> None:
    room.make()
    row = b'{"at": "x", "cases": true, "figures": {"recall": "y"}, "commit": 7}'
    room.write(FILE, b'{"version": 1, "evaluations": [7, ' + row + b"]}")
    (one,) = history(room)
    assert (one.at, one.cases, one.commit, dict(one.figures)) == (0.0, 0, "", {"recall": 0.0})

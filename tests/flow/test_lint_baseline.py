"""Known findings: what hides them, and what does not."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UsageError
from metier.flow.lint_baseline import Baseline
from metier.flow.lint_report import Reported, fingerprints, steady
from metier.values.outcomes import Issue

FINDINGS = st.builds(
    lambda code, path, line, size: reported(code, path, line, f"it has {size} characters"),
    st.sampled_from(["SK301", "SK302", "FM104"]),
    st.sampled_from(["a/SKILL.md", "b/SKILL.md"]),
    st.integers(1, 99),
    st.integers(1, 9_999),
)


def reported(code: str, path: str, line: int = 1, message: str = "wrong") -> Reported:
    issue = Issue(code, message, path, line)
    return Reported(issue, path, issue)


def everything(_path: str, _code: str) -> bool:
    return True


def stored(baseline: Baseline, file: Path) -> Baseline:
    baseline.write(str(file))
    return Baseline.read(str(file))


@given(st.lists(FINDINGS), st.lists(FINDINGS))
def test_what_is_known_is_hidden_and_nothing_else(
    known: list[Reported], more: list[Reported]
) -> None:
    baseline = Baseline.of(known)
    assert baseline.unknown(known) == []
    left = Counter(one.key for one in baseline.unknown([*known, *more]))
    assert left == Counter(one.key for one in more)


@given(st.lists(FINDINGS))
def test_it_survives_moved_lines_and_changed_figures(known: list[Reported]) -> None:
    moved = [
        reported(one.issue.code, one.path, one.issue.line + 7, "it has 1,234 characters")
        for one in known
    ]
    assert Baseline.of(known).unknown(moved) == []


@given(st.lists(FINDINGS), st.lists(FINDINGS))
def test_fixed_findings_drop_out_and_the_rest_stays(
    before: list[Reported], after: list[Reported]
) -> None:
    baseline = Baseline.of(before).updated(after, everything)
    assert len(baseline) == len(after)
    assert baseline.unknown(after) == []
    assert baseline.fixed(after, everything) == 0


def test_what_a_run_did_not_look_for_stays_known() -> None:
    before = [reported("SK301", "a"), reported("SK301", "b"), reported("FM104", "b")]

    def only_a(path: str, _code: str) -> bool:
        return path == "a"

    baseline = Baseline.of(before)
    assert baseline.fixed([], only_a) == 1
    assert baseline.updated([], only_a).unknown(before) == [before[0]]


def test_a_second_finding_of_the_same_kind_is_new() -> None:
    one = reported("SK301", "a")
    assert Baseline.of([one]).unknown([one, one]) == [one]


def test_it_is_written_one_finding_a_line_and_read_again(tmp_path: Path) -> None:
    found = [reported("SK302", "b"), reported("SK301", "a"), reported("SK301", "a", 9)]
    file = tmp_path / "known.json"
    assert stored(Baseline.of(found), file).unknown(found) == []
    lines = [line.strip() for line in file.read_text().splitlines() if '"path"' in line]
    assert lines == [
        '{"path": "a", "code": "SK301", "message": "wrong", "count": 2},',
        '{"path": "b", "code": "SK302", "message": "wrong", "count": 1}',
    ]


def test_an_empty_one_is_valid(tmp_path: Path) -> None:
    assert len(stored(Baseline.of([]), tmp_path / "known.json")) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "not a baseline of version 1"),
        ('{"version": 2, "findings": []}', "not a baseline of version 1"),
        ('{"version": 1, "findings": [{"path": 1, "code": "", "message": ""}]}', "not a baseline"),
        ('{"version": 1, "findings": [{"path": "a", "code": "b"}]}', "not a baseline"),
        (
            '{"version": 1, "findings": [{"path": "", "code": "", "message": "", "count": -1}]}',
            "not a baseline",
        ),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_no_baseline_is_said(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "known.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        Baseline.read(str(file))


def test_paths_in_a_message_do_not_count() -> None:
    assert steady("exact copy of ../skills/a/SKILL.md") == steady("exact copy of skills/a/SKILL.md")


def test_a_message_with_another_name_is_another_finding() -> None:
    names = [reported("SK302", "a", message=f"name '{name}' breaks it") for name in ("X", "Y")]
    assert Baseline.of(names[:1]).unknown(names) == names[1:]


def test_fingerprints_differ_within_a_run_and_repeat_in_the_next() -> None:
    found = [reported("SK301", "a", 1), reported("SK301", "a", 5), reported("SK301", "b", 1)]
    moved = [reported("SK301", "a", 3), reported("SK301", "a", 9), reported("SK301", "b", 2)]
    assert len(set(fingerprints(found))) == 3
    assert fingerprints(found) == fingerprints(moved)


@pytest.mark.parametrize("text", ["---\nname: a\n", '{"version": 1}', "[]"])
def test_a_file_that_is_no_baseline_is_not_to_be_removed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other"
    file.write_text(text)
    with pytest.raises(UsageError, match="this is not a baseline") as raised:
        Baseline.read(str(file))
    assert "remove" not in raised.value.hint
    assert "--write-baseline" in raised.value.hint

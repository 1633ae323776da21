"""Evaluation files as people write them → cases."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from metier.evals.formats import (
    LONGEST_TASK,
    MOST_CASES,
    CaseFile,
    NoCasesError,
    read_cases,
)
from metier.flow.usage import Case
from metier.flow.usage_cases import as_yaml, drafted
from metier.values.evals import EvalCase


def load_yaml(text: str) -> tuple[Any, list[str]]:
    return yaml.safe_load(text), []


def read(
    value: Any, file: str = "evals.json", *, skill: str = "", raw: bytes | None = None
) -> CaseFile:
    content = json.dumps(value).encode() if raw is None else raw
    return read_cases(content, file, skill=skill, load_yaml=load_yaml)


def expected(case: EvalCase) -> dict[str, Any]:
    """What a case expects, without its task."""
    return {key: value for key, value in case.to_json().items() if key != "task"}


def one(row: Any, *, skill: str = "pdf") -> dict[str, Any]:
    """What a single row expects."""
    found = read([row], skill=skill)
    assert found.problems == []
    (case,) = found.cases
    assert case.task == "fill this form"
    return expected(case)


YES, NO = {"skills": ["pdf"]}, {"notSkills": ["pdf"]}
ROWS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"query": "fill this form", "should_trigger": True}, YES),
    ({"query": "fill this form", "should_trigger": False}, NO),
    ({"q": "fill this form", "should": True}, YES),
    ({"q": " fill this form\n", "should": False}, NO),
    ({"prompt": "fill this form", "shouldTrigger": "true"}, YES),
    ({"query": "fill this form", "should_trigger": "no"}, NO),
    ({"query": "fill this form", "should_trigger": 1}, YES),
    ({"query": "fill this form", "should_trigger": None}, NO),
    ({"query": "fill this form", "should_trigger": "forms"}, {"skills": ["forms"]}),
    ({"query": "fill this form", "expected_skill": "forms"}, {"skills": ["forms"]}),
    ({"query": "fill this form", "expectedSkills": ["a", "b"]}, {"skills": ["a", "b"]}),
    ({"query": "fill this form", "expected_skill": None}, NO),
    ({"prompt": "fill this form", "expected_skill": "none"}, NO),
    (
        {"prompt": "fill this form", "expected_skill": "forms", "should_trigger": False},
        {"skills": ["forms"], "notSkills": ["pdf"]},
    ),
    ({"prompt": "fill this form", "expected": "trigger", "type": "implicit"}, YES),
    ({"prompt": "fill this form", "expected": "no_trigger", "type": "negative"}, NO),
    ({"prompt": "fill this form", "type": "negative"}, NO),
    ({"prompt": "fill this form", "skill": "forms"}, {"skills": ["forms"]}),
    (
        {"prompt": "fill this form", "skill": "forms", "should_trigger": False},
        {"notSkills": ["forms"]},
    ),
    (
        {"prompt": "fill this form", "routing_expect": {"must_include": ["a", "b"]}},
        {"skills": ["a", "b"], "every": True},
    ),
    (
        {
            "prompt": "fill this form",
            "routing_expect": {
                "must_include": ["a"],
                "must_not_include": "b",
                "allow_extra": False,
            },
        },
        {"skills": ["a"], "notSkills": ["b"], "every": True, "most": 1},
    ),
    (
        {"prompt": "fill this form", "routing_expect": {"must_include": ["a"], "max_skills": 2}},
        {"skills": ["a"], "every": True, "most": 2},
    ),
    ({"prompt": "fill this form", "routing_expect": {"max_skills": 0}}, {"nothing": True}),
    ({"task": "fill this form", "nothing": True}, {"nothing": True}),
    ({"task": "fill this form", "skills": "forms"}, {"skills": ["forms"]}),
    (
        {
            "task": "fill this form",
            "skills": ["a", "b"],
            "notSkills": ["c"],
            "every": True,
            "most": 2,
            "training": True,
            "source": "fired",
            "tags": ["x"],
        },
        {
            "skills": ["a", "b"],
            "notSkills": ["c"],
            "every": True,
            "most": 2,
            "training": True,
            "source": "fired",
            "tags": ["x"],
        },
    ),
    (
        {"task": "fill this form", "agents": ["writer"], "cards": "forms"},
        {"agents": ["writer"], "cards": ["forms"]},
    ),
]


@pytest.mark.parametrize(("row", "wanted"), ROWS, ids=lambda one: json.dumps(one)[:60])
def test_a_row_is_read_by_what_it_has(row: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert one(row) == wanted


@pytest.mark.parametrize(
    "row",
    [
        {"query": "hi", "should_trigger": False},
        {"query": "hi", "expected_skill": None},
        {"query": "hi", "should_trigger": "none"},
    ],
    ids=json.dumps,
)
def test_beside_no_skill_a_row_for_none_means_nothing(row: dict[str, Any]) -> None:
    (case,) = read([row]).cases
    assert expected(case) == {"nothing": True}


def test_the_skill_of_a_file_without_names_is_the_one_beside_it() -> None:
    value = {"queries": [{"query": "a", "should_trigger": True}]}
    assert [list(case.skills) for case in read(value, skill="pdf").cases] == [["pdf"]]


def test_a_file_that_names_its_skill_wins_over_its_folder() -> None:
    value = {"skill_name": "forms", "evals": [{"id": 1, "prompt": "a", "expectations": ["b"]}]}
    (case,) = read(value, skill="pdf").cases
    assert (case.task, list(case.skills)) == ("a", ["forms"])


def test_evals_of_skill_creator_are_cases_for_the_skill_unless_they_say_otherwise() -> None:
    value = {
        "skill_name": "forms",
        "evals": [
            {"id": 1, "prompt": "a", "expected_output": "b", "files": []},
            {"id": 2, "prompt": "c", "should_trigger": False},
        ],
    }
    found = read(value)
    assert [expected(case) for case in found.cases] == [
        {"skills": ["forms"]},
        {"notSkills": ["forms"]},
    ]


def test_lists_of_prompts_are_positive_and_negative_cases() -> None:
    text = """
skill: forms
should_trigger_prompts:
  - prompt: a
    reason: direct
    confidence: high
  - b
should_not_trigger_prompts:
  - prompt: c
"""
    found = read_cases(text.encode(), "trigger_tests.yaml", skill="", load_yaml=load_yaml)
    assert [(case.task, case.number) for case in found.cases] == [("a", 1), ("b", 2), ("c", 3)]
    assert [expected(case) for case in found.cases] == [
        {"skills": ["forms"]},
        {"skills": ["forms"]},
        {"notSkills": ["forms"]},
    ]


def test_prompts_may_be_nested_by_skill() -> None:
    rows = [{"skill": "a", "should_trigger": ["x"], "should_not_trigger": ["y"]}]
    nested = {"skill_name": "a", "evals": [], "trigger_tests": {"should_trigger": ["x"]}}
    assert [case.task for case in read({"cases": rows}).cases] == ["x", "y"]
    assert [case.skills for case in read(nested).cases] == [("a",)]


def test_test_cases_of_sklab_are_read() -> None:
    text = b"""skill: forms
test_cases:
  - id: explicit-1
    type: explicit
    prompt: $forms do it
    expected: trigger
  - {id: negative-1, type: negative, prompt: hi, expected: no_trigger}
"""
    found = read(None, ".sklab/tests/triggers.yaml", raw=text)
    assert [expected(case) for case in found.cases] == [
        {"skills": ["forms"]},
        {"notSkills": ["forms"]},
    ]


def test_json_lines_are_read_with_empty_lines_and_windows_line_ends() -> None:
    raw = b'{"task": "a", "skills": ["x"]}\r\n\r\n{"task": "b", "nothing": true}\r\n'
    assert [case.task for case in read(None, "cases.jsonl", raw=raw).cases] == ["a", "b"]


def test_a_byte_order_mark_does_not_matter() -> None:
    raw = b"\xef\xbb\xbf" + json.dumps([{"q": "a", "should": True}]).encode()
    assert len(read(None, raw=raw, skill="x").cases) == 1


def test_exported_cases_are_read_as_they_were_written() -> None:
    cases = drafted([Case("sum the table", ("sheets",), False), Case("hi", ("a",), True)], "/home")
    found = read(None, "cases.yaml", raw=as_yaml(cases).encode())
    assert [case.to_json() for case in found.cases] == cases


def test_our_own_format_is_written_as_it_is_read() -> None:
    cases = [EvalCase(task="a", skills=["x"], not_skills=["y"], most=1, tags=["t"])]
    value = {"cases": [case.to_json() for case in cases]}
    assert [case.to_json() for case in read(value).cases] == value["cases"]


# What is wrong


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"query": "a", "should_trigger": True},
            "it names no skill, and its file is not beside one",
        ),
        ({"query": "", "skills": ["x"]}, "the task is empty"),
        ({"query": " \n", "skills": ["x"]}, "the task is empty"),
        ({"query": 7, "skills": ["x"]}, "the task is not text"),
        ({"input": {"a": 1}, "skills": ["x"]}, "the task is not text"),
        ({"query": "x" * (LONGEST_TASK + 1), "skills": ["x"]}, "more than 20,000 characters"),
        ({"query": "a", "skills": 7}, "skills is not a name or a list of names"),
        ({"query": "a", "skills": ["x", 7]}, "skills is not a name or a list of names"),
        ({"query": "a", "skills": ["x"], "nothing": True}, "it expects both a skill and nothing"),
        ({"query": "a", "nothing": "maybe"}, "nothing is neither true nor false"),
        ({"query": "a", "skills": ["x"], "most": -1}, "most is not a whole number of at least 0"),
        ({"query": "a", "skills": ["x"], "every": 7}, "every is neither true nor false"),
        ({"query": "a", "should_trigger": {}}, "should_trigger is neither true nor false"),
        ({"query": "a", "skills": ["x" * 400]}, "too many or too long names"),
    ],
    ids=lambda one: json.dumps(one)[:50],
)
def test_a_bad_case_is_told_with_its_number_and_the_rest_is_read(row: Any, message: str) -> None:
    found = read([{"task": "good", "skills": ["x"]}, row, {"task": "last", "skills": ["x"]}])
    (problem,) = found.problems
    assert message in problem.message
    assert (problem.file, problem.number) == ("evals.json", 2)
    assert [(case.task, case.number) for case in found.cases] == [("good", 1), ("last", 3)]


def test_a_case_that_says_nothing_is_told_among_others_that_do() -> None:
    found = read([{"task": "good", "skills": ["x"]}, {"task": "b"}])
    assert [one.number for one in found.problems] == [2]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xff\xfe", "the file is not UTF-8"),
        (b"[{", "not valid JSON: "),
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"[" * 200_000, "it is nested too deeply"),
    ],
    ids=["bytes", "cut", "empty", "blank", "deep"],
)
def test_a_file_that_cannot_be_read_says_why(raw: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(None, raw=raw)


def test_a_bad_line_of_json_lines_is_told_with_its_number_and_the_rest_is_read() -> None:
    raw = b'{"task": "a", "nothing": true}\n\n{"task"\n{"task": "b", "nothing": true}'
    found = read(None, "cases.jsonl", raw=raw)
    assert [one.message for one in found.problems] == ["line 3 is not valid JSON"]
    assert [case.task for case in found.cases] == ["a", "b"]


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        7,
        None,
        "a",
        ["a", "b"],
        {"results": [{"x": 1}]},
        [{"prompt": "a"}],
        {"case": [{"x": 1}]},
        [{"x": 1}, None],
        {"skills": ["a"], "tasks": ["b"]},
    ],
    ids=json.dumps,
)
def test_a_file_with_something_else_has_no_cases(value: Any) -> None:
    with pytest.raises(NoCasesError):
        read(value)


def test_a_key_that_appears_twice_is_told_and_the_first_counts() -> None:
    raw = b'{"cases": [{"task": "a", "nothing": true}], "cases": []}'
    found = read(None, raw=raw)
    assert [case.task for case in found.cases] == ["a"]
    assert [one.message for one in found.problems] == [
        "key 'cases' appears twice; the first one is used"
    ]


def test_half_a_surrogate_pair_is_replaced() -> None:
    found = read(None, raw=b'[{"task": "a \\ud800", "skills": ["b \\udc00"]}]')
    assert (found.cases[0].task, found.cases[0].skills) == ("a ?", ("b ?",))


def test_the_number_of_cases_is_bounded() -> None:
    rows = [{"task": "a", "nothing": True}] * (MOST_CASES + 5)
    found = read({"cases": rows})
    assert len(found.cases) == MOST_CASES
    assert len(found.problems) == 1


def test_cases_with_the_same_fault_are_told_in_one_line() -> None:
    rows = [{"task": "", "nothing": True}] * 1_000
    found = read([{"task": "a", "nothing": True}, *rows, {"task": 7, "nothing": True}])
    assert [(one.number, one.message) for one in found.problems] == [
        (2, "the task is empty, as in 999 more"),
        (1002, "the task is not text"),
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["task", "query", "cases", "evals", "should_trigger", "should_not_trigger", "skills",
             "skill", "expected_skill", "routing_expect", "must_include", "max_skills", "most",
             "every", "nothing", "type", "expected", "agents", "tags"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip
EXPECTED = st.sampled_from([
    {"nothing": True}, {"skills": ["pdf"]}, {"skills": []}, {"not_skills": ["pdf"]},
    {"agents": ["a"]}, {"should_trigger": True}, {"most": 1}, {"nothing": False},
])  # fmt: skip
TASKS = st.builds(
    lambda task, expected, more: {**more, "task": task, **expected},
    st.text("ab ", max_size=3),
    EXPECTED,
    st.just({}) | st.dictionaries(st.sampled_from(["tags", "query", "cards"]), JSON, max_size=1),
)
FILES = st.lists(TASKS | JSON, max_size=3)


@given(JSON | FILES | FILES.map(lambda rows: {"cases": rows}), st.sampled_from(["", "pdf"]))
def test_any_json_gives_cases_or_problems_and_never_a_crash(value: Any, skill: str) -> None:
    try:
        found = read(value, skill=skill)
    except ValueError:
        return
    for case in found.cases:
        assert case.task.strip()
        assert (
            case.skills
            or case.not_skills
            or case.agents
            or case.cards
            or case.nothing
            or (case.most is not None)
        )
        case.to_json()


# Keys that are nearly right


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"case": [{"task": "a", "skills": ["x"]}]},
            "no case in it: unknown key 'case'; did you mean 'cases'?",
        ),
        (
            {"examples": [{"task": "a", "nothing": True}]},
            "no case in it: unknown key 'examples'; did you mean 'cases'?",
        ),
        (
            {"caes": {"tsk": "a", "skils": ["x"]}},
            "no case in it: unknown key 'caes'; did you mean 'cases'?",
        ),
        (
            {"cases": [{"task": "a", "skils": ["x"]}]},
            "unknown key 'skils'; did you mean 'skills'?",
        ),
        (
            {"cases": [{"task": "a", "skills": ["x"], "notSkils": ["y"]}]},
            "unknown key 'notSkils'; did you mean 'notSkills'?",
        ),
        ([{"tsk": "a", "skills": ["x"]}], "unknown key 'tsk'; did you mean 'task'?"),
        ([{"skills": ["x"]}], "it has no task"),
        ({"cases": [{"task": "a"}]}, "it says neither which skill should fire"),
    ],
    ids=lambda one: json.dumps(one)[:50],
)
def test_a_slip_in_our_own_format_is_told(value: Any, message: str) -> None:
    found = read(value)
    assert found.cases == []
    assert [message in one.message for one in found.problems] == [True]


@pytest.mark.parametrize("key", ["notskills", "not_skills", "not-skills", "NotSkills"])
def test_keys_may_be_written_in_any_case(key: str) -> None:
    assert read([{"task": "a", key: ["x"]}]).cases[0].not_skills == ("x",)


def test_other_unknown_keys_of_a_case_are_noted_and_notes_of_people_are_not() -> None:
    rows = [{"task": "a", "skills": ["x"], "priority": 1, "id": 7, "notes": "b"}] * 2
    found = read(rows)
    assert (len(found.cases), found.problems) == (2, [])
    assert found.notes == ["evals.json: unknown in cases: 'priority'"]


def test_rows_of_other_formats_may_have_any_key() -> None:
    found = read([{"query": "a", "should_trigger": True, "agent": "x", "files": []}], skill="pdf")
    assert (len(found.cases), found.problems, list(found.notes)) == (1, [], [])


# Places


def test_what_is_no_case_keeps_its_place_in_a_list() -> None:
    good = {"task": "a", "skills": ["x"]}
    for rows in ([good, None, {"x": 1}, good], {"cases": [good, None, {"x": 1}, good]}):
        found = read(rows)
        assert [case.number for case in found.cases] == [1, 4]
        assert [(one.number, one.message) for one in found.problems] == [
            (2, "it is null"),
            (3, "it has no task"),
        ]


def test_a_bad_line_of_json_lines_keeps_its_place() -> None:
    raw = b'{"task": "a", "nothing": true}\n{"task"\n{"task": "b", "nothing": true}'
    found = read(None, "cases.jsonl", raw=raw)
    assert [case.number for case in found.cases] == [1, 3]

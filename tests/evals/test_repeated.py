"""Cases that repeat or contradict each other."""

from typing import Any

import pytest

from metier.evals.repeated import distinct
from metier.values.evals import EvalCase


def cases(*given: dict[str, Any]) -> list[EvalCase]:
    rows = enumerate(given, start=1)
    return [EvalCase(file="a.json", number=number, **{"task": "b", **one}) for number, one in rows]


def test_a_case_that_repeats_another_is_dropped_and_noted() -> None:
    given = cases({"skills": ["x"]}, {"task": " B", "skills": ["x"]}, {"skills": ["x"]})
    found = distinct(given)
    assert found.cases == given[:1]
    assert found.notes == [
        "2 cases repeat others and are scored once: a.json#2 and a.json#1, and more"
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"skills": ["x"]}, {"not_skills": ["x"]}),
        ({"skills": ["x"]}, {"nothing": True}),
        ({"skills": ["x", "y"], "every": True}, {"not_skills": ["y"]}),
    ],
)
def test_cases_that_cannot_both_pass_are_noted_and_kept(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    for pair in ((one, other), (other, one)):
        found = distinct(cases(*pair))
        assert len(found.cases) == 2
        assert found.notes == [
            "1 case contradicts another with the same task: a.json#2 and a.json#1"
        ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"skills": ["x"]}, {"skills": ["y"]}),
        ({"skills": ["x", "y"]}, {"not_skills": ["y"]}),
        ({"not_skills": ["x"]}, {"nothing": True}),
        ({"skills": ["x"]}, {"task": "c", "nothing": True}),
    ],
)
def test_cases_that_can_both_pass_are_not_noted(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert distinct(cases(one, other)).notes == []

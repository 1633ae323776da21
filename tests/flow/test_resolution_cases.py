"""The binding cases of spec 4, each through the public functions."""

from typing import Any

import pytest

from cases import binding_rows_of
from conftest import Workspace
from resolve.resolution_choices import CHOICE_ANSWERS
from resolve.resolution_scores import SCORE_ANSWERS

ANSWERS = [*SCORE_ANSWERS, *CHOICE_ANSWERS]
NOT_COMPARED = ("note", "property")
"""Explanations beside the values of a case."""


@pytest.mark.parametrize("row", binding_rows_of("dci/"))
def test_a_binding_case_holds(row: dict[str, Any], workspace: Workspace) -> None:
    given = row["given"]
    expect = {key: value for key, value in row["expect"].items() if key not in NOT_COMPARED}
    for section, shape, answer in ANSWERS:
        if row["section"] == f"dci/{section}" and shape <= keys_of(given):
            found = answer(given, workspace)
            assert {key: found[key] for key in expect} == near(expect)
            return
    pytest.fail(f"no reading for {row['section']} with {sorted(keys_of(given))}")


def keys_of(given: Any) -> set[str]:
    return set(given) if isinstance(given, dict) else {given}


def near(value: Any) -> Any:
    """The same, with floats as far as they are written: to four places, or exactly."""
    if isinstance(value, float):
        places = len(repr(value).partition(".")[2])
        return pytest.approx(value, abs=5e-5 if places == 4 else 1e-9)
    return {key: near(one) for key, one in value.items()} if isinstance(value, dict) else value

"""Drafts of evaluation cases: what becomes a case, and that each task is there once."""

from collections.abc import Sequence

import yaml
from hypothesis import given
from hypothesis import strategies as st

from metier.core.triggers import Triggers
from metier.evals.drafts import (
    MOST_OF_A_RIVAL,
    MOST_UNWANTED,
    MOST_WANTED,
    Draft,
    Subject,
    as_yaml,
    drafted,
)


def nobody(_task: str) -> list[str]:
    return []


def only(drafts: Sequence[Draft]) -> Draft:
    [draft] = drafts
    return draft


def subject(
    name: str,
    wanted: Sequence[str] = (),
    unwanted: Sequence[str] = (),
    rival: Subject | None = None,
) -> Subject:
    return Subject(name, Triggers(wanted, unwanted), rival)


def test_a_task_that_a_skill_names_is_a_case_for_it() -> None:
    draft = only(drafted([subject("pdf", ["merge my files"])], nobody))
    assert draft.case.to_json() == {
        "task": "merge my files",
        "skills": ["pdf"],
        "source": "suggested",
    }
    assert draft.notes == []


def test_a_task_from_a_description_is_to_be_rewritten() -> None:
    told = Subject("pdf", Triggers(["Files for people"], [], False))
    assert only(drafted([told], nobody)).notes == [
        "pdf names no task: write what people ask for instead"
    ]


def test_what_a_skill_is_not_for_is_a_near_miss() -> None:
    draft = only(drafted([subject("pdf", [], ["draw a chart"])], nobody))
    assert (draft.case.skills, draft.case.not_skills) == ([], ["pdf"])
    assert draft.notes == ["near miss: pdf says that it is not for this"]


def test_a_skill_that_comes_for_a_near_miss_is_suggested() -> None:
    draft = only(drafted([subject("pdf", [], ["draw a chart"])], lambda _: ["pdf", "plot", "map"]))
    assert (draft.case.skills, draft.case.not_skills) == (["plot"], ["pdf"])
    assert "plot fires now, check that it is right" in draft.notes[0]


def test_tasks_of_a_rival_are_near_misses() -> None:
    rival = subject("scan", ["read a scan", "clean a scan", "print a scan"])
    found = drafted([subject("pdf", rival=rival)], nobody)
    assert len(found) == MOST_OF_A_RIVAL
    assert [(one.case.skills, one.case.not_skills) for one in found] == [(["scan"], ["pdf"])] * 2
    assert found[0].notes == ["near miss: the job of scan, which overlaps with pdf"]


def test_of_a_task_that_two_skills_name_either_is_right() -> None:
    found = drafted([subject("a", ["Merge files"]), subject("b", ["merge files"])], nobody)
    assert only(found).case.skills == ["a", "b"]


def test_a_skill_that_names_a_task_is_never_wrong_for_it() -> None:
    one = subject("a", ["merge files"], rival=subject("b", ["merge files"]))
    draft = only(drafted([one, subject("b", ["merge files"])], nobody))
    assert (draft.case.skills, draft.case.not_skills) == (["a", "b"], [])


def test_without_skills_there_are_no_cases() -> None:
    assert drafted([], nobody) == []
    assert yaml.safe_load(as_yaml([])) == {"cases": None}


LINES = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
NAMES = st.text(LINES, min_size=1, max_size=12)
TASKS = st.lists(st.text(LINES, min_size=1, max_size=40), max_size=8)
SUBJECTS = st.lists(
    st.builds(
        subject, NAMES, TASKS, TASKS,
        st.none() | st.builds(subject, NAMES, TASKS),
    ),
    max_size=4,
)  # fmt: skip


@given(SUBJECTS, st.lists(NAMES, max_size=3))
def test_a_file_says_what_was_drafted(subjects: list[Subject], names: list[str]) -> None:
    found = drafted(subjects, lambda _: names)
    assert found == drafted(subjects, lambda _: names)
    read = yaml.safe_load(as_yaml(found))["cases"] or []
    assert read == [one.case.to_json() for one in found]
    assert len({one.case.task.casefold() for one in found}) == len(found)
    assert len(found) <= len(subjects) * (MOST_WANTED + MOST_UNWANTED + MOST_OF_A_RIVAL)
    for one in found:
        assert one.case.source == "suggested"
        assert set(one.case.skills).isdisjoint(one.case.not_skills)
        assert one.case.skills or one.case.not_skills

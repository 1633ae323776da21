"""Drafts of evaluation cases for the skills of a catalog."""

import pytest

from conftest import Workspace
from metier import Catalog
from metier.errors import NotFoundError
from metier.evals.drafts import Draft
from metier.flow.eval_drafts import Drafts

PDF = "Merges PDF files. Use when joining PDF files into one. Not for drawing charts of sales."
SCAN = "Merges scanned PDF files. Use when joining scanned PDF files into one book."
CHARTS = "Draws charts of sales figures. Use when drawing charts of sales or of visitors."


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    workspace.skill("pdf", PDF, extra="examples: [put these two PDFs together]")
    workspace.skill("scan", SCAN)
    workspace.skill("charts", CHARTS)
    workspace.skill("manual", PDF, extra="disable-model-invocation: true")
    return workspace


def drafts(workspace: Workspace, *skills: str) -> Drafts:
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        return catalog.draft_cases(skills)


def case(found: Drafts, task: str) -> Draft:
    return next(one for one in found.cases if one.case.task == task)


def test_examples_and_use_when_are_cases_for_a_skill(filled: Workspace) -> None:
    found = drafts(filled, "pdf")
    for task in ("put these two PDFs together", "join PDF files into one"):
        assert case(found, task).case.skills == ["pdf"]


def test_not_for_is_a_near_miss_for_whoever_comes(filled: Workspace) -> None:
    draft = case(drafts(filled, "pdf"), "draw charts of sales")
    assert (draft.case.skills, draft.case.not_skills) == (["charts"], ["pdf"])


def test_tasks_of_the_most_overlapping_skill_are_near_misses(filled: Workspace) -> None:
    draft = case(drafts(filled, "pdf"), "join scanned PDF files into one book")
    assert (draft.case.skills, draft.case.not_skills) == (["scan"], ["pdf"])


def test_without_names_all_skills_that_can_fire_get_cases(filled: Workspace) -> None:
    found = drafts(filled)
    named = {name for one in found.cases for name in one.case.skills}
    assert named == {"pdf", "scan", "charts"}
    assert found.notes == []
    assert found == drafts(filled)


def test_a_skill_that_only_its_user_starts_gets_none_and_is_told(filled: Workspace) -> None:
    assert drafts(filled, "manual") == Drafts(
        [], ["no cases for 'manual': only the user starts it"]
    )


def test_skills_that_do_the_same_job_are_no_near_misses(workspace: Workspace) -> None:
    workspace.skill("a", SCAN)
    workspace.skill("b", f"{SCAN} Soon.")
    workspace.skill("c", SCAN)
    cases = [one.case for one in drafts(workspace).cases]
    assert [(one.task, one.skills, one.not_skills) for one in cases] == [
        ("join scanned PDF files into one book", ["a", "b", "c"], [])
    ]


def test_an_unknown_skill_is_an_error(filled: Workspace) -> None:
    with pytest.raises(NotFoundError):
        drafts(filled, "pdff")


def test_an_empty_catalog_has_nothing_to_draft_from(workspace: Workspace) -> None:
    assert drafts(workspace) == Drafts([], [])

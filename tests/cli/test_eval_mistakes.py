"""`metier eval`: what people get wrong, and what the history marks."""

import json

import pytest

from cli.eval_shop import PDF, committed, data, evaluate, filled, git
from cli.printed import run_here
from cli.run_workspace import follows
from conftest import Workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(workspace: Workspace) -> Workspace:
    return filled(workspace)


@pytest.fixture
def repository(shop: Workspace) -> Workspace:
    return committed(shop)


def test_a_slip_in_a_file_that_was_found_is_an_error_and_other_data_is_a_note(
    shop: Workspace,
) -> None:
    shop.write("evals/results.json", '{"runs": [1, 2]}')
    done = evaluate(shop)
    assert done.returncode == 0
    assert "1 file without cases ignored: evals/results.json\n" in done.stderr
    shop.write("evals/typo.yaml", "case:\n- {task: x, skills: [sql]}\n")
    done = evaluate(shop)
    assert done.returncode == 1
    line = "error: evals/typo.yaml: no case in it: unknown key 'case'; did you mean 'cases'?\n"
    assert line in done.stderr


def test_a_given_folder_is_read_and_one_without_cases_is_an_error(shop: Workspace) -> None:
    shop.write("mine/a.json", json.dumps([{"task": PDF, "skills": ["papers"]}]))
    (shop.root / "empty").mkdir()
    assert data(shop, "./mine")["files"] == ["mine/a.json"]
    done = evaluate(shop, "mine", "empty")
    assert done.returncode == 1
    assert "error: empty: there is no evaluation file in this folder" in done.stderr


def test_a_command_that_is_misspelt_is_hinted_at(shop: Workspace) -> None:
    done = evaluate(shop, "histroy")
    assert done.returncode == 2
    assert done.stderr == (
        "error: there is no file 'histroy' (NOT_FOUND)\nhint: did you mean 'metier eval history'?\n"
    )


def test_a_setting_that_is_misspelt_gets_a_hint(shop: Workspace) -> None:
    done = evaluate(shop, "--against-setting", "skillTreshold=1")
    assert "[capabilities] has no setting 'skillTreshold'" in done.stderr
    assert "did you mean 'skillThreshold'?" in done.stderr


def test_training_cases_and_tasks_that_are_examples_are_counted_apart(shop: Workspace) -> None:
    shop.skill("folder", "Folds paper.", extra="examples: [make a plane of this sheet]")
    shop.trust()
    rows = [
        {"task": "x", "skills": ["sql"], "training": True},
        {"task": "make a plane of this sheet", "skills": ["folder"]},
    ]
    shop.write("evals/a.json", json.dumps(rows))
    done = evaluate(shop)
    line = "1 training case and 1 case whose task is an example not scored\n"
    assert line in done.stderr


def test_an_unknown_skill_of_a_training_case_fails_the_build(shop: Workspace) -> None:
    shop.write("evals/a.yaml", "cases:\n- {task: x, skills: [sqll], training: true}\n")
    done = evaluate(shop)
    assert (done.returncode, "'sqll': skill not in the catalog" in done.stderr) == (1, True)
    assert "<failure" in evaluate(shop, "evals/a.yaml", "--format", "junit").stdout


def test_the_history_marks_changed_skills_and_shows_given_files(repository: Workspace) -> None:
    evaluate(repository)
    git(repository.root, "commit", "-qam", "two")
    evaluate(repository, "skills/papers/evals/trigger-eval.json")
    repository.skill("new", "Is not in the commit.")
    evaluate(repository)
    (repository.root / "skills/new/SKILL.md").unlink()
    (repository.root / "skills/sql/SKILL.md").unlink()
    evaluate(repository)
    found = data(repository, "history")
    follows("eval-history", found)
    assert [one["changed"] for one in found] == [True, False, True, True]
    lines = [line.split("\t") for line in evaluate(repository, "history").stdout.splitlines()]
    assert [line[1].endswith("+") for line in lines] == [True, False, True, True]
    assert [line[-1] for line in lines] == ["-", "skills/papers/evals/trigger-eval.json", "-", "-"]


def test_git_is_not_asked_for_changes_without_trust(repository: Workspace) -> None:
    run_here(repository.root, "trust", "--revoke")
    evaluate(repository)
    assert [one["changed"] for one in data(repository, "history")] == [None]

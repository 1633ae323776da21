"""Cases are scored by what hooks would name."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Workspace
from metier import Catalog
from metier.errors import UsageError
from metier.evals.formats import LARGEST_FILE
from metier.values.evals import CaseResult, EvalCase, Evaluation


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    workspace.skill("pdf-tables", "Extracts tables from PDF files.")
    workspace.skill("sql", "Writes database queries in SQL.")
    workspace.skill("charts", "Draws charts of numbers.")
    workspace.skill("manual", "Deploys the cloud service.", extra="disable-model-invocation: true")
    workspace.write(
        "agents/reviewer.md",
        "---\nname: reviewer\ndescription: Reviews code.\nkeywords: [review]\n---\nDo it.\n",
    )
    workspace.write(
        "docs/capabilities/billing.md",
        "---\nid: billing\nname: Billing\ndescription: Invoices.\n"
        "triggers:\n  keywords: [invoice, billing]\n---\nAsk the billing team.\n",
    )
    workspace.trust()
    return workspace


@pytest.fixture
def catalog(filled: Workspace) -> Iterator[Catalog]:
    with Catalog.open(filled.root) as opened:
        opened.refresh()
        yield opened


def scored(catalog: Catalog, *cases: EvalCase, host: str | None = None) -> list[CaseResult]:
    return list(catalog.evaluate(cases=cases, host=host).results)


def case(task: str, *skills: str, **more: object) -> EvalCase:
    return EvalCase(task=task, skills=skills, **more)  # type: ignore[arg-type]


PDF = "extract the tables of this PDF file"


def test_a_case_passes_if_its_skill_is_named(catalog: Catalog) -> None:
    (found,) = scored(catalog, case(PDF, "pdf-tables"))
    assert found.passed
    assert found.named == ["pdf-tables"]
    assert found.ranked[0] == "pdf-tables"


def test_what_is_named_is_what_which_names(catalog: Catalog) -> None:
    tasks = [PDF, "write a database query", "thanks, go on", "draw a chart of numbers in SQL"]
    found = scored(catalog, *(EvalCase(task=task, nothing=True) for task in tasks))
    for task, one in zip(tasks, found, strict=True):
        answer = catalog.which(task)
        assert one.named == [skill.name for skill in answer.named]
        assert one.passed is not answer.fires


def test_a_lost_case_says_to_whom_and_why(catalog: Catalog) -> None:
    (found,) = scored(catalog, case(PDF, "charts"))
    assert found.lost_to == "pdf-tables"
    assert found.faults == ["'charts' is not named"]
    assert any("below the threshold" in reason for reason in found.reasons)


def test_a_skill_that_must_not_be_named_is_a_fault_without_reasons(catalog: Catalog) -> None:
    (found,) = scored(catalog, EvalCase(task=PDF, not_skills=["pdf-tables"]))
    assert (found.faults, found.reasons) == (["'pdf-tables' is named, but should not be"], ())


def test_a_skill_that_only_its_user_starts_is_a_miss_that_says_so(catalog: Catalog) -> None:
    (found,) = scored(catalog, case("deploy the cloud service", "manual"))
    assert not found.passed
    assert "disable-model-invocation" in found.reasons[0]


def test_agents_and_cards_are_scored_too(catalog: Catalog) -> None:
    found = catalog.evaluate(
        cases=[
            EvalCase(task="review this code", agents=["reviewer"]),
            EvalCase(task="the billing of an invoice", cards=["billing"]),
            EvalCase(task="bake a cake", cards=["billing"]),
        ]
    )
    assert [one.passed for one in found.results] == [True, True, False]
    assert (found.figures["agents"].value, found.figures["cards"].value) == (1.0, 0.5)


def test_an_unknown_name_is_told_and_counted_apart(catalog: Catalog) -> None:
    found = catalog.evaluate(
        cases=[
            case(PDF, "pdf-table"),
            EvalCase(task=PDF, agents=["revewer"]),
            EvalCase(task=PDF, cards=["nothing-like-it"]),
            case(PDF, "pdf-tables"),
        ]
    )
    assert [dict(one.unknown) for one in found.unknown] == [
        {"pdf-table": "skill not in the catalog; did you mean 'pdf-tables'?"},
        {"revewer": "agent not in the catalog; did you mean 'reviewer'?"},
        {"nothing-like-it": "card not in the catalog"},
    ]
    assert (found.scored, found.figures["recall"].of) == (1, 1)
    assert not found.failed


def test_a_case_for_a_skill_that_cannot_be_read_is_not_scored_and_says_why(
    filled: Workspace,
) -> None:
    filled.write("skills/dark-mode/SKILL.md", "---\nname: dark-mode\n".encode("utf-16"))
    with Catalog.open(filled.root) as catalog:
        catalog.refresh()
        (found,) = scored(catalog, case("switch the dark mode on", "dark-mode"))
    assert not found.is_scored
    assert not found.passed
    assert found.unknown == {
        "dark-mode": "skills/dark-mode/SKILL.md is excluded: unparseable; the file is UTF-16;"
        " metier lint says what to change"
    }


def test_a_name_that_several_teams_use_is_told(workspace: Workspace) -> None:
    workspace.write("metier.toml", '[teams."a"]\n[teams."b"]\n')
    for team in "ab":
        workspace.skill("review", "Reviews code.", folder=f"{team}/review")
    workspace.trust()
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        found = scored(catalog, case("review the code", "review"), case("x", "a/review"))
    why = "2 skills have this name; use the handle of one: a/review, b/review"
    assert dict(found[0].unknown) == {"review": why}
    assert found[1].right == ["a/review"]


def test_a_case_that_teaches_is_not_scored(catalog: Catalog) -> None:
    found = catalog.evaluate(cases=[case(PDF, "pdf-tables", training=True), case(PDF, "sql")])
    assert (found.training, found.scored, len(found.results)) == (1, 1, 2)


def test_a_case_whose_task_is_an_example_is_not_scored(filled: Workspace) -> None:
    filled.skill("folder", "Folds paper.", extra="examples: [make a plane of this sheet]")
    filled.trust()
    with Catalog.open(filled.root) as catalog:
        catalog.refresh()
        found = catalog.evaluate(
            cases=[case("Make a  plane of this sheet", "folder"), case("make a plane", "folder")]
        )
    assert [one.is_training for one in found.results] == [True, False]
    assert (found.training, found.scored, found.figures["recall"].of) == (1, 1, 1)


def test_a_host_is_asked_about_what_it_loads(filled: Workspace) -> None:
    filled.skill("claude", "Reviews contracts of lawyers.", folder=".claude/skills/claude")
    with Catalog.open(filled.root) as catalog:
        catalog.refresh()
        lawyers = case("review the contracts of lawyers", "claude")
        (there,) = scored(catalog, lawyers, host="claude-code")
        (elsewhere,) = scored(catalog, lawyers, host="gemini")
    assert there.passed
    assert not elsewhere.passed
    assert "gemini does not load it" in elsewhere.reasons[0]


def test_an_unknown_host_is_wrong_usage(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="'nowhere' is not a host"):
        catalog.evaluate(cases=[case(PDF, "sql")], host="nowhere")


def test_progress_is_told_for_every_case(catalog: Catalog) -> None:
    told: list[tuple[int, int]] = []
    catalog.evaluate(
        cases=[case(PDF, "sql")] * 3, on_progress=lambda done, total: told.append((done, total))
    )
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_the_same_cases_give_the_same_evaluation(catalog: Catalog) -> None:
    cases = [case(PDF, "sql"), case(PDF, "pdf-tables")]
    first, second = (catalog.evaluate(cases=cases).to_json() for _ in range(2))
    assert first == second


# Files


def evaluated(workspace: Workspace, *files: str) -> Evaluation:
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        return catalog.evaluate([str(workspace.root / file) for file in files])


def test_files_of_the_workspace_are_found_and_belong_to_the_skill_beside(filled: Workspace) -> None:
    rows = [{"query": PDF, "should_trigger": True}, {"query": "hi", "should_trigger": False}]
    filled.write("skills/pdf-tables/evals/trigger-eval.json", json.dumps(rows))
    text = "cases:\n- task: read the tables of a PDF file\n  skills: [pdf-tables]\n"
    filled.write("evals/routing.yaml", text)
    filled.write("evals/results.json", '{"runs": [1, 2]}')
    found = evaluated(filled)
    assert found.files == ["evals/routing.yaml", "skills/pdf-tables/evals/trigger-eval.json"]
    assert found.ignored == ["evals/results.json"]
    assert found.problems == []
    assert [one.passed for one in found.results] == [True, True, True]
    assert found.figures["falseFires"].of == 1


def test_the_skill_beside_a_file_has_the_name_that_the_catalog_gives_it(filled: Workspace) -> None:
    filled.skill("other-name", "Folds paper.", folder="skills/folder")
    rows = [{"query": "fold the paper", "should_trigger": True}]
    filled.write("skills/folder/evals/trigger-eval.json", json.dumps(rows))
    (found,) = evaluated(filled).results
    assert found.right == ["other-name"]


def test_a_bad_file_does_not_stop_the_rest(filled: Workspace) -> None:
    filled.write("evals/a.json", "[{")
    filled.write("evals/b.yaml", "cases: [&a 1]")
    filled.write("evals/c.json", b"\xff")
    filled.write("evals/d.json", json.dumps([{"task": PDF, "skills": ["pdf-tables"]}]))
    os.truncate(filled.write("evals/e.json", ""), LARGEST_FILE + 1)
    found = evaluated(filled)
    assert [(one.file, one.number) for one in found.problems] == [
        ("evals/a.json", 0), ("evals/b.yaml", 0), ("evals/c.json", 0), ("evals/e.json", 0),
    ]  # fmt: skip
    assert all(one.message for one in found.problems)
    assert found.scored == 1


def test_given_files_and_folders_are_read_once(filled: Workspace) -> None:
    rows = json.dumps([{"task": PDF, "skills": ["pdf-tables"]}])
    filled.write("evals/a.json", rows)
    filled.write("other/cases.json", rows)
    found = evaluated(filled, "other/cases.json", "evals", "evals/a.json")
    assert sorted(found.files) == ["evals/a.json", "other/cases.json"]


def test_a_given_file_without_cases_or_that_is_not_there_is_a_problem(filled: Workspace) -> None:
    filled.write("empty.json", "{}")
    found = evaluated(filled, "empty.json", "missing.json")
    assert [one.file for one in found.problems] == ["empty.json", "missing.json"]
    assert found.problems[1].message == "No such file or directory"
    assert (list(found.failed), found.passed) == ([], False)


def test_a_given_file_outside_of_the_workspace_belongs_to_the_skill_beside_it(
    filled: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere" / "sql"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: sql\ndescription: x\n---\n")
    (folder / "evals" / "a.json").write_text('[{"query": "x", "should_trigger": true}]')
    with Catalog.open(filled.root) as catalog:
        catalog.refresh()
        found = catalog.evaluate([str(folder / "evals" / "a.json")])
    assert found.results[0].right == ["sql"]


def test_an_untrusted_workspace_is_evaluated_like_a_trusted_one(workspace: Workspace) -> None:
    workspace.skill("pdf-tables", "Extracts tables from PDF files.")
    workspace.write("evals/a.json", json.dumps([{"task": PDF, "skills": ["pdf-tables"]}]))
    assert [one.passed for one in evaluated(workspace).results] == [True]


def test_a_given_folder_is_read_whatever_it_is_called(filled: Workspace) -> None:
    rows = json.dumps([{"task": PDF, "skills": ["pdf-tables"]}])
    filled.write("evals/a.json", rows)
    filled.write("mine/deeper/b.json", rows)
    assert evaluated(filled, "evals").files == ["evals/a.json"]
    assert evaluated(filled, "mine").files == ["mine/deeper/b.json"]
    assert evaluated(filled, ".").files == ["evals/a.json"]


def test_a_given_folder_without_cases_is_a_problem_beside_other_files_too(
    filled: Workspace,
) -> None:
    filled.write("empty/notes.md", "x")
    filled.write("other/data.json", '{"runs": [1]}')
    filled.write("a.json", json.dumps([{"task": PDF, "skills": ["pdf-tables"]}]))
    found = evaluated(filled, "empty", "a.json", "other")
    assert [(one.file, one.message) for one in found.problems] == [
        (
            "empty",
            "there is no evaluation file in this folder (.json, .jsonl, .yaml, .yml)",
        ),
        ("other", "no file in this folder has cases; looked at 1"),
    ]
    assert found.scored == 1


def test_a_repeated_case_is_scored_once(filled: Workspace) -> None:
    rows = json.dumps([{"task": PDF, "skills": ["pdf-tables"]}])
    filled.write("evals/a.json", rows)
    filled.write("evals/b.json", rows)
    found = evaluated(filled)
    assert found.figures["recall"].of == 1
    assert found.notes == [
        "1 case repeats another and is scored once: evals/b.json#1 and evals/a.json#1"
    ]


def test_a_case_is_lost_only_to_a_skill_that_is_named(catalog: Catalog) -> None:
    found = catalog.evaluate(cases=[case("bake a cake with SQL", "charts"), case(PDF, "charts")])
    assert len(found.results) == 2
    for one in found.results:
        assert one.lost_to == next(iter(one.named), "")
    silent = catalog.evaluate(cases=[case("bake a cake", "charts")])
    assert [one.lost_to for one in silent.confusions] == [""]
    assert [one.instead for one in silent.confusions] == ["nothing was named"]


def test_a_partly_right_answer_is_not_called_silence(catalog: Catalog) -> None:
    both = case(PDF, "pdf-tables", "charts", every=True)
    (lost,) = catalog.evaluate(cases=[both]).confusions
    assert (lost.skill, lost.instead) == ("charts", "nothing else was named")


def test_a_training_case_for_an_unknown_skill_is_told(catalog: Catalog) -> None:
    found = catalog.evaluate(cases=[case(PDF, "pdf-table", training=True)])
    assert [list(one.unknown) for one in found.unknown] == [["pdf-table"]]
    assert found.training == 0


def test_a_case_that_is_not_scored_neither_passed_nor_failed(catalog: Catalog) -> None:
    cases = [case(PDF, "no-such"), case(PDF, "sql", training=True), case(PDF, "pdf-tables")]
    results = catalog.evaluate(cases=cases).to_json()["results"]
    assert [one["passed"] for one in results] == [None, None, True]


@pytest.mark.parametrize(
    ("most", "fault"),
    [(0, "1 skill is named, but none should be")],
)
def test_too_many_skills_are_told(catalog: Catalog, most: int, fault: str) -> None:
    (found,) = scored(catalog, case(PDF, "pdf-tables", most=most))
    assert fault in found.faults

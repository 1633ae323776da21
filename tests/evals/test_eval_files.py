"""Which evaluation files a folder has."""

from pathlib import Path

import pytest

from conftest import Workspace
from metier.evals import finding
from metier.evals.finding import find_files, skill_folder


def found(workspace: Workspace) -> list[str]:
    top = str(workspace.root)
    return [str(Path(path).relative_to(top)) for path in find_files(top).paths]


def test_files_are_found_beside_skills_at_the_root_and_by_their_names(workspace: Workspace) -> None:
    workspace.skill("pdf")
    wanted = [
        "evals/routing.yaml",
        "evals/pdf/trigger_tests.yaml",
        "skills/pdf/evals/evals.json",
        "skills/pdf/evals/more.jsonl",
        "skills/pdf/evals/trigger-eval-2.json",
        "skills/pdf/.sklab/tests/triggers.yaml",
        "tests/trigger-evals.json",
        "tests/trigger_eval.json",
    ]
    others = [
        "evals/notes.md",
        "evals/.hidden.json",
        "evals/data/rows.json",
        "other/evals/evals.json",
        "other/.sklab/tests/triggers.yaml",
        "skills/pdf/.sklab/tests/scenarios.md",
        "node_modules/x/evals/trigger-eval.json",
        ".git/trigger-eval.json",
        "env/lib/trigger-eval.json",
        "env/pyvenv.cfg",
    ]
    for path in (*wanted, *others):
        workspace.write(path, "[]")
    assert sorted(found(workspace)) == sorted(wanted)


def test_links_are_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "evals").mkdir(parents=True)
    (outside / "trigger-eval.json").write_text("[]")
    workspace.skill("pdf")
    (workspace.root / "linked").symlink_to(outside)
    (workspace.root / "skills/pdf/evals").symlink_to(outside / "evals")
    (workspace.root / "trigger-eval.json").symlink_to(outside / "trigger-eval.json")
    assert found(workspace) == []


def test_the_number_of_files_is_bounded(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MOST_FILES", 3)
    for number in range(5):
        workspace.write(f"evals/{number}.json", "[]")
    files = find_files(str(workspace.root))
    assert (len(files.paths), files.is_all) == (3, False)


def test_the_skill_of_a_file_is_the_nearest_above(workspace: Workspace) -> None:
    workspace.skill("pdf")
    top = str(workspace.root)
    for path in ("skills/pdf/evals/a.json", "skills/pdf/.sklab/tests/triggers.yaml"):
        file = workspace.write(path, "[]")
        assert skill_folder(str(file), top) == f"{top}/skills/pdf"
    assert skill_folder(str(workspace.write("evals/a.json", "[]")), top) == ""


def test_a_skill_above_the_workspace_is_not_looked_for(workspace: Workspace) -> None:
    (workspace.root.parent / "SKILL.md").write_text("---\nname: above\n---\n")
    file = workspace.write("evals/a.json", "[]")
    assert skill_folder(str(file), str(workspace.root)) == ""


def test_a_given_folder_has_all_its_files_whatever_they_are_called(workspace: Workspace) -> None:
    workspace.skill("pdf", folder="mine/skills/pdf")
    wanted = ["mine/a.json", "mine/deep/er/b.yml", "mine/c.JSONL", "mine/skills/pdf/evals/d.yaml"]
    others = ["mine/notes.md", "mine/.e.json", "mine/skills/pdf/assets/f.json", "mine/.git/g.json"]
    for path in (*wanted, *others):
        workspace.write(path, "[]")
    files = find_files(str(workspace.root / "mine"), is_named=False)
    assert files.paths == sorted(str(workspace.root / path) for path in wanted)

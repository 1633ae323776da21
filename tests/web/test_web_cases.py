"""A prompt of the page Which becomes an evaluation case."""

import yaml

from conftest import Workspace
from web_served import inspected


def test_a_prompt_is_added_to_the_evaluation_cases_once(workspace: Workspace) -> None:
    workspace.skill("changelog", "Writes release notes.")
    workspace.trust()
    with inspected(workspace.root) as site:
        for _ in range(2):
            found = site.post("/do/case", task="write the notes", skill="changelog")
            assert found.status_code == 303
            to = found.headers["location"]
            assert to == "/which?task=write+the+notes&expect=changelog&added=changelog#case"
        page = site.page(to.partition("#")[0])
        assert 'id="case"' in page
        assert "</span> to <code>evals/cases.yaml</code>: for “write the notes”" in page
        assert site.post("/do/case", task="thanks", skill="").status_code == 303
    written = yaml.safe_load((workspace.root / "evals" / "cases.yaml").read_text())
    assert written == {
        "cases": [
            {"task": "write the notes", "skills": ["changelog"]},
            {"task": "thanks", "nothing": True},
        ]
    }


def test_an_unknown_skill_an_empty_prompt_and_a_foreign_file_are_refused(
    workspace: Workspace,
) -> None:
    workspace.skill("changelog", "Writes release notes.")
    workspace.trust()
    with inspected(workspace.root) as site:
        assert site.post("/do/case", task="write", skill="nobody").status_code == 404
        assert site.post("/do/case", task=" ").status_code == 400
        workspace.write("evals/cases.yaml", "- a\n")
        assert site.post("/do/case", task="write").status_code == 400
    assert (workspace.root / "evals" / "cases.yaml").read_text() == "- a\n"


def test_nothing_is_written_into_an_untrusted_workspace_nor_through_a_link(
    workspace: Workspace,
) -> None:
    workspace.skill("changelog", "Writes release notes.")
    with inspected(workspace.root) as site:
        assert site.post("/do/case", task="write").status_code == 403
    assert not (workspace.root / "evals").exists()
    outside = workspace.root.parent / "outside"
    outside.mkdir()
    (workspace.root / "evals").symlink_to(outside)
    workspace.trust()
    with inspected(workspace.root) as site:
        assert site.post("/do/case", task="write").status_code == 400
    assert list(outside.iterdir()) == []

"""`metier select`: who a task is for, why, and what the fallback means."""

import json
import shutil

import pytest

from cli.run_workspace import follows
from cli.terminals import at_terminal
from conftest import REPOSITORY, Workspace
from metier.cli import run

pytestmark = pytest.mark.slow

TASK = "review this pull request"


@pytest.fixture
def example(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The bundled example."""
    shutil.copytree(
        REPOSITORY / "examples" / "workspace",
        workspace.root,
        ignore=shutil.ignore_patterns(".metier"),
        dirs_exist_ok=True,
    )
    monkeypatch.chdir(workspace.root)
    return workspace


def test_agents_come_by_falling_confidence_with_the_next_command(
    example: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["select", TASK, "--limit", "2"]) == 0
    out, err = capsys.readouterr()
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0][0] == "reviewer"
    confidences = [float(row[1]) for row in rows]
    assert confidences == sorted(confidences, reverse=True)
    assert len(rows) <= 2
    assert err.splitlines()[-1] == f"next: metier run reviewer '{TASK}'"


def test_json_has_every_part_and_reason_and_follows_its_schema(
    example: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["select", TASK, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    follows("select", found)
    best = found["matches"][0]
    assert (found["task"], found["fallback"], best["agentId"]) == (TASK, False, "reviewer")
    assert best["raw"] == pytest.approx(sum(best["parts"].values()))
    assert len(best["reasons"]) >= len(best["parts"])


def test_when_nobody_fits_the_standard_agent_is_named_and_explained(
    example: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["select", "zymurgy"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("standard\t0.50\t")
    assert "no agent reaches 0.1: 'standard' is the fallback" in err
    assert run(["select", "zymurgy", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    follows("select", found)
    assert found["fallback"] is True


def test_an_agent_that_is_excluded_is_not_named(
    example: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["select", TASK, "--exclude", "reviewer", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "reviewer" not in [one["agentId"] for one in found["matches"]]


def test_names_that_mean_nothing_here_are_warned_of(
    example: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["select", TASK, "--exclude", "reviewr", "--exclude", "standard"]) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert warnings == [
        "warning: no agent here is called 'reviewr'; did you mean 'reviewer'?",
        "warning: 'standard' cannot be excluded",
    ]


def test_an_unknown_team_is_an_error(
    example: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["select", TASK, "--team", "shop-backen"]) == 2
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "error: there is no team 'shop-backen' (USAGE)",
        "hint: did you mean 'shop-backend'?",
    ]


def test_required_capabilities_count(
    example: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["select", "do it", "-r", "tagging", "-r", "release-planning", "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["matches"][0]
    assert best["agentId"] == "release-manager"
    assert best["parts"]["requiredCapabilities"] == 0.25


def test_an_empty_task_is_wrong_usage(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["select", " ", "--root", str(workspace.root)]) == 2
    assert capsys.readouterr().err.startswith("error: the task is empty (USAGE)\nhint: ")


def test_explain_is_a_table_with_all_figures_where_there_is_no_terminal(
    example: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["select", TASK, "--explain"]) == 0
    header, best = (line.split("\t") for line in capsys.readouterr().out.splitlines()[:2])
    assert header == ["agent", "confidence", "raw", "parts", "reasons"]
    assert best[0] == "reviewer"
    assert "exampleTasks +0.6" in best[3]
    assert "is the example 'review this pull request' (+0.6)" in best[4]


@pytest.mark.parametrize("columns", [40, 80])
def test_explain_on_a_terminal_is_blocks_with_bars_that_fit(
    example: Workspace, columns: int
) -> None:
    seen = at_terminal(example, "select", TASK, "--explain", "-q", columns=columns)
    assert seen.plain[0].startswith("1  reviewer  ")
    assert any("exampleTasks 0.60 █▊" in line for line in seen.plain)
    assert any(line.startswith("   - is the example") for line in seen.plain)
    assert max(len(line) for line in seen.plain[1:]) <= columns


def test_a_sum_beyond_one_is_said_beside_the_confidence(workspace: Workspace) -> None:
    labels = ", ".join(["sort", "the", "list", "of", "names", "by", "age"])
    workspace.write(
        "agents/all.yaml",
        "agentId: all\ndescription: Sorts things.\nversion: 1.0.0\nsystemPrompt: Sort.\n"
        f"selectionMetadata:\n  primaryIntents: [{labels}]\n  negativeIntents: [never]\n",
    )
    seen = at_terminal(workspace, "select", "sort the list of names by age", "--explain", "-q")
    assert seen.plain[0].startswith("1  all  1.00 (the parts add up to 2.1")

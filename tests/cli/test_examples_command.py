"""`metier examples`, and `metier history record --task`."""

import json

import pytest
import yaml

from conftest import Workspace
from metier.cli import run

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def filled(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    workspace.skill("pdf", "Reads PDF files.", extra="examples: [read this paper]")
    workspace.skill("deploy", "Deploys to servers.")
    workspace.trust()
    monkeypatch.chdir(workspace.root)
    return workspace


def listed(capsys: Captured) -> list[list[str]]:
    capsys.readouterr()
    assert run(["examples", "-q"]) == 0
    return [line.split("\t")[1:] for line in capsys.readouterr().out.splitlines()]


def test_a_task_of_an_outcome_becomes_an_example(filled: Workspace, capsys: Captured) -> None:
    assert run(["history", "record", "deploy", "success", "--task", "ship  it\nnow"]) == 0
    assert run(["history", "record", "pdf", "failure", "--task", "read my mail"]) == 0
    assert listed(capsys) == [
        ["pdf", "read this paper", "front matter"],
        ["deploy", "ship it now", "recorded"],
        ["not pdf", "read my mail", "recorded"],
    ]


def test_an_outcome_without_a_task_records_no_example(filled: Workspace, capsys: Captured) -> None:
    assert run(["history", "record", "deploy", "success"]) == 0
    assert listed(capsys) == [["pdf", "read this paper", "front matter"]]


def test_an_empty_task_is_wrong_usage(filled: Workspace, capsys: Captured) -> None:
    assert run(["history", "record", "deploy", "success", "--task", " "]) == 2
    assert "the task is empty" in capsys.readouterr().err


def test_exported_examples_are_training_cases(filled: Workspace, capsys: Captured) -> None:
    assert run(["history", "record", "pdf", "failure", "--task", "read my mail"]) == 0
    capsys.readouterr()
    assert run(["examples", "export", "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out) == {
        "cases": [
            {"task": "read this paper", "skills": ["pdf"], "training": True},
            {"task": "read my mail", "notSkills": ["pdf"], "training": True},
        ]
    }
    assert run(["examples", "export"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == json.loads(out)


def test_recorded_examples_are_removed_by_id_or_all(filled: Workspace, capsys: Captured) -> None:
    for number in range(3):
        assert run(["history", "record", "deploy", "success", "--task", f"ship {number}"]) == 0
    capsys.readouterr()
    assert run(["examples", "--json"]) == 0
    ids = [one["id"] for one in json.loads(capsys.readouterr().out) if one["name"] == "deploy"]
    assert run(["examples", "remove", ids[0]]) == 0
    assert capsys.readouterr().out == "removed 1 example\n"
    assert run(["examples", "remove", "--all"]) == 0
    assert capsys.readouterr().out == "removed 2 examples\n"
    assert listed(capsys) == [["pdf", "read this paper", "front matter"]]


def test_an_example_of_a_document_is_removed_there(filled: Workspace, capsys: Captured) -> None:
    assert run(["examples", "--json"]) == 0
    [one] = json.loads(capsys.readouterr().out)
    assert run(["examples", "remove", one["id"]]) == 2
    assert "it is in front matter of 'pdf'" in capsys.readouterr().err
    assert run(["examples", "remove", "00000000"]) == 2
    assert "no example has the id '00000000'" in capsys.readouterr().err
    assert run(["examples", "remove"]) == 2

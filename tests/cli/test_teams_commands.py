"""Teams on the command line: handles in place of names, team and owner in what is shown."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import metier as package
from cli.printed import Printed
from conftest import Workspace
from metier.cli import run

TEAMS = '[teams."teams/a"]\nowner = "a@example.org"\n[teams."teams/b"]\n'
SCHEMAS = Path(package.__file__).parent / "schemas"
Metier = Callable[..., Printed]


@pytest.fixture
def metier(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Metier:
    """Run a command in a workspace with two teams that have a skill of one name."""
    monkeypatch.chdir(workspace.root)
    workspace.write("metier.toml", TEAMS)
    for team in ("a", "b"):
        for name, contract in (("deploy", "P(deploy-service)"), ("ship", "R(deploy-service)")):
            workspace.skill(
                name,
                "Brings a service to production. Use it for each release.",
                folder=f"teams/{team}/skills/{name}",
                extra=f"metadata:\n  contract: DCI/1 {contract}",
            )
    workspace.trust()

    def call(*arguments: str) -> Printed:
        return Printed(run(list(arguments)), *capsys.readouterr())

    return call


def checked(out: str, schema: str) -> Any:
    """Printed JSON that follows a schema."""
    data = json.loads(out)
    jsonschema.validate(data, json.loads((SCHEMAS / f"{schema}.v1.schema.json").read_text()))
    return data


def test_a_list_has_the_skills_of_every_team_by_their_handles(metier: Metier) -> None:
    lines = metier("list").out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["a/deploy", "a/ship", "b/deploy", "b/ship"]
    rows = checked(metier("list", "--search", "deploy", "--json").out, "document-list")
    assert [(one["name"], one["team"], one.get("owner")) for one in rows] == [
        ("deploy", "a", "a@example.org"),
        ("deploy", "b", None),
    ]


def test_a_skill_is_shown_by_its_handle_with_team_and_owner(metier: Metier) -> None:
    shown = metier("show", "skill", "a/deploy").out
    assert "team: a\nowner: a@example.org\n" in shown
    assert "id: deploy::teams/a/skills/deploy" in shown
    assert "also:" not in shown
    other = checked(metier("show", "skill", "b/deploy", "--json").out, "document")
    assert (other["id"], other["team"]) == ("deploy::teams/b/skills/deploy", "b")
    assert "owner" not in other


def test_a_name_that_two_teams_have_shows_the_first_and_names_the_other(metier: Metier) -> None:
    found = checked(metier("show", "skill", "deploy", "--json").out, "document")
    assert found["team"] == "a"
    assert found["others"] == ["deploy::teams/b/skills/deploy"]


@pytest.mark.parametrize("team", ["a", "b"])
def test_what_the_skill_of_a_team_requires_comes_from_its_team(metier: Metier, team: str) -> None:
    made = metier("resolve", "--for", f"{team}/ship", "--json")
    report = checked(made.out, "capability-resolution-report")
    assert report["selected"] == [f"deploy::teams/{team}/skills/deploy"]
    assert report["team"] == team
    other = "b" if team == "a" else "a"
    text = metier("resolve", "--for", f"{team}/ship").out
    (line,) = [one for one in text.splitlines() if f"teams/{other}/skills/deploy" in one]
    assert "own-team-first: the requesting team has a skill of that name" in line


@pytest.mark.parametrize("arguments", [[], ["teams"], ["teams/a", "teams/b"]])
def test_skills_of_one_name_in_two_teams_are_no_finding(
    metier: Metier, arguments: list[str]
) -> None:
    found = metier("lint", *arguments, "--notes", "--json")
    assert not [one for one in json.loads(found.out) if one["code"] in ("XF901", "XF902", "XF903")]
    same_name = [
        one for one in json.loads(found.out) if one["code"] == "XF904" and "/b/" in one["path"]
    ]
    assert same_name
    assert all("deploy" not in one["path"] or "ship" in one["message"] for one in same_name)


def test_the_order_of_equals_is_named_in_the_report_and_in_words(
    metier: Metier, workspace: Workspace
) -> None:
    for team, name in (("a", "bring"), ("b", "carry")):
        workspace.skill(
            name,
            "Moves a service to production. Use it for each release.",
            folder=f"teams/{team}/skills/{name}",
            extra="metadata:\n  contract: DCI/1 P(move-service)",
        )
    for team, name in (("a", "bring"), ("b", "carry")):
        workspace.skill(
            "move",
            "Asks for it. Use it.",
            folder=f"teams/{team}/skills/move",
            extra="metadata:\n  contract: DCI/1 R(move-service)",
        )
        workspace.trust()
        out = metier("resolve", "--for", f"{team}/move", "--json").out
        report = checked(out, "capability-resolution-report")
        assert report["selected"] == [f"{name}::teams/{team}/skills/{name}"]
        tie = report["candidates"][0]["tie_break"]
        assert (tie["step"], tie["by"]) == (6, "own_team")
        assert "by own_team: all scores are equal" in metier("resolve", "--for", f"{team}/move").out
        explained = metier("reports", "explain", report["run_id"]).out
        assert "by step 6, own_team: 1 against 0" in explained


def test_a_wrong_table_is_one_line_with_its_file(metier: Metier, workspace: Workspace) -> None:
    workspace.write("metier.toml", '[teams.b]\n[teams."../a"]\n')
    made = metier("list")
    assert made.code == 2
    assert "'teams.\"../a\"' is outside of the workspace" in made.err
    assert "metier.toml:2\n" in made.err


@pytest.mark.parametrize("given", [("--team", "a"), ("--owner", "a@example.org")])
def test_a_list_of_one_team_or_owner_has_its_documents_only(
    metier: Metier, given: tuple[str, str]
) -> None:
    lines = metier("list", *given).out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["a/deploy", "a/ship"]
    found = json.loads(metier("list", "--search", "deploy", *given, "--json").out)
    assert {one["team"] for one in found} == {"a"}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("--team", "c"), "there is no team 'c'"),
        (("--owner", "b@example.org"), "there is no owner 'b@example.org'"),
    ],
)
def test_an_unknown_team_or_owner_is_an_error(
    metier: Metier, given: tuple[str, str], error: str
) -> None:
    printed = metier("list", *given)
    assert printed.code == 2
    assert error in printed.err
    assert ("known: a, b" if given[0] == "--team" else "'a@example.org'") in printed.err


def test_an_owner_of_the_other_kind_is_told_which_command_knows_it(
    metier: Metier, workspace: Workspace
) -> None:
    workspace.write("CODEOWNERS", "* @org/pay\n")
    listed = metier("list", "--owner", "@org/pay")
    assert "there is no owner '@org/pay' in [teams]" in listed.err
    assert "hint: it is in CODEOWNERS: metier lint --owner @org/pay\n" in listed.err
    linted = metier("lint", "--owner", "a@example.org")
    assert "there is no owner 'a@example.org' in CODEOWNERS" in linted.err
    assert "hint: it is in [teams]: metier list --owner a@example.org\n" in linted.err
    assert (listed.code, linted.code) == (2, 2)


def test_the_hint_for_a_skill_that_waits_for_a_review_names_it_by_its_handle(
    metier: Metier, workspace: Workspace
) -> None:
    workspace.write("metier.toml", f'{TEAMS}[trust]\nworkspace = "ask"\n')
    workspace.trust()
    shown = metier("list", "--excluded", "--json").out
    for team in ("a", "b"):
        assert f"metier diff {team}/deploy, then metier trust --skill {team}/deploy" in shown
    assert metier("diff", "b/deploy").code == 0


@pytest.mark.parametrize("command", [("diff",), ("trust", "--show", "--skill")])
def test_a_review_refuses_a_name_that_several_teams_have(
    metier: Metier, workspace: Workspace, command: tuple[str, ...]
) -> None:
    printed = metier(*command, "deploy")
    why = "'deploy': 2 skills have this name; use the handle of one: a/deploy, b/deploy"
    assert (printed.code, why in printed.err) == (2, True)
    workspace.skill("deploy", folder="skills/deploy")
    for handle, folder in (("deploy", ""), ("b/deploy", "teams/b/")):
        [shown] = json.loads(metier(*command, handle, "--json").out)
        assert shown["path"] == f"{folder}skills/deploy/SKILL.md"


def test_a_skill_that_requires_nothing_is_named_by_its_handle(metier: Metier) -> None:
    made = metier("resolve", "--for", "b/deploy")
    assert (made.code, "error: 'b/deploy' requires nothing" in made.err) == (2, True)

"""Teams in a catalog: two skills of one name, their handles, and whose come first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Workspace
from metier import Catalog
from metier.core.arrays import numpy_arrays, plain_arrays
from metier.errors import NotFoundError
from metier.run.models import ScriptedModel
from metier.values.rows import Row

TEAMS = (
    '[teams."teams/a"]\nowner = "a@example.org"\n[teams."teams/b"]\n'
    '[folders]\nagents = ["teams/*/agents", "agents"]\nabilities = ["teams/*/abilities"]\n'
)
AGENT = "agentId: {id}\ndescription: Releases services.\nrequires: [deploy-service]\n"


def deploy(workspace: Workspace, folder: str, description: str = "Deploys a service.") -> None:
    workspace.skill(
        "deploy",
        f"{description} Use it for each release.",
        folder=f"{folder}/deploy",
        extra="capabilities: [deploy-service]",
        body=f"Deploy as {folder} does.",
    )


@pytest.fixture
def teams(workspace: Workspace) -> Workspace:
    """Two teams with a skill of one name, and a third skill of that name without a team."""
    workspace.write("metier.toml", TEAMS)
    deploy(workspace, "teams/a/skills")
    deploy(workspace, "teams/b/skills", "Deploys a service to a cluster, after long checks.")
    deploy(workspace, "skills")
    return workspace


@pytest.fixture
def catalog(teams: Workspace) -> Iterator[Catalog]:
    with opened(teams) as made:
        yield made


def opened(workspace: Workspace) -> Catalog:
    workspace.trust()
    catalog = Catalog.open(workspace.root)
    catalog.refresh()
    return catalog


def facts(rows: list[Row]) -> list[tuple[str, str, str]]:
    return [(row.handle, row.state, row.path) for row in rows]


def test_a_resolution_for_a_team_that_does_not_exist_says_so(catalog: Catalog) -> None:
    assert list(catalog.resolve(["deploy"], team="a").facts.warnings) == []
    (warning,) = catalog.resolve(["deploy"], team="aa").facts.warnings
    assert warning == "no team is called 'aa': did you mean 'a'?"


def test_skills_of_one_name_in_different_teams_are_all_active(catalog: Catalog) -> None:
    assert facts(catalog.skills(shadowed=True)) == [
        ("a/deploy", "active", "teams/a/skills/deploy/SKILL.md"),
        ("b/deploy", "active", "teams/b/skills/deploy/SKILL.md"),
        ("deploy", "active", "skills/deploy/SKILL.md"),
    ]
    assert not [one for one in catalog.issues() if one.code.startswith("XF")]


def test_an_exact_copy_in_another_team_is_no_copy(teams: Workspace) -> None:
    text = (teams.root / "teams/a/skills/deploy/SKILL.md").read_bytes()
    teams.write("teams/b/skills/deploy/SKILL.md", text)
    with opened(teams) as catalog:
        assert [row.handle for row in catalog.skills()] == ["a/deploy", "b/deploy", "deploy"]


def test_within_one_team_the_first_still_shadows_the_other(teams: Workspace) -> None:
    deploy(teams, "teams/a/more", "Deploys more than one service.")
    with opened(teams) as catalog:
        rows = {row.path: row for row in catalog.skills(shadowed=True)}
        assert rows["teams/a/skills/deploy/SKILL.md"].shadowed_by == "teams/a/more/deploy/SKILL.md"


@pytest.mark.parametrize(
    ("wanted", "folder"),
    [
        ("a/deploy", "teams/a/skills"),
        ("b/deploy", "teams/b/skills"),
        ("deploy", "skills"),
        ("deploy::teams/b/skills/deploy", "teams/b/skills"),
    ],
)
def test_each_skill_is_found_by_its_handle_and_the_first_by_its_name(
    catalog: Catalog, wanted: str, folder: str
) -> None:
    assert catalog.row("skill", wanted).path == f"{folder}/deploy/SKILL.md"
    assert catalog.candidate_id(wanted) == f"deploy::{folder}/deploy"


def test_a_name_that_only_a_team_has_is_found_both_ways(teams: Workspace) -> None:
    teams.skill("rollback", folder="teams/b/skills/rollback")
    with opened(teams) as catalog:
        assert catalog.row("skill", "rollback") == catalog.row("skill", "b/rollback")
        with pytest.raises(NotFoundError) as caught:
            catalog.row("skill", "a/rollback")
        assert caught.value.hint == "did you mean 'b/rollback'?"


def test_team_and_owner_are_in_the_json_of_a_team_only(catalog: Catalog) -> None:
    made = [row.to_json() for row in catalog.skills()]
    assert [(one.get("team"), one.get("owner")) for one in made] == [
        ("a", "a@example.org"),
        ("b", None),
        (None, None),
    ]
    assert {one["name"] for one in made} == {"deploy"}


def test_pages_have_every_skill_of_one_name(catalog: Catalog) -> None:
    found, after = [], ""
    while True:
        page = catalog.page("skill", limit=1, after=after)
        found += [row.handle for row in page.rows]
        after = page.last
        if not after:
            break
    assert found == ["a/deploy", "b/deploy", "deploy"]
    assert [row.team for row in catalog.skills_by_name("deploy")] == ["a", "b", ""]


def test_without_the_table_the_first_shadows_the_others(teams: Workspace) -> None:
    teams.write("metier.toml", "")
    with opened(teams) as catalog:
        rows = facts(catalog.skills(shadowed=True))
        assert [(handle, state) for handle, state, _ in rows] == [
            ("deploy", "active"),
            ("deploy", "shadowed"),
            ("deploy", "shadowed"),
        ]
        assert catalog.row("skill", "deploy").path == "skills/deploy/SKILL.md"
        with pytest.raises(NotFoundError):
            catalog.row("skill", "a/deploy")


def test_a_new_table_counts_with_the_next_refresh(teams: Workspace) -> None:
    teams.write("metier.toml", "")
    opened(teams).close()
    teams.write("metier.toml", '[teams."teams/a"]\nowner = "x"\n')
    with opened(teams) as catalog:
        assert [(row.handle, row.owner) for row in catalog.skills()] == [
            ("a/deploy", "x"),
            ("deploy", ""),
        ]


def test_a_skill_in_another_workspace_inside_belongs_to_no_team(teams: Workspace) -> None:
    teams.write("teams/a/vendor/.git/HEAD", "")
    teams.skill("foreign", folder="teams/a/vendor/skills/foreign")
    with opened(teams) as catalog:
        assert catalog.row("skill", "foreign").team == ""


def test_a_mount_that_is_called_like_the_folder_belongs_to_no_team(teams: Workspace) -> None:
    outside = Workspace(teams.root.parent / "outside")
    outside.skill("foreign", folder="a/foreign")
    teams.write(
        "metier.toml", f'mounts = [{{ path = "{outside.root}", label = "teams" }}]\n{TEAMS}'
    )
    with opened(teams) as catalog:
        row = catalog.row("skill", "foreign")
        assert (row.path, row.team) == ("teams/a/foreign/SKILL.md", "")


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_team_disables_its_own_documents_only(teams: Workspace, is_trusted: bool) -> None:
    for team in ("a", "b"):
        teams.write(
            f"teams/{team}/agents/{team}-releaser.yaml", AGENT.format(id=f"{team}-releaser")
        )
        teams.write(f"teams/{team}/abilities/{team}-rules.md", "---\ntags: [x]\n---\nRules.\n")
    off = 'disabled = ["deploy", "a-releaser", "b-releaser", "a-rules", "b-rules"]\n'
    teams.write("metier.toml", TEAMS.replace('[teams."teams/b"]', f'{off}[teams."teams/b"]'))
    if is_trusted:
        teams.trust()
    with Catalog.open(teams.root) as catalog:
        catalog.refresh()
        assert [row.handle for row in catalog.skills()] == ["b/deploy", "deploy"]
        assert [row.handle for row in catalog.documents("agent")] == ["b-releaser"]
        assert [row.handle for row in catalog.documents("ability")] == ["b-rules"]
        assert {one.reason for one in catalog.excluded()} == {"disabled"}
        with pytest.raises(NotFoundError, match="'a-releaser' is excluded: by 'disabled'"):
            catalog.agency.require("a-releaser")
        (issue,) = catalog.inject("plan it", agent="a-releaser").issues
        assert issue.message.startswith("agent 'a-releaser' is excluded: by 'disabled'")


@pytest.mark.parametrize("name", ["deploy", "a/deploy", "deploy::teams/a/skills/deploy"])
def test_a_team_disables_a_skill_by_each_of_its_names(teams: Workspace, name: str) -> None:
    off = f'disabled = ["{name}"]\n[teams."teams/b"]'
    teams.write("metier.toml", TEAMS.replace('[teams."teams/b"]', off))
    with opened(teams) as catalog:
        assert [row.handle for row in catalog.skills()] == ["b/deploy", "deploy"]


def test_the_workspace_can_disable_one_of_two_by_its_handle(teams: Workspace) -> None:
    teams.write("metier.toml", f'disabled = ["b/deploy"]\n{TEAMS}')
    with opened(teams) as catalog:
        assert [row.handle for row in catalog.skills()] == ["a/deploy", "deploy"]


def test_a_folder_that_does_not_exist_is_a_finding(teams: Workspace) -> None:
    teams.write("metier.toml", f'{TEAMS}[teams."teams/c"]\n')
    with opened(teams) as catalog:
        (issue,) = [one for one in catalog.issues() if one.message.endswith("(teams)")]
        assert (issue.code, issue.message) == ("IO207", "there is no folder 'teams/c' (teams)")
        assert issue.line == len(TEAMS.splitlines()) + 1


# Resolutions and runs


def test_both_are_candidates_and_each_can_be_the_only_one(catalog: Catalog) -> None:
    made = catalog.resolve(["deploy-service"])
    assert {one["id"] for one in made.report.data["candidates"]} == {
        "deploy::skills/deploy",
        "deploy::teams/a/skills/deploy",
        "deploy::teams/b/skills/deploy",
    }
    for team in ("a", "b"):
        alone = catalog.resolve(["deploy-service"], only=[f"{team}/deploy"])
        assert alone.selected == (f"deploy::teams/{team}/skills/deploy",)


@pytest.mark.parametrize("team", ["a", "b"])
def test_a_team_that_asks_gets_its_own_with_any_kind_of_arrays(
    catalog: Catalog, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = iter([plain_arrays(), numpy_arrays()])
    monkeypatch.setattr("metier.flow.resolving.arrays_for", lambda _work: next(kinds))
    for _ in range(2):
        made = catalog.resolve(["deploy-service"], only=["deploy"], team=team)
        assert made.selected == (f"deploy::teams/{team}/skills/deploy",)
        rejected = [one["rejected"] for one in made.report.data["candidates"][1:]]
        assert rejected == [["own-team-first"]] * 2


def test_the_skill_of_a_team_as_consumer_gets_its_own(teams: Workspace) -> None:
    for team in ("a", "b"):
        teams.skill(
            "release",
            "Releases a service. Use it on Fridays.",
            folder=f"teams/{team}/skills/release",
            extra="metadata:\n  contract: DCI/1 P(release) R(deploy-service)",
        )
    with opened(teams) as catalog:
        for team in ("a", "b"):
            made = catalog.resolve(consumer=f"{team}/release")
            assert made.selected == (f"deploy::teams/{team}/skills/deploy",)


def test_the_team_of_an_untrusted_workspace_does_not_come_before_the_users_skills(
    teams: Workspace, empty_home: Path
) -> None:
    deploy(Workspace(empty_home), ".claude/skills")
    teams.skill(
        "release",
        folder="teams/b/skills/release",
        extra="metadata:\n  contract: DCI/1 P(release) R(deploy-service)",
    )
    with Catalog.open(teams.root) as catalog:
        catalog.refresh()
        report = catalog.resolve(consumer="b/release").report.data
        assert "team" not in report
        assert not [one for one in report["candidates"] if "own-team-first" in one["rejected"]]
    with opened(teams) as catalog:
        report = catalog.resolve(consumer="b/release").report.data
        assert (report["team"], report["selected"]) == ("b", ["deploy::teams/b/skills/deploy"])


@pytest.mark.parametrize("skills", ["", "skills: [deploy]\n"])
def test_the_agents_of_each_team_choose_their_own_skill_first(
    teams: Workspace, skills: str
) -> None:
    for team in ("a", "b"):
        agent = AGENT.format(id=f"releaser-{team}") + skills
        teams.write(f"teams/{team}/agents/releaser-{team}.yaml", agent)
    with opened(teams) as catalog:
        for team in ("a", "b"):
            model = ScriptedModel(["done"])
            agent, task = f"releaser-{team}", "release the shop"
            assert catalog.run_sync(agent, task, model=model).success
            (request,) = model.requests
            assert f"Deploy as teams/{team}/skills does." in str(request)
            report = catalog.report(catalog.report_ids()[-1])
            assert (report["team"], report["selected"]) == (
                team,
                [f"deploy::teams/{team}/skills/deploy"],
            )


def test_an_agent_can_name_the_skill_of_another_team(teams: Workspace) -> None:
    teams.write("teams/a/agents/r.yaml", AGENT.format(id="r") + "skills: [b/deploy]\n")
    with opened(teams) as catalog:
        assert catalog.run_sync("r", "release", model="offline").success
        report = catalog.report(catalog.report_ids()[-1])
        assert report["selected"] == ["deploy::teams/b/skills/deploy"]


def test_an_agent_without_a_team_of_its_own_belongs_to_that_of_its_folder(
    teams: Workspace,
) -> None:
    teams.write("teams/a/agents/one.yaml", "agentId: one\ndescription: Does one thing.\n")
    teams.write(
        "teams/a/agents/two.yaml", "agentId: two\ndescription: Does two things.\nteam: guests\n"
    )
    teams.write("agents/three.yaml", "agentId: three\ndescription: Does three things.\n")
    with opened(teams) as catalog:
        found = {one.agent_id: one.team for one in catalog.agents()}
        assert found == {"one": "a", "two": "guests", "three": "", "standard": ""}


@pytest.mark.parametrize(("agent", "first"), [("of-a", "a-rules"), ("of-b", "b-rules")])
def test_of_equal_abilities_those_of_the_agents_team_come_first(
    teams: Workspace, agent: str, first: str
) -> None:
    for team in ("a", "b"):
        teams.write(
            f"teams/{team}/abilities/{team}-rules.md", "---\ntags: [release]\n---\nRules.\n"
        )
        teams.write(
            f"teams/{team}/agents/of-{team}.yaml", f"agentId: of-{team}\ndescription: Works.\n"
        )
    with opened(teams) as catalog:
        made = catalog.inject("plan the release", agent=agent)
        assert made.injected_abilities[0] == first
        assert set(made.injected_abilities) == {"a-rules", "b-rules"}

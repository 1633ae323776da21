"""Which files belong to the team of a folder."""

import pytest

from conftest import Workspace
from metier.discover.walk import discover
from metier.values.files import Origin, Root, Team

TEAM = Team("a", "teams/a")


@pytest.mark.parametrize(("origin", "name"), [("workspace", "a"), ("untrusted", "a"), ("user", "")])
@pytest.mark.parametrize("prefix", ["", "./", "label/"])
def test_a_file_below_the_folder_belongs_to_its_team_unless_it_is_the_users(
    workspace: Workspace, origin: Origin, name: str, prefix: str
) -> None:
    workspace.skill("inside", folder="teams/a/skills/inside")
    workspace.skill("beside", folder="teams/ab/skills/beside")
    root = str(workspace.root)
    roots = [Root("skill", root, root, "workspace", 0, prefix, origin=origin)]
    found = discover(roots, teams={f"{root}/teams/a": TEAM})
    assert [one.team.name for one in found] == [name, ""]


def test_the_root_of_the_files_may_be_inside_the_folder(workspace: Workspace) -> None:
    workspace.write("teams/a/agents/one.yaml", "agentId: one\ndescription: d\n")
    folder = str(workspace.root / "teams/a/agents")
    teams = {str(workspace.root / "teams/a"): TEAM}
    (found,) = discover([Root("agent", folder, folder, "workspace", 0, "agents/")], teams=teams)
    assert found.team == TEAM

"""Teams over MCP: the skills of both teams are listed, read and resolved for."""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.server.lowlevel import Server

from conftest import Workspace
from mcp_served import asked, called, data_of, refreshed
from metier.mcp.serve import serving
from metier.values.files import Team


@pytest.fixture
def server(workspace: Workspace) -> Iterator[Server[Any]]:
    for team in ("a", "b"):
        workspace.skill(
            "deploy",
            folder=f"teams/{team}/skills/deploy",
            extra="metadata:\n  contract: DCI/1 P(deploy-service) R(sign-off)",
            body=f"As team {team} does.",
        )
        workspace.skill(
            "sign", folder=f"teams/{team}/skills/sign", extra="capabilities: [sign-off]"
        )
    workspace.trust()
    teams = (Team("a", "teams/a", "A"), Team("b", "teams/b"))
    with serving(lambda: refreshed(workspace.root, teams=teams), allow_run=False) as made:
        yield made


def test_each_skill_of_one_name_has_a_row_and_an_address_of_its_own(server: Server[Any]) -> None:
    rows = data_of(called(server, "skill_list", {"search": "deploy"}))["skills"]
    assert [(one["team"], one.get("owner")) for one in rows] == [("a", "A"), ("b", None)]

    async def texts(client: Client) -> list[str]:
        return [str((await client.read_resource(one["uri"])).contents[0]) for one in rows]

    for team, text in zip("ab", asked(server, texts), strict=True):
        assert f"As team {team} does." in text


@pytest.mark.parametrize("team", ["a", "b"])
def test_a_handle_names_the_consumer(server: Server[Any], team: str) -> None:
    report = data_of(called(server, "capability_resolve", {"consumer": f"{team}/deploy"}))
    assert report["selected"] == [f"sign::teams/{team}/skills/sign"]

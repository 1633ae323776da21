"""Prompts, one for each agent, and the text that is only read on request."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel import Server
from mcp.types import GetPromptResult, TextContent, TextResourceContents

from conftest import Workspace
from mcp_served import ERAS, asked, example, server_over

REFERENCE = "metier://reference/SYSTEM_ARCHITECTURE.md"
AGENTS = ["release-manager", "researcher", "reviewer", "standard", "writer"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server[Any]]:
    with server_over(example(tmp_path)) as made:
        yield made


def prompt(server: Any, name: str, era: str = "auto", **args: str) -> list[str]:
    async def talk(client: Client) -> GetPromptResult:
        answer = await client.get_prompt(name, args)
        assert isinstance(answer, GetPromptResult)
        return answer

    messages = asked(server, talk, era).messages
    assert all(one.role == "user" for one in messages)
    return [one.content.text for one in messages if isinstance(one.content, TextContent)]


@pytest.mark.parametrize("era", ERAS)
def test_there_is_one_prompt_for_each_agent(server: Server[Any], era: str) -> None:
    async def talk(client: Client) -> Any:
        return (await client.list_prompts()).prompts

    prompts = asked(server, talk, era)
    assert [one.name for one in prompts] == AGENTS
    assert [argument.name for one in prompts for argument in one.arguments] == ["task"] * 5
    assert all(one.description for one in prompts)


@pytest.mark.parametrize("era", ERAS)
def test_a_prompt_has_the_abilities_the_words_of_the_agent_and_the_task(
    server: Server[Any], era: str
) -> None:
    before, task = prompt(server, "release-manager", era, task="release the shop")
    assert task == "release the shop"
    assert before.index("# Releases from the main branch") < before.index("You prepare releases")


def test_the_agent_that_is_always_there_says_the_task(server: Server[Any]) -> None:
    assert prompt(server, "standard", task="do it")[-1] == "do it"


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("nobody", {"task": "x"}, "NOT_FOUND"),
        ("reviewer", {}, "USAGE"),
        ("reviewer", {"task": "  "}, "USAGE"),
    ],
)
def test_a_prompt_that_cannot_be_made_is_refused_with_a_code(
    server: Server[Any], name: str, args: dict[str, str], code: str
) -> None:
    with pytest.raises(MCPError) as caught:
        prompt(server, name, **args)
    assert caught.value.data["code"] == code
    assert caught.value.data["hint"]


def test_an_agent_without_its_core_ability_is_refused(workspace: Workspace) -> None:
    workspace.write(
        "agents/a.yaml", "agentId: a\ndescription: Does it.\nabilities:\n  core: [gone]\n"
    )
    with server_over(workspace.root) as server, pytest.raises(MCPError) as caught:
        prompt(server, "a", task="x")
    assert caught.value.data["code"] == "ABILITY_NOT_FOUND"


def test_agents_that_are_off_have_no_prompt(workspace: Workspace) -> None:
    workspace.write("agents/a.yaml", "agentId: a\ndescription: Does it.\nenabled: false\n")
    with server_over(workspace.root) as server, pytest.raises(MCPError):
        prompt(server, "a", task="x")


# SYSTEM_ARCHITECTURE.md


def reference(server: Any, era: str = "auto") -> tuple[list[str], str]:
    async def talk(client: Client) -> tuple[list[str], str]:
        uris = [one.uri for one in (await client.list_resources()).resources]
        (content,) = (await client.read_resource(REFERENCE)).contents
        assert isinstance(content, TextResourceContents)
        return uris, content.text

    return asked(server, talk, era)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("place", ["SYSTEM_ARCHITECTURE.md", "docs/SYSTEM_ARCHITECTURE.md"])
def test_the_architecture_is_the_first_resource(workspace: Workspace, place: str, era: str) -> None:
    workspace.write(place, "# All of it\n")
    workspace.skill("one")
    with server_over(workspace.root) as server:
        uris, text = reference(server, era)
    assert uris == [REFERENCE, "skill://skills/one/SKILL.md"]
    assert text == "# All of it\n"


def test_an_architecture_that_leads_out_of_the_workspace_is_none(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (workspace.root / "SYSTEM_ARCHITECTURE.md").symlink_to("../secret")
    with server_over(workspace.root) as server, pytest.raises(MCPError, match="no resource"):
        reference(server)

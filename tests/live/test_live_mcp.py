"""The MCP server in real hosts: tools and resources arrive, and go with the entry."""

from pathlib import Path

import pytest

from live.lab import Lab, open_lab
from live.sent import strings
from metier.listing.protocols import Call
from metier.listing.recorder import Finished

TOOLS = {"skill_list", "capability_list", "capability_resolve", "context_inject"}
ASK_ALL = {"gemini": ("--approval-mode", "yolo")}
"""Without a terminal, Gemini CLI leaves out each tool for which it would have to ask."""
RESOURCES = {
    "codex": Call("list_mcp_resources", {"server": "metier"}),
    "gemini": Call("list_mcp_resources", {}),
    "opencode": Call("list_mcp_resources", {"server": "metier"}),
}
OF_USER = ("claude-code", "copilot")
"""Copilot CLI has no servers of a project; those of Claude Code need consent at a terminal."""


def lab_with_a_skill(name: str, folder: Path) -> Lab:
    lab = open_lab(name, folder)
    skill = lab.workspace / "skills/mend-kettle/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(
        "---\nname: mend-kettle\ndescription: Mends a kettle that leaks.\n---\n\nSolder.\n"
    )
    return lab


def scope(name: str) -> tuple[str, ...]:
    return ("--user",) if name in OF_USER else ()


def tools_of_metier(finished: Finished) -> set[str]:
    """The tools of metier in the last request, without what the host puts before their names."""
    names = [request.tools for request in finished.requests if request.tools][-1]
    return {tool for tool in TOOLS for name in names if name.endswith(tool)}


@pytest.mark.live
@pytest.mark.parametrize("name", list(RESOURCES))
def test_tools_and_resources_of_the_server_arrive(name: str, tmp_path: Path) -> None:
    lab = lab_with_a_skill(name, tmp_path)
    assert lab.metier("mcp", "install", name, *scope(name)).returncode == 0
    finished = lab.ask("Say hello.", [RESOURCES[name]], ASK_ALL.get(name, ()))
    assert tools_of_metier(finished) == TOOLS, finished.output
    texts = [text for text in strings(finished.requests[-1].body) if "mend-kettle/SKILL.md" in text]
    assert texts, "the resources that the model asked for are not in the next request"


@pytest.mark.live
@pytest.mark.parametrize("name", [*RESOURCES, "copilot", "claude-code"])
def test_an_uninstalled_server_offers_nothing(name: str, tmp_path: Path) -> None:
    lab = lab_with_a_skill(name, tmp_path)
    assert lab.metier("mcp", "install", name, *scope(name)).returncode == 0
    assert lab.metier("mcp", "uninstall", name, *scope(name)).returncode == 0
    finished = lab.ask("Say hello.", more=ASK_ALL.get(name, ()))
    assert finished.requests, finished.output
    assert tools_of_metier(finished) == set()


@pytest.mark.live
def test_codex_waits_for_a_server_that_is_required(tmp_path: Path) -> None:
    """Codex gives any other server one second before it sends its first request without it."""
    lab = lab_with_a_skill("codex", tmp_path)
    assert lab.metier("mcp", "install", "codex").returncode == 0
    with (lab.workspace / ".codex/config.toml").open("a") as settings:
        settings.write("required = true\n")
    finished = lab.ask("Say hello.")
    assert len(finished.requests) == 1
    assert tools_of_metier(finished) == TOOLS


@pytest.mark.live
@pytest.mark.parametrize("name", ["claude-code"])
def test_the_host_names_the_tools_and_loads_them_on_demand(name: str, tmp_path: Path) -> None:
    """The server of a project needs the user's consent at a terminal; the user's own does not."""
    lab = lab_with_a_skill(name, tmp_path)
    assert lab.metier("mcp", "install", name, "--user").returncode == 0
    calls = [
        Call("Bash", {"command": "sleep 3"}),
        Call("ToolSearch", {"query": "select:ListMcpResourcesTool,mcp__metier__skill_list"}),
        Call("ListMcpResourcesTool", {"server": "metier"}),
    ]
    finished = lab.ask("Say hello.", calls)
    named = "\n".join(strings(finished.requests[1].body))
    assert {tool for tool in TOOLS if f"mcp__metier__{tool}" in named} == TOOLS
    assert tools_of_metier(finished) == {"skill_list"}, "only what the model asked for is loaded"
    answered = "\n".join(strings(finished.requests[-1].body))
    assert "mend-kettle/SKILL.md" in answered


@pytest.mark.live
@pytest.mark.parametrize("name", ["copilot"])
def test_the_tools_of_the_server_arrive_in_a_host_without_resources(
    name: str, tmp_path: Path
) -> None:
    lab = lab_with_a_skill(name, tmp_path)
    assert lab.metier("mcp", "install", name, *scope(name)).returncode == 0
    finished = lab.ask("Say hello.", [Call("metier-skill_list", {})])
    assert tools_of_metier(finished) == TOOLS, finished.output
    assert any("mend-kettle" in text for text in strings(finished.requests[-1].body))

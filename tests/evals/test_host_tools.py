"""Which calls of tools load which skills, in each host."""

import pytest

from metier.evals.host_tools import HOST_TOOLS, Loading
from metier.flow.listing import LISTED

NAMES = {"anna": "skills/anna/SKILL.md", "bell": "skills/bell/SKILL.md"}
FILES = {
    "/w/.agents/skills/anna/skill.md": "skills/anna/SKILL.md",
    "r0/bell/skill.md": "skills/bell/SKILL.md",
}


def loading(host: str) -> Loading:
    return Loading(HOST_TOOLS[host], NAMES, FILES)


def test_every_host_with_a_listing_has_tools() -> None:
    assert set(HOST_TOOLS) == set(LISTED)


@pytest.mark.parametrize("host", ["claude-code", "copilot", "gemini", "opencode"])
def test_the_tool_of_a_host_loads_a_skill_by_its_name(host: str) -> None:
    found = loading(host)
    tools = found.tools
    assert found.loaded(tools.loader, {tools.argument: "Anna"}) == [NAMES["anna"]]
    assert found.loaded(tools.loader, {tools.argument: "/bell"}) == [NAMES["bell"]]
    assert found.loaded(tools.loader, {tools.argument: "nobody"}) == []
    required = next(one for one in tools.specs if one.name == tools.loader).parameters["required"]
    assert required == [tools.argument]


def test_a_model_that_gives_the_name_in_another_argument_is_understood() -> None:
    assert loading("claude-code").loaded("Skill", {"command": "anna"}) == [NAMES["anna"]]
    assert loading("claude-code").loaded("Skill", "not json") == []


@pytest.mark.parametrize(
    ("command", "skills"),
    [
        ("cat /w/.agents/skills/anna/SKILL.md", ["anna"]),
        ("sed -n 1,200p 'r0/bell/SKILL.md'", ["bell"]),
        ("cat /w/.agents/skills/anna/SKILL.md r0/bell/SKILL.md", ["anna", "bell"]),
        ("cat /elsewhere/w/.agents/skills/anna/SKILL.md", []),
        ("cat /other0/bell/SKILL.md", []),
        ("cat xr0/bell/SKILL.md r0/bell/SKILL.md", ["bell"]),
        ("ls /w/.agents/skills", []),
    ],
)
def test_reading_the_file_of_a_listed_skill_loads_it(command: str, skills: list[str]) -> None:
    found = loading("codex").loaded("exec_command", {"cmd": command})
    assert found == [NAMES[one] for one in skills]


def test_commands_may_be_lists() -> None:
    args = {"cmd": ["bash", "-lc", "cat r0/bell/SKILL.md"]}
    assert loading("codex").loaded("exec_command", args) == [NAMES["bell"]]

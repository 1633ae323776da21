"""Manifests, lock files and commands say where a skill comes from, and nothing is started."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace, boundary_of
from metier.catalog import Catalog
from metier.cli import run
from metier.config import Config
from metier.values.packages import Package

TOP = "plugins/chat"


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    """Not refreshed yet."""
    config = Config(host_folders=True, is_trusted=True)
    with Catalog.in_memory(boundary_of(workspace.root, config)) as made:
        yield made


@pytest.fixture
def home(empty_home: Path) -> Workspace:
    return Workspace(empty_home)


def package(catalog: Catalog, name: str) -> Package:
    catalog.refresh()
    return catalog.package_of(catalog.row("skill", name))


def plugin(place: Workspace, top: str = TOP, **manifest: Any) -> None:
    place.skill("greet", folder=f"{top}/skills/greet")
    place.write(f"{top}/.claude-plugin/plugin.json", json.dumps({"name": "chat", **manifest}))


def test_a_skill_with_nothing_beside_it_comes_from_nowhere(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill("alone")
    found = package(catalog, "alone")
    assert found == Package()
    assert found.to_json() == {}


def test_a_plugin_names_its_version_agents_commands_and_servers(
    workspace: Workspace, catalog: Catalog
) -> None:
    plugin(workspace, version="1.2.0")
    workspace.write(f"{TOP}/agents/reviewer.md", "text")
    workspace.write(f"{TOP}/commands/b.md", "text")
    workspace.write(f"{TOP}/commands/a.md", "text")
    workspace.write(f"{TOP}/commands/notes.txt", "text")
    server = {"command": "touch", "args": [str(workspace.root / "started")]}
    workspace.write(f"{TOP}/.mcp.json", json.dumps({"mcpServers": {"chat": server}}))
    assert package(catalog, "chat:greet") == Package(
        version="1.2.0", agents=("reviewer",), commands=("a", "b"), servers=("chat",)
    )
    assert not (workspace.root / "started").exists()


def test_the_servers_of_the_manifest_count_before_those_of_the_file(
    workspace: Workspace, catalog: Catalog
) -> None:
    plugin(workspace, mcpServers={"inline": {}})
    workspace.write(f"{TOP}/.mcp.json", json.dumps({"mcpServers": {"file": {}}}))
    assert package(catalog, "chat:greet").servers == ("inline",)


def test_a_marketplace_above_names_itself_and_the_version(
    workspace: Workspace, catalog: Catalog
) -> None:
    plugin(workspace)
    listed = [{"name": "other", "version": "9"}, "odd", {"name": "chat", "version": "2.0.0"}]
    data = {"name": "our-market", "plugins": listed}
    workspace.write(".claude-plugin/marketplace.json", json.dumps(data))
    found = package(catalog, "chat:greet")
    assert (found.marketplace, found.version) == ("our-market", "2.0.0")


def test_an_installed_plugin_is_from_the_marketplace_it_was_installed_from(
    home: Workspace, catalog: Catalog
) -> None:
    top = ".claude/plugins/cache/official/chat/3.0.0"
    plugin(home, top)
    entry = {"installPath": str(home.root / top), "version": "3.0.0"}
    noted = {"plugins": {"chat@official": [entry]}}
    home.write(".claude/plugins/installed_plugins.json", json.dumps(noted))
    found = package(catalog, "chat:greet")
    assert (found.marketplace, found.version) == ("official", "3.0.0")


def test_lock_files_name_where_skills_were_installed_from(
    workspace: Workspace, home: Workspace, catalog: Catalog
) -> None:
    workspace.skill("a", folder=".agents/skills/a")
    home.skill("b", folder=".agents/skills/b")
    entry = {"source": "owner/repository", "sourceType": "github", "computedHash": "0" * 64}
    lock = {"version": 1, "skills": {"a": entry}}
    workspace.write("skills-lock.json", json.dumps(lock))
    users = {"version": 3, "skills": {"b": {**entry, "source": "owner/other"}}}
    home.write(".agents/.skill-lock.json", json.dumps(users))
    assert package(catalog, "a").installed_from == "owner/repository"
    assert package(catalog, "b").installed_from == "owner/other"


def test_a_command_of_the_same_name_is_named(workspace: Workspace, catalog: Catalog) -> None:
    workspace.skill("deploy", folder=".claude/skills/deploy")
    file = workspace.write(".claude/commands/deploy.md", "Deploy.")
    assert package(catalog, "deploy").same_command == str(file)
    plugin(workspace)
    file = workspace.write(f"{TOP}/commands/greet.md", "Greet.")
    workspace.write(".claude/commands/greet.md", "Another.")
    assert package(catalog, "chat:greet").same_command == str(file)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "null", '{"plugins": 3, "skills": []}', "[" * 9_999]
)
def test_files_that_are_not_as_expected_say_nothing(
    workspace: Workspace, catalog: Catalog, text: str
) -> None:
    plugin(workspace)
    for file in ("skills-lock.json", ".claude-plugin/marketplace.json", f"{TOP}/.mcp.json"):
        workspace.write(file, text)
    assert package(catalog, "chat:greet") == Package()


def test_links_out_of_the_workspace_are_not_read(
    workspace: Workspace, catalog: Catalog, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("text")
    data = {"skills": {"a": {"source": "secret"}}, "mcpServers": {"secret": {}}}
    (outside / "data.json").write_text(json.dumps(data))
    workspace.skill("a", folder=".agents/skills/a")
    plugin(workspace)
    os.symlink(outside / "data.json", workspace.root / "skills-lock.json")
    os.symlink(outside / "data.json", workspace.root / TOP / ".mcp.json")
    os.symlink(outside, workspace.root / TOP / "commands")
    assert package(catalog, "a") == Package()
    assert package(catalog, "chat:greet") == Package()


def test_show_says_where_a_skill_comes_from(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin(workspace, version="1.2.0")
    workspace.write(f"{TOP}/agents/reviewer.md", "text")
    assert run(["show", "skill", "chat:greet", "--root", str(workspace.root)]) == 0
    printed = capsys.readouterr().out
    assert "plugin version: 1.2.0\n" in printed
    assert "agents of the plugin: reviewer\n" in printed
    assert run(["show", "skill", "chat:greet", "--json", "--root", str(workspace.root)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["package"] == {"version": "1.2.0", "agents": ["reviewer"]}


def test_show_names_the_agents_whose_skills_name_it(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.skill("a")
    workspace.skill("b")
    text = "---\nname: helper\ndescription: Helps with things.\nskills: [a]\n---\nHelp.\n"
    workspace.write(".claude/agents/helper.md", text)
    assert run(["show", "skill", "a", "--json", "--root", str(workspace.root)]) == 0
    assert json.loads(capsys.readouterr().out)["namedBy"] == ["helper"]
    assert run(["show", "skill", "a", "--root", str(workspace.root)]) == 0
    assert "named by agents: helper\n" in capsys.readouterr().out
    assert run(["show", "skill", "b", "--json", "--root", str(workspace.root)]) == 0
    assert "namedBy" not in json.loads(capsys.readouterr().out)

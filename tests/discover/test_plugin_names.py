"""Skills of plugins are called `plugin:name`, so those of two plugins do not collide."""

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conftest import Workspace, boundary_of
from metier.catalog import Catalog
from metier.cli import run
from metier.config import Config
from metier.errors import NotFoundError
from metier.mcp.reading_tools import _skill_list
from metier.mcp.skills import skill_entry
from metier.mcp.uris import find_skill, skill_uri
from metier.values.rows import Row

CACHE = ".claude/plugins/cache/official"


def plugin(place: Workspace, folder: str, name: str | None, *skills: str) -> None:
    """Write a plugin; without a name it has no manifest."""
    for skill in skills:
        place.skill(skill, f"Manages {skill} for {folder}.", folder=f"{folder}/skills/{skill}")
    if name is not None:
        place.write(f"{folder}/.claude-plugin/plugin.json", json.dumps({"name": name}))


def schema(name: str) -> Any:
    folder = resources.files("metier") / "schemas"
    return json.loads((folder / f"{name}.v1.schema.json").read_text())


@pytest.fixture
def home(empty_home: Path) -> Workspace:
    return Workspace(empty_home)


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    """Not refreshed yet."""
    config = Config(host_folders=True, is_trusted=True)
    with Catalog.in_memory(boundary_of(workspace.root, config)) as made:
        yield made


def names(catalog: Catalog) -> list[str]:
    catalog.refresh()
    return [row.name for row in catalog.skills(shadowed=True)]


def row(catalog: Catalog, name: str) -> Row:
    return catalog.row("skill", name)


def test_skills_of_two_plugins_do_not_collide(workspace: Workspace, catalog: Catalog) -> None:
    plugin(workspace, "plugins/discord", "discord", "access")
    plugin(workspace, "plugins/telegram", "telegram", "access")
    assert names(catalog) == ["discord:access", "telegram:access"]
    assert all(one.state == "active" for one in catalog.skills())
    assert catalog.issues() == []
    assert row(catalog, "discord:access").id == ("discord:access::plugins/discord/skills/access")


def test_the_manifest_names_the_plugin_else_its_folder(home: Workspace, catalog: Catalog) -> None:
    plugin(home, f"{CACHE}/a/1.0.0", "alpha", "one")
    plugin(home, f"{CACHE}/beta/2f3a9c", None, "one")
    plugin(home, f"{CACHE}/c/1.0.0", "No Name!", "one")
    home.write(f"{CACHE}/c/1.0.0/.claude-plugin/plugin.json", "{broken")
    assert names(catalog) == ["alpha:one", "beta:one", "c:one"]


@pytest.mark.parametrize("is_list", [True, False])
def test_old_versions_that_the_host_has_kept_do_not_count(
    home: Workspace, catalog: Catalog, is_list: bool
) -> None:
    for version in ("1.0.0", "1.1.0"):
        plugin(home, f"{CACHE}/discord/{version}", "discord", "access", f"new-in-{version[2]}")
    plugin(home, f"{CACHE}/telegram/0.1.0", "telegram", "access")
    entry = {"installPath": str(home.root / CACHE / "discord/1.1.0"), "version": "1.1.0"}
    noted = {"plugins": {"discord@official": [entry] if is_list else entry}}
    home.write(".claude/plugins/installed_plugins.json", json.dumps(noted))
    assert names(catalog) == ["discord:access", "discord:new-in-1", "telegram:access"]
    assert catalog.issues() == []


@pytest.mark.parametrize("text", ["[]", "{", '{"plugins": {"a": [{"installPath": "/"}, 3]}}'])
def test_a_note_of_installed_plugins_that_makes_no_sense_changes_nothing(
    home: Workspace, catalog: Catalog, text: str
) -> None:
    plugin(home, f"{CACHE}/discord/1.0.0", "discord", "access")
    home.write(".claude/plugins/installed_plugins.json", text)
    assert names(catalog) == ["discord:access"]


def test_a_skill_of_the_user_beside_a_plugin_keeps_its_name(
    home: Workspace, catalog: Catalog
) -> None:
    plugin(home, f"{CACHE}/discord/1.0.0", "discord", "access")
    home.skill("access", folder=".claude/skills/access")
    assert names(catalog) == ["access", "discord:access"]


def test_host_folders_inside_a_plugin_do_not_belong_to_it(
    workspace: Workspace, catalog: Catalog
) -> None:
    plugin(workspace, ".", "mine", "chart")
    workspace.skill("release", folder=".claude/skills/release")
    assert names(catalog) == ["mine:chart", "release"]


def test_a_marketplace_is_no_plugin(workspace: Workspace, catalog: Catalog) -> None:
    workspace.write(".claude-plugin/marketplace.json", '{"name": "shop", "plugins": []}')
    workspace.skill("chart")
    assert names(catalog) == ["chart"]


def test_a_link_does_not_name_a_plugin(workspace: Workspace, catalog: Catalog) -> None:
    other = workspace.root.parent / "other"
    other.mkdir()
    (other / "plugin.json").write_text('{"name": "secret"}')
    workspace.skill("chart", folder="p/skills/chart")
    (workspace.root / "p/.claude-plugin").symlink_to(other)
    assert names(catalog) == ["chart"]


def test_a_plugin_that_gets_another_name_is_seen(workspace: Workspace, catalog: Catalog) -> None:
    plugin(workspace, "p", "old", "chart")
    assert names(catalog) == ["old:chart"]
    plugin(workspace, "p", "new", "chart")
    assert names(catalog) == ["new:chart"]


def test_a_name_that_has_the_plugin_in_it_does_not_get_it_twice(
    workspace: Workspace, catalog: Catalog
) -> None:
    plugin(workspace, "p", "discord")
    workspace.skill("discord:access", folder="p/skills/access")
    assert names(catalog) == ["discord:access"]


def test_lint_judges_the_name_in_the_file(workspace: Workspace, catalog: Catalog) -> None:
    plugin(workspace, "p", "discord", "access")
    workspace.skill("other", folder="p/skills/another")
    catalog.refresh()
    assert [(one.code, one.path) for one in catalog.issues()] == [
        ("SK303", "p/skills/another/SKILL.md")
    ]


def test_it_is_read_by_name_and_by_id(workspace: Workspace, catalog: Catalog) -> None:
    plugin(workspace, "p", "discord", "access")
    catalog.refresh()
    by_id = row(catalog, "discord:access::p/skills/access")
    assert by_id == row(catalog, "discord:access")
    document = catalog.document(by_id)
    assert (document.name, document.body) == ("discord:access", "Do it.")


def test_who_leaves_the_plugin_away_is_told_the_name(
    workspace: Workspace, catalog: Catalog
) -> None:
    plugin(workspace, "p", "discord", "access")
    catalog.refresh()
    with pytest.raises(NotFoundError) as raised:
        row(catalog, "access")
    assert raised.value.hint == "did you mean 'discord:access'?"
    with pytest.raises(NotFoundError) as raised:
        catalog.resolve(["x"], consumer="access")
    assert raised.value.hint == "did you mean 'discord:access'?"


def test_a_plugin_skill_provides_what_it_says(workspace: Workspace, catalog: Catalog) -> None:
    plugin(workspace, "p", "discord")
    extra = "capabilities: [chat-access]"
    workspace.skill("access", folder="p/skills/access", extra=extra)
    catalog.refresh()
    assert catalog.providers("chat-access") == ["discord:access"]
    made = catalog.resolve(["chat-access"], only=["discord:access"])
    assert made.selected == ("discord:access::p/skills/access",)


def test_its_address_has_the_folders_and_the_name_in_its_file(
    workspace: Workspace, catalog: Catalog
) -> None:
    plugin(workspace, "plugins/discord", "discord", "access")
    plugin(workspace, "plugins/telegram", "telegram", "access")
    workspace.skill("access", folder="skills/access")
    catalog.refresh()
    addresses = [skill_uri(one) for one in catalog.skills()]
    assert addresses == [
        "skill://skills/access/SKILL.md",
        "skill://plugins/discord/skills/access/SKILL.md",
        "skill://plugins/telegram/skills/access/SKILL.md",
    ]
    for one in catalog.skills():
        assert find_skill(catalog, skill_uri(one)) == (one, ["SKILL.md"])
    entry = skill_entry(catalog, row(catalog, "discord:access"))
    assert entry["frontmatter"]["name"] == "access"


def test_the_list_for_agents_names_the_plugin(workspace: Workspace, catalog: Catalog) -> None:
    plugin(workspace, "p", "discord", "access")
    catalog.refresh()
    answer = _skill_list(catalog, {})
    jsonschema.validate(answer, schema("skill-list"))
    assert [one["plugin"] for one in answer["skills"]] == ["discord"]


def test_the_command_line_lists_and_shows_it(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin(workspace, "p", "discord", "access")
    root = ["--root", str(workspace.root)]
    assert run(["list", "--json", *root]) == 0
    answer = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, schema("document-list"))
    (listed,) = answer
    assert (listed["name"], listed["plugin"]) == ("discord:access", "discord")
    assert run(["show", "skill", "discord:access", *root]) == 0
    assert "id: discord:access::p/skills/access" in capsys.readouterr().out
    assert run(["show", "skill", "access", *root]) != 0
    assert "did you mean 'discord:access'?" in capsys.readouterr().err


def test_a_skill_beside_the_manifest_of_a_plugin_is_read_too(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.write("bot/.claude-plugin/plugin.json", '{"name": "bot"}')
    workspace.skill("a", folder="bot/.claude-plugin/skills/a")
    catalog.refresh()
    assert catalog.row("skill", "a").path == "bot/.claude-plugin/skills/a/SKILL.md"

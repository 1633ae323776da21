"""Plugin and marketplace files: what they name is there."""

import json
from typing import Any

import pytest

from metier.lint.plugins import lint_marketplace, lint_plugin

THERE = {
    "skills",
    "skills/a",
    "commands/a.md",
    "plugins/x",
    "plugins/x/skills/a",
    ".",
    "hooks.json",
}
PATH = ".claude-plugin/plugin.json"


def plugin(**data: Any) -> list[str]:
    text = json.dumps({"name": "x", **data}, indent=2)
    return [issue.message for issue in lint_plugin(text, PATH, THERE.__contains__)]


def marketplace(*plugins: Any, **data: Any) -> list[str]:
    text = json.dumps({"name": "m", "plugins": plugins, **data}, indent=2)
    return [issue.message for issue in lint_marketplace(text, PATH, THERE.__contains__)]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"skills": "./skills/"},
        {"skills": ["./skills/a"], "commands": "./commands/a.md"},
        {"hooks": {"PreToolUse": []}, "mcpServers": {"a": {"command": "missing"}}},
        {"hooks": "./hooks.json", "homepage": "./missing"},
    ],
)
def test_a_plugin_that_names_what_is_there_is_fine(data: dict[str, Any]) -> None:
    assert plugin(**data) == []


@pytest.mark.parametrize("named", ["./skill/", "../skills", "/skills", "./skills/../../x"])
def test_a_plugin_that_names_what_is_not_there_is_reported(named: str) -> None:
    assert plugin(skills=named) == [f"skills names '{named}', which does not exist"]


def test_the_finding_is_at_the_path() -> None:
    text = json.dumps({"name": "x", "commands": ["./commands/a.md", "./b.md"]}, indent=2)
    (issue,) = lint_plugin(text, PATH, THERE.__contains__)
    assert (issue.code, issue.severity, issue.line, issue.column) == ("PL002", "warning", 5, 5)


@pytest.mark.parametrize(
    "entry",
    [
        {"source": "./"},
        {"source": "./plugins/x", "skills": ["./skills/a"]},
        {"source": {"source": "github", "repo": "a/b"}, "skills": ["./skills/z"]},
        {"source": "https://example.org/x.git"},
    ],
)
def test_a_marketplace_whose_plugins_are_there_or_elsewhere_is_fine(entry: dict[str, Any]) -> None:
    assert marketplace({"name": "x", **entry}) == []


def test_a_marketplace_may_say_where_its_plugins_are() -> None:
    assert marketplace({"name": "x", "source": "x"}, metadata={"pluginRoot": "./plugins"}) == []
    assert len(marketplace({"name": "x", "source": "x"})) == 1


def test_a_missing_plugin_and_a_missing_skill_are_reported_once_each() -> None:
    lost = {"name": "lost", "source": "./lost", "skills": ["./skills/a"]}
    found = {"name": "x", "source": "./plugins/x", "skills": ["./skills/a", "./skills/b"]}
    assert marketplace(lost, found) == [
        "the plugin 'lost' is not in './lost'",
        "skills of 'x' names './skills/b', which does not exist",
    ]


@pytest.mark.parametrize("text", ['{"name": "x",}', "", "[" * 100_000])
def test_what_is_no_json_is_an_error(text: str) -> None:
    (issue,) = lint_plugin(text, PATH, THERE.__contains__)
    assert (issue.code, issue.severity) == ("PL001", "error")


@pytest.mark.parametrize("text", ["[]", "3", '{"skills": 3, "plugins": 4}', '{"plugins": [1, {}]}'])
def test_other_values_than_expected_are_no_finding(text: str) -> None:
    assert lint_plugin(text, PATH, THERE.__contains__) == []
    assert lint_marketplace(text, PATH, THERE.__contains__) == []

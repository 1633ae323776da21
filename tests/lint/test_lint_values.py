"""Values of front matter that hosts do not know, and those that they do."""

import pytest

from metier.hosts.known import HOSTS
from metier.lint import lint_document
from metier.parse.kinds import parse_document
from metier.values.outcomes import Issue

ABOUT = "description: Draws a chart from a table. Use when numbers should be seen."


def lint(*front: str, name: str = "charts") -> list[Issue]:
    text = "\n".join(["---", f"name: {name}", ABOUT, *front, "---", "Draw.", ""])
    parsed = parse_document("skill", text.encode(), f"skills/{name}/SKILL.md")
    return [*parsed.issues, *lint_document(parsed)]


def codes(*front: str, name: str = "charts") -> list[str]:
    return [issue.code for issue in lint(*front, name=name)]


@pytest.mark.parametrize("value", ["1.0", "true", "[a, b]", "{b: c}", "null"])
def test_a_metadata_value_that_is_not_text_is_noted(value: str) -> None:
    (issue,) = lint(f"metadata:\n  a: {value}")
    assert (issue.code, issue.severity, issue.line) == ("SK319", "info", 5)


def test_all_such_values_are_one_finding() -> None:
    (issue,) = lint("metadata: {a: 1, b: 2, c: text, d: [x]}")
    assert "'a', 'b', 'd' are not text" in issue.message


@pytest.mark.parametrize(
    "metadata", ["{a: text, b: '1.0'}", "{openclaw: {requires: {bins: [jq]}}}", "{}"]
)
def test_texts_and_what_a_runtime_documents_are_fine(metadata: str) -> None:
    assert codes(f"metadata: {metadata}") == []


def test_metadata_that_is_no_mapping_is_reported_once() -> None:
    assert codes("metadata: owned by us") == ["SK307"]


@pytest.mark.parametrize("model", ["gpt-5", "fast", "sonet"])
def test_a_model_that_claude_code_does_not_know_is_noted(model: str) -> None:
    (issue,) = lint(f"model: {model}")
    assert (issue.code, issue.hosts) == ("SK316", ("claude-code",))


@pytest.mark.parametrize(
    "model", ["sonnet", "inherit", "opus[1m]", "claude-opus-5", "us/anthropic.x"]
)
def test_short_and_full_names_of_models_are_fine(model: str) -> None:
    assert codes(f'model: "{model}"') == []


@pytest.mark.parametrize(
    "tools", ["read", "Read, bash(git *)", "[Read, Python]", "Read Terminal Write"]
)
def test_a_tool_that_claude_code_does_not_have_is_noted(tools: str) -> None:
    (issue,) = lint(f"allowed-tools: {tools}")
    assert (issue.code, issue.severity, issue.hosts) == ("SK320", "info", ("claude-code",))


def test_another_case_of_a_tool_is_suggested() -> None:
    (issue,) = lint("disallowed-tools: bash")
    assert issue.hint == "did you mean 'Bash'?"


@pytest.mark.parametrize(
    "tools",
    [
        "Read, Grep, Bash(git log:*), Bash(npm run build *)",
        "Read Write Edit",
        "[Read, 'Bash(ls, cat)', mcp__github__get]",
        '"*"',
        "Agent(Explore)",
    ],
)
def test_tools_with_patterns_and_tools_of_servers_are_fine(tools: str) -> None:
    assert codes(f"allowed-tools: {tools}") == []


def test_an_unknown_hook_event_is_reported_with_what_is_meant() -> None:
    (issue,) = lint("hooks:\n  PreTooluse: []")
    assert (issue.code, issue.severity, issue.line) == ("SK321", "warning", 5)
    assert "PreToolUse" in issue.hint


def test_every_documented_hook_event_is_fine() -> None:
    values = HOSTS["claude-code"].values
    assert values is not None
    assert codes("hooks:", *(f"  {event}: []" for event in values.hook_events)) == []


@pytest.mark.parametrize("value", ['"yes"', "yes", '"true"', "1"])
def test_a_switch_that_is_neither_true_nor_false_is_reported(value: str) -> None:
    (issue,) = lint(f"user-invocable: {value}")
    assert issue.code == "SK307"
    assert set(issue.hosts) == {"claude-code", "copilot", "openclaw"}


@pytest.mark.parametrize("name", ["claude-charts", "my-anthropic-tool"])
def test_a_reserved_word_in_a_name_is_noted_for_uploads(name: str) -> None:
    (issue,) = lint(name=name)
    assert (issue.code, issue.severity) == ("SK322", "info")
    assert issue.matters_to("claude.ai")
    assert not issue.matters_to("claude-code")


def test_a_similar_word_is_not_reserved() -> None:
    assert codes(name="claudia-anthropology") == []

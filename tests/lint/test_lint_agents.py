"""The fields of a profile: each at its limit and beyond it. Workflows have a file of their own."""

from typing import Any

import pytest

from metier.lint import lint_document
from metier.lint.agents import validate_agent
from metier.parse.kinds import parse_document
from metier.values.agents import AgentProfile
from metier.values.outcomes import Issue


def codes(**fields: Any) -> list[str]:
    data = {"agentId": "reviewer", "description": "Reads changes.", **fields}
    return [issue.code for issue in validate_agent(data)]


def lint(text: str, path: str = "agents/reviewer.yaml") -> list[Issue]:
    parsed = parse_document("agent", text.encode(), path)
    return [*parsed.issues, *lint_document(parsed)]


def data_of(text: str, path: str = "agents/reviewer.yaml") -> dict[str, Any]:
    profile = parse_document("agent", text.encode(), path).document
    assert isinstance(profile, AgentProfile)
    return dict(profile.data)


def test_an_id_and_a_description_are_enough() -> None:
    assert codes() == []


def test_id_and_description_are_required_and_both_are_told() -> None:
    assert [issue.code for issue in validate_agent({})] == ["AG701", "AG701"]
    assert codes(agentId=None) == ["AG701"]
    assert codes(description=None) == ["AG701"]


@pytest.mark.parametrize("agent_id", ["a", "code-reviewer", "c3po", "a" * 50])
def test_an_id_starts_with_a_letter_and_holds_small_letters_digits_hyphens(agent_id: str) -> None:
    assert codes(agentId=agent_id) == []


@pytest.mark.parametrize("agent_id", ["", "1a", "A", "a b", "a_b", "-a", "a" * 51, 7])
def test_any_other_id_is_an_error(agent_id: object) -> None:
    assert codes(agentId=agent_id) == ["AG702"]


@pytest.mark.parametrize(
    ("field", "longest"),
    [
        ("description", 2000),
        ("displayName", 100),
        ("role", 200),
        ("team", 100),
        ("systemPrompt", 10_000),
    ],
)
def test_texts_have_a_limit(field: str, longest: int) -> None:
    assert codes(**{field: "a" * longest}) == []
    assert codes(**{field: "a" * (longest + 1)}) == ["AG702"]
    assert codes(**{field: 7}) == ["AG702"]


def test_a_description_is_not_empty() -> None:
    assert codes(description="") == ["AG702"]


LISTS = [("tags", 20, 50), ("expertise", 20, 100), ("capabilities", 50, 100)]
SELECTION_LISTS = [
    ("exampleTasks", 10, 200),
    ("notForTasks", 10, 200),
    ("primaryIntents", 20, 100),
    ("secondarySignals", 20, 100),
    ("negativeIntents", 20, 100),
    ("keywords", 50, 50),
    ("antiKeywords", 50, 50),
]


@pytest.mark.parametrize(("field", "entries", "longest"), LISTS)
def test_lists_have_a_limit_for_entries_and_for_each_entry(
    field: str, entries: int, longest: int
) -> None:
    assert codes(**{field: ["a" * longest] * entries}) == []
    assert codes(**{field: ["a"] * (entries + 1)}) == ["AG702"]
    assert codes(**{field: ["a" * (longest + 1)]}) == ["AG702"]
    assert codes(**{field: ["", 7]}) == ["AG702", "AG702"]
    assert codes(**{field: "a"}) == ["AG702"]


@pytest.mark.parametrize(("field", "entries", "longest"), SELECTION_LISTS)
def test_selection_lists_have_a_limit_for_entries_and_for_each_entry(
    field: str, entries: int, longest: int
) -> None:
    def found(value: object) -> list[str]:
        return codes(selectionMetadata={field: value})

    assert found(["a" * longest] * entries) == []
    assert found(["a"] * (entries + 1)) == ["AG702"]
    assert found(["a" * (longest + 1)]) == ["AG702"]
    assert found("a") == ["AG702"]


def test_core_abilities_have_a_limit_for_entries_and_for_each_entry() -> None:
    assert codes(abilities={"core": ["a" * 100] * 50, "maxTokens": 1}) == []
    assert codes(abilities={"core": ["a"] * 51}) == ["AG702"]
    assert codes(abilities={"core": ["a" * 101]}) == ["AG702"]
    assert codes(abilities={"maxTokens": 0}) == ["AG702"]
    assert codes(abilities={"other": 1}) == ["AG703"]


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [("priority", 1, 100), ("maxTokens", 1, 200_000), ("maxConcurrency", 1, 10)],
)
def test_whole_numbers_have_a_range(field: str, least: int, most: int) -> None:
    assert codes(**{field: least}) == codes(**{field: most}) == []
    for value in (least - 1, most + 1, least + 0.5, str(least), True):
        assert codes(**{field: value}) == ["AG702"]


@pytest.mark.parametrize(
    ("section", "field", "least", "most"),
    [
        ("checkpoint", "interval", 0, None),
        ("checkpoint", "retentionHours", 1, 720),
        ("checkpoint", "maximum", 1, 100),
        ("delegation", "maxDepth", 0, 10),
        ("delegation", "timeoutMs", 1_000, 3_600_000),
        ("limits", "tokens", 1, None),
        ("limits", "steps", 1, None),
    ],
)
def test_whole_numbers_in_sections_have_a_range(
    section: str, field: str, least: int, most: int | None
) -> None:
    assert codes(**{section: {field: least}}) == []
    assert codes(**{section: {field: most or 10**9}}) == []
    beyond = [] if most is None else [most + 1]
    for value in (least - 1, *beyond, 1.5, "1", True):
        assert codes(**{section: {field: value}}) == ["AG702"]


@pytest.mark.parametrize("field", ["cost", "seconds"])
def test_cost_and_seconds_are_numbers_from_0_on(field: str) -> None:
    assert codes(limits={field: 0}) == codes(limits={field: 0.25}) == []
    assert codes(limits={field: -0.01}) == codes(limits={field: "1"}) == ["AG702"]


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("temperature", [0, 0.7, 2], [-0.1, 2.1, "1", True]),
        ("enabled", [True, False], ["yes", 1]),
        ("version", ["1.0.0", "0.10.2"], ["1.0", "v1.0.0", 1.0]),
        ("model", ["anthropic:x", "local:a/b:c"], ["gpt", ":x", "a: b", "a:", 7]),
        ("execution", ["sequential", "parallel"], ["both", "", 7]),
        ("failureStrategy", ["failFast", "continueOnError", "rollback"], ["failfast", "retry"]),
        ("tools", [["read"], []], ["read", [7], [""]]),
        ("skills", [["charts"], []], ["charts", [7]]),
        ("requires", [["web-search"] * 50], [["a"] * 51, ["a" * 101], "a"]),
        ("metadata", [{"any": {"thing": 1}}, {}], [["a"], "a"]),
        ("checkpoint", [{"enabled": False}, {}], [True, {"enabled": "no"}]),
        ("delegation", [{"to": ["writer"]}, {}], [["writer"], {"to": "writer"}]),
        ("workflow", [[]], [{}, "steps"]),
        ("selectionMetadata", [{}], [["a"]]),
    ],
)
def test_the_other_fields_take_what_they_are_for(
    field: str, good: list[object], bad: list[object]
) -> None:
    assert [codes(**{field: value}) for value in good] == [[]] * len(good)
    assert [codes(**{field: value}) for value in bad] == [["AG702"]] * len(bad)


@pytest.mark.parametrize(
    "category", ["orchestrator", "implementer", "reviewer", "specialist", "generalist"]
)
def test_an_agent_category_is_one_of_five(category: str) -> None:
    assert codes(selectionMetadata={"agentCategory": category}) == []
    assert codes(selectionMetadata={"agentCategory": f"{category}s"}) == ["AG702"]


def test_a_redirect_has_a_phrase_and_a_suggestion() -> None:
    redirect = {"phrase": "write a test", "suggest": "tester"}
    assert codes(selectionMetadata={"redirectWhen": [redirect] * 10}) == []
    assert codes(selectionMetadata={"redirectWhen": [redirect] * 11}) == ["AG702"]
    assert codes(selectionMetadata={"redirectWhen": [{"phrase": "a"}]}) == ["AG701"]
    assert codes(selectionMetadata={"redirectWhen": ["a"]}) == ["AG702"]


@pytest.mark.parametrize(
    "fields",
    [
        {"colour": "red"},
        {"checkpoint": {"every": 1}},
        {"delegation": {"depth": 1}},
        {"limits": {"minutes": 1}},
        {"selectionMetadata": {"words": []}},
    ],
)
def test_an_unknown_key_is_an_error_at_the_top_and_in_sections(fields: dict[str, Any]) -> None:
    assert codes(**fields) == ["AG703"]


def test_a_misspelt_key_is_told_the_right_one() -> None:
    (issue,) = lint("agentId: a\ndescription: b\ntemprature: 1\n")
    assert (issue.code, issue.line, issue.hint) == ("AG703", 3, "did you mean 'temperature'?")


def test_every_problem_is_told_at_once_with_its_line() -> None:
    text = "agentId: A\npriority: 0\ntags: [a, 7]\ncolour: red\n"
    found = [(issue.code, issue.line) for issue in lint(text)]
    assert found == [("AG701", 1), ("AG702", 1), ("AG702", 2), ("AG702", 3), ("AG703", 4)]


@pytest.mark.parametrize("key", ["agentId", "agent_id", "agent-id", "name"])
def test_the_id_may_be_spelled_in_several_ways(key: str) -> None:
    assert lint(f"{key}: reviewer\ndescription: Reads.\n") == []
    assert data_of(f"{key}: reviewer\ndescription: Reads.\n")["agentId"] == "reviewer"


@pytest.mark.parametrize(
    "line",
    ["abilities: {core: [a]}", "abilities: [a]", "coreAbilities: [a]", "core_abilities: [a]"],
)
def test_core_abilities_may_be_written_in_several_ways(line: str) -> None:
    text = f"agentId: a\ndescription: b\n{line}\n"
    assert lint(text) == []
    assert data_of(text)["abilities"] == {"core": ["a"]}


def test_selection_keys_may_stand_at_the_top_level_with_the_same_limits() -> None:
    text = "agentId: a\ndescription: b\nkeywords: [x]\nselectionMetadata: {exampleTasks: [y]}\n"
    assert lint(text) == []
    assert data_of(text)["selectionMetadata"] == {"keywords": ["x"], "exampleTasks": ["y"]}
    assert [issue.code for issue in lint("agentId: a\ndescription: b\nkeywords: x\n")] == ["AG702"]


def test_in_markdown_the_body_is_the_system_prompt_and_has_its_limit() -> None:
    head = "---\nagentId: a\ndescription: b\n---\n"
    assert data_of(f"{head}Be kind.\n", "agents/a.md")["systemPrompt"] == "Be kind."
    assert lint(f"{head}{'p' * 10_000}", "agents/a.md") == []
    assert [i.code for i in lint(f"{head}{'p' * 10_001}", "agents/a.md")] == ["AG702"]


def test_in_json_findings_have_their_line_too() -> None:
    (issue,) = lint('{"agentId": "a",\n "description": "b",\n "priority": 0}', "agents/a.json")
    assert (issue.code, issue.line) == ("AG702", 3)


def test_a_disabled_standard_is_a_warning_where_it_is_disabled() -> None:
    (issue,) = lint("agentId: standard\ndescription: d\nenabled: false\n", "agents/standard.yaml")
    assert (issue.code, issue.severity, issue.line) == ("AG708", "warning", 3)
    assert "the built-in agent is used" in issue.message


@pytest.mark.parametrize(
    "text",
    [
        "agentId: standard\ndescription: d\n",
        "agentId: standard\ndescription: d\nenabled: true\n",
        "agentId: other\ndescription: d\nenabled: false\n",
    ],
)
def test_other_profiles_may_be_disabled_and_standard_enabled(text: str) -> None:
    assert lint(text) == []


@pytest.mark.parametrize("number", ["9" * 5_000, "-" + "9" * 41, "9" * 41 + ".5"])
def test_a_number_that_is_too_long_is_called_a_number(number: str) -> None:
    text = f"agentId: a\ndescription: Does it.\npriority: {number}\n"
    (issue,) = lint(text)
    assert issue.message == (
        "'priority' must be a whole number, not a number with more digits than metier reads"
    )

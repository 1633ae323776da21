"""`agents/*.yaml`, `.json`, `.md` → AgentProfile: one profile, whatever the format."""

import json
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.findings import CODES
from metier.index.agents import AgentRegistry
from metier.lint import lint_document
from metier.parse.agents import parse_agent
from metier.values.agents import AgentProfile
from metier.values.files import Parsed
from metier.values.outcomes import Issue
from soak import examples


def parse(text: str, path: str = "agents/reviewer.yaml") -> Parsed:
    return parse_agent(text.encode(), path)


def agent_in(parsed: Parsed) -> AgentProfile:
    assert isinstance(parsed.document, AgentProfile), parsed.issues
    return parsed.document


def places(issues: Sequence[Issue]) -> list[tuple[str, int, int]]:
    return [(issue.code, issue.line, issue.column) for issue in issues]


def findings(text: str, path: str = "agents/reviewer.yaml") -> list[tuple[str, int, int]]:
    """Everything that parsing and linting say, with its place."""
    parsed = parse(text, path)
    return places([*parsed.issues, *lint_document(parsed)])


HEAD = "agentId: reviewer\ndescription: Reviews.\n"


# Three formats

YAML = """\
agentId: reviewer
description: Reviews pull requests.
displayName: The reviewer
role: Senior reviewer
team: core
tags: [review, quality]
capabilities: [code-review]
priority: 70
enabled: false
systemPrompt: |-
  Read first.

  Then speak.
"""
EXPECTED = {
    "agentId": "reviewer",
    "description": "Reviews pull requests.",
    "displayName": "The reviewer",
    "role": "Senior reviewer",
    "team": "core",
    "tags": ["review", "quality"],
    "capabilities": ["code-review"],
    "priority": 70,
    "enabled": False,
    "systemPrompt": "Read first.\n\nThen speak.",
}
MARKDOWN = "---\n" + YAML[: YAML.index("systemPrompt")] + "---\n\nRead first.\n\nThen speak.\n\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("agents/reviewer.yaml", YAML),
        ("agents/reviewer.yml", f"---\n{YAML}"),
        ("agents/reviewer.json", json.dumps(EXPECTED)),
        ("agents/reviewer.json", json.dumps(EXPECTED, indent=2)),
        ("agents/reviewer.json", json.dumps(EXPECTED, indent="\t")),
        ("agents/reviewer.json", "\ufeff" + json.dumps(EXPECTED)),
        ("agents/reviewer.md", MARKDOWN),
    ],
    ids=["yaml", "yml", "json", "json-indented", "json-tabs", "json-bom", "markdown"],
)
def test_one_profile_reads_the_same_in_every_format(path: str, text: str) -> None:
    parsed = parse(text, path)
    made = agent_in(parsed)
    assert [issue for issue in parsed.issues if issue.is_error] == []
    assert made == AgentProfile(
        agent_id="reviewer",
        description="Reviews pull requests.",
        display_name="The reviewer",
        role="Senior reviewer",
        team="core",
        tags=("review", "quality"),
        capabilities=("code-review",),
        priority=70,
        enabled=False,
        system_prompt="Read first.\n\nThen speak.",
        path=path,
        data=EXPECTED,
    )


def test_defaults_hold_where_nothing_is_written() -> None:
    made = agent_in(parse(HEAD))
    assert (made.priority, made.enabled, made.system_prompt) == (50, True, "")
    assert made.name == made.id == "reviewer"
    assert made.data == {"agentId": "reviewer", "description": "Reviews."}


def test_a_written_system_prompt_counts_before_the_body() -> None:
    made = agent_in(parse(f"---\n{HEAD}systemPrompt: written\n---\nbody", "agents/a.md"))
    assert made.system_prompt == "written"


def test_a_markdown_profile_without_a_body_has_no_prompt() -> None:
    made = agent_in(parse(f"---\n{HEAD}---\n", "agents/a.md"))
    assert made.system_prompt == ""
    assert "systemPrompt" not in made.data


def test_markdown_without_front_matter_is_no_profile() -> None:
    parsed = parse("# Reviewer\n", "agents/a.md")
    assert parsed.document is None
    assert places(parsed.issues) == [("FM101", 1, 1)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "FM114"),
        ("a: b: c", "FM104"),
        ("- a", "FM109"),
        ("a: &b c", "FM106"),
        ("text", "FM109"),
    ],
)
def test_a_yaml_profile_is_read_strictly(text: str, code: str) -> None:
    parsed = parse(text)
    assert parsed.document is None
    assert [issue.code for issue in parsed.issues] == [code]


# JSON


TRAILING_COMMA = (2, 9) if sys.version_info >= (3, 13) else (3, 1)
"""Newer Pythons point at the comma, older ones at what follows it."""


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("", "FM115", 1, 1),
        ("{", "FM115", 1, 2),
        ('{"a": }', "FM115", 1, 7),
        ('{\n  "a": 1,\n}', "FM115", *TRAILING_COMMA),
        ("{'a': 1}", "FM115", 1, 2),
        ('{"a": NaN}', "FM115", 1, 1),
        ('{"a": -Infinity}', "FM115", 1, 1),
        ('{"a": 1} x', "FM115", 1, 10),
        ("[1]", "FM109", 1, 1),
        ('"text"', "FM109", 1, 1),
        ("null", "FM109", 1, 1),
        pytest.param(f'{{\n"a": {"9" * 5_000}}}', "FM115", 2, 6, id="digits"),
        pytest.param("[" * 100_000, "FM107", 1, 1, id="deep"),
    ],
)
def test_what_is_no_json_object_is_refused(text: str, code: str, line: int, column: int) -> None:
    parsed = parse(text, "agents/a.json")
    assert parsed.document is None
    assert places(parsed.issues) == [(code, line, column)]


@pytest.mark.parametrize("raw", [b"\xff\xfe{\0}\0", b'{"agentId": "caf\xe9"}', b"\0"])
def test_json_that_is_not_utf_8_is_refused(raw: bytes) -> None:
    parsed = parse_agent(raw, "agents/a.json")
    assert parsed.document is None
    assert [issue.code for issue in parsed.issues] == ["FM115"]


def test_json_is_read_by_the_rules_of_json() -> None:
    text = (
        '{"agentId": "a", "description": "x\\/y \\u00e9 \\ud83d\\ude80", "temperature": 1e0, '
        '"metadata": {"yes": "no", "none": null, "big": 1E2, "#": "a: b"}}'
    )
    made = agent_in(parse(text, "agents/a.json"))
    assert made.description == "x/y é 🚀"
    assert made.data["temperature"] == 1.0
    assert made.data["metadata"] == {"yes": "no", "none": None, "big": 100.0, "#": "a: b"}


def test_escaped_surrogate_pairs_are_one_character() -> None:
    text = json.dumps({"agentId": "a", "description": "👩‍💻 ships 🚀"})
    assert "\\ud83d" in text
    parsed = parse(text, "agents/a.json")
    assert parsed.issues == []
    assert agent_in(parsed).description == "👩‍💻 ships 🚀"


@pytest.mark.parametrize("place", ['"description": "%s"', '"metadata": {"a": ["%s"]}', '"%s": 1'])
def test_half_of_a_surrogate_pair_is_refused(place: str) -> None:
    parsed = parse('{"agentId": "a", ' + place % "\\ud83d" + "}", "agents/a.json")
    assert parsed.document is None
    assert [issue.code for issue in parsed.issues] == ["FM115"]


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_of_two_equal_json_keys_the_first_wins_with_an_issue(indent: int | str | None) -> None:
    text = json.dumps(
        {"agentId": "first", "description": "d", "x": {"a": 1, "b": 2}}, indent=indent
    )
    text = text.replace('"x"', '"metadata"').replace('"b"', '"a"')
    text = text.replace('"description"', '"agentId": "second", "description"')
    parsed = parse(text, "agents/a.json")
    made = agent_in(parsed)
    assert made.agent_id == "first"
    assert made.data["metadata"] == {"a": 1}
    assert [issue.code for issue in parsed.issues] == ["FM105", "FM105"]


def test_tab_indented_json_keeps_its_lines() -> None:
    text = json.dumps({"agentId": "a", "description": "d", "priority": 500}, indent="\t")
    assert findings(text, "agents/a.json") == [("AG702", 4, 2)]


def test_json_deeper_than_twenty_levels_is_refused() -> None:
    text = '{"agentId": "a", "description": "d", "metadata": ' + '{"a": ' * 20 + "1" + "}" * 21
    parsed = parse(text, "agents/a.json")
    assert parsed.document is None
    assert [issue.code for issue in parsed.issues] == ["FM107"]


@pytest.mark.parametrize("head", ["\t{", '{"name": "\\ud83d\\ude80", '])
def test_json_deeper_than_twenty_levels_is_refused_even_where_it_is_no_yaml(head: str) -> None:
    text = head + '"description": "d", "metadata": ' + '{"a": ' * 30 + "1" + "}" * 31
    parsed = parse(text, "agents/a.json")
    assert parsed.document is None
    assert [issue.code for issue in parsed.issues] == ["FM107"]


# Spellings


@pytest.mark.parametrize(
    "keys",
    [
        ("agentId", "displayName", "systemPrompt", "maxTokens"),
        ("agent_id", "display_name", "system_prompt", "max_tokens"),
        ("agent-id", "display-name", "system-prompt", "max-tokens"),
        ("name", "display_name", "system-prompt", "maxTokens"),
    ],
)
def test_keys_may_be_spelt_in_three_ways(keys: tuple[str, str, str, str]) -> None:
    own, display, prompt, tokens = keys
    parsed = parse(f"{own}: a\ndescription: d\n{display}: A\n{prompt}: p\n{tokens}: 5\n")
    made = agent_in(parsed)
    assert parsed.issues == []
    assert (made.agent_id, made.display_name, made.system_prompt) == ("a", "A", "p")
    assert list(made.data) == [
        "agentId",
        "description",
        "displayName",
        "systemPrompt",
        "maxTokens",
    ]


def test_of_two_names_of_one_key_the_first_counts_with_an_issue() -> None:
    parsed = parse("name: first\nagentId: second\ndescription: d\n")
    assert agent_in(parsed).agent_id == "first"
    assert places(parsed.issues) == [("FM105", 2, 1)]


def test_keys_of_nested_settings_and_steps_are_put_into_our_spelling() -> None:
    made = agent_in(
        parse(
            HEAD
            + "checkpoint: {retention_hours: 5}\n"
            + "delegation: {max-depth: 2, timeout_ms: 1000}\n"
            + "workflow:\n"
            + "  - step_id: one\n"
            + "    type: loop\n"
            + "    retry-policy: {max_attempts: 2}\n"
            + "    config:\n"
            + "      over: input\n"
            + "      max_iterations: 3\n"
            + "      steps:\n"
            + "        - step-id: two\n"
            + "          type: delegate\n"
            + "          config: {target_agent: b}\n"
            + "    compensate:\n"
            + "      step_id: undo\n"
            + "      type: prompt\n"
            + "      config: {prompt: p, max-tool-rounds: 1}\n"
        )
    )
    assert made.data["checkpoint"] == {"retentionHours": 5}
    assert made.data["delegation"] == {"maxDepth": 2, "timeoutMs": 1000}
    assert made.data["workflow"] == [
        {
            "stepId": "one",
            "type": "loop",
            "retryPolicy": {"maxAttempts": 2},
            "config": {
                "over": "input",
                "maxIterations": 3,
                "steps": [
                    {"stepId": "two", "type": "delegate", "config": {"targetAgent": "b"}},
                ],
            },
            "compensate": {
                "stepId": "undo",
                "type": "prompt",
                "config": {"prompt": "p", "maxToolRounds": 1},
            },
        }
    ]


def test_keys_below_metadata_and_tool_input_stay_as_written() -> None:
    made = agent_in(
        parse(
            HEAD
            + "metadata: {agent_id: x, my-key: 1}\n"
            + "workflow:\n"
            + "  - stepId: a\n"
            + "    type: tool\n"
            + "    config: {tool: t, input: {step_id: 1, max_tokens: 2}}\n"
        )
    )
    assert made.data["metadata"] == {"agent_id": "x", "my-key": 1}
    assert made.data["workflow"][0]["config"]["input"] == {"step_id": 1, "max_tokens": 2}


# Core abilities


@pytest.mark.parametrize(
    "text",
    [
        "abilities:\n  core: [a, b]\n",
        "abilities: [a, b]\n",
        "coreAbilities: [a, b]\n",
        "core_abilities: [a, b]\n",
        "core-abilities: [a, b]\n",
    ],
)
def test_core_abilities_may_be_written_in_three_places(text: str) -> None:
    parsed = parse(HEAD + text)
    assert agent_in(parsed).data["abilities"] == {"core": ["a", "b"]}
    assert "coreAbilities" not in agent_in(parsed).data
    assert parsed.issues == []


def test_core_abilities_beside_other_ability_settings_are_not_lost() -> None:
    made = agent_in(parse(f"{HEAD}abilities: {{maxTokens: 500}}\ncoreAbilities: [a]\n"))
    assert made.data["abilities"] == {"maxTokens": 500, "core": ["a"]}


@pytest.mark.parametrize(
    "text",
    ["coreAbilities: [a]\ncore_abilities: [b]\n", "abilities: [a]\ncoreAbilities: [b]\n"],
)
def test_of_two_lists_of_core_abilities_the_first_counts_with_an_issue(text: str) -> None:
    parsed = parse(HEAD + text)
    assert agent_in(parsed).data["abilities"] == {"core": ["a"]}
    assert [issue.code for issue in parsed.issues] == ["FM105"]


# Selection


def test_selection_keys_at_the_top_level_go_under_selection_metadata() -> None:
    made = agent_in(
        parse(
            HEAD
            + "exampleTasks: [review this]\n"
            + "not_for_tasks: [write code]\n"
            + "anti-keywords: [deploy]\n"
            + "redirectWhen: [{phrase: ship it, suggest: releaser}]\n"
            + "agentCategory: reviewer\n"
        )
    )
    assert made.data == {
        "agentId": "reviewer",
        "description": "Reviews.",
        "selectionMetadata": {
            "exampleTasks": ["review this"],
            "notForTasks": ["write code"],
            "antiKeywords": ["deploy"],
            "redirectWhen": [{"phrase": "ship it", "suggest": "releaser"}],
            "agentCategory": "reviewer",
        },
    }


def test_selection_keys_of_both_places_come_together() -> None:
    made = agent_in(
        parse(f"{HEAD}keywords: [review]\nselection_metadata:\n  anti_keywords: [deploy]\n")
    )
    assert made.data["selectionMetadata"] == {"keywords": ["review"], "antiKeywords": ["deploy"]}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("keywords: [first]\nselectionMetadata:\n  keywords: [second]\n", ("FM105", 5, 3)),
        ("selectionMetadata:\n  keywords: [first]\nkeywords: [second]\n", ("FM105", 5, 1)),
    ],
)
def test_of_one_selection_key_in_both_places_the_first_counts_with_an_issue(
    text: str, place: tuple[str, int, int]
) -> None:
    parsed = parse(HEAD + text)
    assert agent_in(parsed).data["selectionMetadata"] == {"keywords": ["first"]}
    assert places(parsed.issues) == [place]


def test_a_wrong_selection_metadata_is_not_hidden_by_a_key_at_the_top_level() -> None:
    assert ("AG702", 4, 1) in findings(f"{HEAD}keywords: [a]\nselectionMetadata: 5\n")


# Positions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("priority: 500\n", ("AG702", 3, 1)),
        ("team: core\nmax_tokens: 0\n", ("AG702", 4, 1)),
        ("tags:\n  - fine\n  - 5\n", ("AG702", 5, 5)),
        ("delegation:\n  max_depth: 99\n", ("AG702", 4, 3)),
        ("selection_metadata:\n  anti_keywords: [a, 5]\n", ("AG702", 4, 22)),
        ("abilities: {core: [a, 5]}\n", ("AG702", 3, 23)),
        ("unknown: 1\n", ("AG703", 3, 1)),
        ("delegation:\n  unknown: 1\n", ("AG703", 4, 3)),
        (
            "workflow:\n  - step_id: one\n    type: tool\n    config:\n      tool: 5\n",
            ("AG702", 7, 7),
        ),
        (
            "workflow:\n"
            "  - step_id: one\n"
            "    type: loop\n"
            "    config:\n"
            "      over: input\n"
            "      steps:\n"
            "        - step-id: two\n"
            "          type: delegate\n"
            "          config:\n"
            "            target_agent: 5\n",
            ("AG702", 12, 13),
        ),
        (
            "workflow:\n  - stepId: one\n    type: prompt\n    config: {prompt: p}\n"
            "  - stepId: one\n    type: prompt\n    config: {prompt: p}\n",
            ("AG704", 7, 5),
        ),
        ("coreAbilities:\n  - a\n  - 5\n", ("AG702", 5, 5)),
        ("core_abilities: [a, 5]\n", ("AG702", 3, 21)),
        ("abilities: [a, 5]\n", ("AG702", 3, 16)),
        ("keywords:\n  - a\n  - 5\n", ("AG702", 5, 5)),
        ("anti_keywords: [a, 5]\n", ("AG702", 3, 20)),
    ],
)
def test_a_finding_stands_where_the_author_wrote_it(
    text: str, expected: tuple[str, int, int]
) -> None:
    assert findings(HEAD + text) == [expected]


def test_findings_in_markdown_count_from_the_top_of_the_file() -> None:
    text = f"---\n{HEAD}tags: [a, 5]\n---\nbody"
    assert findings(text, "agents/a.md") == [("AG702", 4, 11)]


def test_findings_in_json_stand_at_their_key() -> None:
    text = json.dumps(
        {"agentId": "a", "description": "d", "delegation": {"maxDepth": 99}}, indent=2
    )
    assert findings(text, "agents/a.json") == [("AG702", 5, 5)]


# Whatever comes in

_keys = st.sampled_from(
    ["agentId", "name", "description", "abilities", "coreAbilities", "keywords", "type", "stepId",
     "selectionMetadata", "workflow", "steps", "config", "compensate", "then"]
)  # fmt: skip
_plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)
)
_values = st.recursive(
    _plain,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_keys, inner, max_size=4)),
    max_leaves=20,
)
_raw = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(str.encode),
    _values.map(json.dumps).map(str.encode),
)


@given(raw=_raw, suffix=st.sampled_from(["yaml", "json", "md"]))
@examples(100)
def test_any_bytes_give_a_profile_or_an_error_and_can_be_linted(raw: bytes, suffix: str) -> None:
    parsed = parse_agent(raw, f"agents/a.{suffix}")
    assert parsed.document is not None or any(issue.is_error for issue in parsed.issues)
    lint_document(parsed)


_steps = st.fixed_dictionaries(
    {"stepId": st.text(max_size=3), "type": st.sampled_from(["loop", "prompt", "x"])},
    optional={"config": _values, "compensate": _values},
)


@given(
    st.fixed_dictionaries(
        {"agentId": _values, "description": _values},
        optional={
            "workflow": st.lists(_steps, max_size=3),
            "selectionMetadata": _values,
            "abilities": _values,
            "keywords": _values,
        },
    )
)
def test_any_profile_of_wrong_types_can_be_parsed_and_linted(profile: dict[str, object]) -> None:
    parsed = parse(json.dumps(profile), "agents/a.json")
    issues = [*parsed.issues, *lint_document(parsed)]
    assert all(issue.code in CODES and issue.line >= 1 and issue.hint for issue in issues)


SUB_AGENT = """\
---
name: code-reviewer
description: Reviews code.
tools: Read, Grep
model: inherit
color: blue
permissionMode: default
---
You are a reviewer.
"""


def test_a_sub_agent_of_a_host_is_an_agent_that_only_has_a_prompt() -> None:
    parsed = parse_agent(SUB_AGENT.encode(), ".claude/agents/reviewer.md")
    assert lint_document(parsed) == []
    profile = parsed.document
    assert isinstance(profile, AgentProfile)
    assert (profile.agent_id, profile.system_prompt) == ("code-reviewer", "You are a reviewer.")
    assert (profile.model, tuple(profile.tools)) == ("", ())
    kept = {"tools": "Read, Grep", "model": "inherit", "color": "blue"}
    assert profile.data["metadata"]["host"] == {**kept, "permissionMode": "default"}


@pytest.mark.parametrize("line", ["bogus: 1", "tools: [read]\nbogus: 1", "model: nonsense"])
def test_what_is_wrong_in_a_markdown_profile_stays_wrong(line: str) -> None:
    source = f"---\nname: a\ndescription: d\n{line}\n---\nYou.\n"
    assert lint_document(parse_agent(source.encode(), "agents/a.md")) != []


@pytest.mark.parametrize("front", ["", "tools: Read, Grep\n", "metadata: {a: b}\n"])
@pytest.mark.parametrize(
    "path", [".claude/agents/a.md", "team/.github/agents/a.md", "/home/ada/.claude/agents/a.md"]
)
def test_a_sub_agent_in_a_hosts_folder_loads_whatever_the_length_of_its_prompt(
    path: str, front: str
) -> None:
    source = f"---\nname: a\ndescription: d\n{front}---\n{'p' * 60_000}\n"
    parsed = parse_agent(source.encode(), path)
    assert lint_document(parsed) == []
    profile = agent_in(parsed)
    assert len(profile.system_prompt) == 60_000
    assert AgentRegistry().register(profile)


def test_the_place_of_a_file_tells_a_hosts_folder_too() -> None:
    source = f"---\nname: a\ndescription: d\n---\n{'p' * 60_000}\n".encode()
    parsed = parse_agent(source, "agents/a.md", file="/home/ada/.claude/agents/a.md")
    assert lint_document(parsed) == []
    parsed = parse_agent(source, "agents/a.md", file="/home/ada/work/agents/a.md")
    assert [issue.code for issue in lint_document(parsed)] == ["AG702"]


def test_a_profile_with_a_workflow_keeps_its_limits_in_a_hosts_folder() -> None:
    prompt = "systemPrompt: " + "p" * 10_001
    step = "workflow: [{stepId: s, type: prompt, config: {prompt: x}}]"
    for path, text in (
        (".claude/agents/a.yaml", f"agentId: a\ndescription: d\n{prompt}\n"),
        (".claude/agents/a.md", f"---\nname: a\ndescription: d\n{step}\n---\n{'p' * 10_001}\n"),
    ):
        issues = lint_document(parse_agent(text.encode(), path))
        assert [issue.code for issue in issues] == ["AG702"]


def test_md_counts_in_any_case() -> None:
    parsed = parse_agent(SUB_AGENT.encode(), ".claude/agents/REVIEWER.MD")
    assert lint_document(parsed) == []
    assert agent_in(parsed).system_prompt == "You are a reviewer."


def test_a_first_line_that_goes_on_is_a_finding_of_its_own() -> None:
    text = SUB_AGENT.replace("---\n", "---# Reviewer\n", 1)
    assert places(parse_agent(text.encode(), "agents/a.md").issues) == [("FM117", 1, 4)]

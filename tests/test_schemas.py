"""The schemas that ship with the package say what the program writes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import metier
from conftest import Workspace, boundary_of
from metier import Catalog
from metier.core.stems import STOP_WORDS
from metier.lint.agents import validate_agent
from metier.parse.agents import parse_agent
from metier.resolve.aliases import ALIASES, VERSION, parse_alias_table
from metier.resolve.reliability import Reliability
from profile_schema import profile_schema
from reference import SCHEMA_OF, check

pytestmark = pytest.mark.slow

SCHEMAS = Path(metier.__file__).parent / "schemas"
EXAMPLE = Path(__file__).parents[1] / "examples" / "workspace"


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.v1.schema.json").read_text())


@pytest.mark.parametrize("file", sorted(SCHEMAS.glob("*.json")), ids=lambda file: file.name)
def test_a_schema_is_one(file: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(file.read_text()))


def objects(part: Any) -> Iterator[dict[str, Any]]:
    """Every object that a schema describes field by field."""
    if isinstance(part, dict):
        if "properties" in part and part.get("type") == "object":
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from objects(one)


@pytest.mark.parametrize("name", sorted(set(SCHEMA_OF.values())))
def test_what_a_command_prints_has_no_field_that_its_schema_does_not_name(name: str) -> None:
    found = list(objects(schema(name)))
    assert found or schema(name)["items"]["type"] == "string"
    for one in found:
        assert one["additionalProperties"] is False
        assert set(one.get("required", ())) <= one["properties"].keys()


KEYS_FROM_A_SPEC = {"aliases", "capability-resolution-report", "reliability"}


def test_keys_are_in_camel_case_except_where_a_spec_names_them() -> None:
    names = {file.name.split(".")[0] for file in SCHEMAS.glob("*.json")}
    others = {
        name
        for name in names
        if any("_" in key for part in objects(schema(name)) for key in part["properties"])
    }
    assert others == KEYS_FROM_A_SPEC


def test_a_finding_is_the_same_wherever_it_is_printed() -> None:
    finding = schema("lint")["items"]
    del finding["properties"]["owners"]  # the others know no owners
    for name in ("refresh", "document", "inject", "lint-repairs"):
        other = schema(name)["$defs"]["finding"]
        assert {key: other[key] for key in finding} == finding


def test_a_document_is_the_same_in_a_list_and_alone() -> None:
    listed, alone = schema("document-list")["items"], schema("document")["$defs"]["document"]
    assert set(listed["required"]) < set(alone["required"])
    only_excluded = {"detail", "next"}
    for key in listed["properties"].keys() - {"state"} - only_excluded:
        assert alone["properties"][key] == listed["properties"][key]


def test_the_schema_of_profiles_is_made_from_the_tables_of_fields() -> None:
    check(SCHEMAS / "agent-profile.v1.schema.json", json.dumps(profile_schema(), indent=2) + "\n")


def step(**more: Any) -> dict[str, Any]:
    return {"stepId": "one", "type": "prompt", "config": {"prompt": "Do it."}, **more}


PROFILES: list[dict[str, Any]] = [
    {},
    {"description": "Says nothing of its id."},
    {"name": "a", "description": "Called by its other name."},
    {"bogus": 1},
    {"agentId": "A"},
    {"priority": 0},
    {"priority": 101},
    {"priority": True},
    {"temperature": 2.5},
    {"tags": ["a"] * 21},
    {"version": "1.0"},
    {"model": "gpt"},
    {"model": "openai:gpt-5"},
    {"abilities": {"core": ["a"], "maxTokens": 1}},
    {"abilities": {"core": "a"}},
    {"abilities": {"more": 1}},
    {"keywords": ["a"], "exampleTasks": ["b"]},
    {"selectionMetadata": {"agentCategory": "boss"}},
    {"checkpoint": {"interval": 0, "maximum": 0}},
    {"delegation": {"maxDepth": 11}},
    {"workflow": []},
    {"workflow": [step()]},
    {"workflow": [step(type="dance")]},
    {"workflow": [step(config={})]},
    {"workflow": [step(config={"prompt": "Do it.", "more": 1})]},
    {"workflow": [step(retryPolicy={"maxAttempts": 11})]},
    {"workflow": [step(retryPolicy={"retryOn": ["timeout"]})]},
    {"workflow": [step(compensate={"stepId": "two"})]},
    {"workflow": [step(type="loop", config={"over": "input", "steps": [step(stepId="in")]})]},
    {"workflow": [step(type="loop", config={"over": "input", "steps": [{"stepId": "in"}]})]},
    {"workflow": [step(type="parallel", config={"steps": [], "maxConcurrency": 11})]},
]


@pytest.mark.invariant(id="INV-AGT-001")
@pytest.mark.parametrize("change", PROFILES, ids=json.dumps)
def test_an_editor_says_of_a_profile_what_lint_says(change: dict[str, Any]) -> None:
    profile = {"agentId": "a", "description": "Does it."} | change
    if "name" in change:
        del profile["agentId"]
    text = json.dumps(profile).encode()
    parsed = parse_agent(text, "agents/a.json")
    assert parsed.matter is not None
    found = [*parsed.issues, *validate_agent(parsed.matter.data)]
    accepted = jsonschema.Draft202012Validator(schema("agent-profile")).is_valid(profile)
    assert accepted is not any(issue.is_error for issue in found)


@pytest.mark.parametrize("file", sorted(EXAMPLE.glob("agents/*.yaml")), ids=lambda file: file.name)
def test_the_profiles_of_the_example_fit_the_schema(file: Path) -> None:
    jsonschema.validate(yaml.safe_load(file.read_text()), schema("agent-profile"))


@pytest.mark.invariant(id="DCI-SCO-016")
def test_the_shipped_stop_words_are_those_that_are_removed() -> None:
    words = (SCHEMAS / "english-stopwords.v1.txt").read_text().split()
    assert len(words) == len(set(words)) == 107
    assert set(words) == STOP_WORDS


TABLES = [
    {"schema_version": "1", "alias_table_version": "1", "aliases": {"web-search": ["look-up"]}},
    {"schema_version": "1", "alias_table_version": "1", "aliases": {}},
    {"schema_version": "1", "alias_table_version": "1", "aliases": {"a": []}},
    {"schema_version": "1", "alias_table_version": "1", "aliases": {"Web": ["x"]}},
    {"schema_version": "1", "alias_table_version": "1", "aliases": {"a": ["B"]}},
    {"schema_version": "1", "alias_table_version": "1", "aliases": {"a": "b"}},
    {"schema_version": "1", "alias_table_version": "", "aliases": {}},
    {"schema_version": "2", "alias_table_version": "1", "aliases": {}},
    {"schema_version": "1", "aliases": {}},
    {"schema_version": "1", "alias_table_version": "1", "aliases": {}, "more": 1},
    [],
]


@pytest.mark.invariant(id="DCI-ALS-008")
@pytest.mark.parametrize("table", TABLES, ids=json.dumps)
def test_an_alias_table_counts_exactly_when_the_schema_accepts_it(table: Any) -> None:
    accepted = jsonschema.Draft202012Validator(schema("aliases")).is_valid(table)
    parsed, issues = parse_alias_table(json.dumps(table), "workspace", "aliases.json")
    assert (parsed is not None) is accepted
    assert bool(issues) is not accepted


def test_the_built_in_aliases_follow_the_schema() -> None:
    table = {"schema_version": "1", "alias_table_version": VERSION, "aliases": ALIASES}
    jsonschema.validate(json.loads(json.dumps(table)), schema("aliases"))


@pytest.mark.invariant(id="DCI-REL-007")
def test_the_history_follows_its_schema(tmp_path: Path) -> None:
    reliability = Reliability(str(tmp_path))
    for success in (True, False, True):
        reliability.record("a::skills/a", success=success)
    jsonschema.validate(json.loads(Path(reliability.path).read_text()), schema("reliability"))


RUNS: list[dict[str, Any]] = [
    {"requires": ["web-search"]},
    {"requires": ["web-search", "Bad_Token"]},
    {"requires": ["web-search", "sql-query"], "policy": {"selection-mode": "cover"}},
    {"requires": ["web-search"], "mode": "strict", "host": "cli"},
    {"requires": ["no-such-thing"], "policy": {"on-missing-required": "auto-emulate"}},
    {"requires": ["no-such-thing"], "mode": "strict"},
    {"requires": [], "consumer": "release-notes"},
    {"requires": [], "consumer": "incident-review", "divergence": False},
]


@pytest.mark.parametrize("run", RUNS, ids=json.dumps)
def test_a_report_follows_its_schema(run: dict[str, Any], tmp_path: Path) -> None:
    catalog = Catalog.in_memory(boundary_of(EXAMPLE), home=str(tmp_path))
    with catalog:
        catalog.refresh()
        made = catalog.resolve(**run)
    for report in (made.report, made.full_report()):
        jsonschema.validate(json.loads(report.to_json()), schema("capability-resolution-report"))


def test_a_report_of_an_empty_workspace_follows_its_schema(workspace: Workspace) -> None:
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        report = catalog.resolve(["web-search"]).report
    jsonschema.validate(json.loads(report.to_json()), schema("capability-resolution-report"))

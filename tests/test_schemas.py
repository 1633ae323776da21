"""The schemas that ship with the package say what the program writes."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import metier
from conftest import Workspace
from metier import Catalog
from metier.config import Config
from metier.core.stems import STOP_WORDS
from metier.resolve.aliases import parse_alias_table
from metier.resolve.builtin import ALIASES, VERSION
from metier.resolve.reliability import Reliability

SCHEMAS = Path(metier.__file__).parent / "schemas"
EXAMPLE = Path(__file__).parents[1] / "examples" / "workspace"


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.v1.schema.json").read_text())


@pytest.mark.parametrize("file", sorted(SCHEMAS.glob("*.json")), ids=lambda file: file.name)
def test_a_schema_is_one(file: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(file.read_text()))


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
    catalog = Catalog.in_memory(EXAMPLE, config=Config(host_folders=False), home=str(tmp_path))
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

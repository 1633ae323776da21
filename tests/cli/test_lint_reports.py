"""The findings for other programs: SARIF, GitLab and a page."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.printed import Lint, Printed, lint
from conftest import Workspace
from metier.cli.lint_formats import rendered
from metier.cli.lint_options import FORMATS
from metier.cli.lint_sarif import help_uri
from metier.flow.lint_report import Reported
from metier.values.outcomes import Issue
from web_browser import chromium

__all__ = ["lint"]

NAMELESS = "---\ndescription: Does one thing well. Use it when that is needed.\n---\n\nDo it.\n"
THRICE = "---\ndescription: Do this: that. Use it when needed.\nname: \n---\n\nDo it.\n"
EVIL = "<script>alert(1)</script>\"'&"


def record(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [*properties],
        "properties": properties,
        "additionalProperties": False,
    }


TEXT = {"type": "string", "minLength": 1}
URI = {"type": "string", "pattern": "^[a-z]+:[^ ]+$"}
COUNT = {"type": "integer", "minimum": 1}
MESSAGE = record(text=TEXT)
ARTIFACT = record(uri={"type": "string"})
FIX = record(
    description=MESSAGE,
    artifactChanges={
        "type": "array",
        "minItems": 1,
        "items": record(
            artifactLocation=ARTIFACT,
            replacements={
                "type": "array",
                "minItems": 1,
                "items": record(
                    deletedRegion=record(
                        startLine=COUNT, startColumn=COUNT, endLine=COUNT, endColumn=COUNT
                    ),
                    insertedContent=record(text={"type": "string"}),
                ),
            },
        ),
    },
)
RULE = record(
    id=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=record(text=TEXT, markdown=TEXT),
    helpUri=URI,
    defaultConfiguration=record(level={"enum": ["error", "warning", "note"]}),
    properties=record(hosts={"type": "object", "additionalProperties": TEXT}),
)
"""The parts of SARIF 2.1.0 that are written."""


def run_of(result: Printed) -> Any:
    return result.data["runs"][0]


@pytest.fixture
def broken(workspace: Workspace) -> Workspace:
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    workspace.write("skills/thrice/SKILL.md", THRICE)
    return workspace


def test_sarif_explains_each_rule_and_says_where_to_read_more(
    broken: Workspace, lint: Lint
) -> None:
    rules = run_of(lint("--format", "sarif"))["tool"]["driver"]["rules"]
    assert rules
    for rule in rules:
        jsonschema.validate(rule, RULE)
        assert rule["helpUri"] == help_uri(rule["id"])
        assert "Bad:" in rule["help"]["markdown"]


def test_sarif_fingerprints_survive_moved_lines(broken: Workspace, lint: Lint) -> None:
    def found() -> dict[str, str]:
        results = run_of(lint("--format", "sarif", "--select", "SK301"))["results"]
        return {one["partialFingerprints"]["metier/v1"]: one["ruleId"] for one in results}

    before = found()
    broken.write("skills/nameless/SKILL.md", NAMELESS.replace("---\n", "---\nlicense: MIT\n", 1))
    assert found() == before
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in before)


def applied(text: str, fix: dict[str, Any]) -> str:
    """The text after a fix, as an editor applies it."""
    lines = text.splitlines(keepends=True)
    for one in reversed(fix["artifactChanges"][0]["replacements"]):
        region = one["deletedRegion"]
        lines[region["startLine"] - 1 : region["endLine"] - 1] = [one["insertedContent"]["text"]]
    return "".join(lines)


def path_of(result: Any) -> str:
    return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])


def test_a_sarif_fix_removes_its_finding_and_no_other(broken: Workspace, lint: Lint) -> None:
    results = run_of(lint("--format", "sarif"))["results"]
    fixable = {(one["path"], one["code"]) for one in lint("--json").data if one["fixable"]}
    alone = {(path_of(one), one["ruleId"]) for one in results if "fixes" in one}
    assert len(alone) > 1
    assert alone <= fixable
    assert {path for path, _ in fixable} == {path for path, _ in alone}  # others follow a first fix
    for result in results:
        for fix in result.get("fixes", []):
            jsonschema.validate(fix, FIX)
            path = fix["artifactChanges"][0]["artifactLocation"]["uri"]
            before = (broken.root / path).read_text()
            codes = {one["code"] for one in lint("--json", path).data}
            broken.write(path, applied(before, fix))
            left = {one["code"] for one in lint("--json", path).data}
            assert result["ruleId"] not in left
            assert codes - {result["ruleId"]} <= left | codes
            broken.write(path, before)


def test_sarif_names_owners(broken: Workspace, lint: Lint) -> None:
    broken.write("CODEOWNERS", "* @all\n")
    results = run_of(lint("--format", "sarif"))["results"]
    assert {tuple(one["properties"]["owners"]) for one in results} == {("@all",)}


def test_gitlab_gets_a_code_quality_report(broken: Workspace, lint: Lint) -> None:
    first, *others = lint("--format", "gitlab", "--select", "SK301").data
    assert first == {
        "description": "the skill has no name; its folder's name 'nameless' is used; "
        "add 'name: nameless'",
        "check_name": "SK301",
        "fingerprint": first["fingerprint"],
        "severity": "minor",
        "location": {"path": "skills/nameless/SKILL.md", "lines": {"begin": 2}},
    }
    assert first["fingerprint"] not in {one["fingerprint"] for one in others}


def test_gitlab_paths_are_of_the_workspace_wherever_it_is_called(
    broken: Workspace, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = lint("--format", "gitlab", "./skills/nameless/../nameless").data[0]
    assert one["location"]["path"] == "skills/nameless/SKILL.md"


# A page


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_every_finding_and_loads_nothing(broken: Workspace, lint: Lint) -> None:
    page = Page(lint("--format", "html").out)
    findings = lint("--json").data
    assert len(findings) > 1
    for one in findings:
        assert f"{one['path']}:{one['line']}:{one['column']}" in page.text
        assert one["message"] in page.text
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(page.tags)
    addresses = [value for name, value in page.attributes if name in ("href", "src")]
    assert addresses
    assert all(str(value).startswith("#") for value in addresses)
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_the_page_escapes_what_documents_say() -> None:
    issue = Issue("SK301", EVIL, EVIL, hint=EVIL)
    page = Page(rendered("html", [Reported(issue, EVIL, issue, owners=(EVIL,))]))
    assert "script" not in page.tags
    assert page.text.count(EVIL) == 5  # the owner is counted, too


def test_a_page_without_findings_says_so(workspace: Workspace, lint: Lint) -> None:
    workspace.skill("one")
    assert "No findings" in Page(lint("--format", "html").out).text


def test_the_html_page_fits_into_the_window_of_a_phone(
    workspace: Workspace, lint: Lint, tmp_path: Path
) -> None:
    workspace.write(f"skills/{'long-' * 30}name/SKILL.md", "no front matter")
    page = tmp_path / "page.html"
    page.write_text(lint("--format", "html").out)
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 360, "height": 800})
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_empty(name: str) -> None:
    text = rendered(name, [])
    if name == "sarif":
        [run] = json.loads(text)["runs"]
        assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
    elif name == "html":
        assert "No findings" in Page(text).text
    else:
        assert text == ("[]\n" if name in ("json", "gitlab") else "")

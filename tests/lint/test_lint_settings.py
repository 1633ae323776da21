"""The rules for what the settings say about cards: names that nobody has."""

import json
import tomllib
from typing import Any

import pytest

from conftest import Workspace
from metier.cli import run
from metier.config.capabilities import read_capabilities
from metier.findings import CODES
from metier.lint.settings import SettingsFile, lint_capabilities
from metier.values.outcomes import Issue
from metier.values.settings_tables import CapabilitiesConfig

CARDS = ("web-search", "billing")
CARD = "---\nid: web-search\nname: S\ndescription: D\ntriggers: {keywords: [web]}\n---\n"


def lint(text: str = "", **settings: Any) -> list[Issue]:
    files = [SettingsFile("metier.toml", text)]
    return lint_capabilities(CapabilitiesConfig(**settings), CARDS, files)


def told(**settings: Any) -> list[tuple[str, str, str]]:
    return [(issue.code, issue.message, issue.hint) for issue in lint(**settings)]


def test_the_defaults_and_names_that_are_there_are_fine() -> None:
    both = ("spec", "saturating")
    assert lint() == []
    assert lint(scorer="saturating", compare=both, force_include=CARDS, exclude=CARDS) == []


def test_a_scorer_that_is_not_there_is_told_with_the_nearest() -> None:
    near, far = "did you mean 'saturating'?", "known: spec, saturating, hybrid"
    assert told(scorer="saturatin") == [("CD610", "unknown scorer 'saturatin' (scorer)", near)]
    assert told(compare=("bm25", "spec")) == [("CD610", "unknown scorer 'bm25' (compare)", far)]


def test_a_card_that_is_not_there_is_told_with_the_nearest() -> None:
    settings = {"force_include": ("web-serch", "web-serch", "billing"), "exclude": ("zzz",)}
    assert told(**settings) == [
        ("CD611", "unknown card 'web-serch' (forceInclude)", "did you mean 'web-search'?"),
        ("CD611", "unknown card 'zzz' (exclude)", "metier list cards"),
    ]


def test_a_scorer_that_is_compared_with_itself_is_told() -> None:
    message = "the scorer 'spec' is compared with itself (compare)"
    assert told(compare=("spec", "spec")) == [
        ("CD612", message, "name two of: spec, saturating, hybrid")
    ]


def test_a_profile_is_told_for_what_it_says_itself() -> None:
    profiles = {"small": {"scorer": "sped"}, "large": {"maxTokens": 9}}
    assert [message for _, message, _ in told(scorer="sped", profiles=profiles)] == [
        "unknown scorer 'sped' (scorer)",
        "unknown scorer 'sped' (profiles.small.scorer)",
    ]


def test_each_is_told_at_its_line_of_the_file_that_names_it() -> None:
    own = SettingsFile(
        "metier.toml", "disabled = ['b']\n[capabilities]\n# 'b'\nexclude = [\n'b'\n]"
    )
    user = SettingsFile("/home/metier.toml", '[capabilities]\nforceInclude = ["a"]')
    config = CapabilitiesConfig(force_include=("a",), exclude=("b",), scorer="c")
    issues = lint_capabilities(config, CARDS, [own, user])
    assert [(issue.path, issue.line) for issue in issues] == [
        ("metier.toml", 1),
        ("/home/metier.toml", 2),
        ("metier.toml", 5),
    ]


@pytest.mark.parametrize("code", ["CD610", "CD611", "CD612"])
def test_the_page_shows_settings_with_and_without_the_finding(code: str) -> None:
    def codes(text: str) -> list[str]:
        config = read_capabilities(tomllib.loads(text)["capabilities"], "metier.toml")
        files = [SettingsFile("metier.toml", text)]
        return [issue.code for issue in lint_capabilities(config, CARDS, files)]

    assert codes(CODES[code].bad) == [code]
    assert codes(CODES[code].good) == []


@pytest.fixture
def wrong(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A card, one that is left out, and settings with three slips of the pen."""
    workspace.write("docs/capabilities/search.md", CARD + "b" * 300)
    workspace.write("docs/capabilities/bad.md", CARD.replace("web-search", "bad") + "hid\u2060den")
    workspace.write(
        "metier.toml",
        '[capabilities]\nscorer = "sepc"\nexclude = ["web-search", "bad", "web"]\n'
        'compare = ["spec", "spec"]\n',
    )
    workspace.trust()
    monkeypatch.chdir(workspace.root)
    return workspace


def test_lint_says_what_is_wrong_in_the_settings(
    wrong: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lint", "--select", "CD61"]) == 1
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if "hint" not in line] == [
        "metier.toml:2:1: CD610 unknown scorer 'sepc' (scorer)",
        "metier.toml:3:1: CD611 unknown card 'web' (exclude)",
        "metier.toml:4:1: CD612 the scorer 'spec' is compared with itself (compare)",
    ]
    assert err == "3 files checked: 3 warnings in 1 file\n"


def test_lint_of_a_named_file_is_not_about_the_settings(
    wrong: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["lint", "--json", "docs/capabilities/search.md"])
    assert json.loads(capsys.readouterr().out) == []


def test_doctor_says_it_too(wrong: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert checks["CD610"]["detail"] == "metier.toml:2: unknown scorer 'sepc' (scorer)"
    assert checks["CD610"]["hint"] == "did you mean 'spec'?"
    assert checks["CD611"]["verdict"] == checks["CD612"]["verdict"] == "warning"


def test_settings_outside_the_workspace_are_named_in_full(
    wrong: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    (wrong.root / "metier.toml").unlink()
    other = wrong.root.parent / "other.toml"
    other.write_text('[capabilities]\nscorer = "sepc"\n')
    run(["lint", "--json", "--select", "CD610", "--config", str(other)])
    (issue,) = json.loads(capsys.readouterr().out)
    assert (issue["path"], issue["line"]) == (str(other), 2)


# Names in `disabled`

TEAM = '[teams."teams/risk-and-fraud"]\nname = "risk"\n'


def disabled_findings(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], settings: str
) -> list[tuple[str, int, str, str]]:
    workspace.skill("deploy", folder="teams/risk-and-fraud/skills/deploy")
    workspace.skill("plan")
    workspace.write("metier.toml", settings)
    capsys.readouterr()
    run(["lint", "--root", str(workspace.root), "--select", "IO208", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert {one["severity"] for one in found} <= {"warning"}
    assert {one["path"].rpartition("/")[2] for one in found} <= {"metier.toml"}
    return [(one["code"], one["line"], one["message"], one["hint"]) for one in found]


@pytest.mark.parametrize(
    "names",
    ['"plan"', '"plan::skills/plan"', '"risk/deploy", "deploy"', ""],
)
def test_names_of_skills_in_disabled_are_fine(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], names: str
) -> None:
    assert disabled_findings(workspace, capsys, f"disabled = [{names}]\n{TEAM}") == []


def test_an_unknown_name_in_disabled_is_a_warning_with_the_nearest(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = f'# settings\ndisabled = ["plan", "risk/deplyo", "x"]\n{TEAM}'
    assert disabled_findings(workspace, capsys, settings) == [
        ("IO208", 2, "no skill is called 'risk/deplyo' (disabled)", "did you mean 'risk/deploy'?"),
        ("IO208", 2, "no skill is called 'x' (disabled)", "check the spelling, or remove it"),
    ]


def test_a_name_that_a_team_disables_must_be_of_a_document_of_that_team(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = f'{TEAM}disabled = ["risk/deploy", "plan"]\n'
    message = "no document of the team is called 'plan' (teams.\"teams/risk-and-fraud\".disabled)"
    hint = "check the spelling, or remove it"
    assert disabled_findings(workspace, capsys, settings) == [("IO208", 3, message, hint)]


def test_a_broken_document_in_disabled_is_not_reported_as_unknown(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("skills/broken/SKILL.md", b"\x00")
    assert disabled_findings(workspace, capsys, 'disabled = ["broken"]\n') == []


def test_the_users_own_disabled_may_name_skills_of_other_workspaces(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METIER_DISABLED", "elsewhere")
    assert disabled_findings(workspace, capsys, "") == []


def test_the_doctor_reports_unknown_names_in_disabled(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.skill("plan")
    workspace.write("metier.toml", 'disabled = ["plan", "plam"]\n')
    run(["doctor", "--root", str(workspace.root), "--json"])
    checks = [one for one in json.loads(capsys.readouterr().out) if one["name"] == "IO208"]
    assert [one["hint"] for one in checks] == ["did you mean 'plan'?"]

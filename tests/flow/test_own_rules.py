"""User-defined rules: declared in the settings, or in Python."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from conftest import Workspace, load_config, trust
from metier.config import Config
from metier.errors import ConfigError
from metier.flow.linting import Choice, Linter, LintRequest
from metier.flow.own_rules import OwnRules, rules_of
from metier.parse.kinds import parse_document
from metier.rules import Rule, RuleFinding, RuleInput
from metier.values.files import Found
from metier.values.outcomes import Issue
from metier.values.own_rules import RuleSetting

SKILL = """\
---
name: charts
description: Draws charts of any data; use it for pictures of figures.
metadata:
  owner: team-b
  tags:
    - fast
    - Slow
---
Draw 😀 a TODO here.

A second TODO.
"""


def checked(
    *rules: RuleSetting | Rule, text: str = SKILL, origin: str = "workspace"
) -> list[Issue]:
    raw = text.encode()
    path = "skills/charts/SKILL.md"
    found = Found("skill", path, 0, len(raw), 0, "", f"/{path}", "workspace", 0, origin=origin)  # type: ignore[arg-type]
    declared = [one for one in rules if isinstance(one, RuleSetting)]
    programmed = [one for one in rules if isinstance(one, Rule)]
    with OwnRules(declared, programmed) as own:
        return own.findings(found, raw, parse_document("skill", raw, path), path)


def places(issues: Iterable[Issue]) -> list[tuple[int, int]]:
    return [(issue.line, issue.column) for issue in issues]


def test_a_regex_reports_every_match_in_the_body() -> None:
    rule = RuleSetting("U001", "has a TODO", regex="TODO", hint="do it", severity="error")
    issues = checked(rule)
    assert places(issues) == [(10, 10), (12, 10)]
    assert issues[0].message == "has a TODO"
    assert issues[0].hint == "do it"
    assert issues[0].is_error


@pytest.mark.parametrize(("scope", "lines"), [("body", []), ("front-matter", [5]), ("file", [5])])
def test_a_regex_looks_only_where_it_should(scope: str, lines: list[int]) -> None:
    rule = RuleSetting("U001", "names a team", regex="team-[a-z]", scope=scope)
    assert [issue.line for issue in checked(rule)] == lines


def test_a_text_that_must_occur_is_missed_once() -> None:
    missing = RuleSetting("U001", "has no heading", must_match=r"(?m)^## Examples")
    there = RuleSetting("U002", "has no drawing", must_match="Draw")
    assert [(one.code, one.line) for one in checked(missing, there)] == [("U001", 10)]


def test_a_required_field_is_missed_and_a_forbidden_one_reported() -> None:
    required = RuleSetting("U001", "version", field="metadata.version", required=True)
    forbidden = RuleSetting("U002", "owner", field="metadata.owner", forbidden=True)
    issues = checked(required, forbidden)
    assert [issue.message for issue in issues] == [
        "'metadata.version' is missing",
        "'metadata.owner' must not be set",
    ]
    assert issues[1].line == 5


def test_a_field_is_checked_as_documents_are() -> None:
    rule = RuleSetting("U001", "owner", field="metadata.owner", type="text", choices=("team-a",))
    assert [issue.message for issue in checked(rule)] == [
        "'metadata.owner' must be one of team-a, not 'team-b'"
    ]


def test_each_entry_of_a_list_is_checked() -> None:
    rule = RuleSetting("U001", "has capitals", field="metadata.tags", must_match=r"\A[a-z]+\Z")
    assert places(checked(rule)) == [(8, 7)]


def test_a_rule_is_for_its_kinds_and_files() -> None:
    other_kind = RuleSetting("U001", "x", regex="Draw", kinds=("card",))
    other_file = RuleSetting("U002", "x", regex="Draw", files=("vendor/*",))
    this_file = RuleSetting("U003", "x", regex="Draw", files=("skills/*/SKILL.md",))
    assert [issue.code for issue in checked(other_kind, other_file, this_file)] == ["U003"]


def test_a_rule_of_the_workspace_is_not_for_the_users_own_documents() -> None:
    own = RuleSetting("U001", "x", regex="Draw", is_users=False)
    users = RuleSetting("U002", "x", regex="Draw", is_users=True)
    assert [issue.code for issue in checked(own, users, origin="user")] == ["U002"]


def test_a_slow_rule_is_stopped_and_said_once(workspace: Workspace) -> None:
    slow = RuleSetting("U001", "slow", regex=r"(o|o|oo)*!", kinds=("skill",))
    raw = SKILL.replace("Draw", "o" * 60).encode()
    found = Found("skill", "a/SKILL.md", 0, len(raw), 0, "", "/a/SKILL.md", "workspace", 0)
    parsed = parse_document("skill", raw, "a/SKILL.md")
    with OwnRules([slow], [], time_limit=0.5) as own:
        first = own.findings(found, raw, parsed, "a/SKILL.md")
        second = own.findings(found, raw, parsed, "a/SKILL.md")
    assert [issue.code for issue in first] == ["RU951"]
    assert second == []


def test_an_invalid_regex_is_an_error_of_the_settings() -> None:
    with pytest.raises(ConfigError, match=r"lint\.rules\.U001.*unterminated"):
        checked(RuleSetting("U001", "x", regex="("))


def test_a_python_rule_sees_the_document_and_its_positions() -> None:
    def check(given: RuleInput) -> Iterable[RuleFinding]:
        assert given.document.name == "charts"
        yield RuleFinding("wrong owner", *given.position(("metadata", "owner")), hint="ask")

    issues = checked(Rule("UACME1", "owner", check, severity="info"))
    assert [(one.code, one.severity, one.line, one.hint) for one in issues] == [
        ("UACME1", "info", 5, "ask")
    ]


def test_a_python_rule_that_fails_is_a_finding_and_others_go_on() -> None:
    def fails(_given: RuleInput) -> Iterable[RuleFinding]:
        raise KeyError("owner")

    def wrong(_given: RuleInput) -> Iterable[RuleFinding]:
        return [None]  # type: ignore[list-item]

    issues = checked(
        Rule("U1", "x", fails), Rule("U2", "y", wrong), RuleSetting("U3", "z", regex="Draw")
    )
    assert [issue.code for issue in issues] == ["U3", "RU952", "RU952"]
    assert "KeyError" in issues[1].message
    assert "yield RuleFinding('…'), not None" in issues[2].message


def test_a_python_rule_that_yields_texts_is_told_what_to_yield() -> None:
    def texts(_given: RuleInput) -> Iterable[RuleFinding]:
        return ["text"]  # type: ignore[list-item]

    (issue,) = checked(Rule("U1", "x", texts))
    assert "yield RuleFinding('…'), not the string 'text'" in issue.message


def test_a_document_that_cannot_be_read_has_no_findings_of_ones_own() -> None:
    assert checked(RuleSetting("U001", "x", regex="."), text="no front matter") == []


# Settings and trust

RULES = """
[lint.rules.U001]
title = "has a TODO"
regex = "TODO"
"""


def linted(root: Path, *, is_trusted: bool) -> list[str]:
    config = load_config(str(root), is_trusted=is_trusted)
    linter = Linter(LintRequest(str(root), config, Choice()), lambda file, _: file)
    return [issue.code for issue in linter.lint().issues]


def test_rules_count_in_a_trusted_workspace_only(workspace: Workspace) -> None:
    workspace.write("skills/charts/SKILL.md", SKILL)
    workspace.write("metier.toml", RULES)
    assert linted(workspace.root, is_trusted=True).count("U001") == 2
    assert "U001" not in linted(workspace.root, is_trusted=False)


def test_not_even_the_users_own_rules_run_in_an_untrusted_workspace() -> None:
    rule = RuleSetting("U001", "x", regex="x")
    assert not rules_of(Config(lint_rules=(rule,), is_trusted=False))
    assert rules_of(Config(lint_rules=(rule,), is_trusted=True))


def test_another_rule_needs_trust_again(workspace: Workspace) -> None:
    workspace.write("metier.toml", RULES)
    before = trust(workspace.root)
    workspace.write("metier.toml", RULES.replace('"TODO"', '"DONE"'))
    assert trust(workspace.root) != before


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[lint.rules.SK301]\ntitle = "x"\nregex = "x"', "named by a code"),
        ('[lint.rules.U001]\ntitle = "x"', "given a condition"),
        ('[lint.rules.U001]\ntitle = "x"\nrequired = true', "given a 'field'"),
        ('[lint.rules.U001]\ntitle = "x"\nfield = "a"\nin = "body"\nregex = "x"', "either"),
        ('[lint.rules.U001]\nregex = "x"', "'title' is missing"),
        ('[lint.rules.U001]\ntitle = "x"\nregexp = "x"', "unknown setting"),
    ],
)
def test_a_wrong_rule_is_an_error_that_says_what_to_write(
    workspace: Workspace, table: str, said: str
) -> None:
    workspace.write("metier.toml", table)
    with pytest.raises(ConfigError) as raised:
        load_config(str(workspace.root), is_trusted=True)
    assert said in raised.value.message.replace("lint.rules.U001.title", "title")


# Entry points

PACKAGE = """
from pathlib import Path
from metier.rules import Rule, RuleFinding

Path(__file__).with_name("loaded").touch()

def check(given):
    yield RuleFinding(f"found {given.document.name}")

RULES = [Rule("UACME1", "acme", check)]
WRONG = [Rule("SK301", "acme", check)]
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with rules."""
    folder = tmp_path / "installed"
    (folder / "acme-1.0.dist-info").mkdir(parents=True)
    (folder / "acme_own_rules.py").write_text(PACKAGE)
    (folder / "acme-1.0.dist-info" / "METADATA").write_text("Name: acme\nVersion: 1.0\n")
    (folder / "acme-1.0.dist-info" / "entry_points.txt").write_text(
        "[metier.rules]\nacme = acme_own_rules:RULES\nwrong = acme_own_rules:WRONG\n"
        "gone = acme_own_rules:NOTHING\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(__import__("sys").modules, "acme_own_rules", raising=False)
    return folder


def test_a_package_that_nobody_enabled_is_not_even_loaded(package: Path) -> None:
    assert not rules_of(Config())
    assert not rules_of(Config(lint_plugins=("acme",), is_trusted=False))
    assert not (package / "loaded").exists()


def test_the_rules_of_an_enabled_package_run(package: Path) -> None:
    with rules_of(Config(lint_plugins=("acme",))) as rules:
        assert rules.pages["UACME1"].title == "acme"
    assert (package / "loaded").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [("acmee", "no installed package"), ("wrong", "SK301"), ("gone", "cannot be loaded")],
)
def test_a_package_that_cannot_be_used_is_an_error_of_the_settings(
    package: Path, name: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        rules_of(Config(lint_plugins=(name,)))

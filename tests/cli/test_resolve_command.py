"""`metier resolve`: who provides what is required, on the example and on small workspaces."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.printed import Printed, looked_at
from conftest import REPOSITORY, Workspace, state_of
from metier.cli import run

EXAMPLE = REPOSITORY / "examples" / "workspace"


class Result(Printed):
    __slots__ = ()

    @property
    def action(self) -> Any:
        return self.data["on_missing_required_action"]

    @property
    def rows(self) -> dict[str, Any]:
        return {row["name"]: row for row in self.data["candidates"]}

    @property
    def selected(self) -> list[str]:
        return [one.partition("::")[0] for one in self.data["selected"]]


Resolve = Callable[..., Result]


def caller(root: Path, capsys: pytest.CaptureFixture[str]) -> Resolve:
    def call(*arguments: str) -> Result:
        looked_at(root)
        code = run(["resolve", *arguments, "--root", str(root)])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def resolve(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Resolve:
    """Run the command on the workspace."""
    return caller(workspace.root, capsys)


@pytest.fixture
def example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Resolve:
    """Run the command on a copy of the example."""
    root = tmp_path / "example"
    shutil.copytree(EXAMPLE, root)
    return caller(root, capsys)


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    """Two that provide something, one of them with requirements of its own."""
    workspace.skill("alpha", extra="capabilities: [one, two]")
    workspace.skill("beta", extra="capabilities: [two]\ncompatibility: cursor")
    workspace.skill(
        "asker", extra="metadata:\n  contract: 'DCI/1^strict R(one) O(two,four) Pol(wrong=1)'"
    )
    return workspace


def reports(root: Path) -> list[str]:
    return sorted(file.stem for file in (state_of(root) / "reports").glob("*.json"))


# The example


@pytest.mark.parametrize(
    ("arguments", "selected"),
    [
        (("-r", "web-search"), ["searx-search"]),
        (("-r", "web-search", "--mode", "strict"), ["searx-search"]),
        (("-r", "online-search"), ["searx-search"]),
        (("--for", "release-notes"), ["git-history", "summarize"]),
        (("--for", "incident-review"), ["log-search"]),
        (("-r", "git-history", "--for", "incident-review", "--mode", "best-effort",
          "--policy", "selection-mode=cover"), ["git-history", "log-search"]),
    ],
)  # fmt: skip
def test_the_example_finds_the_honest_provider(
    example: Resolve, arguments: tuple[str, ...], selected: list[str]
) -> None:
    result = example(*arguments, "--json")
    assert (result.code, sorted(result.selected)) == (0, selected)
    assert "do-everything" not in result.selected


def test_the_example_names_the_provider_the_kind_of_match_and_the_one_who_overclaims(
    example: Resolve,
) -> None:
    result = example("-r", "online-search")
    assert result.out.splitlines()[0] == "online-search: searx-search (alias: web-search)"
    assert result.out.splitlines()[1].split("\t")[0] == "candidate"
    assert "hint: 'do-everything' claims more than it describes" in result.err
    assert "selected: ranks above brave-search by S_total_final" in result.out


def test_the_example_tells_optional_capabilities(example: Resolve) -> None:
    lines = example("--for", "incident-review").out.splitlines()
    assert "summarization (optional): summarize (exact)" in lines
    assert "pdf-generation (optional): pdf-report (alias: pdf-creation)" in lines


def test_words_without_a_requirement_are_wrong_usage(example: Resolve) -> None:
    result = example("search the web")
    assert (result.code, result.out) == (2, "")
    assert "error: nothing is required (USAGE)" in result.err
    assert "-r" in result.err


def test_an_empty_requirement_is_wrong_usage_and_stores_no_report(example: Resolve) -> None:
    result = example("-r", "")
    assert (result.code, result.out) == (2, "")
    assert "error: the name of a required capability is empty (USAGE)" in result.err
    assert "report" not in result.err


# Exit codes and output


def test_a_provider_found_is_exit_code_0(filled: Workspace, resolve: Resolve) -> None:
    result = resolve("-r", "one")
    assert result.code == 0
    assert result.out.startswith("one: alpha (exact)\ncandidate\tfinal\t")


@pytest.mark.parametrize(
    "arguments", [("--mode", "strict"), ("--policy", "on-missing-required=hard-fail")]
)
def test_a_failed_run_is_exit_code_1(
    filled: Workspace, resolve: Resolve, arguments: tuple[str, ...]
) -> None:
    result = resolve("-r", "nowhere", *arguments)
    assert (result.code, "outcome: failed (hard-fail)" in result.out) == (1, True)
    assert result.out.startswith("nowhere: no skill provides it\n")


def test_a_run_that_waits_is_exit_code_3(filled: Workspace, resolve: Resolve) -> None:
    result = resolve("-r", "nowhere")
    assert result.code == 3
    assert "outcome: pending-decision (offer-emulation)" in result.out


@pytest.mark.parametrize("arguments", [("-r", "one"), ("-r", "nowhere"), ("-r", "Not Valid")])
def test_json_is_the_report_and_nothing_else(
    filled: Workspace, resolve: Resolve, arguments: tuple[str, ...]
) -> None:
    result = resolve(*arguments, "--json")
    assert result.data["required_capabilities"] == [arguments[1]]
    kept = (filled.state / "reports" / f"{result.data['run_id']}.json").read_text()
    assert json.loads(kept) == result.data


def test_r_is_repeated_and_keeps_its_order(filled: Workspace, resolve: Resolve) -> None:
    result = resolve("-r", "two", "-r", "one", "-r", "two", "--json")
    assert result.data["required_capabilities"] == ["two", "one"]
    assert result.selected == ["alpha"]


def test_an_empty_workspace_has_nobody(workspace: Workspace, resolve: Resolve) -> None:
    result = resolve("-r", "one")
    assert (result.code, result.out.splitlines()[0]) == (3, "one: no skill provides it")


def test_for_takes_requirements_mode_and_policy_of_a_skill(
    filled: Workspace, resolve: Resolve
) -> None:
    result = resolve("--for", "asker", "--json")
    assert (result.code, result.data["mode"], result.selected) == (0, "strict", ["alpha"])
    assert result.data["consumer"] == "asker::skills/asker"
    optional = [one["provider"] for one in result.data["optional_capabilities"]]
    assert optional == [None, None]  # strict takes no claim that the skill's words do not bear out
    assert any("'wrong'" in one for one in result.data["diagnostics"]["warnings"])
    assert "asker" not in result.rows


def test_for_a_skill_that_does_not_exist_says_who_is_meant(
    filled: Workspace, resolve: Resolve
) -> None:
    result = resolve("--for", "askr")
    assert (result.code, result.out) == (2, "")
    assert "no skill is called 'askr'" in result.err
    assert "did you mean 'asker'?" in result.err


def test_for_a_skill_with_a_broken_contract_is_wrong_usage(
    workspace: Workspace, resolve: Resolve
) -> None:
    workspace.skill("odd", extra="metadata:\n  contract: 'DCI/2 R(one)'")
    result = resolve("--for", "odd")
    assert (result.code, result.out) == (2, "")
    assert "the contract of 'odd' cannot be used: version 2 is not known" in result.err


# Policies


def test_the_prose_preset_lets_skills_without_a_contract_pass(
    workspace: Workspace, resolve: Resolve
) -> None:
    workspace.skill("web-search", "Search the web. Use it for any web search.")
    without = resolve("-r", "web-search")
    assert (without.code, "--policy prose" in without.err) == (3, True)
    result = resolve("-r", "web-search", "--policy", "prose", "--json")
    assert (result.code, result.selected) == (0, ["web-search"])
    assert result.data["policy"]["min-contract-score"] == 0.15
    assert (result.data["policy"]["min-total-score"], result.data["mode"]) == (0.3, "best-effort")


def test_the_last_word_on_a_policy_counts(filled: Workspace, resolve: Resolve) -> None:
    policies = ("--policy", "prose", "--policy", " min-total-score = 0.7 ")
    result = resolve("-r", "one", *policies, "--json")
    assert result.data["policy"]["min-total-score"] == 0.7
    assert result.data["policy"]["min-contract-score"] == 0.15


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("max-candidate=3", "'max-candidate' is not a key of a policy"),
        ("max-candidates=0", "'max-candidates' must be a whole number of at least 1, not '0'"),
        ("min-total-score=2", "'min-total-score' must be a number from 0 to 1, not '2'"),
        ("selection-mode=both", "'selection-mode' must be single or cover, not 'both'"),
        ("prosa", "'prosa' is neither KEY=VALUE nor a preset"),
        ("=", "'' is not a key of a policy"),
    ],
)
def test_a_wrong_policy_is_wrong_usage(
    filled: Workspace, resolve: Resolve, policy: str, message: str
) -> None:
    result = resolve("-r", "one", "--policy", policy)
    assert (result.code, result.out) == (2, "")
    assert f"error: {message} (USAGE)" in result.err
    assert reports(filled.root) == []


def test_a_wrong_key_says_which_one_is_meant(filled: Workspace, resolve: Resolve) -> None:
    assert (
        "did you mean 'max-candidates'?" in resolve("-r", "one", "--policy", "max-candidate=3").err
    )


# Host, divergence, rows, aliases


@pytest.mark.parametrize(
    ("host", "mode", "reasons"),
    [
        ("codex", "strict", ["runtime-incompatible"]),
        ("codex", "best-effort", []),
        ("cursor", "strict", []),
    ],
)
def test_the_host_binds_in_strict(
    filled: Workspace, resolve: Resolve, host: str, mode: str, reasons: list[str]
) -> None:
    result = resolve("-r", "two", "--host", host, "--mode", mode, "--no-divergence", "--json")
    assert (result.data["host_runtime"], result.rows["beta"]["rejected"]) == (host, reasons)


def test_the_divergence_check_can_be_switched_off(filled: Workspace, resolve: Resolve) -> None:
    on, off = resolve("-r", "two", "--json"), resolve("-r", "two", "--no-divergence", "--json")
    assert on.rows["beta"]["penalties"]["inflation_penalty"] == 0.15
    assert off.rows["beta"]["penalties"]["inflation_penalty"] == 0.0
    checks = [one.data["diagnostics"]["divergence"]["checked"] for one in (on, off)]
    assert checks == [True, False]


def test_the_full_report_has_a_row_for_everybody(workspace: Workspace, resolve: Resolve) -> None:
    for number in range(220):
        workspace.skill(f"s{number}", extra="capabilities: [other]")
    short, full = resolve("-r", "one", "--json"), resolve("-r", "one", "--json", "--full-report")
    assert (len(full.data["candidates"]), full.data["rejected_without_row"]) == (220, {})
    assert len(short.data["candidates"]) < 20
    assert "other candidates: below min-contract-score 0.30" in resolve("-r", "one").err


@pytest.mark.parametrize("text", ["{", '{"aliases": {}}', "[]", "\xff"])
def test_a_broken_alias_table_is_told_and_the_run_goes_on(
    filled: Workspace, resolve: Resolve, text: str
) -> None:
    filled.write(".dci/aliases.v1.json", text.encode("latin-1"))
    result = resolve("-r", "one")
    assert (result.code, result.out.splitlines()[0]) == (0, "one: alpha (exact)")
    assert "warning: .dci/aliases.v1.json:" in result.err
    told = resolve("-r", "one", "--json").data["diagnostics"]
    assert told["warnings"][0].startswith(".dci/aliases.v1.json:")
    assert list(told["alias_tables"]) == ["built-in"]


def test_a_table_given_by_hand_beats_that_of_the_workspace(
    filled: Workspace, resolve: Resolve
) -> None:
    table = {"schema_version": "1", "alias_table_version": "7", "aliases": {"one": ["uno"]}}
    file = filled.write("mine.json", json.dumps(table))
    assert resolve("-r", "uno").code == 3
    result = resolve("-r", "uno", "--aliases", str(file), "--json")
    assert (result.code, result.rows["alpha"]["matches"][0]["match"]) == (0, "alias")
    assert result.data["diagnostics"]["alias_tables"]["runtime"] == "7"

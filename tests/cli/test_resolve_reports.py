"""What `metier resolve` keeps, what it refuses to keep, and what it leaves behind for probes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.printed import Printed, looked_at
from conftest import Workspace, state_of
from metier.cli import run
from metier.resolve.report import MOST_ROWS

pytestmark = pytest.mark.slow


class Result(Printed):
    __slots__ = ()

    def verdict(self, candidate: str) -> str:
        """The last cell of a candidate's line in the table."""
        cells = [line.split("\t") for line in self.out.splitlines()]
        return next(line[-1] for line in cells if line[0].startswith(f"{candidate}::"))


Metier = Callable[..., Result]


@pytest.fixture
def metier(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Metier:
    """Run any command on the workspace, which its user has looked at."""

    def call(*arguments: str) -> Result:
        looked_at(workspace.root)
        code = run([*arguments, "--root", str(workspace.root)])
        return Result(code, *capsys.readouterr())

    return call


def contract(text: str) -> str:
    return f"metadata:\n  contract: '{text}'"


def report_files(root: Path) -> dict[str, bytes]:
    return {file.stem: file.read_bytes() for file in (state_of(root) / "reports").iterdir()}


# A run is completed as it was asked


@pytest.mark.parametrize(
    "question",
    [("-r", "x"), ("draw a chart",), ("--for", "asker"), ("--policy", "prose")],
    ids=["requirement", "query", "consumer", "policy"],
)
def test_a_new_question_beside_continue_is_refused_and_the_report_stays(
    workspace: Workspace, metier: Metier, question: tuple[str, ...]
) -> None:
    workspace.skill("asker", extra=contract("DCI/1 R(one)"))
    waiting = metier("resolve", "-r", "nowhere", "--json").data["run_id"]
    before = report_files(workspace.root)
    refused = metier("resolve", "--continue", waiting, "--decision", "abort", *question)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.splitlines() == [
        "error: --continue completes a resolution with its original arguments (USAGE)",
        "hint: give only --decision with it",
    ]
    assert report_files(workspace.root) == before
    assert metier("resolve", "--continue", waiting, "--decision", "emulate").code == 0


# What is kept


@pytest.fixture
def crowd(workspace: Workspace) -> int:
    """More skills than a report has rows for, none of which has to do with the question."""
    for number in range(MOST_ROWS + 1):
        workspace.skill(f"s{number}", extra="capabilities: [other]")
    return MOST_ROWS + 1


def kept(metier: Metier, run_id: str) -> Any:
    return metier("reports", "show", run_id, "--json").data


def test_a_full_report_is_kept_in_full_and_a_short_one_short(crowd: int, metier: Metier) -> None:
    full = metier("resolve", "-r", "one", "--json", "--full-report").data
    assert kept(metier, full["run_id"]) == full
    assert (len(full["candidates"]), full["rejected_without_row"]) == (crowd, {})
    short = metier("resolve", "-r", "one", "--json").data
    assert kept(metier, short["run_id"]) == short
    rows, counted = len(short["candidates"]), sum(short["rejected_without_row"].values())
    assert (rows < crowd, rows + counted) == (True, crowd)


def test_a_full_report_is_kept_whatever_is_printed_and_stays_full(
    crowd: int, metier: Metier
) -> None:
    note = metier("resolve", "-r", "one", "--full-report").err.splitlines()[-1]
    run_id = note.rpartition(" ")[2]
    assert len(kept(metier, run_id)["candidates"]) == crowd
    metier("resolve", "--continue", run_id, "--decision", "abort")
    assert len(kept(metier, run_id)["candidates"]) == crowd


# What the table says


def test_the_verdict_on_a_provider_names_the_requirement_that_nobody_provides(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("needy", extra=contract("DCI/1 P(one) R(nowhere)"))
    workspace.skill("poorer", extra=contract("DCI/1 P(one,two) R(here,there)"))
    workspace.skill("spare", extra=contract("DCI/1 P(one,two,three)"))
    table = metier("resolve", "-r", "one", "--mode", "strict", "--no-divergence")
    assert table.out.splitlines()[0] == "one: spare (exact)"
    assert table.verdict("needy") == "dependency-unresolved: no skill provides nowhere"
    assert table.verdict("poorer") == "dependency-unresolved: no skill provides here, there"
    assert table.verdict("spare") == "selected: no other candidate is left"


def test_the_verdict_on_a_provider_that_requires_its_own_capability_says_so(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("needy", extra=contract("DCI/1 P(one) R(one)"))
    strict = metier("resolve", "-r", "one", "--mode", "strict", "--no-divergence")
    assert (
        strict.verdict("needy")
        == "dependency-unresolved: one is open: only needy itself provides it"
    )
    lenient = metier("resolve", "-r", "one", "--no-divergence")
    assert "└ one is open: only needy itself provides it" in lenient.err


def test_the_verdict_on_one_that_is_cut_names_what_it_lacks_too(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("one", extra=contract("DCI/1 P(one)"))
    workspace.skill("late", extra=contract("DCI/1 P(one,two) R(nowhere)"))
    strict = ("--mode", "strict", "--no-divergence", "--policy", "max-candidates=1")
    assert (
        metier("resolve", "-r", "one", *strict).verdict("late")
        == "dependency-unresolved: no skill provides nowhere;"
        " ranks below the 1 that max-candidates keeps"
    )


# What probes see

THREADS = "OPENBLAS_NUM_THREADS"


@pytest.mark.parametrize("value", [None, "3"], ids=["unset", "set by the user"])
def test_a_probe_sees_no_number_of_threads_whoever_has_set_it(
    workspace: Workspace, value: str | None
) -> None:
    """In a process of its own: numpy is loaded by the command there, and not before it.

    Probes see PATH, HOME and LANG: nothing that the user set, nor what metier sets for numpy.
    """
    workspace.skill("alpha", extra="capabilities: [one]")
    argv = [sys.executable, "-S", "-c", f"import os; print(os.environ.get({THREADS!r}))"]
    workspace.write("metier.toml", f"[probes.one]\nargv = {json.dumps(argv)}\n")
    workspace.trust()
    environment = {key: text for key, text in os.environ.items() if key != THREADS}
    asked = ("resolve", "-r", "one", "--mode", "strict", "--json")
    finished = subprocess.run(
        [sys.executable, "-m", "metier", *asked],
        cwd=workspace.root,
        env=environment if value is None else {**environment, THREADS: value},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=300,
    )
    (probe,) = json.loads(finished.stdout)["diagnostics"]["probes"]
    assert (probe["passed"], probe["output"]) == (True, "None\n")


def test_two_skills_meet_what_a_provider_requires_and_the_tree_says_who_does_what(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("report", extra=contract("DCI/1 P(make-report) R(web-search,sql-query)"))
    workspace.skill("web", extra=contract("DCI/1 P(web-search)"))
    workspace.skill("sql", extra=contract("DCI/1 P(sql-query)"))
    seen = metier("resolve", "-r", "make-report", "--mode", "strict", "--no-divergence")
    assert (seen.code, seen.out.splitlines()[0]) == (0, "make-report: report (exact)")
    assert seen.err.splitlines()[1:4] == [
        "report requires web-search, sql-query",
        "├ web-search ← web",
        "└ sql-query ← sql",
    ]


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({}, "no skill provides sql-query"),
        (
            {"sql": "P(sql-query) R(nowhere)"},
            "sql-query is open: sql would provide it,"
            " but is rejected: dependency-unresolved (nowhere)",
        ),
        (
            {"sql": "P(sql-query) Pol(min-total-score=1)"},
            "sql-query is open: sql would provide it, but is rejected: below-min-total-score",
        ),
        (
            {f"sql{n}": "P(sql-query) R(nowhere)" for n in range(3)},
            "would provide it, but is rejected: dependency-unresolved (nowhere),"
            " and so are 2 others",
        ),
    ],
    ids=["nobody", "lacks", "gate", "several"],
)
def test_the_verdict_says_why_a_requirement_of_a_provider_stays_open(
    others: dict[str, str], reason: str, workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("report", extra=contract("DCI/1 P(make-report) R(web-search,sql-query)"))
    workspace.skill("web", extra=contract("DCI/1 P(web-search)"))
    for name, clauses in others.items():
        workspace.skill(name, extra=contract(f"DCI/1 {clauses}"))
    seen = metier("resolve", "-r", "make-report", "--mode", "strict", "--no-divergence")
    assert seen.code == 1
    assert seen.verdict("report").startswith("dependency-unresolved: ")
    assert seen.verdict("report").endswith(reason)


# A skill that only the user starts

BY_HAND = "disable-model-invocation: true"
DISABLED = "dep provides it, but is disabled (disable-model-invocation)"


@pytest.mark.parametrize("others", [(), ("other",)], ids=["alone", "among others"])
def test_a_provider_that_only_the_user_starts_is_named_and_nothing_else_is_suggested(
    others: tuple[str, ...], workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("dep", extra=f"{contract('DCI/1 P(quokka-deploy)')}\n{BY_HAND}")
    for name in others:
        workspace.skill(name)
    seen = metier("resolve", "-r", "quokka-deploy")
    assert seen.out.splitlines()[0] == f"quokka-deploy: {DISABLED}"
    assert f"hint: 'quokka-deploy': {DISABLED}; start it yourself" in seen.err
    for absurd in ("did you mean", "no skill has these words", "there are no skills"):
        assert absurd not in seen.err
    report = metier("resolve", "-r", "quokka-deploy", "--json").data
    assert report["diagnostics"]["disabled_providers"] == [
        {
            "capability": "quokka-deploy",
            "provider": "dep::skills/dep",
            "reason": "disable-model-invocation",
        }
    ]


def test_a_requirement_of_a_provider_names_who_only_the_user_starts(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("top", extra=contract("DCI/1 P(one) R(quokka-deploy)"))
    workspace.skill("dep", extra=f"{contract('DCI/1 P(quokka-deploy)')}\n{BY_HAND}")
    seen = metier("resolve", "-r", "one", "--mode", "strict")
    assert seen.verdict("top") == f"dependency-unresolved: quokka-deploy is open: {DISABLED}"
    assert f"└ quokka-deploy is open: {DISABLED}" in metier("resolve", "-r", "one").err


def test_nobody_disabled_is_named_where_the_capability_is_provided(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("dep", extra=f"{contract('DCI/1 P(quokka-deploy)')}\n{BY_HAND}")
    workspace.skill("other", extra=contract("DCI/1 P(quokka-deploy)"))
    report = metier("resolve", "-r", "quokka-deploy", "--json").data
    assert report["selected"] == ["other::skills/other"]
    assert "disabled_providers" not in report["diagnostics"]

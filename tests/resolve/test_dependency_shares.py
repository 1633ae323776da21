"""Several providers together meet what one requires; who was refused for that, and why, is told."""

import json
from collections.abc import Sequence
from typing import Any

import jsonschema
import pytest

from conftest import REPOSITORY
from metier.resolve import Resolution, resolve
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from resolve.contracted import skill

SCHEMA = json.loads(
    (REPOSITORY / "src/metier/schemas/capability-resolution-report.v1.schema.json").read_text()
)
BOTH_MODES = pytest.mark.parametrize("mode", ["strict", "best-effort"])
REASON = "dependency-unresolved"


def run(pool: Sequence[Candidate], *requires: str, **options: Any) -> Resolution:
    return resolve(pool, requires, **{"mode": "strict", "divergence": False, **options})


def rows(made: Resolution) -> dict[str, dict[str, Any]]:
    report = made.full_report().data
    jsonschema.validate(report, SCHEMA)
    return {one["name"]: one for one in report["candidates"]}


def names(ids: Sequence[str]) -> list[str]:
    return [one.partition("::")[0] for one in ids]


REPORT = skill("report", "DCI/1 P(make-report) R(web-search,sql-query)")
WEB = skill("web", "DCI/1 P(web-search)")
SQL = skill("sql", "DCI/1 P(sql-query)")


# Several together


@BOTH_MODES
@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"selection-mode": "single"},
        {"selection-mode": "cover", "max-providers": "1"},
        {"max-candidates": "1"},
    ],
    ids=str,
)
def test_two_skills_together_meet_what_a_provider_requires(
    mode: Mode, policy: dict[str, str]
) -> None:
    made = run([REPORT, WEB, SQL], "make-report", mode=mode, policy=policy)
    assert (names(made.selected), made.outcome.name) == (["report"], "not-needed")
    (tree,) = made.dependencies
    assert (sorted(names(tree.selected)), tree.unresolved) == (["sql", "web"], ())


@pytest.mark.parametrize("own", ["max-providers=1", "selection-mode=single", "max-candidates=1"])
def test_limits_in_the_contract_of_a_provider_leave_nothing_of_it_open(own: str) -> None:
    wanted = [f"cap-{letter}" for letter in "abcdef"]
    top = skill("top", f"DCI/1 P(top) R({','.join(wanted)}) Pol({own})")
    made = run([top, *(skill(f"s{one}", f"DCI/1 P({one})") for one in wanted)], "top")
    assert (names(made.selected), len(made.dependencies[0].selected)) == (["top"], 6)


def test_the_tree_names_for_each_requirement_only_who_provides_it() -> None:
    (told,) = run([REPORT, WEB, SQL], "make-report").report.data["dependencies"]
    assert told["providers"] == {
        "web-search": ["web::skills/web"],
        "sql-query": ["sql::skills/sql"],
    }


# What really stays open


def test_what_nobody_provides_has_no_refused_provider() -> None:
    row = rows(run([REPORT, WEB], "make-report"))["report"]
    assert (row["rejected"], row["unresolved_dependencies"]) == ([REASON], ["sql-query"])
    tree = row["dependency"]
    assert (tree["unresolved"], tree["providers"]) == (
        ["sql-query"],
        {"web-search": ["web::skills/web"], "sql-query": []},
    )
    assert "refused" not in tree


def test_a_refused_provider_of_an_open_requirement_is_told_with_its_reasons() -> None:
    other = skill("sql", "DCI/1 P(sql-query)", compatibility="codex")
    row = rows(run([REPORT, WEB, other], "make-report", host="cursor"))["report"]
    assert row["dependency"]["refused"] == [
        {
            "capability": "sql-query",
            "provider": "sql::skills/sql",
            "reasons": ["runtime-incompatible"],
        }
    ]


def test_a_refused_provider_that_lacks_something_is_told_with_what_it_lacks() -> None:
    needy = skill("sql", "DCI/1 P(sql-query) R(nowhere)")
    row = rows(run([REPORT, WEB, needy], "make-report"))["report"]
    assert row["unresolved_dependencies"] == ["nowhere"]
    tree = row["dependency"]
    assert tree["refused"] == [
        {
            "capability": "sql-query",
            "provider": "sql::skills/sql",
            "reasons": [REASON],
            "unresolved_dependencies": ["nowhere"],
        }
    ]
    (below,) = tree["dependencies"]
    assert (below["provider"], below["unresolved"]) == ("sql::skills/sql", ["nowhere"])


def test_of_many_refused_providers_the_best_are_told_and_the_others_counted() -> None:
    many = [skill(f"sql-{number}", "DCI/1 P(sql-query) R(nowhere)") for number in range(30)]
    tree = rows(run([REPORT, WEB, *many], "make-report"))["report"]["dependency"]
    assert (len(tree["refused"]), tree["more_refused"]) == (5, 25)


def test_only_who_is_rejected_for_what_it_requires_has_a_tree_in_its_row() -> None:
    found = rows(run([REPORT, WEB], "make-report"))
    assert {name for name, row in found.items() if "dependency" in row} == {"report"}


# Beside other reasons


NEEDY = skill("sql1", "DCI/1 P(sql-query) R(missing-thing)")


def test_a_candidate_that_a_gate_rejects_is_told_what_it_lacks_too() -> None:
    row = rows(run([WEB, NEEDY], "web-search", "sql-query"))["sql1"]
    gates = ["below-min-required-coverage", "below-min-total-score"]
    assert row["rejected"] == [REASON, *gates]
    assert row["unresolved_dependencies"] == ["missing-thing"]


def test_in_best_effort_no_requirement_is_a_reason_to_reject() -> None:
    found = rows(run([WEB, NEEDY], "web-search", "sql-query", mode="best-effort"))
    assert [*found] == ["web", "sql1"]
    assert not any(REASON in row["rejected"] or "dependency" in row for row in found.values())


def test_who_names_nothing_of_what_is_required_is_not_looked_at() -> None:
    assert rows(run([WEB, NEEDY], "web-search"))["sql1"]["rejected"][0] != REASON

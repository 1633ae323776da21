"""What a provider lacks that drops out for its own requirements, and what finding that costs."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import jsonschema
import pytest

from conftest import REPOSITORY
from metier.parse.contract import parse_contract
from metier.resolve import Resolution, resolve
from metier.values.candidates import Candidate
from metier.values.resolution import ProbeResult
from resolve.counted import calls

__all__ = ["calls"]

SCHEMA = json.loads(
    (REPOSITORY / "src/metier/schemas/capability-resolution-report.v1.schema.json").read_text()
)
REASON, KEY = "dependency-unresolved", "unresolved_dependencies"


def skill(name: str, contract: str, description: str = "Plain.") -> Candidate:
    read = parse_contract(contract, "best-effort")
    return Candidate(name=name, description=description, folder=f"skills/{name}", contract=read)


def run(pool: Sequence[Candidate], *requires: str, **options: Any) -> Resolution:
    return resolve(pool, requires, **{"mode": "strict", "divergence": False, **options})


def row(made: Resolution, name: str) -> dict[str, Any]:
    rows = made.full_report().data["candidates"]
    found: dict[str, Any] = next(one for one in rows if one["name"] == name)
    return found


def fails(candidate: Candidate, capability: str) -> ProbeResult:
    return ProbeResult(candidate.id, capability, False)


NEEDY = skill("needy", "DCI/1 P(one) R(nowhere)")
SPARE = skill("spare", "DCI/1 P(one,x,y)")
CHAIN = [
    skill("top", "DCI/1 P(one) R(two)"),
    skill("middle", "DCI/1 P(two) R(three)"),
    skill("bottom", "DCI/1 P(three) R(nowhere)"),
]
RUNS: dict[str, dict[str, Any]] = {
    "one of two": {"pool": [NEEDY, SPARE]},
    "nobody left": {"pool": [NEEDY]},
    "two levels below": {"pool": CHAIN[1:], "requires": ["two"]},
    "three levels below": {"pool": CHAIN, "depth": 3},
    "not followed": {"pool": [NEEDY, SPARE], "depth": 0},
    "best effort": {"pool": [NEEDY, SPARE], "mode": "best-effort"},
    "cover": {"pool": [NEEDY, SPARE], "policy": {"selection-mode": "cover"}},
    "cut": {"pool": [SPARE, skill("last", "DCI/1 P(one,x,y,z) R(nowhere)")],
            "policy": {"max-candidates": "1"}},
    "probe fails": {"pool": [NEEDY, SPARE], "probes": {"one": fails}},
    "inflated": {"pool": [NEEDY, skill("one", "DCI/1 P(one)", "One.")], "divergence": True},
}  # fmt: skip
EVERY_RUN = pytest.mark.parametrize("name", RUNS)


def made_by(name: str) -> Resolution:
    given = {"requires": ["one"], **RUNS[name]}
    return run(given.pop("pool"), *given.pop("requires"), **given)


# What is named


def test_a_rejected_provider_names_what_nobody_provides() -> None:
    made = run([NEEDY, SPARE], "one")
    assert (row(made, "needy")["rejected"], row(made, "needy")[KEY]) == ([REASON], ["nowhere"])


def test_only_what_is_open_is_named_once_each_and_in_the_order_of_the_contract() -> None:
    contract = "DCI/1 P(one) R(zeta,two,alpha,zeta) Pol(selection-mode=cover)"
    made = run([skill("needy", contract), skill("a", "DCI/1 P(two)")], "one")
    assert row(made, "needy")[KEY] == ["zeta", "alpha"]


def test_each_rejected_provider_names_what_it_lacks_itself() -> None:
    made = run([NEEDY, skill("other", "DCI/1 P(one,x) R(elsewhere)"), SPARE], "one")
    assert [row(made, name)[KEY] for name in ("needy", "other")] == [["nowhere"], ["elsewhere"]]


def test_what_only_the_provider_itself_would_provide_is_open() -> None:
    assert row(run([skill("a", "DCI/1 P(one,two) R(two)")], "one"), "a")[KEY] == ["two"]


@pytest.mark.parametrize(("pool", "first"), [(CHAIN[1:], "two"), (CHAIN, "one")])
def test_what_is_open_further_below_is_named_and_not_the_way_to_it(
    pool: list[Candidate], first: str
) -> None:
    made = run(pool, first, depth=3)
    assert row(made, pool[0].name)[KEY] == ["nowhere"]


# Who names anything


@EVERY_RUN
def test_a_row_has_the_key_exactly_when_it_has_the_rejection(name: str) -> None:
    made = made_by(name)
    assert made.full_report().data["candidates"]
    for report in (made.report, made.full_report()):
        for one in report.data["candidates"]:
            assert bool(one.get(KEY)) is (KEY in one) is (REASON in one["rejected"]), one["name"]


@EVERY_RUN
def test_every_report_is_valid_against_the_schema(name: str) -> None:
    made = made_by(name)
    for report in (made.report, made.full_report()):
        jsonschema.validate(report.data, SCHEMA)


def test_the_schema_takes_no_empty_list_of_what_is_open() -> None:
    data = made_by("one of two").full_report().data
    data["candidates"][-1][KEY] = []
    with pytest.raises(jsonschema.ValidationError, match="should be non-empty"):
        jsonschema.validate(data, SCHEMA)


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("one of two", ["needy"]),
        ("nobody left", ["needy"]),
        ("two levels below", ["middle"]),
        ("three levels below", ["top"]),
        ("not followed", []),
        ("best effort", []),
        ("cover", ["needy"]),
        ("cut", ["last"]),
        ("probe fails", ["needy"]),
        ("inflated", ["needy"]),
    ],
)
def test_whoever_lacks_something_is_rejected_for_it(name: str, names: list[str]) -> None:
    rows = made_by(name).full_report().data["candidates"]
    assert [one["name"] for one in rows if REASON in one["rejected"]] == names


@pytest.mark.parametrize(
    ("name", "other"), [("probe fails", "probe-failed"), ("inflated", "contract-inflated")]
)
def test_it_stands_beside_the_other_reasons_that_a_closer_look_gives(name: str, other: str) -> None:
    assert row(made_by(name), "needy")["rejected"] == [other, REASON]


# What it costs

LEVELS, WIDTH = 4, 5
WAYS = [WIDTH**level for level in range(LEVELS + 1)]
"""How many chains of providers there are of each length."""


def tree(last: str) -> list[Candidate]:
    """Levels of equal providers that all require the next level; `last` ends their contracts."""
    ends = [f"R(level-{level})" for level in range(1, LEVELS)] + [last]
    return [
        skill(f"s{level}-{number}", f"DCI/1 P(level-{level}) {end}")
        for level, end in enumerate(ends)
        for number in range(WIDTH)
    ]


@pytest.mark.parametrize("last", ["", "R(nowhere)"], ids=["resolved", "open"])
def test_in_a_deep_tree_the_requirements_of_each_provider_are_scored_once(
    calls: Counter[str], last: str
) -> None:
    made = run(tree(last), "level-0", depth=LEVELS)
    assert bool(made.selected) is (not last)
    with_requirements = WIDTH * (LEVELS if last else LEVELS - 1)
    assert calls["Scores"] <= 1 + with_requirements


@pytest.mark.parametrize(("last", "longest"), [("", LEVELS - 1), ("R(nowhere)", LEVELS)])
def test_in_a_deep_tree_each_way_to_a_provider_is_followed_once(
    calls: Counter[str], last: str, longest: int
) -> None:
    """The first look and the tree of the report share what they find."""
    run(tree(last), "level-0", depth=LEVELS)
    assert calls["select"] <= sum(WAYS[: longest + 1])

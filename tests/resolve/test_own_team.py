"""A team that asks: its own skills before equal ones, and before others of the same name."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metier
from metier.parse.contract import parse_contract
from metier.resolve import Resolution, resolve
from metier.values.candidates import Candidate
from metier.values.resolution import TIE_BREAKS, tie_breaks

pytestmark = pytest.mark.slow

SCHEMA = json.loads(
    (
        Path(metier.__file__).parent / "schemas" / "capability-resolution-report.v1.schema.json"
    ).read_text()
)


def skill(name: str, team: str = "", provides: str = "deploy", **more: Any) -> Candidate:
    folder = f"teams/{team}/{name}" if team else f"skills/{name}"
    contract = parse_contract(f"DCI/1 P({provides})", "best-effort") if provides else None
    given_ = {"description": "Plain.", "folder": folder, "contract": contract, **more}
    return Candidate(name=name, team=team, **given_)


def run(pool: list[Candidate], team: str = "", requires: str = "deploy", **more: Any) -> Resolution:
    made = resolve(pool, requires.split(), "kangaroo", divergence=False, team=team, **more)
    jsonschema.validate(made.report.data, SCHEMA)
    return made


def row(made: Resolution, candidate: Candidate) -> dict[str, Any]:
    rows: list[dict[str, Any]] = made.report.data["candidates"]
    return next(one for one in rows if one["id"] == candidate.id)


@pytest.mark.parametrize("own", ["a", "b"])
def test_of_equal_candidates_the_one_of_the_asking_team_wins_and_the_report_says_so(
    own: str,
) -> None:
    pool = {"a": skill("ship", "a"), "b": skill("rollout", "b")}
    made = run(list(pool.values()), own)
    assert made.selected == (pool[own].id,)
    assert made.report.data["team"] == own
    first = made.report.data["candidates"][0]
    assert (first["team"], first["own_team"]) == (own, True)
    assert (first["tie_break"]["step"], first["tie_break"]["by"]) == (6, "own_team")


def test_a_better_candidate_of_another_name_still_wins() -> None:
    own, better = skill("ship", "a", "deploy,x,y,z"), skill("rollout", "b")
    made = run([own, better], "a")
    assert made.selected == (better.id,)
    assert row(made, better)["tie_break"]["by"] == "S_specificity"


def test_a_candidate_of_the_team_replaces_others_of_its_name() -> None:
    own = skill("deploy", "a", "deploy,x,y,z")
    other, plain = skill("deploy", "b"), skill("deploy")
    for pool in ([own, other, plain], [plain, other, own]):
        made = run(pool, "a")
        assert made.selected == (own.id,)
        assert row(made, other)["rejected"] == row(made, plain)["rejected"] == ["own-team-first"]
    assert run([own, other], "b").selected == (other.id,)


def test_a_candidate_of_the_team_that_provides_less_replaces_none() -> None:
    own, other = skill("deploy", "a", "rollback"), skill("deploy", "b")
    made = run([own, other], "a")
    assert made.selected == (other.id,)
    both = run([own, other], "a", "deploy rollback", policy={"selection-mode": "cover"})
    assert set(both.selected) == {own.id, other.id}


def test_without_a_team_that_asks_teams_change_nothing() -> None:
    named = [skill("deploy", "a"), skill("deploy", "b"), skill("ship", "a")]
    plain = [one._replace(team="") for one in named]
    with_teams, without = run(named).report.data, run(plain).report.data
    assert len(with_teams["candidates"]) == len(named)
    for one in with_teams["candidates"]:
        assert one.pop("team")
    assert with_teams == without
    assert "team" not in without
    assert {one["tie_break"]["by"] for one in without["candidates"] if one["tie_break"]} <= set(
        TIE_BREAKS
    )


def test_the_team_of_the_consumer_asks_by_default() -> None:
    needs = parse_contract("DCI/1 P(x) R(deploy)", "best-effort")
    consumer = skill("release", "b", contract=needs)
    pool = [skill("deploy", "a"), skill("deploy", "b"), consumer]
    made = resolve(pool, consumer=consumer, divergence=False)
    assert made.selected == ("deploy::teams/b/deploy",)
    assert resolve(pool, consumer=consumer, team="a").selected == ("deploy::teams/a/deploy",)


def test_the_consumer_itself_replaces_none() -> None:
    needs = parse_contract("DCI/1 P(deploy) R(deploy)", "best-effort")
    consumer = skill("deploy", "a", contract=needs)
    other = skill("deploy", "b")
    assert resolve([consumer, other], consumer=consumer).selected == (other.id,)


def test_the_tie_break_stands_before_the_last() -> None:
    assert tie_breaks("") == TIE_BREAKS
    assert tie_breaks("a") == (*TIE_BREAKS[:-1], "own_team", TIE_BREAKS[-1])


_TEAMS = st.sampled_from(["", "a", "b"])
_POOLS = st.lists(
    st.tuples(st.sampled_from(["deploy", "ship"]), _TEAMS, st.sampled_from(["deploy", "x", ""])),
    unique_by=lambda one: one[:2],
    min_size=1,
)


@given(_POOLS, st.sampled_from(["single", "cover"]), st.randoms())
def test_where_scores_are_equal_a_team_chooses_its_own(
    given_: list[tuple[str, str, str]], mode: str, random: Any
) -> None:
    """Whatever the order of the candidates."""
    pool = [skill(*one) for one in given_]
    made = run(pool, "a", policy={"selection-mode": mode})
    shuffled = random.sample(pool, len(pool))
    assert run(shuffled, "a", policy={"selection-mode": mode}).selected == made.selected
    own = {
        one.name
        for one in pool
        if one.team == "a" and one.contract and "deploy" in one.contract.provides
    }
    for chosen in made.selected:
        one = next(one for one in pool if one.id == chosen)
        assert one.team == "a" or one.name not in own
        if own:
            assert one.team == "a"


@given(_POOLS)
def test_a_team_without_candidates_of_its_own_changes_no_choice(
    given_: list[tuple[str, str, str]],
) -> None:
    pool = [skill(*one) for one in given_]
    assert run(pool, "c").selected == run(pool).selected

"""What providers require themselves, what consumers ask for, and what cannot be asked at all."""

from collections.abc import Sequence
from typing import Any

import pytest

from metier.errors import UsageError
from metier.resolve import Resolution, resolve
from metier.resolve.choice import OptionalMatch
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from resolve.contracted import skill

BOTH_MODES = pytest.mark.parametrize("mode", ["strict", "best-effort"])


def run(candidates: Sequence[Candidate], *requires: str, **options: Any) -> Resolution:
    return resolve(candidates, requires, **{"divergence": False, **options})


def names(ids: Sequence[str]) -> list[str]:
    return [one.partition("::")[0] for one in ids]


def rejected(made: Resolution) -> dict[str, list[str]]:
    return {one["name"]: one["rejected"] for one in made.full_report().data["candidates"]}


CHAIN = [
    skill("top", "DCI/1 P(top) R(mid)"),
    skill("mid", "DCI/1 P(mid) R(leaf)"),
    skill("leaf", "DCI/1 P(leaf) R(deep)"),
    skill("deep", "DCI/1 P(deep)"),
]


# What providers require


@BOTH_MODES
def test_requirements_of_providers_are_followed_two_steps_down(mode: Mode) -> None:
    (top,) = run(CHAIN, "top", mode=mode).dependencies
    assert (top.requires, names(top.selected), top.beyond_depth) == (("mid",), ["mid"], False)
    (mid,) = top.below
    assert (mid.requires, names(mid.selected), mid.beyond_depth) == (("leaf",), ["leaf"], False)
    (leaf,) = mid.below
    assert (leaf.requires, leaf.selected, leaf.beyond_depth) == (("deep",), (), True)
    assert (leaf.below, top.all_unresolved()) == ((), [])


@BOTH_MODES
@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4])
def test_the_depth_says_how_far_requirements_are_followed(mode: Mode, depth: int) -> None:
    here = run(CHAIN, "top", mode=mode, depth=depth).dependencies
    steps = 0
    while here and not here[0].beyond_depth:
        steps, here = steps + 1, here[0].below
    assert steps == min(depth, 3)
    assert bool(here) is (depth < 3)


def test_dependencies_are_in_the_report() -> None:
    (told,) = run(CHAIN[:2], "top", depth=1).report.data["dependencies"]
    assert told == {
        "provider": "top::skills/top",
        "requires": ["mid"],
        "selected": ["mid::skills/mid"],
        "providers": {"mid": ["mid::skills/mid"]},
        "unresolved": [],
        "cycle": [],
        "beyond_depth": False,
        "dependencies": [
            {
                "provider": "mid::skills/mid",
                "requires": ["leaf"],
                "selected": [],
                "providers": {},
                "unresolved": [],
                "cycle": [],
                "beyond_depth": True,
                "dependencies": [],
            }
        ],
    }


def test_a_provider_that_requires_nothing_has_no_dependency() -> None:
    assert run([CHAIN[3]], "deep").dependencies == ()


def test_in_strict_a_provider_whose_requirements_stay_open_drops_out() -> None:
    pool = [skill("needy", "DCI/1 P(one) R(nowhere)"), skill("next", "DCI/1 P(one,two)")]
    made = run(pool, "one", mode="strict")
    assert names(made.selected) == ["next"]
    assert rejected(made) == {"needy": ["dependency-unresolved"], "next": []}


def test_in_strict_what_is_open_two_steps_down_counts_too() -> None:
    pool = [
        skill("needy", "DCI/1 P(one) R(two)"),
        skill("middle", "DCI/1 P(two) R(nowhere)"),
        skill("next", "DCI/1 P(one,x,y)"),
    ]
    made = run(pool, "one", mode="strict")
    assert names(made.selected) == ["next"]
    assert rejected(made)["needy"] == ["dependency-unresolved"]


def test_in_best_effort_what_stays_open_is_only_reported() -> None:
    pool = [skill("needy", "DCI/1 P(one) R(nowhere)"), skill("next", "DCI/1 P(one,two)")]
    made = run(pool, "one")
    assert (names(made.selected), made.outcome.name) == (["needy"], "not-needed")
    (needy,) = made.dependencies
    assert (needy.unresolved, needy.all_unresolved()) == (("nowhere",), ["nowhere"])
    assert made.unresolved == ()


@BOTH_MODES
def test_a_provider_does_not_serve_itself(mode: Mode) -> None:
    made = run([skill("a", "DCI/1 P(one,two) R(two)")], "one", mode=mode)
    if mode == "strict":
        assert rejected(made) == {"a": ["dependency-unresolved"]}
    else:
        assert made.dependencies[0].unresolved == ("two",)


@BOTH_MODES
def test_a_circle_is_reported_and_breaks_nothing(mode: Mode) -> None:
    pool = [skill("a", "DCI/1 P(one) R(two)"), skill("b", "DCI/1 P(two) R(one)")]
    made = run(pool, "one", mode=mode)
    assert names(made.selected) == ["a"]
    (first,) = made.dependencies
    assert (names(first.selected), first.cycle) == (["b"], ())
    (second,) = first.below
    assert names(second.cycle) == ["a", "b", "a"]
    assert (second.unresolved, second.below) == ((), ())


@BOTH_MODES
def test_a_circle_that_begins_further_down_names_only_its_members(mode: Mode) -> None:
    pool = [
        skill("top", "DCI/1 P(top) R(one)"),
        skill("a", "DCI/1 P(one) R(two)"),
        skill("b", "DCI/1 P(two) R(one)"),
    ]
    (top,) = run(pool, "top", mode=mode, depth=3).dependencies
    assert names(top.below[0].below[0].cycle) == ["a", "b", "a"]


def test_providers_below_follow_the_provider_s_own_gates() -> None:
    pool = [
        skill("top", "DCI/1 P(top) R(one) Pol(min-total-score=0.9)"),
        skill("a", "DCI/1 P(one)"),
    ]
    made = run(pool, "top", mode="strict", policy={})
    assert rejected(made)["top"] == ["dependency-unresolved"]


def test_the_providers_of_a_cover_are_followed() -> None:
    pool = [
        skill("top", "DCI/1 P(top) R(one,two) Pol(selection-mode=cover)"),
        skill("a", "DCI/1 P(one)"),
        skill("b", "DCI/1 P(two)"),
    ]
    (top,) = run(pool, "top", mode="strict").dependencies
    assert (sorted(names(top.selected)), top.unresolved) == (["a", "b"], ())


def test_a_provider_s_own_mode_does_not_matter() -> None:
    pool = [skill("a", "DCI/1^strict P(one) R(nowhere)")]
    assert names(run(pool, "one").selected) == ["a"]


def test_in_strict_an_inflated_claim_does_not_serve_a_provider() -> None:
    pool = [
        skill("top", "DCI/1 P(top) R(dep)", "The top."),
        skill("liar", "DCI/1 P(dep)"),
        skill("other-liar", "DCI/1 P(dep,x)"),
    ]
    made = resolve(pool, ["top"], mode="strict")
    assert (made.selected, rejected(made)["top"]) == ((), ["dependency-unresolved"])


def test_in_strict_an_inflated_claim_does_not_serve_a_provider_at_the_last_step_either() -> None:
    pool = [
        skill("top", "DCI/1 P(top) R(dep)", "The top."),
        skill("liar", "DCI/1 P(dep)"),
        skill("other-liar", "DCI/1 P(dep,x)"),
    ]
    assert resolve(pool, ["top"], mode="strict", depth=1).selected == ()


# Consumers


@pytest.mark.invariant(id="DCI-SEL-006")
def test_explicit_requirements_follow_the_consumer_s_own() -> None:
    asker = skill("asker", "DCI/1 R(one,two,one)")
    made = run([skill("a", "DCI/1 P(one,two,three)")], "three", "two", "three", consumer=asker)
    assert made.question.requires == ("one", "two", "three")
    assert made.report.data["consumer"] == "asker::skills/asker"


@pytest.mark.invariant(id="DCI-SEL-006")
def test_a_consumer_is_neither_a_candidate_nor_counted() -> None:
    """The same rows whether the consumer is in the catalog or not."""
    asker = skill("asker", "DCI/1 P(web-search,b,c) R(web-search)", "Web search for the web.")
    pool = [
        skill("a", "DCI/1 P(web-search)", "Searches the web."),
        skill("b", "DCI/1 P(x)", "Web."),
    ]
    with_it = resolve([asker, *pool], consumer=asker).full_report().data
    without = resolve(pool, consumer=asker).full_report().data
    assert with_it["candidates"] == without["candidates"]
    assert with_it["diagnostics"]["divergence"] == without["diagnostics"]["divergence"]
    assert [one["name"] for one in with_it["candidates"]] == ["a", "b"]


def test_a_consumer_alone_finds_nobody() -> None:
    asker = skill("asker", "DCI/1 P(one) R(one)")
    made = run([asker, skill("other", "DCI/1 P(x)")], consumer=asker)
    assert (made.selected, made.unresolved) == ((), ("one",))


def test_a_consumer_s_policy_counts_and_the_caller_s_beats_it() -> None:
    asker = skill("asker", "DCI/1 R(one) Pol(max-candidates=1,min-total-score=0.9,wrong=1)")
    pool = [skill("a", "DCI/1 P(one)"), skill("b", "DCI/1 P(one,two)")]
    made = run(pool, consumer=asker, policy={"min-total-score": "0.2"})
    assert (made.policy.max_candidates, made.policy.min_total_score) == (1, 0.2)
    assert rejected(made) == {"a": [], "b": ["beyond-max-candidates"]}
    assert any("'wrong'" in one for one in made.warnings)


@pytest.mark.parametrize(
    ("contract", "mode", "effective"),
    [
        ("DCI/1^strict R(one)", None, "strict"),
        ("DCI/1 R(one)", None, "best-effort"),
        ("DCI/1^strict R(one)", "best-effort", "best-effort"),
        ("DCI/1 R(one)", "strict", "strict"),
    ],
)
def test_the_mode_is_the_caller_s_then_the_consumer_s(
    contract: str, mode: Mode | None, effective: str
) -> None:
    made = run([skill("a", "DCI/1 P(one)")], consumer=skill("asker", contract), mode=mode)
    assert made.report.data["mode"] == effective


def test_an_unusable_contract_of_the_consumer_is_wrong_usage() -> None:
    asker = skill("asker", contract_problem="unknown version")
    with pytest.raises(UsageError, match="contract of 'asker' cannot be used: unknown version"):
        run([skill("a", "DCI/1 P(one)")], "one", consumer=asker)


@pytest.mark.parametrize("mode", ["strict", None])
def test_a_doubtful_contract_of_a_consumer_is_unusable_in_strict_only(mode: Mode | None) -> None:
    asker = skill("asker", "DCI/1 R(one) X(new)")
    pool = [skill("a", "DCI/1 P(one)")]
    if mode is None:
        assert names(run(pool, consumer=asker).selected) == ["a"]
    else:
        with pytest.raises(UsageError, match="unknown clause 'X'"):
            run(pool, consumer=asker, mode=mode)


@pytest.mark.parametrize(
    ("consumer", "message"),
    [
        (None, "nothing is required"),
        (skill("bare"), "'bare' requires nothing"),
        (skill("giver", "DCI/1 P(one)"), "'giver' requires nothing"),
    ],
)
def test_nothing_required_is_wrong_usage(consumer: Candidate | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run([skill("a", "DCI/1 P(one)")], query="one", consumer=consumer)


# Optional and invalid requirements


@BOTH_MODES
def test_optional_capabilities_are_told_and_never_fatal(mode: Mode) -> None:
    asker = skill("asker", "DCI/1 P(nowhere) R(one) O(two,nowhere,two,Not\\ Valid)")
    pool = [asker, skill("a", "DCI/1 P(one)"), skill("b", "DCI/1 P(two)")]
    made = run(pool, consumer=asker, mode=mode)
    assert (names(made.selected), made.outcome.name) == (["a"], "not-needed")
    assert made.optional == (
        OptionalMatch("two", "b::skills/b", "exact", "two"),
        OptionalMatch("nowhere", None, "none"),
        OptionalMatch("Not Valid", None, "none"),
    )


def test_a_consumer_with_optional_capabilities_alone_is_wrong_usage() -> None:
    asker = skill("asker", "DCI/1 O(one)")
    pool = [asker, skill("a", "DCI/1 P(one,two)")]
    with pytest.raises(UsageError, match="'asker' requires nothing"):
        run(pool, consumer=asker)
    made = run(pool, "two", consumer=asker)
    assert (names(made.selected), made.optional) == (
        ["a"],
        (OptionalMatch("one", "a::skills/a", "exact", "one"),),
    )


@pytest.mark.parametrize(
    ("provides", "kind", "token"),
    [("web-search", "exact", "web-search"), ("web-searching", "fuzzy", "web-searching")],
)
def test_an_optional_match_names_its_kind_and_what_matched(
    provides: str, kind: str, token: str
) -> None:
    asker = skill("asker", "DCI/1 R(one) O(web-search)")
    pool = [skill("a", f"DCI/1 P({provides})"), skill("b", "DCI/1 P(one)")]
    policy = {"min-total-score": "0"}
    (found,) = run(pool, consumer=asker, policy=policy).report.data["optional_capabilities"]
    assert (found["match"], found["token"]) == (kind, token)


def test_nobody_is_named_for_an_optional_capability_that_nobody_resolves() -> None:
    asker = skill("asker", "DCI/1 R(one) O(nowhere)")
    policy = {"min-total-score": "0", "min-contract-score": "0", "min-required-coverage": "0"}
    made = run([skill("a", "DCI/1 P(one)")], consumer=asker, policy=policy)
    assert made.optional == (OptionalMatch("nowhere", None, "none"),)


@pytest.mark.invariant(id="DCI-TOK-008")
@BOTH_MODES
@pytest.mark.parametrize("token", ["Web Search", "web--search", "-x", "", "ä", "x" * 65])
def test_an_invalid_required_token_stays_open_as_it_was_written(mode: Mode, token: str) -> None:
    pool = [skill("web-search", "DCI/1 P(web-search)", "Web search.", listed=(token,))]
    made = run(pool, token, "web-search", mode=mode, policy={"min-required-coverage": "0.5"})
    assert made.unresolved == (token,)
    assert made.report.data["unresolved_required_capabilities"] == [token]
    assert made.outcome.name == ("failed" if mode == "strict" else "pending-decision")

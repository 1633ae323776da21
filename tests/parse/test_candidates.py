"""A skill as the resolver sees it: what it claims, in which mode, and what is wrong with it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates import candidate_of
from metier.core.names import is_capability_name
from metier.parse.contract import serialize_contract
from metier.parse.skills import parse_skill
from metier.resolve import Pool, resolve
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Doubt, Mode
from metier.values.documents import Skill

MODES: tuple[Mode, ...] = ("strict", "best-effort")
BROKEN = ["DCI/2 P(b)", "DCI/1 P(b", "DCI/1 P(b,)", "DCI/1 X(y)", "dci/1 P(b)", "nonsense", ""]
DOUBTFUL = ["DCI/1 P(b) X(y)", "DCI/1 P(b) A(k=a b)", "DCI/1 P(b) A(k=1,k=2)", r"DCI/1 P(b,\x)"]


def skill(contract: Any = None, capabilities: Any = None, nested: Any = None) -> Candidate:
    data: dict[str, Any] = {"metadata": {"capabilities": nested}}
    if contract is not None:
        data["metadata"]["contract"] = contract
    if capabilities is not None:
        data["capabilities"] = capabilities
    return candidate_of(
        name="one", description="Text.", folder="skills/one", source="workspace", data=data
    )


# What is claimed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("contract", "capabilities", "expected"),
    [
        (None, None, ()),
        (None, ["a", "b"], ("a", "b")),
        ("DCI/1 P(a,b)", None, ("a", "b")),
        ("DCI/1 P(b,c)", ["a"], ("a", "b", "c")),
        ("DCI/1 P(b,a)", ["a", "c"], ("c", "b", "a")),
        ("DCI/1 P(a)", ["a"], ("a",)),
        ("DCI/1 R(x)", ["a"], ("a",)),
        ("DCI/1 E(x) R(y) O(z) A(k=v) Pol(k=v)", None, ()),
    ],
)
def test_claims_are_the_list_and_then_the_contract_with_a_shared_name_once(
    contract: str | None, capabilities: list[str] | None, expected: tuple[str, ...], mode: Mode
) -> None:
    assert skill(contract, capabilities).provides_in(mode) == expected


@pytest.mark.parametrize("mode", MODES)
def test_repetitions_within_the_contract_and_within_the_list_stay(mode: Mode) -> None:
    assert skill("DCI/1 P(a,b,a)", ["a", "c", "c"]).provides_in(mode) == ("c", "c", "a", "b", "a")


@pytest.mark.parametrize("mode", MODES)
def test_claims_are_kept_as_written_even_when_they_are_no_legal_names(mode: Mode) -> None:
    assert skill("DCI/1 P(Web_Search)", ["Mail Box"]).provides_in(mode) == (
        "Mail Box",
        "Web_Search",
    )


def test_a_list_may_stand_at_the_top_and_below_metadata_and_may_hold_mappings() -> None:
    top = [{"id": "a"}, {"name": "b"}, {"id": "c", "name": "d"}, "e", 7, None, "", " ", {}, ["f"]]
    assert skill(None, top, ["g", "a"]).listed == ("a", "b", "c", "e", "g")
    assert skill(None, ["a", "b", "a"], ["c", "b", "c"]).listed == ("a", "b", "a", "c", "c")
    assert skill(None, "alone").listed == ("alone",)
    assert skill(None, 7).listed == ()


@pytest.mark.parametrize("metadata", [None, "text", ["list"], 7])
def test_metadata_of_another_form_gives_a_candidate_without_contract(metadata: Any) -> None:
    data = {"metadata": metadata, "capabilities": ["a"]}
    one = candidate_of(name="one", description="T.", folder="f", source="m", data=data)
    assert (one.listed, one.contract, one.contract_problem) == (("a",), None, "")
    assert (one.name, one.description, one.folder, one.source) == ("one", "T.", "f", "m")
    assert one.id == "one::f"


def test_a_contract_beside_metadata_is_not_read() -> None:
    data = {"contract": "DCI/1 P(a)"}
    one = candidate_of(name="one", description="T.", folder="f", source="m", data=data)
    assert one.contract is None


@pytest.mark.parametrize("capabilities", [["a", "b"], ["b", {"id": "a"}], [], None])
@pytest.mark.parametrize("contract", ["DCI/1 P(b,c)", "DCI/1 R(x)", None])
def test_the_catalog_and_the_resolver_see_the_same_capabilities(
    contract: str | None, capabilities: list[Any] | None
) -> None:
    lines = ["---", "name: one", "description: Text."]
    if capabilities is not None:
        lines.append(f"capabilities: {capabilities}".replace("'", '"'))
    if contract is not None:
        lines += ["metadata:", f"  contract: '{contract}'"]
    parsed = parse_skill("\n".join([*lines, "---", "Body."]).encode(), "skills/one/SKILL.md")
    assert isinstance(parsed.document, Skill)
    seen = skill(contract, capabilities).provides_in("best-effort")
    assert set(parsed.document.capabilities) == set(seen)


# A contract that cannot be used


@pytest.mark.parametrize("contract", [*BROKEN, 7, ["DCI/1 P(b)"], {"P": "b"}, True])
def test_beside_an_unusable_contract_the_list_counts_in_best_effort_only(contract: Any) -> None:
    one = skill(contract, ["a"])
    assert one.contract is None
    assert one.contract_problem
    for mode in MODES:
        assert one.contract_in(mode) is None
        assert one.refused_in(mode) == one.contract_problem
    assert one.provides_in("best-effort") == ("a",)
    assert one.provides_in("strict") == ()


def test_the_problem_says_what_is_wrong_and_where() -> None:
    assert skill("DCI/1 P(b,)").contract_problem == "trailing comma (character 11)"
    assert skill(7).contract_problem == "it is not text"


@pytest.mark.parametrize("contract", DOUBTFUL)
def test_a_doubtful_contract_counts_in_best_effort_and_nothing_counts_in_strict(
    contract: str,
) -> None:
    one = skill(contract, ["a"])
    assert one.contract is not None
    assert one.contract_problem == ""
    assert one.contract_in("best-effort") is one.contract
    assert one.contract_in("strict") is None
    assert one.refused_in("best-effort") == ""
    assert one.refused_in("strict") == one.contract.doubts[0].message
    assert one.provides_in("best-effort")[:2] == ("a", "b")
    assert one.provides_in("strict") == ()


@pytest.mark.parametrize("head", ["DCI/1", "DCI/1^strict", "DCI/1^best-effort"])
def test_the_mode_of_the_run_judges_and_not_that_of_the_contract(head: str) -> None:
    one = skill(f"{head} P(b) X(y)")
    assert one.provides_in("best-effort") == ("b",)
    assert one.provides_in("strict") == ()


# Prose


@pytest.mark.parametrize(
    ("contract", "capabilities", "strict", "best_effort"),
    [
        (None, None, True, True),
        (None, ["a"], False, False),
        (None, [7, ""], True, True),
        ("DCI/1 P(a)", None, False, False),
        ("DCI/1 R(a)", None, True, True),
        ("DCI/1 R(a)", ["b"], False, False),
        ("nonsense", None, False, True),
        ("nonsense", ["a"], False, False),
        ("DCI/1 R(a) X(y)", None, False, True),
        ("DCI/1 P(a) X(y)", None, False, False),
    ],
)
def test_prose_is_what_remains_without_list_and_claims(
    contract: str | None, capabilities: list[Any] | None, strict: bool, best_effort: bool
) -> None:
    one = skill(contract, capabilities)
    assert (one.is_prose_in("strict"), one.is_prose_in("best-effort")) == (strict, best_effort)


@pytest.mark.parametrize("mode", MODES)
def test_a_refused_skill_with_fitting_prose_scores_nothing_in_strict(mode: Mode) -> None:
    one = Candidate(
        name="web-search", description="Search the web.", folder="s", contract_problem="broken"
    )
    row = resolve([one], ["web-search"], mode=mode).full_report().data["candidates"][0]
    kind = "none" if mode == "strict" else "provisional"
    assert row["matches"][0]["match"] == kind
    assert row["matches"][0]["resolved"] == (mode == "best-effort")


# Tokens


@pytest.mark.parametrize(
    ("contract", "count"),
    [
        (None, 0),
        ("nonsense", 0),
        ("DCI/1 P(a)", 0),
        ("DCI/1 P(A)", 1),
        ("DCI/1 P(A,A,a)", 2),
        ("DCI/1 P(A) P(A) Provides(A)", 3),
        ("DCI/1 P(A) E(B,b) R(C) O(D)", 4),
        ("DCI/1 A(A=B) Pol(C=D) P(a)", 0),
        ("DCI/1 P(a) X(A,B)", 0),
    ],
)
def test_invalid_tokens_of_the_contract_are_counted_with_repeats(
    contract: str | None, count: int
) -> None:
    assert skill(contract, ["Not Counted"]).invalid_tokens() == count


tokens = st.lists(st.sampled_from(["a", "b-c", "A", "b_c", "a--b", "x y"]), max_size=5).map(tuple)


@given(tokens, tokens, tokens, tokens, tokens)
def test_counts_and_claims_hold_for_any_lists(
    listed: tuple[str, ...],
    provides: tuple[str, ...],
    expects: tuple[str, ...],
    requires: tuple[str, ...],
    optional: tuple[str, ...],
) -> None:
    made = Contract(provides=provides, expects=expects, requires=requires, optional=optional)
    text = serialize_contract(made)
    one = skill(text if text.endswith(")") else None, list(listed))
    values = (*provides, *expects, *requires, *optional)
    assert one.invalid_tokens() == sum(not is_capability_name(value) for value in values)
    for mode in MODES:
        claims = one.provides_in(mode)
        assert set(claims) == {*listed, *provides}
        assert len(claims) == len(provides) + sum(name not in provides for name in listed)
        assert Pool([one]).claims(mode).counts.tolist() == [len(claims)]


@pytest.mark.parametrize(
    ("contract", "capabilities", "count"),
    [
        (None, None, 0),
        ("DCI/1 P(a,a,B)", None, 3),
        ("DCI/1 P(a,b)", ["a", "c"], 3),
        (None, ["a", "Bad One"], 2),
    ],
)
def test_claims_are_counted_as_written(
    contract: str | None, capabilities: list[str] | None, count: int
) -> None:
    pool = Pool([skill(contract, capabilities)])
    for mode in MODES:
        assert pool.claims(mode).counts.tolist() == [count]
        assert all(is_capability_name(name) for name in pool.claims(mode).names)


def test_a_candidate_with_a_doubt_from_elsewhere_is_refused_with_its_first_message() -> None:
    contract = Contract(provides=("a",), doubts=(Doubt(3, "first"), Doubt(1, "second")))
    one = Candidate(name="n", description="d", folder="f", contract=contract)
    assert one.refused_in("strict") == "first"
    assert one.refused_in("best-effort") == ""

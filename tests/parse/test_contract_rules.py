"""The rules of the contract grammar, one by one, under the ids of the manifest."""

from collections.abc import Mapping
from typing import Any

import pytest

from candidates import candidate_of
from metier.errors import ContractError, UsageError
from metier.parse.contract import parse_contract, serialize_contract
from metier.resolve import Resolution, resolve
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Mode

MODES: tuple[Mode, ...] = ("strict", "best-effort")


def is_usable(text: str, mode: Mode | None = None) -> bool:
    try:
        parse_contract(text, mode)
    except ContractError:
        return False
    return True


def only_strict_refuses(text: str) -> Contract:
    """The contract that best-effort makes of `text`, after asking strict."""
    contract = parse_contract(text, "best-effort")
    assert contract.doubts
    assert not is_usable(text, "strict")
    return contract


def skill(contract: str | None, **data: Any) -> Candidate:
    metadata = {} if contract is None else {"contract": contract}
    return candidate_of(
        name="web",
        description="Search the web.",
        folder="skills/web",
        source="workspace",
        data={**data, "metadata": metadata},
    )


def row(run: Resolution) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.full_report().data["candidates"][0]
    return found


# Head and clauses


@pytest.mark.invariant(id="DCI-GRM-001")
def test_a_skill_without_a_contract_stays_a_candidate_by_its_list_or_its_prose() -> None:
    by_list = resolve([skill(None, capabilities=["web-search"])], ["web-search"])
    by_prose = resolve([skill(None)], ["web-search"])
    assert row(by_list)["matches"][0]["match"] == "exact"
    assert row(by_prose)["matches"][0]["match"] == "provisional"
    assert "contract_problem" not in row(by_list)
    assert "contract_problem" not in row(by_prose)


@pytest.mark.invariant(id="DCI-GRM-002")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "head",
    ["DCI/0", "DCI/2", "DCI/01", "DCI/1.0", "DCI/１", "DCI/", "DCI1", "dci/1", "DCi/1", "/1"],
)
def test_only_version_1_behind_the_upper_case_prefix_is_usable(head: str, mode: Mode) -> None:
    assert is_usable("DCI/1 P(a)", mode)
    assert not is_usable(f"{head} P(a)", mode)


@pytest.mark.invariant(id="DCI-GRM-003")
@pytest.mark.parametrize("mode", MODES)
def test_a_stated_mode_is_read(mode: Mode) -> None:
    assert parse_contract(f"DCI/1^{mode} P(a)").mode == mode


@pytest.mark.invariant(id="DCI-GRM-003")
@pytest.mark.parametrize("judge", MODES)
@pytest.mark.parametrize(
    "written", ["", "Strict", "best_effort", "besteffort", "strict2", "strict^strict", " strict"]
)
def test_another_mode_is_unusable(written: str, judge: Mode) -> None:
    assert not is_usable(f"DCI/1^{written} P(a)", judge)


@pytest.mark.invariant(id="DCI-GRM-004")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "rest",
    ["", " ", "P(a)", "\tP(a)", "\nP(a)", " P(a)\tR(b)", " P(a)R(b)", " P(a) and", " P", " P(a) ,",
     " P(a", " (a)", " X(y)", "\u00a0P(a)"],
)  # fmt: skip
def test_no_clause_or_text_that_is_no_clause_is_unusable(rest: str, mode: Mode) -> None:
    assert not is_usable(f"DCI/1{rest}", mode)


@pytest.mark.invariant(id="DCI-GRM-004")
def test_one_or_more_clauses_follow_after_one_or_more_spaces() -> None:
    assert parse_contract("DCI/1    P(a)  R(b) ") == parse_contract("DCI/1 P(a) R(b)")


@pytest.mark.invariant(id="DCI-GRM-005")
@pytest.mark.parametrize("name", ["P", "E", "R", "O"])
def test_each_of_the_four_list_clauses_fills_its_own_field(name: str) -> None:
    fields = {"P": "provides", "E": "expects", "R": "requires", "O": "optional"}
    wanted: dict[str, Any] = {fields[name]: ("a",)}
    assert parse_contract(f"DCI/1 {name}(a)", "strict") == Contract(**wanted)


@pytest.mark.invariant(id="DCI-GRM-005")
@pytest.mark.parametrize(("name", "field"), [("A", "accepts"), ("Pol", "policy")])
def test_each_of_the_two_pair_clauses_fills_its_own_field(name: str, field: str) -> None:
    wanted: dict[str, Any] = {field: {"k": "v"}}
    assert parse_contract(f"DCI/1 {name}(k=v)", "strict") == Contract(**wanted)


@pytest.mark.invariant(id="DCI-GRM-005")
@pytest.mark.parametrize(
    ("count", "penalty"), [(0, 0.0), (1, 0.05), (3, 0.15), (4, 0.20), (5, 0.20), (50, 0.20)]
)
def test_unknown_clauses_cost_a_bounded_penalty_in_best_effort(count: int, penalty: float) -> None:
    text = "DCI/1 P(web-search)" + " X(y)" * count
    assert is_usable(text, "strict") == (count == 0)
    run = resolve([skill(text)], ["web-search"])
    assert row(run)["penalties"]["unknown_clause_penalty"] == pytest.approx(penalty)
    assert row(run)["S_contract"] == 1.0


@pytest.mark.invariant(id="DCI-GRM-006")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["P", "E", "R", "O"])
def test_a_list_holds_one_name_or_more_between_commas(name: str, mode: Mode) -> None:
    assert is_usable(f"DCI/1 {name}(a)", mode)
    assert is_usable(f"DCI/1 {name}(a,b-c,d)", mode)
    for values in ("", " ", ",", "a,", ",a", "a,,b", "a, ,b", r"\ "):
        assert not is_usable(f"DCI/1 {name}({values})", mode), values


@pytest.mark.invariant(id="DCI-GRM-007")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["A", "Pol"])
def test_pairs_need_an_equals_and_a_value(name: str, mode: Mode) -> None:
    assert is_usable(f"DCI/1 {name}(k=v)", mode)
    assert is_usable(f"DCI/1 {name}(k=v,l=w)", mode)
    for values in ("", "k", "k=", "k= ", "k=v,", ",k=v", "k=v,,l=w", "k=v,l", "k=v,l=", r"k\=v"):
        assert not is_usable(f"DCI/1 {name}({values})", mode), values


@pytest.mark.invariant(id="DCI-GRM-008")
@pytest.mark.parametrize("key", ["a", "A-b_9", "-", "_", "0", "--", "9z"])
def test_a_key_of_letters_digits_hyphens_and_underscores_is_legal(key: str) -> None:
    assert parse_contract(f"DCI/1 A({key}=v)", "strict").accepts == {key: "v"}


@pytest.mark.invariant(id="DCI-GRM-008")
@pytest.mark.parametrize("key", ["", "a.b", "é", "a b", "a/b", "a@b", "١", "a(b", "ａ"])
def test_another_key_fails_in_strict_and_is_kept_in_best_effort(key: str) -> None:
    assert only_strict_refuses(f"DCI/1 A({key}=v)").accepts == {key: "v"}


# Values and escapes


@pytest.mark.parametrize("pairs", ["A(k=1,l=2,k=3)", "A(k=1) A(l=2) Accepts(k=3)"])
def test_of_a_key_given_twice_the_last_counts_and_strict_refuses(pairs: str) -> None:
    assert only_strict_refuses(f"DCI/1 {pairs}").accepts == {"k": "3", "l": "2"}


@pytest.mark.invariant(id="DCI-GRM-009")
def test_all_safe_and_escaped_characters_may_stand_in_a_value() -> None:
    safe = "abcXYZ0189-_./:@"
    contract = parse_contract(rf"DCI/1 A(k={safe}\,\(\)\=\\\ z)", "strict")
    assert contract.accepts == {"k": safe + ",()=\\ z"}


@pytest.mark.invariant(id="DCI-GRM-009")
@pytest.mark.parametrize(
    "char", [*"!\"#$%&'*+;<>?[]^`{|}~ (=\t\n", "é", "０", "\u200b", "\0", "😀"]
)
def test_another_bare_character_fails_in_strict_and_is_kept_in_best_effort(char: str) -> None:
    contract = only_strict_refuses(f"DCI/1 A(k=a{char}b)")
    assert contract.accepts == {"k": f"a{char}b"}
    assert [doubt.position for doubt in contract.doubts] == [11]


@pytest.mark.invariant(id="DCI-GRM-010")
@pytest.mark.parametrize("clause", ["A(k=x{}y)", "P(x{}y)"])
@pytest.mark.parametrize("char", ",()=\\ ")
def test_a_backslash_escapes_six_characters(clause: str, char: str) -> None:
    contract = parse_contract(f"DCI/1 {clause.format(chr(92) + char)}", "strict")
    assert [*contract.provides, *contract.accepts.values()] == [f"x{char}y"]


@pytest.mark.invariant(id="DCI-GRM-010")
@pytest.mark.parametrize("clause", ["A(k=x{}y)", "P(x{}y)"])
@pytest.mark.parametrize("char", ["n", "t", '"', "'", "-", "/", "0", "é", "\t", ";"])
def test_another_escape_fails_in_strict_and_keeps_its_backslash(clause: str, char: str) -> None:
    contract = only_strict_refuses(f"DCI/1 {clause.format(chr(92) + char)}")
    assert [*contract.provides, *contract.accepts.values()] == [f"x\\{char}y"]
    messages = [doubt.message for doubt in contract.doubts]
    assert messages[0] == "unknown escape"
    assert not any("\\" in message for message in messages)


@pytest.mark.invariant(id="DCI-GRM-012")
def test_escaped_signs_end_no_value_no_pair_and_no_clause() -> None:
    contract = parse_contract(r"DCI/1 A(k=a\,b\)\ R\(c\)\\,l=\(\=\)) P(a\,b\)\ R\(c,d)", "strict")
    assert contract == Contract(
        accepts={"k": "a,b) R(c)\\", "l": "(=)"}, provides=("a,b) R(c", "d")
    )


@pytest.mark.invariant(id="DCI-GRM-012")
def test_a_backslash_that_is_itself_escaped_protects_nothing() -> None:
    assert parse_contract(r"DCI/1 A(k=a\\,l=b\\)", "strict").accepts == {"k": "a\\", "l": "b\\"}


@pytest.mark.invariant(id="DCI-GRM-013")
@pytest.mark.parametrize("value", ["a b", " a", "a ", " ", "  a  b  "])
def test_the_serializer_escapes_every_space_of_a_value(value: str) -> None:
    contract = Contract(accepts={"k": value}, provides=("web search",))
    escaped = value.replace(" ", "\\ ")
    text = serialize_contract(contract)
    assert text == rf"DCI/1 P(web\ search) A(k={escaped})"
    assert parse_contract(text, "strict") == contract


@pytest.mark.invariant(id="DCI-GRM-014")
@pytest.mark.parametrize("name", ["A", "Pol"])
@pytest.mark.parametrize(
    ("pair", "key", "value"),
    [
        ("k=a=b=c", "k", "a=b=c"),
        (r"a\=b=c\=d=e", "a=b", "c=d=e"),
        (r"k=\=", "k", "="),
        ("k==", "k", "="),
        ("=v", "", "v"),
    ],
)
def test_a_pair_is_split_at_the_first_bare_equals(
    name: str, pair: str, key: str, value: str
) -> None:
    contract = parse_contract(f"DCI/1 {name}({pair})", "best-effort")
    assert {**contract.accepts, **contract.policy} == {key: value}


# Modes of a run


@pytest.mark.invariant(id="DCI-GRM-011")
def test_without_a_stated_mode_a_contract_is_best_effort() -> None:
    assert parse_contract("DCI/1 P(a)").mode == "best-effort"
    assert parse_contract("DCI/1 P(a)") == parse_contract("DCI/1^best-effort P(a)")


@pytest.mark.invariant(id="DCI-GRM-011")
def test_a_contract_is_judged_by_its_own_mode_unless_another_is_given() -> None:
    assert is_usable("DCI/1 P(a) X(y)")
    assert not is_usable("DCI/1^strict P(a) X(y)")
    assert is_usable("DCI/1^strict P(a) X(y)", "best-effort")
    assert parse_contract("DCI/1^strict P(a) X(y)", "best-effort").mode == "strict"


@pytest.mark.invariant(id="DCI-GRM-011")
@pytest.mark.parametrize(
    ("head", "runtime", "mode"),
    [
        ("DCI/1", None, "best-effort"),
        ("DCI/1^strict", None, "strict"),
        ("DCI/1^strict", "best-effort", "best-effort"),
        ("DCI/1", "strict", "strict"),
    ],
)
def test_the_mode_of_the_run_comes_from_runtime_then_consumer(
    head: str, runtime: Mode | None, mode: Mode
) -> None:
    consumer = skill(f"{head} R(a)")
    assert resolve([consumer], consumer=consumer, mode=runtime).question.mode == mode


@pytest.mark.invariant(id="DCI-GRM-011")
def test_the_mode_of_a_provider_does_not_change_the_run() -> None:
    run = resolve([skill("DCI/1^strict P(web-search)")], ["web-search"])
    assert run.question.mode == "best-effort"


@pytest.mark.invariant(id="DCI-GRM-019")
@pytest.mark.parametrize("contract", ["DCI/2 P(web-search)", "DCI/1 P(web-search", "", "nonsense"])
def test_an_unusable_contract_is_none_in_best_effort_and_scores_zero_in_strict(
    contract: str,
) -> None:
    lenient = row(resolve([skill(contract)], ["web-search"], mode="best-effort"))
    strict = row(resolve([skill(contract)], ["web-search"], mode="strict"))
    assert lenient["matches"][0]["match"] == "provisional"
    assert strict["S_contract"] == 0.0
    assert lenient["contract_problem"] == strict["contract_problem"] != ""


@pytest.mark.invariant(id="DCI-GRM-019")
def test_a_doubtful_contract_counts_in_best_effort_only() -> None:
    one = skill("DCI/1 P(web-search) A(k=a b)")
    lenient = row(resolve([one], ["web-search"], mode="best-effort"))
    strict = row(resolve([one], ["web-search"], mode="strict"))
    assert lenient["S_contract"] == 1.0
    assert "contract_problem" not in lenient
    assert strict["S_contract"] == 0.0
    assert "space" in strict["contract_problem"]


def test_an_unusable_contract_of_the_consumer_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        resolve([], ["a"], consumer=skill("DCI/2 R(a)"))
    with pytest.raises(UsageError, match="cannot be used"):
        resolve([], ["a"], consumer=skill("DCI/1 R(a) X(y)"), mode="strict")
    assert resolve([], ["a"], consumer=skill("DCI/1 R(a) X(y)")).question.requires == ("a",)

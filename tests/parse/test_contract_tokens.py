"""Contracts there and back, illegal capability tokens, and text that is no contract at all."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from candidates import candidate_of
from metier.core.names import is_capability_name
from metier.errors import ContractError
from metier.parse.contract import parse_contract, serialize_contract
from metier.resolve import resolve
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Mode
from soak import examples

MODES: tuple[Mode, ...] = ("strict", "best-effort")
ILLEGAL = ["Web-Search", "web_search", "café", "a/b", "-a", "a-", "a--b", "x" * 65, "web search"]
LONG = {
    "P": ("Provides",),
    "E": ("Expects",),
    "A": ("Accepts",),
    "R": ("Required", "Requires"),
    "O": ("Optional",),
    "Pol": ("Policy",),
}


def skill(contract: str) -> Candidate:
    return candidate_of(
        name="web",
        description="Search the web.",
        folder="skills/web",
        source="workspace",
        data={"metadata": {"contract": contract}},
    )


def scored(contract: str, mode: Mode) -> dict[str, Any]:
    """The row of the report for a skill with this contract, asked for web-search."""
    run = resolve([skill(contract)], ["web-search"], mode=mode)
    row: dict[str, Any] = run.full_report().data["candidates"][0]
    return row


# Capability tokens


@pytest.mark.invariant(id="DCI-TOK-002")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["P", "E", "R", "O"])
@pytest.mark.parametrize("token", ILLEGAL)
def test_an_illegal_token_of_any_list_is_counted_and_breaks_nothing(
    token: str, name: str, mode: Mode
) -> None:
    one = skill(f"DCI/1 {name}({token},ok)")
    assert one.contract_in(mode) is not None
    assert one.invalid_tokens() == 1


@pytest.mark.invariant(id="DCI-TOK-002")
def test_keys_and_values_of_pairs_are_not_held_to_the_rule_of_names() -> None:
    assert skill("DCI/1 A(Key_1=Va.lue) Pol(X=Y)").invalid_tokens() == 0


@pytest.mark.invariant(id="DCI-TOK-003")
@pytest.mark.parametrize("name", ["P", "E", "R", "O"])
@pytest.mark.parametrize(
    "written", [" a-b ", r"\ a-b\ ", r"\  a-b", "a-b\t", "\n a-b", "\u00a0a-b\u3000"]
)
def test_a_token_is_decoded_and_trimmed_before_it_is_judged(name: str, written: str) -> None:
    contract = parse_contract(f"DCI/1 {name}({written})", "strict")
    tokens = [*contract.provides, *contract.expects, *contract.requires, *contract.optional]
    assert tokens == ["a-b"]
    assert is_capability_name(tokens[0])


@pytest.mark.invariant(id="DCI-TOK-004")
@given(st.text(min_size=1, max_size=12).filter(lambda text: text == text.strip() != ""))
@example("Web-Search")
@example("ﬁle")
@example("cafe\u0301")
@example("a\u200bb")
@example("a  b")
def test_nothing_of_a_token_is_dropped_rewritten_or_folded(token: str) -> None:
    contract = parse_contract(serialize_contract(Contract(provides=(token,))), "best-effort")
    assert contract.provides == (token,)


@pytest.mark.invariant(id="DCI-TOK-005")
@pytest.mark.parametrize("token", ["Web-Search", "web_search", "web--search", "web-search-"])
def test_in_strict_an_illegal_token_matches_nothing_and_costs_nothing(token: str) -> None:
    row = scored(f"DCI/1 P({token})", "strict")
    assert row["S_contract"] == 0.0
    assert row["unresolved_required"] == 1
    assert row["penalties"]["invalid_token_penalty"] == 0.0


@pytest.mark.invariant(id="DCI-TOK-006")
def test_in_best_effort_a_candidate_with_illegal_tokens_stays_and_pays() -> None:
    row = scored("DCI/1 P(web-search,Web_Search)", "best-effort")
    assert row["matches"][0]["match"] == "exact"
    assert row["penalties"]["invalid_token_penalty"] == pytest.approx(0.02)


@pytest.mark.invariant(id="DCI-TOK-006")
@pytest.mark.parametrize("token", ["Web-Search", "web_search", "web--search", "web-search-"])
def test_in_best_effort_an_illegal_token_does_not_match_either(token: str) -> None:
    assert scored(f"DCI/1 P({token})", "best-effort")["S_contract"] == 0.0


@pytest.mark.invariant(id="DCI-TOK-007")
@pytest.mark.parametrize(
    ("clauses", "penalty"),
    [
        ("P(ok)", 0.0),
        ("P(B)", 0.02),
        ("P(B,B)", 0.04),
        ("P(B) E(B) R(B) O(B)", 0.08),
        ("P(" + ",".join(["B"] * 9) + ")", 0.18),
        ("P(" + ",".join(["B"] * 10) + ")", 0.20),
        ("P(" + ",".join(["B"] * 11) + ")", 0.20),
        ("A(B=B) Pol(B=B)", 0.0),
    ],
)
def test_the_penalty_is_two_hundredths_for_each_bad_value_up_to_a_fifth(
    clauses: str, penalty: float
) -> None:
    row = scored(f"DCI/1 {clauses}", "best-effort")
    assert row["penalties"]["invalid_token_penalty"] == pytest.approx(penalty)


@pytest.mark.invariant(id="DCI-TOK-008")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("token", ["Web-Search", "web search", "web_search", "ﬁle", ""])
def test_an_illegal_requirement_is_unresolved_as_it_was_written(token: str, mode: Mode) -> None:
    text = serialize_contract(Contract(provides=(token or "a", "web-search")))
    run = resolve([skill(text)], ["web-search", token], mode=mode)
    assert token in run.report.data["unresolved_required_capabilities"]
    assert run.report.data["candidates"][0]["matches"][1]["match"] == "none"


# Canonical form


@pytest.mark.invariant(id="DCI-GRM-015")
@pytest.mark.parametrize(("mode", "head"), [("strict", "DCI/1^strict"), ("best-effort", "DCI/1")])
def test_canonical_text_is_short_and_in_one_order(mode: Mode, head: str) -> None:
    text = f"DCI/1^{mode}   Policy(a=1) Optional(b)  R(c) Accepts(d=2) E(e)   Provides(f)"
    assert serialize_contract(parse_contract(text)) == f"{head} P(f) E(e) A(d=2) R(c) O(b) Pol(a=1)"


@pytest.mark.invariant(id="DCI-GRM-016")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [long for names in LONG.values() for long in names])
def test_each_long_name_is_accepted_in_both_modes(name: str, mode: Mode) -> None:
    contract = parse_contract(f"DCI/1 {name}(k=v)", mode)
    assert contract.doubts == ()
    assert contract.unknown_clauses == ()


@pytest.mark.invariant(id="DCI-GRM-017")
@pytest.mark.parametrize(
    ("short", "long"), [(short, long) for short, names in LONG.items() for long in names]
)
def test_long_and_short_spelling_give_equal_contracts(short: str, long: str) -> None:
    assert parse_contract(f"DCI/1 {long}(k=v)") == parse_contract(f"DCI/1 {short}(k=v)")
    mixed = parse_contract(f"DCI/1 {long}(k=v) {short}(l=w)")
    assert mixed == parse_contract(f"DCI/1 {short}(k=v,l=w)")


@pytest.mark.invariant(id="DCI-GRM-017")
def test_a_key_given_in_both_spellings_of_a_clause_is_given_twice() -> None:
    assert len(parse_contract("DCI/1 Pol(a=1) Policy(a=2)").doubts) == 1


SAFE = "abzABZ019-_./:@"
values = st.text(alphabet=SAFE + ",()=\\ ", min_size=1, max_size=12)
keys = st.text(alphabet="abzABZ019_-", min_size=1, max_size=8)
legal = st.from_regex(r"[a-z0-9]{1,5}(-[a-z0-9]{1,5}){0,3}", fullmatch=True)
odd = st.text(min_size=1, max_size=8).filter(lambda text: text == text.strip() != "")


def contracts(
    names: st.SearchStrategy[str], written: st.SearchStrategy[str] = values
) -> st.SearchStrategy[Contract]:
    lists = st.lists(names, max_size=4).map(tuple)
    pairs = st.dictionaries(keys, written, max_size=4)
    made = st.builds(
        Contract,
        mode=st.sampled_from(MODES),
        provides=lists,
        expects=lists,
        accepts=pairs,
        requires=lists,
        optional=lists,
        policy=pairs,
    )
    return made.filter(lambda one: serialize_contract(one).endswith(")"))


@pytest.mark.invariant(id="DCI-GRM-018")
@given(contracts(legal))
@examples(75)
def test_what_is_serialized_parses_to_an_equal_contract_in_every_mode(contract: Contract) -> None:
    text = serialize_contract(contract)
    for mode in (None, *MODES):
        parsed = parse_contract(text, mode)
        assert parsed == contract
        assert parsed.doubts == ()
    assert serialize_contract(parsed) == text


@pytest.mark.invariant(id="DCI-GRM-018")
@given(contracts(odd, odd))
@examples(75)
def test_even_odd_tokens_and_values_survive_the_way_there_and_back(contract: Contract) -> None:
    assert parse_contract(serialize_contract(contract), "best-effort") == contract


# Any text

PARTS = ["DCI/1", "^strict", "^best-effort", " ", "P(", "A(", "Pol(", "X(", ")", "(", ",", "=",
         "\\", "a", "k=v", "é", "\n", "\0", "\ud800"]  # fmt: skip
noise = st.lists(st.sampled_from(PARTS), max_size=25).map("".join)
CLAUSES = ["P(a)", "P( b , c )", "E(Web_Search)", "R(a\\,b)", "X(y)", "A(k=v)", "A(k=v w)",
           "A(k=\\=)", "A(k=v,k=w)", "A(é=\\v)", "Pol(min-total-score=0.5)"]  # fmt: skip
clauses = st.lists(st.sampled_from(CLAUSES), max_size=6).map(" ".join)
behind_a_clause = (noise | clauses).map(lambda text: f"DCI/1 P(a) {text}")


def contract_or_none(text: str, mode: Mode | None) -> Contract | None:
    found: Contract | ContractError
    try:
        found = parse_contract(text, mode)
    except ContractError as error:
        found = error
    if isinstance(found, Contract):
        return found
    assert 0 <= found.position <= len(text)
    assert len(found.message) < 200
    return None


@given(st.one_of(st.text(), noise, behind_a_clause))
@examples(150)
def test_any_text_gives_a_contract_or_a_contract_error(text: str) -> None:
    lenient = contract_or_none(text, "best-effort")
    strict = contract_or_none(text, "strict")
    assert contract_or_none(text, None) in (lenient, strict)
    if lenient is None:
        assert strict is None
    else:
        assert (strict is None) == bool(lenient.doubts)
        assert all(0 <= doubt.position < len(text) for doubt in lenient.doubts)


@given(behind_a_clause)
@examples(75)
def test_the_canonical_text_of_whatever_was_read_is_a_fixed_point(text: str) -> None:
    contract = contract_or_none(text, "best-effort")
    if contract is not None:
        canonical = serialize_contract(contract)
        assert parse_contract(canonical, "best-effort") == contract
        assert serialize_contract(parse_contract(canonical, "best-effort")) == canonical


@pytest.mark.parametrize(
    "text",
    ["DCI/1 " + "P" * 500_000, "DCI/1 A(" + "\\" * 500_001 + ")", "DCI/1 P(" + " " * 500_000 + ")",
     "DCI/1 A(k=" + "é" * 300_000 + ")", "DCI/1 " + "X(y) " * 60_000, "DCI/1^" + "s" * 500_000,
     "DCI/1 A(" + ",".join(f"k{n}=v" for n in range(60_000)) + ")", "DCI/1 P(" * 60_000,
     "DCI/1 A(" + "k" * 300_000 + "=v)", "DCI/1 A(" + "k=v," * 60_000 + "k=v)"],
    ids=["name", "escapes", "blanks", "unsafe", "unknown", "mode", "pairs", "nested", "key",
         "one-key"],
)  # fmt: skip
def test_a_huge_text_is_judged_in_linear_time_with_a_short_message(text: str) -> None:
    contract = contract_or_none(text, None)
    assert contract is None or all(len(doubt.message) < 200 for doubt in contract.doubts)

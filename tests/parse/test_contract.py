"""The DCI grammar: what is read, what is doubted, what cannot be used, and the way back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.names import is_capability_name
from metier.errors import ContractError
from metier.parse.contract import parse_contract, serialize_contract
from metier.values.contracts import Contract, Mode
from soak import examples


def error(text: str, mode: Mode | None = None) -> ContractError:
    with pytest.raises(ContractError) as caught:
        parse_contract(text, mode)
    return caught.value


def error_if_any(text: str, mode: Mode | None = None) -> ContractError | None:
    try:
        parse_contract(text, mode)
    except ContractError as raised:
        return raised
    return None


# What is read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DCI/1 P(option-evaluation)", Contract(provides=("option-evaluation",))),
        (
            "DCI/1^strict R(web-search,reasoning-advanced)",
            Contract(mode="strict", requires=("web-search", "reasoning-advanced")),
        ),
        ("DCI/1^best-effort P(a)", Contract(provides=("a",))),
        ("DCI/1   P(a)   R(b)", Contract(provides=("a",), requires=("b",))),
        ("DCI/1 P(a) \n", Contract(provides=("a",))),
        ("DCI/1 P( a , b )", Contract(provides=("a", "b"))),
        ("DCI/1 E(a) O(b,c)", Contract(expects=("a",), optional=("b", "c"))),
        ("DCI/1 A(k=v)", Contract(accepts={"k": "v"})),
        (
            "DCI/1 A(u=user@host:/p.q_r-1)",
            Contract(accepts={"u": "user@host:/p.q_r-1"}),
        ),
        ("DCI/1 Pol(max-candidates=3)", Contract(policy={"max-candidates": "3"})),
        ("DCI/1 R(b) P(a)", Contract(provides=("a",), requires=("b",))),
    ],
)
def test_a_contract_is_read_clause_by_clause(text: str, expected: Contract) -> None:
    contract = parse_contract(text)
    assert contract == expected
    assert contract.doubts == ()
    assert contract.unknown_clauses == ()


def test_the_example_of_the_spec_is_read() -> None:
    contract = parse_contract(
        "DCI/1^strict P(option-evaluation) E(evaluation-criteria) "
        "A(output-format=json,output-template=raw) R(web-search) O(critical-thinking) "
        "Pol(min-total-score=0.45,on-missing-required=offer-emulation)"
    )
    assert contract == Contract(
        mode="strict",
        provides=("option-evaluation",),
        expects=("evaluation-criteria",),
        accepts={"output-format": "json", "output-template": "raw"},
        requires=("web-search",),
        optional=("critical-thinking",),
        policy={"min-total-score": "0.45", "on-missing-required": "offer-emulation"},
    )


def test_repeated_clauses_merge_in_order_and_keep_repetitions() -> None:
    contract = parse_contract("DCI/1 P(a) R(x) P(b,a) A(i=1) A(j=2)")
    assert contract.provides == ("a", "b", "a")
    assert contract.requires == ("x",)
    assert list(contract.accepts.items()) == [("i", "1"), ("j", "2")]
    assert contract.doubts == ()


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (
            "DCI/1 Provides(a) Expects(b) Accepts(k=v) Required(c) Optional(d) "
            "Policy(max-candidates=3)",
            "DCI/1 P(a) E(b) A(k=v) R(c) O(d) Pol(max-candidates=3)",
        ),
        ("DCI/1 Requires(c)", "DCI/1 R(c)"),
        ("DCI/1 Provides(a) P(b)", "DCI/1 P(a,b)"),
        ("DCI/1 Required(a) Requires(b) R(c)", "DCI/1 R(a,b,c)"),
    ],
)
def test_long_names_become_short_ones(text: str, canonical: str) -> None:
    contract = parse_contract(text, "strict")
    assert contract.doubts == ()
    assert serialize_contract(contract) == canonical


@pytest.mark.parametrize("name", ["p", "PROVIDES", "provides", "POL", "pol", "Require"])
def test_clause_names_are_case_sensitive(name: str) -> None:
    contract = parse_contract(f"DCI/1 P(a) {name}(k=v)")
    assert contract.provides == ("a",)
    assert contract.unknown_clauses == (name,)


# Escapes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"f\(x\)", "f(x)"),
        (r"a\\b", "a\\b"),
        (r"a\,b", "a,b"),
        (r"a\=b", "a=b"),
        (r"a\ b", "a b"),
        (r"\\\\", "\\\\"),
        (r"\\\,", "\\,"),
        (r"\(\)\,\=\\", "(),=\\"),
    ],
)
def test_escapes_in_a_value_are_decoded_without_a_doubt(text: str, value: str) -> None:
    contract = parse_contract(f"DCI/1^strict A(k={text})")
    assert contract.accepts == {"k": value}
    assert contract.doubts == ()


def test_key_and_value_part_at_the_first_equals_that_is_not_escaped() -> None:
    contract = parse_contract(r"DCI/1 A(a\=b=c\=d)")
    assert contract.accepts == {"a=b": "c=d"}


@pytest.mark.parametrize(
    ("text", "token"),
    [
        (r"web\ search", "web search"),
        (r"a\,b", "a,b"),
        (r"a\(b\)", "a(b)"),
        (r"\ web-search\ ", "web-search"),
        (r"a\\b", "a\\b"),
    ],
)
def test_a_capability_is_decoded_then_trimmed(text: str, token: str) -> None:
    contract = parse_contract(f"DCI/1^strict P({text})")
    assert contract.provides == (token,)


@pytest.mark.parametrize(
    "token", ["Web-Search", "web_search", "café", "a/b", "-a", "a-", "a--b", "x" * 65, "web search"]
)
@pytest.mark.parametrize("mode", ["strict", "best-effort"])
def test_an_illegal_capability_is_kept_as_written_and_is_no_parse_error(
    token: str, mode: Mode
) -> None:
    contract = parse_contract(f"DCI/1 P({token},ok)", mode)
    assert contract.provides == (token, "ok")
    assert [is_capability_name(one) for one in contract.provides] == [False, True]


@pytest.mark.parametrize(("text", "value"), [(r"\ x\ ", " x "), (r"\ ", " "), (r"x\ ", "x ")])
def test_an_escaped_blank_at_the_edge_of_a_value_is_kept(text: str, value: str) -> None:
    assert parse_contract(f"DCI/1 A(k={text})").accepts == {"k": value}


# What best-effort lives with and strict refuses


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("A(k=a b)", {"accepts": {"k": "a b"}}),
        ("A(k=a=b)", {"accepts": {"k": "a=b"}}),
        ("A(expr=a=b)", {"accepts": {"expr": "a=b"}}),
        ("A(k=é)", {"accepts": {"k": "é"}}),
        ("A(k=a+b)", {"accepts": {"k": "a+b"}}),
        ("A(k=a(b)", {"accepts": {"k": "a(b"}}),
        (r"A(k=a\nb)", {"accepts": {"k": r"a\nb"}}),
        (r"P(a\-b)", {"provides": (r"a\-b",)}),
        ("A(k=1,k=2)", {"accepts": {"k": "2"}}),
        ("A(k=1) A(k=2)", {"accepts": {"k": "2"}}),
        ("Pol(max-providers=1) Policy(max-providers=2)", {"policy": {"max-providers": "2"}}),
        ("A(a.b=v)", {"accepts": {"a.b": "v"}}),
        ("A(=v)", {"accepts": {"": "v"}}),
        (r"A(a\ b=v)", {"accepts": {"a b": "v"}}),
        ("P(a) X(y)", {"provides": ("a",), "unknown_clauses": ("X",)}),
        ("X(y) P(a)", {"provides": ("a",), "unknown_clauses": ("X",)}),
        ("P(a) provides(b)", {"provides": ("a",), "unknown_clauses": ("provides",)}),
    ],
)
def test_a_doubtful_part_is_kept_in_best_effort_and_an_error_in_strict(
    clauses: str, expected: dict[str, Any]
) -> None:
    contract = parse_contract(f"DCI/1 {clauses}")
    assert {name: getattr(contract, name) for name in expected} == expected
    assert len(contract.doubts) == 1
    assert contract.doubts[0].message
    assert error(f"DCI/1^strict {clauses}").position == contract.doubts[0].position + len("^strict")
    assert error(f"DCI/1 {clauses}", "strict").position == contract.doubts[0].position


def test_every_unknown_clause_is_listed_with_a_doubt_each() -> None:
    contract = parse_contract("DCI/1 X(a) P(b) Y(c) X(d)")
    assert contract.unknown_clauses == ("X", "Y", "X")
    assert len(contract.doubts) == 3


def test_the_given_mode_judges_and_the_stated_one_is_kept() -> None:
    lenient = parse_contract("DCI/1^strict P(a) X(y)", "best-effort")
    assert lenient.mode == "strict"
    assert lenient.unknown_clauses == ("X",)
    assert parse_contract("DCI/1 P(a)", "strict").mode == "best-effort"


@pytest.mark.parametrize(
    "policy",
    ["unknown=1", "min-total-score=9", "max-candidates=-1", "selection-mode=triple", "a=b,c=d"],
)
@pytest.mark.parametrize("mode", ["strict", "best-effort"])
def test_policy_keys_and_values_are_no_matter_of_grammar(policy: str, mode: Mode) -> None:
    contract = parse_contract(f"DCI/1 Pol({policy})", mode)
    assert contract.policy == dict(pair.split("=") for pair in policy.split(","))
    assert contract.doubts == ()


@pytest.mark.parametrize(
    ("text", "position"),
    [("DCI/1 A(key=a b)", 13), ("DCI/1 A(key=a=b)", 13), ("DCI/1 A(i=1,key=é)", 16)],
)
def test_a_doubt_about_a_value_points_at_the_character(text: str, position: int) -> None:
    assert parse_contract(text).doubts[0].position == position
    assert error(text, "strict").position == position


# What cannot be used in either mode


@pytest.mark.parametrize("mode", [None, "strict", "best-effort"])
@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "DCI/1"),
        ("dci/1 P(a)", 0, "DCI/1"),
        ("Dci/1 P(a)", 0, "DCI/1"),
        (" DCI/1 P(a)", 0, "DCI/1"),
        ("P(a)", 0, "DCI/1"),
        ("DCI/ P(a)", 4, "digit"),
        ("DCI/x P(a)", 4, "digit"),
        ("DCI/0 P(a)", 4, "version 0"),
        ("DCI/2 P(a)", 4, "version 2"),
        ("DCI/10 P(a)", 4, "version 10"),
        ("DCI/01 P(a)", 4, "version 01"),
        ("DCI/1^lenient P(a)", 6, "invalid mode"),
        ("DCI/1^STRICT P(a)", 6, "invalid mode"),
        ("DCI/1^ P(a)", 6, "invalid mode"),
        ("DCI/1^strict-ish P(a)", 6, "invalid mode"),
        ("DCI/1", 5, "at least one clause"),
        ("DCI/1   ", 5, "at least one clause"),
        ("DCI/1^strict", 12, "at least one clause"),
        ("DCI/1 X(y)", 10, "at least one clause"),
        ("DCI/1 X(y) Y(z)", 15, "at least one clause"),
        ("DCI/1 P()", 8, "empty"),
        ("DCI/1 P( )", 8, "empty"),
        ("DCI/1 A()", 8, "empty"),
        ("DCI/1 P(a) X()", 13, "empty"),
        ("DCI/1 P(a,)", 10, "trailing comma"),
        ("DCI/1 P(a, )", 10, "trailing comma"),
        ("DCI/1 A(k=v,)", 12, "trailing comma"),
        ("DCI/1 P(,a)", 8, "empty"),
        ("DCI/1 P(a,,b)", 10, "empty"),
        ("DCI/1 P(a", 9, "not closed"),
        ("DCI/1 P(", 8, "not closed"),
        (r"DCI/1 P(a\)", 11, "not closed"),
        ("DCI/1 A(k)", 8, "key=value"),
        (r"DCI/1 A(k\=v)", 8, "key=value"),
        ("DCI/1 A(k=)", 8, "no value"),
        ("DCI/1 A(k= )", 8, "no value"),
        ("DCI/1 A(j=1,k=)", 12, "no value"),
        ("DCI/1 P(a)R(b)", 10, "space"),
        ("DCI/1 P(a),R(b)", 10, "space"),
        ("DCI/1P(a)", 5, "space"),
        ("DCI/1\tP(a)", 5, "space"),
        ("DCI/1 P(a))", 10, "space"),
        ("DCI/1 P(a) stray", 11, "clause"),
        ("DCI/1 stray P(a)", 6, "clause"),
        ("DCI/1 P (a)", 6, "clause"),
        ("DCI/1 (a)", 6, "clause"),
        ("DCI/1 P(a) 7(b)", 11, "clause"),
        ("DCI/1 P(a)  !", 12, "clause"),
    ],
)
def test_what_breaks_the_grammar_cannot_be_used(
    text: str, position: int, message: str, mode: Mode | None
) -> None:
    raised = error(text, mode)
    assert raised.position == position
    assert message in raised.message
    assert raised.code == "CONTRACT_INVALID"
    assert raised.where == f"character {position + 1}"


# The way back


@pytest.mark.parametrize(
    ("contract", "text"),
    [
        (Contract(provides=("a",)), "DCI/1 P(a)"),
        (Contract(mode="strict", provides=("a", "b")), "DCI/1^strict P(a,b)"),
        (
            Contract(
                policy={"max-candidates": "3"},
                optional=("d",),
                requires=("c",),
                accepts={"k": "v", "j": "w"},
                expects=("b",),
                provides=("a",),
            ),
            "DCI/1 P(a) E(b) A(k=v,j=w) R(c) O(d) Pol(max-candidates=3)",
        ),
        (Contract(accepts={"k": "f(x, y)=\\"}), r"DCI/1 A(k=f\(x\,\ y\)\=\\)"),
        (Contract(provides=("web search",)), r"DCI/1 P(web\ search)"),
    ],
)
def test_the_canonical_text_is_short_ordered_and_escaped(contract: Contract, text: str) -> None:
    assert serialize_contract(contract) == text
    assert parse_contract(text) == contract


def test_unknown_clauses_and_an_explicit_default_mode_are_not_written() -> None:
    contract = parse_contract("DCI/1^best-effort  X(y)  P(b)  P(a)")
    assert serialize_contract(contract) == "DCI/1 P(b,a)"


_safe = "abzABZ019-_./:@"
_values = st.text(alphabet=_safe + ",()=\\ ", min_size=1, max_size=12).filter(
    lambda text: text == text.strip(" ")
)
"""By the grammar; blanks at the edges have their own test above."""
_names = st.lists(st.text(alphabet="abz019", min_size=1), min_size=1, max_size=3).map("-".join)
_keys = st.text(alphabet="abzABZ019_-", min_size=1, max_size=8)


def _contracts(names: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> Any:
    lists = st.lists(names, max_size=4).map(tuple)
    pairs = st.dictionaries(_keys, values, max_size=4)
    return st.builds(
        Contract,
        mode=st.sampled_from(["strict", "best-effort"]),
        provides=lists,
        expects=lists,
        accepts=pairs,
        requires=lists,
        optional=lists,
        policy=pairs,
    ).filter(lambda contract: serialize_contract(contract).endswith(")"))


@given(_contracts(_names, _values))
@examples(75)
def test_parsing_undoes_serializing(contract: Contract) -> None:
    text = serialize_contract(contract)
    parsed = parse_contract(text, "strict")
    assert parsed == contract
    assert list(parsed.accepts) == list(contract.accepts)
    assert serialize_contract(parsed) == text


_any_token = st.text(min_size=1, max_size=8).filter(lambda text: text == text.strip() != "")


@given(_contracts(_any_token, _values))
@examples(75)
def test_parsing_undoes_serializing_even_of_illegal_capabilities(contract: Contract) -> None:
    assert parse_contract(serialize_contract(contract)) == contract


def test_a_capability_that_is_only_an_escaped_blank_is_an_empty_value() -> None:
    with pytest.raises(ContractError, match="empty value"):
        parse_contract(r"DCI/1 P(\ ,a)")


# Whatever comes in

_signs = st.sampled_from(
    ["DCI/1", "DCI/1^strict", " ", "  ", "P(", "A(", "Pol(", "Provides(", "X(", ")", "(", ",", "=",
     "\\", "\\,", "\\(", "\\ ", "a", "web-search", "k=v", "é", "\n", "\t", "\0", "^", "/"]
)  # fmt: skip
_modes = st.sampled_from([None, "strict", "best-effort"])


@given(st.one_of(st.text(), st.lists(_signs, max_size=20).map("".join)), _modes)
@examples(125)
def test_any_text_is_a_contract_or_a_contract_error(text: str, mode: Mode | None) -> None:
    raised = error_if_any(text, mode)
    if raised is not None:
        assert 0 <= raised.position <= len(text)
        assert raised.message


@given(st.lists(_signs, max_size=20).map(lambda signs: "DCI/1 P(a) " + "".join(signs)))
@examples(125)
def test_what_strict_accepts_best_effort_accepts_alike(text: str) -> None:
    if error_if_any(text, "strict") is None:
        strict = parse_contract(text, "strict")
        assert strict.doubts == ()
        assert parse_contract(text, "best-effort") == strict


@pytest.mark.parametrize(
    "text",
    [
        "DCI/1 P(" + "a," * 100_000 + "a)",
        "DCI/1 " + "P(a) " * 50_000,
        "DCI/1 " + " " * 300_000 + "P(a)",
        "DCI/1 A(k=" + "\\," * 100_000 + ")",
        "DCI/1 A(k=" + "=" * 200_000 + ")",
        "DCI/1 P(" + "(" * 200_000 + ")",
        "DCI/1 P(a) " + "x" * 300_000,
        "DCI/" + "1" * 300_000,
    ],
    ids=["values", "clauses", "blanks", "escapes", "equals", "parentheses", "stray", "version"],
)
def test_a_very_long_text_does_not_hang(text: str) -> None:
    raised = error_if_any(text)
    assert raised is None or len(raised.message) < 200

"""Alias tables: which names mean one capability, who decides, and what makes a table unusable."""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from metier.core.names import is_capability_name
from metier.core.stems import stems
from metier.resolve.aliases import (
    ALIASES,
    AliasTable,
    AliasTables,
    builtin_aliases,
    parse_alias_table,
)
from metier.resolve.engine import resolve
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.outcomes import Issue
from soak import examples

SCHEMA = json.loads(
    (resources.files("metier") / "schemas" / "aliases.v1.schema.json").read_text(encoding="utf-8")
)
PATH = ".dci/aliases.v1.json"
GOOD = {"schema_version": "1", "alias_table_version": "7", "aliases": {"web-search": ["www-find"]}}


def table(aliases: Mapping[str, list[str]], source: str = "workspace") -> AliasTable:
    return AliasTable.of(source, "1", aliases)


def tables(*maps: Mapping[str, list[str]]) -> AliasTables:
    sources = ("runtime", "workspace", "built-in")
    return AliasTables(table(one, source) for one, source in zip(maps, sources, strict=False))


def are_one(found: AliasTables, left: str, right: str) -> bool:
    """Whether `left` and `right` are one capability, asked from both sides."""
    answers = {right in found.names_of(left), left in found.names_of(right)}
    assert len(answers) == 1
    return answers.pop()


def problems(text: str) -> list[Issue]:
    found, issues = parse_alias_table(text, "workspace", PATH)
    assert (found is None) == bool(issues)
    assert all(issue.code == "DC403" and issue.path == PATH and issue.is_error for issue in issues)
    return issues


def problem(text: str) -> Issue:
    (issue,) = problems(text)
    return issue


# Names of one capability


@pytest.mark.invariant(id="DCI-ALS-001")
def test_canonical_name_and_aliases_match_either_way() -> None:
    found = tables({"web-search": ["internet-search", "www-find"]})
    names = ["internet-search", "web-search", "www-find"]
    for name in names:
        assert found.canonical(name) == "web-search"
        assert found.names_of(name) == names


@pytest.mark.invariant(id="DCI-ALS-001")
def test_a_name_that_no_table_knows_stands_for_itself() -> None:
    found = tables({"a": ["b"]})
    assert found.canonical("c") == "c"
    assert found.names_of("c") == ["c"]
    assert AliasTables().names_of("c") == ["c"]


@pytest.mark.invariant(id="DCI-ALS-001")
@pytest.mark.parametrize("mode", ["strict", "best-effort"])
@pytest.mark.parametrize(
    ("required", "provided"),
    [("web-search", "www-find"), ("www-find", "web-search"), ("www-find", "net-lookup")],
)
def test_a_run_matches_through_the_table_either_way(
    required: str, provided: str, mode: Mode
) -> None:
    found = tables({"web-search": ["www-find", "net-lookup"]})
    one = Candidate(name="s", description="Does things.", folder="s", listed=(provided,))
    row = resolve([one], [required], mode=mode, aliases=found).full_report().data["candidates"][0]
    assert row["matches"][0]["match"] == "alias"
    assert row["matches"][0]["token"] == provided
    assert row["S_contract"] == 0.8


def test_names_come_sorted_and_an_empty_list_of_aliases_makes_a_known_name() -> None:
    found = tables({"b": ["c", "a", "c"], "z": []})
    assert found.names_of("c") == ["a", "b", "c"]
    assert found.names_of("z") == ["z"]


def test_an_alias_of_two_keys_belongs_to_the_smaller_one() -> None:
    assert table({"z": ["x"], "b": ["x"]}).canonical["x"] == "b"
    assert table({"b": ["x"], "z": ["x"]}).canonical["x"] == "b"


# Who decides


@pytest.mark.invariant(id="DCI-ALS-003")
def test_the_first_table_that_knows_a_name_decides() -> None:
    maps: list[dict[str, list[str]]] = [
        {"runtime": ["x"]},
        {"own": ["x", "y"]},
        {"shipped": list("xyz")},
    ]
    found = tables(*maps)
    assert [found.canonical(name) for name in "xyz"] == ["runtime", "own", "shipped"]
    assert tables(*maps[1:]).canonical("x") == "own"
    assert tables(*maps[2:]).canonical("x") == "shipped"


@pytest.mark.invariant(id="DCI-ALS-003")
def test_a_key_of_a_stronger_table_stays_canonical_whatever_a_weaker_one_says() -> None:
    found = tables({"x": ["a"]}, {"b": ["x", "c"]})
    assert found.canonical("x") == "x"
    assert found.names_of("x") == ["a", "x"]
    assert found.names_of("b") == ["b", "c"]


@pytest.mark.invariant(id="DCI-ALS-003")
def test_an_empty_list_in_a_stronger_table_takes_a_name_out_of_a_weaker_one() -> None:
    found = tables({"x": []}, {"b": ["x", "c"]})
    assert not are_one(found, "x", "b")
    assert are_one(found, "b", "c")


@pytest.mark.invariant(id="DCI-ALS-003")
def test_tables_that_share_a_canonical_name_add_up() -> None:
    assert tables({"a": ["x"]}, {"a": ["y"]}, {"a": ["z"]}).names_of("y") == ["a", "x", "y", "z"]


def test_versions_are_kept_by_source() -> None:
    found = AliasTables([AliasTable.of("runtime", "9", {}), builtin_aliases()])
    assert found.versions == {"runtime": "9", "built-in": "1"}
    assert AliasTables().versions == {}


# Keys and circles within one table


@pytest.mark.invariant(id="DCI-ALS-004")
@pytest.mark.parametrize("aliases", [{"a": ["b"], "b": ["c"]}, {"b": ["c"], "a": ["b"]}])
def test_a_key_stays_canonical_where_another_key_lists_it(aliases: dict[str, list[str]]) -> None:
    found = tables(aliases)
    assert [found.canonical(name) for name in "abc"] == ["a", "b", "b"]
    assert not are_one(found, "a", "b")


@pytest.mark.invariant(id="DCI-ALS-004")
def test_a_key_that_lists_itself_is_no_circle() -> None:
    assert table({"b": ["b", "a"]}).canonical == {"b": "b", "a": "b"}


@pytest.mark.invariant(id="DCI-ALS-007")
@pytest.mark.parametrize(
    ("aliases", "smallest"),
    [
        ({"b": ["a"], "a": ["b"]}, "a"),
        ({"c": ["b"], "b": ["a"], "a": ["c"]}, "a"),
        ({"z": ["m", "extra"], "m": ["z"]}, "m"),
        ({"x": ["y"], "y": ["x", "z"], "z": ["y"]}, "x"),
        ({"p": ["q"], "q": ["r"], "r": ["p", "q"]}, "p"),
    ],
)
def test_a_circle_is_flattened_to_its_smallest_key(
    aliases: dict[str, list[str]], smallest: str
) -> None:
    names = {*aliases, *(name for group in aliases.values() for name in group)}
    assert table(aliases).canonical == dict.fromkeys(names, smallest)


@pytest.mark.invariant(id="DCI-ALS-007")
def test_a_key_that_only_leads_into_a_circle_is_no_part_of_it() -> None:
    found = table({"a": ["m"], "m": ["n"], "n": ["m", "z"], "z": []}).canonical
    assert found == {"a": "a", "m": "m", "n": "m", "z": "z"}


@pytest.mark.invariant(id="DCI-ALS-007")
def test_two_circles_stay_apart() -> None:
    found = table({"a": ["b"], "b": ["a", "x"], "c": ["d", "y"], "d": ["c"]}).canonical
    assert found == {"a": "a", "b": "a", "x": "a", "c": "c", "d": "c", "y": "c"}


names = st.text(alphabet="abcdef", min_size=1, max_size=1)
maps = st.dictionaries(names, st.lists(names, max_size=4), max_size=6)


@pytest.mark.invariant(id="DCI-ALS-007")
@given(maps)
def test_no_chain_is_left_in_a_table_and_its_order_does_not_matter(
    aliases: dict[str, list[str]],
) -> None:
    canonical = table(aliases).canonical
    assert canonical.keys() == {*aliases, *(name for group in aliases.values() for name in group)}
    assert all(canonical[target] == target for target in canonical.values())
    assert all(target in aliases for target in canonical.values())
    backwards = {key: aliases[key][::-1] for key in reversed(list(aliases))}
    assert table(backwards).canonical == canonical


@pytest.mark.invariant(id="DCI-ALS-001")
@given(st.lists(maps, max_size=3))
def test_being_one_capability_is_symmetric_over_all_tables(
    found: list[dict[str, list[str]]],
) -> None:
    merged = tables(*found)
    for left in "abcdef":
        assert left in merged.names_of(left)
        for right in "abcdef":
            if are_one(merged, left, right):
                assert merged.names_of(left) == merged.names_of(right)


# Files


@pytest.mark.invariant(id="DCI-ALS-008")
def test_a_good_file_becomes_a_table() -> None:
    found, issues = parse_alias_table(json.dumps(GOOD), "runtime", PATH)
    assert issues == []
    assert found == AliasTable(
        "runtime", "7", {"web-search": "web-search", "www-find": "web-search"}
    )


@pytest.mark.invariant(id="DCI-ALS-005")
@pytest.mark.parametrize("version", [None, "", 1, True, ["1"]])
def test_a_table_without_a_version_is_refused(version: Any) -> None:
    data = {key: value for key, value in GOOD.items() if key != "alias_table_version"}
    if version is not None:
        data["alias_table_version"] = version
    assert "alias_table_version" in problem(json.dumps(data)).message


@pytest.mark.invariant(id="DCI-ALS-002")
@pytest.mark.parametrize("bad", ["", "Web-Search", "web_search", "-a", "a--b", "x" * 65, "é", "a "])
def test_every_name_of_a_table_is_a_legal_capability_name(bad: str) -> None:
    as_key = {**GOOD, "aliases": {"ok": ["fine"], bad: ["other"]}}
    as_alias = {**GOOD, "aliases": {"ok": ["fine", bad]}}
    for data in (as_key, as_alias):
        assert "is not a capability name" in problem(json.dumps(data, ensure_ascii=False)).message


@pytest.mark.invariant(id="DCI-ALS-008")
@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"schema_version": "2"}, "schema_version"),
        ({"schema_version": 1}, "schema_version"),
        ({"aliases": None}, "aliases"),
        ({"aliases": ["a"]}, "aliases"),
        ({"aliases": {"a": "b"}}, "'a'"),
        ({"aliases": {"a": {"b": "c"}}}, "'a'"),
        ({"aliases": {"a": [1]}}, "'a'"),
        ({"aliases": {"a": [None]}}, "'a'"),
        ({"aliases": {"a": [["b"]]}}, "'a'"),
        ({"alias": {}}, "'alias'"),
    ],
)
def test_a_file_of_another_form_is_refused_whole(change: dict[str, Any], word: str) -> None:
    assert word in problem(json.dumps({**GOOD, **change})).message


some = st.sampled_from(["a", "web-search", "Bad", "a--b", "-a", "", "x" * 64, "x" * 65, "é", "1"])
odd = st.one_of(st.none(), st.booleans(), st.integers(), some, st.just([]), st.just({}))
lists = st.one_of(st.lists(st.one_of(some, odd), max_size=3), odd)
files = st.fixed_dictionaries(
    {},
    optional={
        "schema_version": st.one_of(st.just("1"), odd),
        "alias_table_version": st.one_of(st.just("2"), odd),
        "aliases": st.one_of(st.dictionaries(some, lists, max_size=3), odd),
        "more": odd,
    },
)


@pytest.mark.invariant(id="DCI-ALS-008")
@given(st.one_of(files, files.map(lambda data: {**GOOD, **data}), odd))
@examples(100)
def test_the_shipped_schema_and_the_reader_agree_on_every_file(data: Any) -> None:
    is_valid = Draft202012Validator(SCHEMA).is_valid(data)
    found, _ = parse_alias_table(json.dumps(data), "workspace", PATH)
    assert (found is not None) == is_valid


@pytest.mark.invariant(id="DCI-ALS-008")
@pytest.mark.parametrize("key", ["schema_version", "alias_table_version", "aliases"])
def test_each_of_the_three_keys_is_needed(key: str) -> None:
    data = {name: value for name, value in GOOD.items() if name != key}
    assert f"'{key}'" in problem(json.dumps(data)).message


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"text"', "1", "\ufeff{}", "{'a': 1}"])
def test_what_is_no_json_object_is_refused_with_one_issue(text: str) -> None:
    assert problem(text).line == 1


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 5000, '{"a":' * 50_000])
def test_hostile_json_is_refused_and_raises_nothing(text: str) -> None:
    assert "not valid JSON" in problem(text).message


@given(st.text(max_size=60))
def test_any_text_gives_a_table_or_issues(text: str) -> None:
    table, issues = parse_alias_table(text, "workspace", "aliases.json")
    assert (table is None) is bool(issues)


def test_every_fault_is_named_with_its_line_and_column() -> None:
    text = """{
  "schema_version": "1",
  "alias_table_version": "3",
  "aliases": {
    "web-search": ["internet-search", "Bad One"],
    "Worse": ["ok"],
    "flat": "no-list"
  }
}"""
    issues = problems(text)
    assert [(issue.line, issue.column) for issue in issues] == [(5, 39), (6, 5), (7, 5)]
    assert ["Bad One" in issues[0].message, "web-search" in issues[0].message] == [True, True]
    assert "Worse" in issues[1].message
    assert "flat" in issues[2].message
    assert all(issue.hint for issue in issues)


def test_broken_json_is_named_with_the_place_where_it_breaks() -> None:
    issue = problem('{\n  "schema_version": "1",\n  oops\n}')
    assert (issue.line, issue.column) == (3, 3)


# The table that ships


@pytest.mark.invariant(id="DCI-ALS-002")
def test_the_built_in_table_is_small_legal_and_names_nothing_twice() -> None:
    listed = [name for aliases in ALIASES.values() for name in aliases]
    assert 20 <= len(ALIASES) <= 30
    assert all(is_capability_name(name) for name in (*ALIASES, *listed))
    assert len({*ALIASES, *listed}) == len(ALIASES) + len(listed)
    assert all(ALIASES.values())


@pytest.mark.invariant(id="DCI-ALS-008")
def test_the_built_in_table_would_pass_as_a_file() -> None:
    data = {**GOOD, "alias_table_version": builtin_aliases().version, "aliases": ALIASES}
    found, issues = parse_alias_table(json.dumps(data), "built-in", PATH)
    assert issues == []
    assert found == builtin_aliases()


def test_the_built_in_table_is_weakest_and_sorted_for_its_readers() -> None:
    assert builtin_aliases().source == "built-in"
    assert list(ALIASES) == sorted(ALIASES)
    found = AliasTables([table({"mine": ["web-search"]}), builtin_aliases()])
    assert found.canonical("web-search") == "mine"


def test_every_built_in_name_has_stems_so_that_prose_can_bear_it_out() -> None:
    for key, aliases in ALIASES.items():
        assert all(stems(name) for name in (key, *aliases)), key

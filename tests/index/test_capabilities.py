"""The capability index by itself (spec 3): two pure functions over names and capabilities."""

import ast
import inspect
import logging
from collections.abc import Sequence
from copy import deepcopy
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.index import capabilities as module
from metier.index.capabilities import build_capability_index, find_skills_by_capability


class Declared(NamedTuple):
    name: str
    capabilities: list[str]


skills = st.lists(st.builds(Declared, st.text(), st.lists(st.text(max_size=3), max_size=5)))


def declaring(given_skills: Sequence[Declared], capability: str) -> set[str]:
    """The definition: who has `capability` in its list."""
    return {skill.name for skill in given_skills if capability in skill.capabilities}


def test_no_skills_give_an_empty_index() -> None:
    assert build_capability_index([]) == {}


def test_one_skill_with_one_capability_gives_one_bucket() -> None:
    assert build_capability_index([Declared("a", ["read"])]) == {"read": {"a"}}


@pytest.mark.invariant(id="INV-IDX-1")
def test_a_skill_stands_under_each_of_its_capabilities_and_under_no_other_key() -> None:
    index = build_capability_index([Declared("a", ["read", "write"]), Declared("b", ["write"])])
    assert index == {"read": {"a"}, "write": {"a", "b"}}


@pytest.mark.invariant(id="INV-IDX-2")
def test_a_repeated_capability_names_its_skill_once() -> None:
    index = build_capability_index([Declared("a", ["read", "read"]), Declared("a", ["read"])])
    assert find_skills_by_capability(index, "read") == ["a"]


def test_a_skill_without_capabilities_makes_no_bucket() -> None:
    assert build_capability_index([Declared("a", [])]) == {}


@pytest.mark.parametrize("written", ["Read", " read ", "READ", "re\u0301ad", "réad", "read\n"])
def test_keys_are_as_written(written: str) -> None:
    index = build_capability_index([Declared("a", [written])])
    assert list(index) == [written]
    assert find_skills_by_capability(index, "read") == []


@pytest.mark.invariant(id="INV-IDX-3")
def test_names_come_in_code_point_order() -> None:
    names = ["b_1", "é", "a", "Zebra", "b-1", "😀", "10", "9", "", "ab", "a b", "\uffff"]
    index = build_capability_index([Declared(name, ["read"]) for name in names])
    assert find_skills_by_capability(index, "read") == [
        *("", "10", "9", "Zebra", "a", "a b", "ab", "b-1", "b_1", "é", "\uffff", "😀")
    ]


@pytest.mark.invariant(id="INV-IDX-3")
@given(skills.flatmap(lambda given_skills: st.tuples(*[st.permutations(given_skills)] * 2)))
def test_the_order_of_the_input_changes_no_answer(
    orders: tuple[list[Declared], list[Declared]],
) -> None:
    index, other = map(build_capability_index, orders)
    assert index == other
    for capability in index:
        found = find_skills_by_capability(index, capability)
        assert found == find_skills_by_capability(other, capability)
        assert found == sorted(found, key=lambda name: [ord(letter) for letter in name])


@pytest.mark.invariant(id="INV-IDX-1")
@pytest.mark.invariant(id="INV-IDX-2")
@given(skills, st.text(max_size=3))
def test_the_index_says_what_the_lists_say(given_skills: list[Declared], unknown: str) -> None:
    index = build_capability_index(given_skills)
    assert set(index) == {capability for skill in given_skills for capability in skill.capabilities}
    for capability in {*index, unknown}:
        found = find_skills_by_capability(index, capability)
        assert found == sorted(declaring(given_skills, capability))
        assert len(found) == len(set(found))


@pytest.mark.invariant(id="INV-IDX-4")
@pytest.mark.parametrize("unknown", ["nonexistent", "", "READ", "rea", "%", "read,write"])
def test_an_unknown_capability_gives_an_empty_list(unknown: str) -> None:
    index = build_capability_index([Declared("a", ["read", "write"])])
    assert find_skills_by_capability(index, unknown) == []
    assert set(index) == {"read", "write"}


@pytest.mark.invariant(id="INV-IDX-4")
@pytest.mark.parametrize("capability", ["read", "nonexistent"])
def test_a_returned_list_is_the_callers_own(capability: str) -> None:
    index = build_capability_index([Declared("a", ["read"])])
    before = deepcopy(index)
    first = find_skills_by_capability(index, capability)
    untouched = list(first)
    first.append("intruder")
    second = find_skills_by_capability(index, capability)
    assert second == untouched
    assert second is not first
    assert index == before


def test_an_empty_bucket_gives_an_empty_list() -> None:
    assert find_skills_by_capability({"read": set()}, "read") == []


@pytest.mark.invariant(id="INV-IDX-5")
@given(skills, st.text())
def test_no_argument_is_changed_and_no_valid_input_raises(
    given_skills: list[Declared], capability: str
) -> None:
    before = deepcopy(given_skills)
    index = build_capability_index(given_skills)
    built = deepcopy(index)
    find_skills_by_capability(index, capability)
    assert given_skills == before
    assert index == built
    assert build_capability_index(given_skills) == built


@pytest.mark.invariant(id="INV-IDX-5")
def test_nothing_is_printed_or_logged(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        index = build_capability_index([Declared("a", ["read"])])
        find_skills_by_capability(index, "read")
        find_skills_by_capability(index, "nonexistent")
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


TREE = ast.parse(inspect.getsource(module))
WORDS_OF_OTHERS = ("agent", "git", "process", "run", "spawn", "thread", "worktree")


def imported_modules() -> set[str]:
    found: set[str] = set()
    for node in ast.walk(TREE):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(f"{'.' * node.level}{node.module or ''}")
    return found


def called_names() -> set[str]:
    return {
        node.func.id
        for node in ast.walk(TREE)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def identifiers() -> set[str]:
    """Every name that the module defines, uses or imports, in lower case."""
    found: set[str] = set()
    for node in ast.walk(TREE):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found |= {node.name, node.asname or ""}
    return {name.lower() for name in found}


@pytest.mark.invariant(id="INV-IDX-5")
def test_the_module_has_no_means_to_reach_the_world() -> None:
    assert imported_modules() == {"collections.abc", "typing"}
    reaching = {"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__"}
    assert called_names() & reaching == set()


@pytest.mark.invariant(id="INV-IDX-5")
def test_the_module_keeps_no_state() -> None:
    kinds = (ast.Expr, ast.ImportFrom, ast.Import, ast.ClassDef, ast.FunctionDef)
    assert [node for node in TREE.body if not isinstance(node, kinds)] == []
    assert not any(isinstance(node, ast.Global | ast.Nonlocal) for node in ast.walk(TREE))


@pytest.mark.invariant(id="INV-IDX-9")
def test_the_module_knows_no_process_no_git_and_no_agent() -> None:
    roots = {name.lstrip(".").split(".")[0] for name in imported_modules()}
    assert roots & {"asyncio", "concurrent", "metier", "multiprocessing", "os", "subprocess"} == (
        set()
    )
    assert "" not in roots, "a relative import may reach agents"
    strange = {name for name in identifiers() if any(word in name for word in WORDS_OF_OTHERS)}
    assert strange == set()


@pytest.mark.invariant(id="INV-IDX-9")
def test_the_module_exports_the_index_and_nothing_else() -> None:
    own = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    }
    assert own == {"IndexableSkill", "build_capability_index", "find_skills_by_capability"}

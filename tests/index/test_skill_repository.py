"""Skills by name and by capability, over real files and a real catalog (spec 3)."""

import ast
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metier
from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.flow.boundary import Boundary
from metier.index import skills as skills_module
from metier.index.capabilities import (
    IndexableSkill,
    build_capability_index,
    find_skills_by_capability,
)
from metier.index.documents import providers
from metier.index.skills import SkillRepository
from metier.index.store import Store
from metier.load import read_skills
from metier.values.files import Entry, Found, Reading
from metier.values.trust import Trust
from soak import examples

HOSTILE = (
    *("100%", "100x", "%", "%%", "_", "web_search", "webXsearch", "read", "READ", "Read", "rea"),
    *('say "hi"', "it's", "''", '"', 'a","b', '["a"]', "b", "a\\", "\\", "\\%", "a\\_b", "a*", "?"),
    *("😀", "😀😀", "é", "e\u0301", "ſ", "s", "İ", "i", " read", "read ", "\u200b", "-", "--", ";"),
    *("null", "true", "1", "1.0", "a\0b", "a", "a\nb", "\u0001", "x" * 5000, "x" * 4999, "a,b"),
    *("'; DROP TABLE document; --", "[abc]", "\uffff", "\U0010ffff", "\u202e"),
)
BLANK = ("", " ", "\t\n", "\u00a0", "\u3000")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(str(tmp_path / "state" / "metier.db"))
    yield opened
    opened.close()


@pytest.fixture
def repository(store: Store) -> SkillRepository:
    return SkillRepository(store, read_skills)


def quoted(text: str) -> str:
    """`text` as a YAML scalar, whatever is in it."""
    plain = "".join(
        letter if letter.isascii() and letter.isalnum() else f"\\U{ord(letter):08x}"
        for letter in text
    )
    return f'"{plain}"'


def capabilities(*names: str) -> str:
    """A front-matter line that declares `names`."""
    return f"capabilities: [{', '.join(map(quoted, names))}]"


def assert_parity(repository: SkillRepository, store: Store, asked: Iterable[str]) -> None:
    index = repository.get_capability_index()
    for capability in asked:
        by_index = find_skills_by_capability(index, capability)
        by_sql = [row.name for row in repository.list_skills(capability=capability)]
        assert by_index == by_sql == providers(store, capability), repr(capability)


def test_a_load_counts_what_it_did(workspace: Workspace, repository: SkillRepository) -> None:
    workspace.skill("a")
    gone = workspace.skill("b")
    workspace.write("skills/c/SKILL.md", "no front matter")
    first = repository.load_skills_from_disk([workspace.root])
    assert (first.loaded, first.skipped, first.pruned, first.total_on_disk) == (2, 1, 0, 3)
    gone.unlink()
    second = repository.load_skills_from_disk([workspace.root])
    assert (second.loaded, second.skipped, second.pruned, second.total_on_disk) == (1, 1, 1, 2)
    assert [row.name for row in repository.list_skills()] == ["a"]


def test_a_skill_is_found_by_name_and_by_id(
    workspace: Workspace, repository: SkillRepository
) -> None:
    workspace.skill("a")
    repository.load_skills_from_disk([workspace.root])
    by_name, by_id = repository.get_skill("a"), repository.get_skill("a::skills/a")
    assert by_name is not None
    assert by_name == by_id
    assert repository.get_skill("b") is None


@pytest.mark.invariant(id="INV-IDX-6")
def test_the_index_is_empty_before_the_first_load_of_a_process(
    workspace: Workspace, store: Store, repository: SkillRepository
) -> None:
    workspace.skill("a", extra=capabilities("read"))
    assert repository.get_capability_index() == {}
    repository.load_skills_from_disk([workspace.root])
    assert repository.get_capability_index() == {"read": {"a"}}
    later = SkillRepository(store, read_skills)
    assert later.get_capability_index() == {}
    assert [row.name for row in later.list_skills(capability="read")] == ["a"]


@pytest.mark.invariant(id="INV-IDX-6")
def test_a_load_replaces_the_index_and_leaves_those_handed_out_as_they_were(
    workspace: Workspace, repository: SkillRepository
) -> None:
    workspace.skill("a", extra=capabilities("read"))
    gone = workspace.skill("b", extra=capabilities("read", "write"))
    empty = repository.get_capability_index()
    repository.load_skills_from_disk([workspace.root])
    first = repository.get_capability_index()
    assert first == {"read": {"a", "b"}, "write": {"b"}}
    gone.unlink()
    repository.load_skills_from_disk([workspace.root])
    assert repository.get_capability_index() == {"read": {"a"}}
    assert first == {"read": {"a", "b"}, "write": {"b"}}
    assert empty == {}


@pytest.mark.invariant(id="INV-IDX-6")
def test_nobody_can_change_the_index_that_was_handed_out(
    workspace: Workspace, repository: SkillRepository
) -> None:
    workspace.skill("a", extra=capabilities("read"))
    repository.load_skills_from_disk([workspace.root])
    index: Any = repository.get_capability_index()
    with pytest.raises(TypeError):
        index["write"] = {"intruder"}
    with pytest.raises(AttributeError):
        index["read"].add("intruder")
    assert repository.get_capability_index() == {"read": {"a"}}


@pytest.mark.invariant(id="INV-IDX-7")
def test_hostile_capabilities_are_equal_to_themselves_and_to_nothing_else(
    workspace: Workspace, store: Store, repository: SkillRepository
) -> None:
    for number, capability in enumerate(HOSTILE):
        workspace.skill(f"s{number:02}", extra=capabilities(capability))
    repository.load_skills_from_disk([workspace.root])
    for number, capability in enumerate(HOSTILE):
        found = [row.name for row in repository.list_skills(capability=capability)]
        assert found == [f"s{number:02}"], repr(capability)
    assert_parity(repository, store, [*HOSTILE, *BLANK, "nobody-has-this"])


@pytest.mark.invariant(id="INV-IDX-7")
def test_blank_capabilities_are_left_out_on_both_sides(
    workspace: Workspace, store: Store, repository: SkillRepository
) -> None:
    workspace.skill("a", extra=capabilities(*BLANK, "read", *BLANK))
    repository.load_skills_from_disk([workspace.root])
    assert repository.get_capability_index() == {"read": {"a"}}
    assert_parity(repository, store, BLANK)


@pytest.mark.invariant(id="INV-IDX-7")
def test_shadowed_copied_and_disabled_skills_provide_nothing_on_either_side(
    workspace: Workspace, store: Store, repository: SkillRepository
) -> None:
    workspace.skill("a", folder="one", extra=capabilities("read"))
    workspace.skill("a", folder="two", extra=capabilities("read", "write"))
    workspace.skill("a", folder="three", extra=capabilities("read"))
    workspace.skill("b", extra=f"enabled: false\n{capabilities('erase')}")
    repository.load_skills_from_disk([workspace.root])
    assert repository.get_capability_index() == {"read": {"a"}}
    assert_parity(repository, store, ["read", "write", "erase"])


@pytest.mark.invariant(id="INV-IDX-7")
def test_a_list_and_a_contract_count_together(
    workspace: Workspace, store: Store, repository: SkillRepository
) -> None:
    contract = "metadata:\n  contract: DCI/1 P(write,read)\n  capabilities: [seek]"
    workspace.skill("a", extra=f"{capabilities('read')}\n{contract}")
    repository.load_skills_from_disk([workspace.root])
    assert repository.get_capability_index() == {"read": {"a"}, "write": {"a"}, "seek": {"a"}}
    assert_parity(repository, store, ["read", "write", "seek", "P(write,read)"])


NAMES = st.text(min_size=1, max_size=6).map(str.strip).filter(bool)
DECLARED = st.dictionaries(NAMES, st.lists(st.text(max_size=4), max_size=4), min_size=1, max_size=5)


@pytest.mark.invariant(id="INV-IDX-7")
@examples(60)
@given(DECLARED, DECLARED, st.lists(st.text(max_size=4), max_size=3))
def test_index_and_sql_agree_after_every_load(
    first: dict[str, list[str]], second: dict[str, list[str]], unknown: list[str]
) -> None:
    with TemporaryDirectory() as folder, closing(Store.in_memory()) as store:
        repository = SkillRepository(store, read_skills)
        for declared, root in ((first, "first"), (second, "second")):
            workspace = Workspace(Path(folder, root))
            for number, (name, names) in enumerate(declared.items()):
                text = f"---\nname: {quoted(name)}\ndescription: d\n{capabilities(*names)}\n---\n"
                workspace.write(f"s{number}/SKILL.md", text)
            repository.load_skills_from_disk([workspace.root])
            known = {one for names in declared.values() for one in names if one.strip()}
            for capability in known:
                found = find_skills_by_capability(repository.get_capability_index(), capability)
                assert found == sorted(name for name in declared if capability in declared[name])
            others = {one.swapcase() for one in known} | {one[:-1] for one in known}
            assert_parity(repository, store, known | others | {*unknown, "%", "_", ""})


class Build(NamedTuple):
    in_transaction: bool
    committed: list[str]
    """What another connection sees at that moment."""


@pytest.fixture
def builds(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[Build]:
    """Every call of `build_capability_index`, in order."""
    seen: list[Build] = []

    def watched(declared: Iterable[IndexableSkill]) -> dict[str, set[str]]:
        with closing(sqlite3.connect(store.path)) as other:
            rows = other.execute("SELECT name FROM document ORDER BY name").fetchall()
        seen.append(Build(store.connection.in_transaction, [name for (name,) in rows]))
        return build_capability_index(declared)

    monkeypatch.setattr(skills_module, "build_capability_index", watched)
    return seen


@pytest.mark.invariant(id="INV-IDX-8")
def test_a_load_builds_the_index_once_and_after_its_commit(
    workspace: Workspace, repository: SkillRepository, builds: list[Build]
) -> None:
    gone = workspace.skill("a", extra=capabilities("read"))
    workspace.skill("b", extra=capabilities("read"))
    repository.load_skills_from_disk([workspace.root])
    assert builds == [Build(False, ["a", "b"])]
    gone.unlink()
    workspace.skill("c")
    repository.load_skills_from_disk([workspace.root])
    assert builds[1:] == [Build(False, ["b", "c"])]
    repository.load_skills_from_disk([workspace.root])
    assert builds[2:] == [Build(False, ["b", "c"])]


@pytest.mark.invariant(id="INV-IDX-8")
def test_no_question_builds_the_index(
    workspace: Workspace, store: Store, repository: SkillRepository, builds: list[Build]
) -> None:
    workspace.skill("a", extra=capabilities("read"))
    repository.get_capability_index()
    repository.list_skills(capability="read")
    assert builds == []
    repository.load_skills_from_disk([workspace.root])
    for _ in range(3):
        assert repository.get_capability_index() is repository.get_capability_index()
        repository.list_skills(search="a", capability="read", shadowed=True)
        repository.get_skill("a")
        providers(store, "read")
    with Catalog.in_memory(Boundary(str(workspace.root), Trust(), Config())) as catalog:
        catalog.refresh()
        catalog.providers("read")
    assert len(builds) == 1


@pytest.mark.invariant(id="INV-IDX-8")
def test_a_load_that_fails_keeps_the_index_of_the_last_one(
    workspace: Workspace, repository: SkillRepository, builds: list[Build]
) -> None:
    workspace.skill("a", extra=capabilities("read"))
    repository.load_skills_from_disk([workspace.root])
    before = repository.get_capability_index()
    workspace.skill("b", extra=capabilities("read"))

    def give_up(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repository.load_skills_from_disk([workspace.root], give_up)
    assert len(builds) == 1
    assert repository.get_capability_index() is before
    assert [row.name for row in repository.list_skills()] == ["a"]


@pytest.mark.invariant(id="INV-IDX-8")
def test_only_the_load_calls_the_builder() -> None:
    callers = []
    for file in Path(metier.__file__).parent.rglob("*.py"):
        for function in ast.walk(ast.parse(file.read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
                names = [getattr(one, "id", getattr(one, "attr", "")) for one in called]
                callers += [
                    getattr(function, "name", "lambda")
                    for name in names
                    if name == "build_capability_index"
                ]
    assert callers == ["load_skills_from_disk"]


def test_a_first_load_that_meets_no_file_is_empty(
    workspace: Workspace, repository: SkillRepository
) -> None:
    summary = repository.load_skills_from_disk([workspace.root])
    assert (summary.loaded, summary.skipped, summary.total_on_disk) == (0, 0, 0)
    assert repository.get_capability_index() == {}


def test_a_first_load_by_a_reader_without_fingerprint_is_empty_too(store: Store) -> None:
    def read(found: Found) -> Entry:
        raise AssertionError("nothing is there to be read")

    repository = SkillRepository(store, lambda _: Reading(found=(), read=read))
    assert repository.load_skills_from_disk([]).total_on_disk == 0

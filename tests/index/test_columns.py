"""The columns of skills that the catalog keeps for resolutions."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Workspace
from metier import Catalog
from metier.config import Config
from metier.errors import DamagedError
from metier.index.columns import _joined, add_stems, catch_up, read_skills


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    workspace.skill("charts", "Draws charts.", extra="capabilities: [draw-charts]")
    workspace.skill("charts", "The same name again.", folder="more/charts")
    workspace.write(
        "odd/SKILL.md", '---\nname: "a\\0b::c"\ndescription: Has odd letters: ü.\n---\n'
    )
    workspace.write(
        "manual/SKILL.md",
        "---\nname: manual\ndescription: By hand.\ndisable-model-invocation: true\n---\n",
    )
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as made:
        made.refresh()
        yield made


def kept(catalog: Catalog) -> int:
    return len(catalog.store.rows("SELECT 1 FROM skill_columns"))


def rows(catalog: Catalog) -> dict[str, tuple[str, str, bool]]:
    return {
        row.id: (row.name, row.path.rpartition("/")[0], row.name == "manual")
        for row in catalog.skills(shadowed=True)
    }


def columns(catalog: Catalog) -> dict[str, tuple[str, str, bool]]:
    skills = read_skills(catalog.store)
    return {
        key: (skills.name(number), skills.folder(number), bool(skills.manual[number]))
        for number, key in enumerate(skills.ids)
    }


def test_kept_columns_are_those_of_the_rows(catalog: Catalog) -> None:
    add_stems(catalog.store)
    before = read_skills(catalog.store)
    assert kept(catalog) == 0
    catch_up(catalog.store)
    assert kept(catalog) == 1
    after = read_skills(catalog.store)
    assert len(after.ids) >= 3
    assert [list(column) for column in after[2:]] == [list(column) for column in before[2:]]
    assert after[:2] == before[:2]
    assert [one.name for one in after.speaking.values()] == ["charts"]
    assert list(after.ids) == sorted(after.ids)
    assert columns(catalog) == rows(catalog)


@given(st.lists(st.text(st.sampled_from("\0\1\2a:\n")), min_size=1))
def test_ids_with_any_characters_can_be_split_again(ids: list[str]) -> None:
    joined = _joined(ids)
    assert joined[1:].split(joined[0]) == ids


def test_a_change_of_any_skill_forgets_them(workspace: Workspace, catalog: Catalog) -> None:
    catalog.resolve(["draw-charts"])
    assert kept(catalog) == 1
    workspace.skill("another", "Comes later.")
    catalog.refresh()
    assert kept(catalog) == 0
    found = catalog.resolve(["draw-charts"])
    assert found.selected
    assert kept(catalog) == 1
    assert columns(catalog) == rows(catalog)
    assert any(name == "another" for name, _, _ in columns(catalog).values())


def test_an_empty_catalog_has_empty_columns(tmp_path: Path) -> None:
    with Catalog.open(tmp_path, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        catch_up(catalog.store)
        assert kept(catalog) == 1
        assert list(read_skills(catalog.store).ids) == []


@pytest.mark.parametrize(
    "damage",
    [
        "ids = ''",
        "ids = ids || substr(ids, 1, 1)",
        "sources = '['",
        "sources = '[]'",
        "numbers = x'00'",
    ],
)
def test_damaged_columns_are_built_again(catalog: Catalog, damage: str) -> None:
    expected = catalog.resolve(["draw-charts"]).selected
    catalog.store.connection.execute(f"UPDATE skill_columns SET {damage}")
    with Catalog.open(catalog.workspace, config=catalog.config) as other:
        with pytest.raises(DamagedError):
            other.resolve(["draw-charts"])
        other.refresh()
        assert other.resolve(["draw-charts"]).selected == expected

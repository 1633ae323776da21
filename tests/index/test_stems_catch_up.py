"""The catalog knows whether the stems of all skills are there: a resolve never misses words."""

from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Workspace
from metier import Catalog
from metier.config import Config
from metier.index.columns import catch_up
from metier.index.postings import PROSE, stem_postings
from metier.index.store import Store

WORD = "kangaroo"
WITH, WITHOUT = f"Draws a {WORD} and more.", "Draws charts and more."


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    """The catalog of one skill without the word, all of whose stems are known."""
    workspace.skill("first", WITHOUT)
    with open_catalog(workspace) as opened:
        opened.refresh()
        assert who_has_it(opened) == {"first": False}
        yield opened


def open_catalog(workspace: Workspace, **settings: Any) -> Catalog:
    return Catalog.open(workspace.root, config=Config(host_folders=False, **settings))


def who_has_it(catalog: Catalog) -> dict[str, bool]:
    """Every candidate of a resolve, and whether the word is found in its description."""
    rows = catalog.resolve(["nothing"], WORD).full_report().data["candidates"]
    return {one["name"]: one["S_desc"] > 0 for one in rows}


def is_complete(store: Store) -> bool:
    return store.setting("stems") != ""


# After a refresh


def test_a_skill_that_has_come_is_found_by_its_words(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill("second", WITH)
    catalog.refresh()
    assert who_has_it(catalog) == {"first": False, "second": True}


def test_a_skill_that_has_changed_is_found_by_its_new_words_and_no_more_by_its_old(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill("first", WITH)
    catalog.refresh()
    assert who_has_it(catalog) == {"first": True}
    workspace.skill("first", WITHOUT)
    catalog.refresh()
    assert who_has_it(catalog) == {"first": False}


def test_a_skill_that_has_gone_leaves_no_words_to_the_next_one(
    workspace: Workspace, catalog: Catalog
) -> None:
    """The key of the last row is given out again."""
    file = workspace.skill("second", WITH)
    catalog.refresh()
    assert who_has_it(catalog)["second"]
    file.unlink()
    catalog.refresh()
    assert who_has_it(catalog) == {"first": False}
    assert stem_postings(catalog.store, PROSE, WORD) is None
    workspace.skill("third", WITHOUT)
    catalog.refresh()
    assert who_has_it(catalog) == {"first": False, "third": False}


def test_a_skill_that_comes_and_goes_before_anybody_asks_is_no_trouble(
    workspace: Workspace, catalog: Catalog
) -> None:
    file = workspace.skill("second", WITH)
    catalog.refresh()
    file.unlink()
    catalog.refresh()
    assert who_has_it(catalog) == {"first": False}
    assert stem_postings(catalog.store, PROSE, WORD) is None


def test_what_another_has_refreshed_is_seen_by_who_asks_next(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill("second", WITH)
    with open_catalog(workspace) as other:
        other.refresh()
    assert who_has_it(catalog) == {"first": False, "second": True}


def test_when_every_file_is_read_again_no_words_are_lost(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill("second", WITH)
    catalog.refresh()
    expected = who_has_it(catalog)
    with open_catalog(workspace, disabled=("some-skill",)) as other:
        other.refresh()
        assert not is_complete(other.store)
        assert who_has_it(other) == expected


def test_when_every_file_is_read_again_stems_that_no_text_has_are_gone(
    workspace: Workspace, catalog: Catalog
) -> None:
    """Another version may have made other stems of the same texts."""
    with catalog.store.transaction() as connection:
        connection.execute("UPDATE posting SET term = ? WHERE term = 'chart'", (WORD,))
    assert who_has_it(catalog) == {"first": True}
    with open_catalog(workspace, disabled=("some-skill",)) as other:
        other.refresh()
        assert who_has_it(other) == {"first": False}
        assert stem_postings(other.store, PROSE, WORD) is None


@pytest.mark.parametrize("change", ["add", "change", "remove"])
def test_once_all_skills_have_their_stems_a_refresh_keeps_it_so(
    workspace: Workspace, catalog: Catalog, change: str
) -> None:
    assert is_complete(catalog.store)
    if change == "remove":
        (workspace.root / "skills/first/SKILL.md").unlink()
    else:
        workspace.skill("first" if change == "change" else "second", WITH)
    catalog.refresh()
    assert is_complete(catalog.store)
    assert catch_up(catalog.store) == 0
    having = stem_postings(catalog.store, PROSE, WORD)
    assert bool(having) is (change != "remove")


# When nothing has changed


def test_after_a_refresh_with_nothing_changed_catching_up_only_reads(
    workspace: Workspace, catalog: Catalog
) -> None:
    assert catalog.refresh().changes.unchanged == 1
    assert is_complete(catalog.store)
    version, statements = catalog.store.version(), list[str]()
    catalog.store.connection.set_trace_callback(statements.append)
    assert catch_up(catalog.store) == 0
    catalog.store.connection.set_trace_callback(None)
    assert statements
    assert {one.split()[0] for one in statements} == {"SELECT"}
    assert catalog.store.version() == version


def test_the_next_process_has_nothing_to_write_either(
    workspace: Workspace, catalog: Catalog
) -> None:
    before = catalog.store.data_version()
    with open_catalog(workspace) as other:
        other.refresh()
        assert who_has_it(other) == {"first": False}
    assert catalog.store.data_version() == before


# A catalog from before


def forget_the_mark(store: Store) -> None:
    with store.transaction() as connection:
        connection.execute("DELETE FROM setting WHERE name = 'stems'")


def test_a_catalog_from_before_with_all_stems_gets_the_mark_alone(catalog: Catalog) -> None:
    before = [catalog.store.rows(f"SELECT * FROM {name}") for name in ("posting", "skill_size")]
    forget_the_mark(catalog.store)
    assert catch_up(catalog.store) == 0
    assert is_complete(catalog.store)
    after = [catalog.store.rows(f"SELECT * FROM {name}") for name in ("posting", "skill_size")]
    assert after == before


def test_a_catalog_from_before_that_lacks_some_stems_is_caught_up(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill("second", WITH)
    catalog.refresh()
    forget_the_mark(catalog.store)
    catalog.close()
    with open_catalog(workspace) as later:
        assert who_has_it(later) == {"first": False, "second": True}
        assert is_complete(later.store)


def test_a_catalog_from_before_that_has_no_stems_is_caught_up(
    workspace: Workspace, catalog: Catalog
) -> None:
    forget_the_mark(catalog.store)
    with catalog.store.transaction() as connection:
        connection.execute("DELETE FROM posting")
        connection.execute("DELETE FROM skill_size")
    assert catch_up(catalog.store) == 1
    assert who_has_it(catalog) == {"first": False}
    assert stem_postings(catalog.store, PROSE, "chart") is not None

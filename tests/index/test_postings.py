"""Which abilities hold a word: true after every refresh, whoever wrote and whatever was there."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.core.text import words
from metier.flow.boundary import Boundary
from metier.flow.reading import read_skills
from metier.index.abilities import StoredAbilities
from metier.index.migrations import MIGRATIONS
from metier.index.postings import keys_by_word
from metier.index.skills import SkillRepository
from metier.index.store import Store
from soak import examples

_CLOCK = count(1)
REFRESH = """
import sys
from metier import Catalog
with Catalog.open(sys.argv[1]) as catalog:
    catalog.refresh()
"""


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    with Catalog.open(workspace.root) as opened:
        yield opened


def ability(content: str, *, id: str = "", extra: str = "") -> str:
    own = f"abilityId: {id}\n" if id else ""
    return f"---\n{own}priority: 50\n{extra}---\n{content}\n"


def write(root: Path, path: str, text: str) -> Path:
    """Give a file this text and a time long past that it never had."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    seconds = 1_000_000_000 + next(_CLOCK)
    os.utime(file, (seconds, seconds))
    return file


def counted(catalog: Catalog, *wanted: str) -> dict[str, int]:
    return StoredAbilities(catalog.store).count_words(wanted)


def holders(catalog: Catalog) -> dict[str, list[str]]:
    """Every word in the catalog → the files that hold it, hidden ones included."""
    paths = dict(catalog.store.rows("SELECT key, path FROM document"))
    all_words = [
        word for (word,) in catalog.store.rows("SELECT term FROM posting WHERE field = 'content'")
    ]
    found = keys_by_word(catalog.store, all_words)
    return {word: sorted(paths[key] for key in keys) for word, keys in found.items()}


def test_words_of_three_or_more_characters_are_in_the_catalog(
    workspace: Workspace, catalog: Catalog
) -> None:
    write(workspace.root, "abilities/a.md", ability("Go to the Database, the DATABASE_v12!"))
    write(workspace.root, "abilities/b.md", ability("A database."))
    catalog.refresh()
    assert holders(catalog) == {
        "database": ["abilities/a.md", "abilities/b.md"],
        "the": ["abilities/a.md"],
        "v12": ["abilities/a.md"],
    }


def test_each_word_that_is_asked_for_counts_once_an_ability(
    workspace: Workspace, catalog: Catalog
) -> None:
    write(workspace.root, "abilities/a.md", ability("one two three one two three"))
    write(workspace.root, "abilities/b.md", ability("two"))
    write(workspace.root, "abilities/c.md", ability("nothing of it"))
    catalog.refresh()
    assert counted(catalog, "one", "two", "four") == {"a": 2, "b": 1}
    assert counted(catalog, "four") == counted(catalog) == {}


def test_front_matter_and_other_kinds_of_document_give_no_words(
    workspace: Workspace, catalog: Catalog
) -> None:
    write(workspace.root, "abilities/a.md", ability("body", extra="description: matter\n"))
    workspace.skill("skill", body="skillful")
    catalog.refresh()
    assert holders(catalog) == {"body": ["abilities/a.md"]}


def test_an_edited_file_loses_its_old_words_and_has_its_new_ones(
    workspace: Workspace, catalog: Catalog
) -> None:
    write(workspace.root, "abilities/a.md", ability("old kept"))
    write(workspace.root, "abilities/b.md", ability("old"))
    catalog.refresh()
    write(workspace.root, "abilities/a.md", ability("new kept"))
    catalog.refresh()
    assert holders(catalog) == {
        "kept": ["abilities/a.md"],
        "new": ["abilities/a.md"],
        "old": ["abilities/b.md"],
    }
    assert counted(catalog, "old", "new", "kept") == {"a": 2, "b": 1}


def test_a_deleted_file_is_gone_and_so_are_words_that_nobody_has(
    workspace: Workspace, catalog: Catalog
) -> None:
    first = write(workspace.root, "abilities/a.md", ability("shared alone"))
    second = write(workspace.root, "abilities/b.md", ability("shared"))
    catalog.refresh()
    first.unlink()
    catalog.refresh()
    assert holders(catalog) == {"shared": ["abilities/b.md"]}
    second.unlink()
    catalog.refresh()
    assert catalog.store.rows("SELECT * FROM posting WHERE field = 'content'") == []


def test_a_new_file_does_not_inherit_the_words_of_a_deleted_one(
    workspace: Workspace, catalog: Catalog
) -> None:
    """The key of the last row is given out again."""
    write(workspace.root, "abilities/a.md", ability("kept"))
    last = write(workspace.root, "abilities/b.md", ability("old"))
    catalog.refresh()
    last.unlink()
    catalog.refresh()
    write(workspace.root, "abilities/c.md", ability("new"))
    catalog.refresh()
    assert counted(catalog, "old", "new", "kept") == {"a": 1, "c": 1}


def test_a_shadowed_ability_counts_only_once_it_is_active(
    workspace: Workspace, catalog: Catalog
) -> None:
    first = write(workspace.root, "abilities/1.md", ability("common first", id="one"))
    write(workspace.root, "abilities/2.md", ability("common second third", id="one"))
    catalog.refresh()
    assert counted(catalog, "common", "first", "second", "third") == {"one": 2}
    first.unlink()
    catalog.refresh()
    assert counted(catalog, "common", "first", "second", "third") == {"one": 3}


def test_an_excluded_ability_counts_only_once_it_is_repaired(
    workspace: Workspace, catalog: Catalog
) -> None:
    write(workspace.root, "abilities/a.md", ability("word", extra="enabled: maybe\n"))
    catalog.refresh()
    assert counted(catalog, "word") == {}
    write(workspace.root, "abilities/a.md", ability("word", extra="enabled: true\n"))
    catalog.refresh()
    assert counted(catalog, "word") == {"a": 1}
    write(workspace.root, "abilities/a.md", "\0 word")
    catalog.refresh()
    assert counted(catalog, "word") == {}
    assert holders(catalog) == {}


def test_reading_everything_again_counts_no_word_twice(workspace: Workspace) -> None:
    write(workspace.root, "abilities/a.md", ability("word"))
    for disabled in ((), ("some-skill",), ()):
        with Catalog.open(workspace.root, config=Config(disabled=disabled)) as catalog:
            catalog.refresh()
            assert counted(catalog, "word") == {"a": 1}


def test_loading_skills_alone_leaves_the_words_of_abilities(
    workspace: Workspace, catalog: Catalog
) -> None:
    write(workspace.root, "abilities/a.md", ability("word"))
    workspace.skill("skill")
    catalog.refresh()
    SkillRepository(catalog.store, read_skills).load_skills_from_disk([workspace.root])
    assert counted(catalog, "word") == {"a": 1}


def test_a_refresh_that_is_broken_off_changes_no_word(
    workspace: Workspace, catalog: Catalog
) -> None:
    write(workspace.root, "abilities/a.md", ability("old"))
    catalog.refresh()
    before = holders(catalog)
    write(workspace.root, "abilities/a.md", ability("new"))

    def give_up(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catalog.refresh(give_up)
    assert holders(catalog) == before


@pytest.mark.parametrize("asked", [1, 499, 500, 501, 1000, 1001, 2600])
def test_any_number_of_words_can_be_asked_for(
    workspace: Workspace, catalog: Catalog, asked: int
) -> None:
    catalog.store.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
    text = [f"word{number}" for number in range(2600)]
    write(workspace.root, "abilities/a.md", ability(" ".join(text)))
    catalog.refresh()
    write(workspace.root, "abilities/b.md", ability(" ".join(text[::2])))
    catalog.refresh()
    assert counted(catalog, *text[:asked]) == {"a": asked, "b": (asked + 1) // 2}


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        ("Файл и база данных.", "данных"),
        ("Große STRASSE", "strasse"),
        ("e\u0301tude", "\u00e9tude"),
        ("数据库 表", "数据库"),
        ("हिन्दी में", "हिन्दी"),
        ("٣٤٥ مفتاح", "٣٤٥"),
    ],
)
def test_words_of_any_script_are_found(
    workspace: Workspace, catalog: Catalog, content: str, asked: str
) -> None:
    write(workspace.root, "abilities/a.md", ability(content))
    catalog.refresh()
    assert counted(catalog, *words(asked.upper())) == {"a": 1}


def test_keys_are_stored_as_little_endian_numbers_of_32_bits(
    workspace: Workspace, catalog: Catalog
) -> None:
    """So that a catalog can be carried to another machine."""
    for name in "abc":
        write(workspace.root, f"abilities/{name}.md", ability("word"))
    catalog.refresh()
    keys = sorted(key for (key,) in catalog.store.rows("SELECT key FROM document"))
    [(packed,)] = catalog.store.rows("SELECT postings FROM posting WHERE field = 'content'")
    assert sorted(packed[at : at + 4] for at in range(0, len(packed), 4)) == [
        key.to_bytes(4, "little") for key in keys
    ]


def test_a_catalog_of_an_older_version_is_rebuilt(workspace: Workspace) -> None:
    write(workspace.root, "abilities/a.md", ability("word"))
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
    with closing(sqlite3.connect(catalog.store.path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM migration WHERE number = ?", (len(MIGRATIONS),))
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) - 1}")
        connection.execute("CREATE TABLE skill_stem (stem TEXT)")
    with Catalog.open(workspace.root) as catalog:
        assert StoredAbilities(catalog.store).count_words(["word"]) == {}
        assert not catalog.is_built()
        assert catalog.refresh().changes.added == 1
        assert counted(catalog, "word") == {"a": 1}
        assert len(catalog.store.rows("SELECT * FROM migration")) == len(MIGRATIONS)


def test_a_refresh_by_another_process_is_seen(workspace: Workspace, catalog: Catalog) -> None:
    write(workspace.root, "abilities/a.md", ability("old"))
    catalog.refresh()
    before = catalog.store.version()
    write(workspace.root, "abilities/a.md", ability("new"))
    subprocess.run([sys.executable, "-c", REFRESH, workspace.root], check=True, timeout=300)
    assert catalog.store.version() != before
    assert counted(catalog, "old", "new") == {"a": 1}


def test_the_version_changes_with_what_is_written_and_with_nothing_else(
    workspace: Workspace, catalog: Catalog
) -> None:
    write(workspace.root, "abilities/a.md", ability("old"))
    with closing(Store.open(catalog.store.path)) as other:
        versions = [(catalog.store.version(), other.version())]
        for refreshes in (True, False, True):
            if refreshes:
                write(workspace.root, "abilities/a.md", ability(f"text{len(versions)}"))
            catalog.refresh()
            versions.append((catalog.store.version(), other.version()))
    built, idle, changed = versions[1:]
    assert idle == built
    assert all(new != old for new, old in zip(built, versions[0], strict=True))
    assert all(new != old for new, old in zip(changed, idle, strict=True))


class File(NamedTuple):
    """What the test wrote."""

    id: str
    content: str
    is_valid: bool


VOCABULARY = ["alpha", "Beta", "BETA", "go", "straße", "STRASSE", "данные", "数据库", "a-b_alpha"]
ASKED = frozenset(word for one in VOCABULARY for word in words(one)) | {"absent"}
NAMES = st.sampled_from(["abilities/1.md", "abilities/2.md", "abilities/3.md"])
FILES = st.builds(
    File,
    id=st.sampled_from(["x", "y"]),
    content=st.lists(st.sampled_from(VOCABULARY), max_size=5).map(" ".join),
    is_valid=st.sampled_from([True, True, True, False]),
)
CHANGES = st.dictionaries(NAMES, FILES | st.none(), min_size=1)
"""What is written; None is deleted."""


def expected(files: dict[str, File]) -> dict[str, int]:
    """Id → how many of the words asked for the first valid file of that id holds."""
    active: dict[str, File] = {}
    for _, file in sorted(files.items()):
        if file.is_valid:
            active.setdefault(file.id, file)
    counts = {
        id: len({word for word in words(file.content) if len(word) >= 3} & ASKED)
        for id, file in active.items()
    }
    return {id: number for id, number in counts.items() if number}


@examples(60)
@given(st.lists(CHANGES, min_size=1, max_size=6))
def test_whatever_happened_the_counts_are_those_of_the_files(
    rounds: list[dict[str, File | None]],
) -> None:
    files: dict[str, File] = {}
    with TemporaryDirectory() as folder, Catalog.open(folder, config=Config()) as catalog:
        root = Path(catalog.workspace)
        for changes in rounds:
            for path, file in changes.items():
                if file is None:
                    (root / path).unlink(missing_ok=True)
                    files.pop(path, None)
                else:
                    extra = "" if file.is_valid else "tags: 5\n"
                    write(root, path, ability(file.content, id=file.id, extra=extra))
                    files[path] = file
            catalog.refresh()
            assert counted(catalog, *ASKED) == expected(files)
            with Catalog.in_memory(Boundary(str(root), catalog.trust, Config())) as cold:
                cold.refresh()
                assert holders(catalog) == holders(cold)

"""The catalog file: its migrations, and what people are told when it cannot be used."""

import gc
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.errors import DamagedError, StoreError
from metier.index.migrations import MIGRATIONS
from metier.index.store import Store
from metier.storage.database import Migration

BRIEF = 0.05
"""Seconds that a test waits for a lock which nobody will give up."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a catalog may be made."""
    return tmp_path / "state" / "metier.db"


@pytest.fixture
def filled(workspace: Workspace) -> Path:
    """The catalog file of a trusted workspace with forty skills, closed."""
    for number in range(40):
        text = f"Does thing {number}. " * 20
        workspace.skill(f"s{number:02}", text, extra=f"capabilities: [c{number % 7}]")
    workspace.trust()
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
    return workspace.state / "metier.db"


def use(root: Path) -> list[str]:
    """Everything that a person may ask of a catalog."""
    with Catalog.open(root) as catalog:
        catalog.refresh()
        catalog.issues()
        catalog.providers("c1")
        return [row.name for row in catalog.skills(shadowed=True)]


def user_version(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def tables(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}


def migrate_with(monkeypatch: pytest.MonkeyPatch, *more: Migration) -> None:
    """Let the program know `more` migrations."""
    monkeypatch.setattr(Store, "migrations", (*MIGRATIONS, *more))


def test_a_new_catalog_remembers_its_migrations_by_name(file: Path) -> None:
    with closing(Store.open(str(file))) as store:
        rows = store.rows("SELECT number, name FROM migration ORDER BY number")
    assert rows == [(number, one.name) for number, one in enumerate(MIGRATIONS, start=1)]
    assert all(one.name for one in MIGRATIONS)
    assert len({one.name for one in MIGRATIONS}) == len(MIGRATIONS)
    assert user_version(file) == len(MIGRATIONS)


def test_opening_again_migrates_nothing(file: Path) -> None:
    Store.open(str(file)).close()
    before = file.read_bytes()
    Store.open(str(file)).close()
    assert file.read_bytes() == before


def test_a_migration_keeps_what_is_there(
    filled: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate_with(monkeypatch, Migration("more", ("ALTER TABLE document ADD COLUMN more TEXT",)))
    with Catalog.open(workspace.root) as catalog:
        assert len(catalog.skills()) == 40
        assert catalog.store.rows("SELECT name FROM migration ORDER BY number DESC")[0] == ("more",)
    assert user_version(filled) == len(MIGRATIONS) + 1


def test_a_migration_that_fails_leaves_the_version_before_it(
    filled: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Migration("good", ("CREATE TABLE good (x)",))
    bad = Migration("bad", ("CREATE TABLE bad (x)", "DELETE FROM document", "no SQL at all"))
    migrate_with(monkeypatch, good, bad)
    with pytest.raises(StoreError):
        Store.open(str(filled))
    assert user_version(filled) == len(MIGRATIONS) + 1
    assert "good" in tables(filled)
    assert "bad" not in tables(filled)
    repaired = Migration("bad", ("CREATE TABLE bad (x)",))
    migrate_with(monkeypatch, good, repaired)
    with Catalog.open(workspace.root) as catalog:
        assert len(catalog.skills()) == 40
    assert user_version(filled) == len(MIGRATIONS) + 2


def test_a_catalog_of_a_newer_program_is_refused_and_left_alone(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = filled.read_bytes()
    with pytest.raises(StoreError) as caught:
        Store.open(str(filled))
    assert caught.value.code == "STORE_NEWER"
    assert caught.value.where == str(filled)
    assert "upgrade" in caught.value.hint
    assert filled.read_bytes() == before
    assert {path.name for path in filled.parent.iterdir()} == {filled.name}


def test_readers_do_not_wait_for_a_writer(file: Path) -> None:
    with closing(Store.open(str(file))) as store:
        assert store.rows("PRAGMA journal_mode") == [("wal",)]
        with store.transaction() as connection:
            connection.execute("INSERT INTO setting VALUES ('a', 'b')")
            with closing(Store.open(str(file), busy_seconds=0)) as other:
                assert other.setting("a") == ""
        assert store.setting("a") == "b"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, sqlite3.IntegrityError])
def test_a_transaction_is_all_or_nothing(file: Path, error: type[BaseException]) -> None:
    def interrupted() -> None:
        with store.transaction() as connection:
            connection.execute("INSERT INTO setting VALUES ('a', 'b')")
            raise error

    with closing(Store.open(str(file))) as store:
        with pytest.raises((error, StoreError)):
            interrupted()
        assert store.setting("a") == ""
        assert not store.connection.in_transaction


def test_the_data_version_tells_of_other_writers_only(file: Path) -> None:
    with closing(Store.open(str(file))) as store, closing(Store.open(str(file))) as other:
        before = store.data_version()
        with store.transaction() as connection:
            connection.execute("INSERT INTO setting VALUES ('a', 'b')")
        assert store.data_version() == before
        with other.transaction() as connection:
            connection.execute("INSERT INTO setting VALUES ('c', 'd')")
        assert store.data_version() != before


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "noise": lambda content: random.Random(7).randbytes(len(content)),
    "half": lambda content: content[: len(content) // 2],
    "one page": lambda content: content[:4096],
    "part of the header": lambda content: content[:50],
    "zeros behind the header": lambda content: content[:100] + bytes(len(content) - 100),
    "no UTF-8": lambda content: content.replace(b"CREATE TABLE doc", b"CREATE " + b"\xff" * 9),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_a_damaged_file_is_built_again(filled: Path, workspace: Workspace, damage: str) -> None:
    filled.write_bytes(DAMAGES[damage](filled.read_bytes()))
    assert len(use(workspace.root)) == 40
    with closing(Store.open(str(filled))) as store:
        assert store.damage() == ""


@pytest.mark.parametrize("table", ["document", "skill_capability", "setting"])
@pytest.mark.parametrize("filling", [b"\xff", b"\0"])
def test_a_damaged_page_is_named_or_built_again(
    filled: Path, workspace: Workspace, table: str, filling: bytes
) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)
        ).fetchone()
    content = bytearray(filled.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = filling * 4096
    filled.write_bytes(content)
    with suppress(DamagedError):
        use(workspace.root)
    assert len(use(workspace.root)) == 40


@pytest.mark.parametrize("table", ["document", "skill_capability", "listing", "setting", "card"])
def test_a_table_that_is_missing_is_damage(filled: Path, workspace: Workspace, table: str) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.commit()
    with suppress(StoreError):
        use(workspace.root)
    assert len(use(workspace.root)) == 40


def test_a_refresh_after_an_error_builds_a_damaged_catalog_again(
    filled: Path, workspace: Workspace
) -> None:
    with Catalog.open(workspace.root) as catalog:
        with closing(sqlite3.connect(filled)) as connection:
            connection.execute("UPDATE document SET capabilities = '[' WHERE name = 's07'")
            connection.commit()
        with pytest.raises(StoreError):
            catalog.skills()
        catalog.refresh()
        assert len(catalog.skills()) == 40


def test_a_damaged_catalog_that_another_process_has_replaced_is_left_alone(
    filled: Path, workspace: Workspace
) -> None:
    damaged = Store.open(str(filled))
    filled.rename(filled.with_suffix(".old"))
    assert len(use(workspace.root)) == 40
    before = filled.stat().st_ino
    damaged.start_over()
    assert filled.stat().st_ino == before
    assert damaged.setting("counts")
    damaged.close()


def test_opening_a_catalog_twice_keeps_the_locks_of_the_first(filled: Path) -> None:
    """POSIX ends all locks of a process on a file when it closes any descriptor of it."""
    write = f"""
import sqlite3
connection = sqlite3.connect({str(filled)!r}, timeout=0, isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
"""
    with closing(Store.open(str(filled))) as store, store.transaction():
        Store.open(str(filled)).close()
        command = [sys.executable, "-c", write]
        child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "database is locked" in child.stderr


def test_the_check_of_a_sound_file_finds_nothing(filled: Path) -> None:
    with closing(Store.open(str(filled))) as store:
        assert store.damage() == ""


def test_a_lost_row_is_made_again_or_named_as_damage(filled: Path, workspace: Workspace) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute("DELETE FROM document WHERE name = 's07'")
        connection.commit()
    workspace.skill("s07", "Has changed since.")
    with suppress(StoreError):
        assert len(use(workspace.root)) == 40


def test_a_writer_that_finds_another_one_is_told_so(filled: Path) -> None:
    with closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(Store.open(str(filled), busy_seconds=BRIEF)) as store:
            assert len(store.rows("SELECT * FROM document")) == 40
            with pytest.raises(StoreError) as caught, store.transaction():
                pass
    assert caught.value.code == "STORE_LOCKED"
    assert "try again" in caught.value.hint


def test_a_file_that_another_process_is_making_is_waited_for_and_then_reported(file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError) as caught:
            Store.open(str(file), busy_seconds=BRIEF)
        assert caught.value.code == "STORE_LOCKED"
        other.execute("ROLLBACK")
    Store.open(str(file), busy_seconds=BRIEF).close()


def test_a_path_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError) as caught:
        Store.open(str(tmp_path / "file" / "metier.db"))
    assert caught.value.code == "STORE_READ_ONLY"
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_in_the_place_of_the_file_cannot_be_opened(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(StoreError) as caught:
        Store.open(str(file))
    assert caught.value.code == "STORE_READ_ONLY"


@pytest.fixture
def read_only(filled: Path) -> Iterator[Path]:
    """The folder of the catalog, closed for writing."""
    filled.chmod(0o400)
    filled.parent.chmod(0o500)
    if os.access(filled.parent, os.W_OK):
        pytest.skip("root may write everywhere")
    yield filled.parent
    filled.parent.chmod(0o700)
    filled.chmod(0o600)


@pytest.mark.parametrize("name", ["metier.db", "new.db", "below/new.db"])
def test_a_folder_that_cannot_be_written_is_named_as_such(read_only: Path, name: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(str(read_only / name))
    assert caught.value.code == "STORE_READ_ONLY"
    assert [path.name for path in read_only.iterdir()] == ["metier.db"]


REFRESH_ON_A_FULL_DISK = """
import resource, sys
from metier import Catalog, StoreError
with Catalog.open(sys.argv[1]) as catalog:
    limit = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        catalog.refresh()
    except StoreError as error:
        print(error.code, error.where, error.hint, sep="|", end="")
"""


@pytest.mark.parametrize("limit", [0, 40_000, 100_000, 200_000])
def test_a_full_disk_is_one_clean_error_and_keeps_the_old_catalog(
    filled: Path, workspace: Workspace, limit: int
) -> None:
    for number in range(300):
        workspace.skill(f"new-{number}", "Does something new, at length. " * 30)
    command = [sys.executable, "-c", REFRESH_ON_A_FULL_DISK, str(workspace.root), str(limit)]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (child.stderr, child.returncode) == ("", 0)
    code, where, hint = child.stdout.split("|")
    assert (code, where) == ("STORE_FULL", str(filled))
    assert hint
    with Catalog.open(workspace.root) as catalog:
        assert catalog.store.damage() == ""
        assert [row.name for row in catalog.skills()] == [f"s{number:02}" for number in range(40)]
        assert catalog.refresh().changes.added == 300


def test_a_catalog_in_memory_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(Store.in_memory()) as store, store.transaction() as connection:
        connection.execute("INSERT INTO setting VALUES ('a', 'b')")
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_caller_is_not_blamed_on_the_catalog(file: Path) -> None:
    def interrupted() -> None:
        with store.transaction():
            raise BrokenPipeError

    with closing(Store.open(str(file))) as store, pytest.raises(BrokenPipeError):
        interrupted()


def test_a_store_in_memory_is_closed_when_nobody_has_it_any_more() -> None:
    store = Store.in_memory()
    connection = store.connection
    del store
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_catalog_in_memory_may_be_collected_by_another_thread() -> None:
    held = [Store.in_memory()]
    connection = held[0].connection
    collector = threading.Thread(target=held.clear)
    collector.start()
    collector.join()
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_what_is_asked_for_often_stays_cached_among_many_other_values() -> None:
    store = Store.in_memory()
    made: list[str] = []

    def pool() -> str:
        made.append("pool")
        return "pool"

    for number in range(5_000):
        assert store.cached("pool", pool) == "pool"
        assert store.cached(number, partial(int, number)) == number
    assert made == ["pool"]
    assert len(store._cache) <= 1_000

"""Cards from elsewhere: what each source gives, and how they come into the state folder."""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.discover.sources.cache import SourceCache
from metier.discover.sources.database import MOST_CARDS, DatabaseSource
from metier.discover.sources.local import LocalSource
from metier.discover.sources.remote import RemoteSource
from metier.discover.sources.source import LARGEST, CardSource, SourcedCard, file_stem
from metier.discover.sources.sync import source_folders, source_of, sync_sources
from metier.errors import ConfigError, SourceError
from metier.storage.room import Room
from metier.values.capabilities import SourceSetting
from metier.values.outcomes import Issue
from metier.values.settings_tables import CapabilitiesConfig

pytestmark = pytest.mark.slow

BOUND = 300
"""Seconds after which another process counts as stuck."""
PIN = "0" * 64
CARD = "---\nid: {id}\nname: Web search\n---\nSearch.\n"


class Endpoint:
    """A workspace with its state folder."""

    def __init__(self, root: Path) -> None:
        self.root = root / "workspace"
        self.root.mkdir()
        self.state = root / "state"
        self.room = Room(str(self.state))
        self.cards = self.state / "cards"

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def sync(self, *settings: SourceSetting) -> list[Issue]:
        return sync_sources(settings, str(self.root), self.room)

    def folder(self, setting: SourceSetting) -> Path:
        return Path(SourceCache(self.room).folder(setting).path)

    def kept(self, setting: SourceSetting) -> dict[str, str]:
        folder = self.folder(setting)
        return {one.name: one.read_text() for one in folder.iterdir()} if folder.exists() else {}

    def everything(self) -> dict[str, tuple[int, int, bytes]]:
        """All files below the state folder, with their times."""
        return {
            str(path.relative_to(self.state)): (
                path.stat().st_mtime_ns,
                path.stat().st_ino,
                path.read_bytes() if path.is_file() else b"",
            )
            for path in self.state.rglob("*")
        }


@pytest.fixture
def place(tmp_path: Path) -> Endpoint:
    return Endpoint(tmp_path)


LOCAL = SourceSetting("local", "more/cards")
DATABASE = SourceSetting("database", "cards.db")


def fill(file: Path, rows: dict[str, str], *statements: str) -> Path:
    """Make the database hold these cards."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE IF NOT EXISTS card (id TEXT PRIMARY KEY, text TEXT)")
        connection.execute("DELETE FROM card")
        connection.executemany("INSERT INTO card VALUES (?, ?)", rows.items())
        for statement in statements:
            connection.execute(statement)
    return file


def failure(source: CardSource) -> str:
    """The line of the error that loading gives; one line, with a code."""
    with pytest.raises(SourceError) as caught:
        source.load()
    assert caught.value.code == "SOURCE_FAILED"
    assert "\n" not in caught.value.message
    return caught.value.message


# names


@pytest.mark.parametrize("name", ["web-search", "a", "7", "a" * 64])
def test_a_plain_name_stays(name: str) -> None:
    assert file_stem(name) == name


@given(st.text(max_size=300))
def test_a_stem_is_always_a_safe_file_name(text: str) -> None:
    stem = file_stem(text)
    assert 0 < len(stem) <= 64
    assert set(stem) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")


@given(st.sets(st.text(max_size=8), min_size=2, max_size=20))
def test_two_names_never_meet(texts: set[str]) -> None:
    assert len({file_stem(text) for text in texts}) == len(texts)


def test_a_long_name_is_cut_and_stays_itself() -> None:
    stems = {file_stem("A" * 300), file_stem("A" * 301)}
    assert {len(stem) for stem in stems} == {53}


def test_a_name_cannot_be_made_to_look_like_the_stem_of_another() -> None:
    assert file_stem(file_stem("../x")) != file_stem("../x")


# one more folder


@pytest.mark.invariant(id="CARD-EXT-005")
def test_a_folder_gives_the_markdown_files_directly_in_it(place: Endpoint) -> None:
    place.write("more/cards/web-search.md", "a")
    place.write("more/cards/B c.md", b"\xff\x00")
    place.write("more/cards/deep/below.md", "no")
    place.write("more/cards/notes.txt", "no")
    place.write("more/cards/.hidden.md", "no")
    source = LocalSource("more/cards", str(place.root))
    assert (source.type, source.location) == ("local", "more/cards")
    assert source.load() == [(file_stem("B c"), b"\xff\x00"), ("web-search", b"a")]


def test_a_folder_may_be_named_in_full_and_reached_by_links_inside(place: Endpoint) -> None:
    file = place.write("more/cards/a.md", "a")
    (place.root / "link").symlink_to(file.parent)
    (file.parent / "b.md").symlink_to(place.write("docs/real.md", "b"))
    for folder in (str(file.parent), "link", "more/../more/cards"):
        assert LocalSource(folder, str(place.root)).load() == [("a", b"a"), ("b", b"b")]


def outside_by_dots(place: Endpoint) -> str:
    return "../outside"


def outside_by_full_path(place: Endpoint) -> str:
    return str(place.root.parent / "outside")


def outside_by_link(place: Endpoint) -> str:
    (place.root / "link").symlink_to(place.root.parent / "outside")
    return "link"


def outside_by_link_on_the_way(place: Endpoint) -> str:
    (place.root / "link").symlink_to(place.root.parent)
    return "link/outside"


def outside_by_similar_name(place: Endpoint) -> str:
    shutil.copytree(place.root.parent / "outside", place.root.parent / "workspace-evil")
    return "../workspace-evil"


def outside_by_link_of_a_file(place: Endpoint) -> str:
    place.write("more/cards/good.md", "good")
    (place.root / "more/cards/x.md").symlink_to(place.root.parent / "outside/x.md")
    return "more/cards"


def outside_by_similar_name_of_a_file(place: Endpoint) -> str:
    place.write("more/cards/good.md", "good")
    twin = place.root.parent / "workspace.md"
    twin.write_text("secret")
    (place.root / "more/cards/x.md").symlink_to(twin)
    return "more/cards"


@pytest.mark.invariant(id="CARD-SEC-001")
@pytest.mark.invariant(id="CARD-SEC-002")
@pytest.mark.invariant(id="CARD-SEC-013")
@pytest.mark.parametrize(
    "way",
    [
        outside_by_dots,
        outside_by_full_path,
        outside_by_link,
        outside_by_link_on_the_way,
        outside_by_similar_name,
        outside_by_link_of_a_file,
        outside_by_similar_name_of_a_file,
    ],
)
def test_no_card_is_taken_from_outside_the_workspace(
    way: Callable[[Endpoint], str], place: Endpoint
) -> None:
    outside = place.root.parent / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("secret")
    setting = SourceSetting("local", way(place))
    message = failure(LocalSource(setting.location, str(place.root)))
    assert message.endswith("leads out of the workspace")
    (issue,) = place.sync(setting)
    assert (issue.code, issue.message, issue.path) == ("SRC901", message, setting.location)
    assert place.kept(setting) == {}


def too_large_a_file(folder: Path) -> None:
    (folder / "x.md").write_bytes(b"a" * (LARGEST + 1))


def folder_for_a_file(folder: Path) -> None:
    (folder / "x.md").mkdir()


def pipe_for_a_file(folder: Path) -> None:
    os.mkfifo(folder / "x.md")


@pytest.mark.parametrize("spoil", [too_large_a_file, folder_for_a_file, pipe_for_a_file])
def test_a_folder_with_something_else_than_cards_is_not_taken(
    spoil: Callable[[Path], None], place: Endpoint
) -> None:
    spoil(place.write("more/cards/good.md", "good").parent)
    assert "'x.md' is not a regular file" in failure(LocalSource("more/cards", str(place.root)))


def test_a_file_name_that_is_no_text_gets_one_that_is(place: Endpoint) -> None:
    (place.root / "more").mkdir()
    try:
        with open(os.fsencode(place.root) + b"/more/caf\xe9.md", "wb") as file:
            file.write(b"coffee")
    except OSError:
        pytest.skip("this file system takes only names in UTF-8")
    (card,) = LocalSource("more", str(place.root)).load()
    assert (card.name.isascii(), card.data) == (True, b"coffee")


def test_a_card_of_the_largest_size_is_taken(place: Endpoint) -> None:
    place.write("more/cards/x.md", b"a" * LARGEST)
    assert len(LocalSource("more/cards", str(place.root)).load()[0].data) == LARGEST


def test_a_folder_that_cannot_be_listed_says_why(place: Endpoint) -> None:
    place.write("file", "")
    (place.root / "loop").symlink_to("loop")
    (place.root / "more").mkdir()
    (place.root / "more/dangling.md").symlink_to("gone")
    for folder in ("gone", "file", "a\0b", "loop", "more"):
        assert failure(LocalSource(folder, str(place.root))).startswith("cannot be read: ")


# a database


@pytest.mark.invariant(id="CARD-EXT-005")
def test_a_database_gives_its_rows_by_name(tmp_path: Path) -> None:
    file = fill(tmp_path / "cards.db", {"b": "ä\n", "a": "", "../../x": "y", "": "z"})
    source = DatabaseSource(str(file))
    assert (source.type, source.location) == ("database", str(file))
    plain = [card for card in source.load() if card.name in ("a", "b")]
    assert plain == [("a", b""), ("b", "ä\n".encode())]
    other = {card.name: card.data for card in source.load() if card not in plain}
    assert other == {file_stem("../../x"): b"y", file_stem(""): b"z"}


@pytest.mark.parametrize(
    ("mode", "beside"), [("DELETE", set()), ("WAL", {"cards.db-shm", "cards.db-wal"})]
)
def test_reading_changes_nothing(mode: str, beside: set[str], tmp_path: Path) -> None:
    """SQLite itself puts two files beside a database with a write-ahead log, for any reader."""
    file = tmp_path / "cards.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
    before = fill(file, {"a": "text"}).read_bytes()
    assert DatabaseSource(str(file)).load() == [("a", b"text")]
    assert file.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} <= {"cards.db", *beside}


def test_what_another_process_has_just_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "cards.db"
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        fill(file, {"a": "old"})
        with writer:
            writer.execute("UPDATE card SET text = 'new'")
        assert DatabaseSource(str(file)).load() == [("a", b"new")]


def test_a_database_that_a_killed_writer_left_is_not_repaired(tmp_path: Path) -> None:
    file = fill(tmp_path / "live.db", {str(number): "old" * 500 for number in range(50)})
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN")
        writer.execute("UPDATE card SET text = 'new' || text")
        for name in ("live.db", "live.db-journal"):
            shutil.copy(tmp_path / name, tmp_path / name.replace("live", "left"))
        writer.execute("ROLLBACK")
    left = [tmp_path / "left.db", tmp_path / "left.db-journal"]
    before = [one.read_bytes() for one in left]
    assert "readonly database" in failure(DatabaseSource(str(left[0])))
    assert [one.read_bytes() for one in left] == before


@pytest.mark.parametrize("name", ["a?mode=rwc.db", "a#b.db", "a%41 b.db", "ä&x=1.db"])
def test_a_path_is_not_taken_for_options(name: str, tmp_path: Path) -> None:
    fill(tmp_path / name, {"a": "text"})
    assert DatabaseSource(str(tmp_path / name)).load() == [("a", b"text")]
    assert [one.name for one in tmp_path.iterdir()] == [name]


def no_file(file: Path) -> None:
    pass


def no_database(file: Path) -> None:
    file.write_text("just a text, and not a short one, so that it has a header " * 20)


def no_table(file: Path) -> None:
    fill(file, {}, "DROP TABLE card", "CREATE TABLE other (id TEXT)")


def no_column(file: Path) -> None:
    fill(file, {}, "DROP TABLE card", "CREATE TABLE card (id TEXT, body TEXT)")


def folder_for_a_database(file: Path) -> None:
    file.mkdir()


def pipe_for_a_database(file: Path) -> None:
    os.mkfifo(file)


def no_text(file: Path) -> None:
    fill(file, {"good": "text"}, "INSERT INTO card VALUES ('x', NULL)")


def no_id(file: Path) -> None:
    fill(file, {"good": "text"}, "INSERT INTO card VALUES (NULL, 'text')")


def bytes_for_text(file: Path) -> None:
    fill(file, {"good": "text"}, "INSERT INTO card VALUES ('x', x'00ff')")


def broken_text(file: Path) -> None:
    fill(file, {"good": "text"}, "INSERT INTO card VALUES ('x', CAST(x'1b5b33316d0affff' AS TEXT))")


def large_text(file: Path) -> None:
    fill(file, {"good": "text", "x": "a" * (LARGEST + 1)})


def huge_text(file: Path) -> None:
    fill(file, {"good": "text", "x": "a" * (2 << 20)})


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (no_file, "No such file or directory"),
        (no_database, "file is not a database"),
        (no_table, "no such table: card"),
        (no_column, "no such column: text"),
        (folder_for_a_database, "it is not a regular file"),
        (pipe_for_a_database, "it is not a regular file"),
        (no_text, "id and text of card 'x' are not both text"),
        (no_id, "id and text of card None are not both text"),
        (bytes_for_text, "id and text of card 'x' are not both text"),
        (broken_text, "Could not decode to UTF-8"),
        (large_text, "card 'x' has more than 51200 bytes"),
        (huge_text, "string or blob too big"),
    ],
)
def test_a_database_that_cannot_be_used_says_why_in_one_line(
    spoil: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    spoil(tmp_path / "cards.db")
    message = failure(DatabaseSource(str(tmp_path / "cards.db")))
    assert message.startswith(f"cannot be read as a database of cards: {said}")
    assert message.isprintable()


def test_a_missing_database_is_not_made(tmp_path: Path) -> None:
    failure(DatabaseSource(str(tmp_path / "cards.db")))
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_no_system_takes_is_an_error_as_any_other() -> None:
    for path in ("a\0b", "\udc80.db", ""):
        failure(DatabaseSource(path))


def test_a_locked_database_is_not_waited_for(tmp_path: Path) -> None:
    file = fill(tmp_path / "cards.db", {"a": "text"})
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "database is locked" in failure(DatabaseSource(str(file), busy_seconds=0.05))
        other.execute("ROLLBACK")
    assert DatabaseSource(str(file)).load() == [("a", b"text")]


def test_a_query_without_end_is_ended(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    view = f"CREATE VIEW card AS {endless} SELECT 'a' AS id, sum(i) AS text FROM n"
    file = fill(tmp_path / "cards.db", {}, "DROP TABLE card", view)
    assert failure(DatabaseSource(str(file), limit=0.1)).endswith("it took more than 0.1 s")


def test_a_database_may_not_hold_too_many_cards(tmp_path: Path) -> None:
    rows = {str(number): "text" for number in range(MOST_CARDS)}
    file = fill(tmp_path / "cards.db", rows)
    assert len(DatabaseSource(str(file)).load()) == MOST_CARDS
    fill(file, rows | {"one-more": "text"})
    assert failure(DatabaseSource(str(file))).endswith("it has more than 5000 cards")


def test_a_long_id_makes_no_long_line(tmp_path: Path) -> None:
    file = fill(tmp_path / "cards.db", {"x" * 100_000: "a" * (LARGEST + 1)})
    assert len(failure(DatabaseSource(str(file)))) < 300


# which source a setting names


@pytest.mark.invariant(id="CARD-EXT-005")
def test_every_type_has_its_source_behind_one_interface(place: Endpoint) -> None:
    settings = [LOCAL, DATABASE, SourceSetting("remote", "https://example.org/a.md", PIN)]
    sources = [source_of(setting, str(place.root)) for setting in settings]
    assert [source.type for source in sources] == ["local", "database", "remote"]
    assert [type(source) for source in sources] == [LocalSource, DatabaseSource, RemoteSource]


def test_the_path_of_a_database_starts_at_the_workspace_or_at_home(
    place: Endpoint, empty_home: Path
) -> None:
    fill(place.root / "here.db", {"a": "here"})
    fill(empty_home / "there.db", {"a": "there"})
    for path, text in (("here.db", b"here"), ("~/there.db", b"there")):
        source = source_of(SourceSetting("database", path), str(place.root))
        assert source.load() == [SourcedCard("a", text)]


@pytest.mark.parametrize("unknown", ["ftp", "", "../../x", "Local"])
def test_an_unknown_type_is_a_wrong_setting(unknown: str, place: Endpoint) -> None:
    setting = SourceSetting(unknown, "x")
    with pytest.raises(ConfigError, match="no source of cards has the type") as caught:
        source_of(setting, str(place.root))
    assert caught.value.hint == "known: local, database, remote"
    (issue,) = place.sync(setting)
    assert (issue.code, issue.path) == ("SRC901", "x")
    assert (issue.message, issue.hint) == (caught.value.message, caught.value.hint)
    assert source_folders([setting], place.room) == []
    assert not place.state.exists()


# bringing them in


@pytest.mark.invariant(id="CARD-EXT-006")
def test_without_settings_nothing_is_asked_and_nothing_is_made(place: Endpoint) -> None:
    assert CapabilitiesConfig().sources == ()
    fill(place.root / "cards.db", {"a": "text"})
    assert place.sync() == []
    assert not place.state.exists()


def test_without_settings_a_state_folder_elsewhere_is_no_concern(place: Endpoint) -> None:
    (place.root.parent / "elsewhere").mkdir()
    place.state.symlink_to(place.root.parent / "elsewhere")
    assert place.sync() == []


def test_cards_of_all_sources_become_plain_files(place: Endpoint) -> None:
    place.write("more/cards/web.md", CARD.format(id="web"))
    fill(place.root / "cards.db", {"b": CARD.format(id="b"), "a/../b": "x"})
    assert place.sync(LOCAL, DATABASE) == []
    assert place.kept(LOCAL) == {"web.md": CARD.format(id="web")}
    mangled = f"{file_stem('a/../b')}.md"
    assert place.kept(DATABASE) == {"b.md": CARD.format(id="b"), mangled: "x"}


def test_the_folder_of_a_source_is_known_by_its_type_and_location(place: Endpoint) -> None:
    digest = hashlib.sha256(b"localmore/cards").hexdigest()[:12]
    settings = [LOCAL, DATABASE, SourceSetting("database", "more/cards")]
    for setting in settings:
        place.folder(setting).mkdir(parents=True)
    wanted = str(place.cards / f"local-{digest}")
    assert source_folders([LOCAL, LOCAL], place.room) == [(LOCAL, wanted)]
    assert len({folder for _, folder in source_folders(settings, place.room)}) == 3


def test_nothing_is_written_when_nothing_has_changed(place: Endpoint) -> None:
    place.write("more/cards/web.md", "web")
    fill(place.root / "cards.db", {"b": "text"})
    place.sync(LOCAL, DATABASE)
    before = place.everything()
    for file in place.cards.rglob("*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    touched = place.everything()
    assert place.sync(LOCAL, DATABASE) == []
    assert place.everything() == touched
    assert touched.keys() == before.keys()


def test_only_what_has_changed_is_written(place: Endpoint) -> None:
    fill(place.root / "cards.db", {"a": "1", "b": "1", "c": "1"})
    place.sync(DATABASE)
    stayed = (place.folder(DATABASE) / "a.md").stat()
    fill(place.root / "cards.db", {"a": "1", "b": "2", "d": "1"})
    assert place.sync(DATABASE) == []
    assert place.kept(DATABASE) == {"a.md": "1", "b.md": "2", "d.md": "1"}
    now = (place.folder(DATABASE) / "a.md").stat()
    assert (now.st_ino, now.st_mtime_ns) == (stayed.st_ino, stayed.st_mtime_ns)


def test_who_reads_a_card_while_it_is_replaced_reads_the_old_one(place: Endpoint) -> None:
    fill(place.root / "cards.db", {"a": "old"})
    place.sync(DATABASE)
    with (place.folder(DATABASE) / "a.md").open() as reader:
        fill(place.root / "cards.db", {"a": "another"})
        place.sync(DATABASE)
        assert reader.read() == "old"
    assert place.kept(DATABASE) == {"a.md": "another"}


def test_what_somebody_changed_in_the_state_folder_is_put_right(place: Endpoint) -> None:
    fill(place.root / "cards.db", {"a": "1", "b": "1"})
    place.sync(DATABASE)
    folder = place.folder(DATABASE)
    (folder / "a.md").write_text("tampered")
    (folder / "planted.md").write_text("planted")
    assert place.sync(DATABASE) == []
    assert place.kept(DATABASE) == {"a.md": "1", "b.md": "1"}


def test_only_cards_are_ever_deleted_in_the_state_folder(place: Endpoint) -> None:
    fill(place.root / "cards.db", {"a": "1"})
    place.sync(DATABASE)
    folder = place.folder(DATABASE)
    (folder / "notes.txt").write_text("mine")
    (folder / "sub").mkdir()
    (folder / "sub" / "x.md").write_text("mine")
    fill(place.root / "cards.db", {"b": "1"})
    assert place.sync(DATABASE) == []
    assert sorted(one.name for one in folder.iterdir()) == ["b.md", "notes.txt", "sub"]
    assert place.sync() == []
    assert (folder / "sub" / "x.md").read_text() == "mine"


def test_folders_of_sources_no_longer_named_go_and_others_stay(place: Endpoint) -> None:
    place.write("more/cards/web.md", "web")
    fill(place.root / "cards.db", {"b": "text"})
    place.sync(LOCAL, DATABASE)
    (place.cards / "my-notes").mkdir()
    (place.cards / "my-notes/x.md").write_text("mine")
    (place.state / "metier.db").touch()
    assert place.sync(DATABASE) == []
    assert not place.folder(LOCAL).exists()
    assert place.kept(DATABASE) == {"b.md": "text"}
    assert place.sync() == []
    assert [one.name for one in place.cards.iterdir()] == ["my-notes"]
    assert (place.state / "metier.db").exists()


def test_a_source_that_gives_nothing_is_empty_and_no_failure(place: Endpoint) -> None:
    (place.root / "more/cards").mkdir(parents=True)
    fill(place.root / "cards.db", {"b": "text"})
    place.sync(DATABASE)
    fill(place.root / "cards.db", {})
    assert place.sync(LOCAL, DATABASE) == []
    assert (place.kept(LOCAL), place.kept(DATABASE)) == ({}, {})


def test_a_failing_database_keeps_its_last_state_and_the_others_go_on(place: Endpoint) -> None:
    place.write("more/cards/web.md", "old")
    file = fill(place.root / "cards.db", {"b": "text"})
    place.sync(DATABASE, LOCAL)
    file.write_text("no database any more, but long enough to be looked at " * 20)
    place.write("more/cards/web.md", "new")
    before = place.everything()
    (issue,) = place.sync(DATABASE, LOCAL)
    assert (issue.code, issue.severity, issue.path) == ("SRC901", "warning", "cards.db")
    assert issue.message == (
        "cannot be read as a database of cards: file is not a database; "
        "its earlier cards are still used"
    )
    assert place.kept(DATABASE) == {"b.md": "text"}
    assert place.kept(LOCAL) == {"web.md": "new"}
    card = str((place.folder(DATABASE) / "b.md").relative_to(place.state))
    assert place.everything()[card] == before[card]


def test_a_source_is_taken_whole_or_not_at_all(place: Endpoint) -> None:
    file = fill(place.root / "cards.db", {"a": "old"})
    place.sync(DATABASE)
    fill(file, {"a": "new", "b": "a" * (LARGEST + 1)})
    assert len(place.sync(DATABASE)) == 1
    assert place.kept(DATABASE) == {"a.md": "old"}


def test_a_folder_of_the_workspace_that_is_gone_keeps_nothing(place: Endpoint) -> None:
    place.write("more/cards/web.md", "web")
    place.sync(LOCAL)
    shutil.rmtree(place.root / "more")
    (issue,) = place.sync(LOCAL)
    assert issue.message == "cannot be read: No such file or directory"
    assert place.kept(LOCAL) == {}


def test_an_address_that_fails_keeps_only_what_is_still_pinned(
    place: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listens at the address."""
    monkeypatch.setenv("no_proxy", "*")
    address = "https://127.0.0.1:1/web.md"
    pinned = SourceSetting("remote", address, hashlib.sha256(b"card").hexdigest())
    folder = place.folder(pinned)
    folder.mkdir(parents=True)
    (folder / "web.md").write_text("card")
    (folder / "copy.md").write_text("card")
    assert place.sync(pinned) == []
    assert place.kept(pinned) == {"web.md": "card"}
    (issue,) = place.sync(pinned._replace(sha256=PIN))
    assert (issue.code, issue.path) == ("SRC901", address)
    assert place.kept(pinned) == {}


def test_one_address_with_two_hashes_is_refused_and_the_first_counts(place: Endpoint) -> None:
    first = SourceSetting("remote", "https://metier.invalid/a.md", hashlib.sha256(b"a").hexdigest())
    place.folder(first).mkdir(parents=True)
    (place.folder(first) / "a.md").write_text("a")
    (issue,) = place.sync(first, first, first._replace(sha256=PIN))
    assert issue.message == "it is named twice, with two hashes; the first is used"
    assert place.kept(first) == {"a.md": "a"}


@given(
    settings=st.lists(
        st.builds(SourceSetting, st.sampled_from(["local", "database", "x", ""]), st.text())
        | st.builds(SourceSetting, st.just("remote"), st.text().map("http:{}".format), st.text()),
        max_size=4,
    )
)
def test_no_setting_makes_it_raise_or_write_elsewhere(
    settings: list[SourceSetting], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = Endpoint(tmp_path_factory.mktemp("place"))
    issues = place.sync(*settings)
    assert {issue.code for issue in issues} <= {"SRC901"}
    assert {one.name for one in place.root.parent.rglob("*")} <= {
        "workspace",
        "state",
        "cards",
        "cards.lock",
    }


def test_a_state_folder_that_cannot_be_made_is_a_finding(place: Endpoint) -> None:
    place.write("more/cards/web.md", "web")
    place.state.write_text("a file")
    issues = place.sync(LOCAL)
    assert [(issue.code, issue.path) for issue in issues][:1] == [("SRC901", "more/cards")]
    assert place.state.read_text() == "a file"


# links in the state folder


def linked_cards(place: Endpoint, outside: Path) -> None:
    place.state.mkdir()
    place.cards.symlink_to(outside)


def linked_lock(place: Endpoint, outside: Path) -> None:
    place.state.mkdir()
    (place.state / "cards.lock").symlink_to(outside / "made")


def linked_folder(place: Endpoint, outside: Path) -> None:
    folder = place.folder(LOCAL)
    place.cards.mkdir(parents=True)
    folder.symlink_to(outside)


LINKS = [linked_cards, linked_lock, linked_folder]


@pytest.mark.invariant(id="CARD-SEC-002")
@pytest.mark.parametrize("plant", LINKS)
def test_a_planted_link_leads_no_write_outside(
    plant: Callable[[Endpoint, Path], None], place: Endpoint
) -> None:
    place.write("more/cards/web.md", "web")
    outside = place.root.parent / "outside"
    outside.mkdir()
    (outside / "mine.md").write_text("mine")
    plant(place, outside)
    issue, *_ = place.sync(LOCAL)
    assert issue.code == "SRC901"
    assert "a link or another file is in its place" in issue.message
    assert {one.name: one.read_text() for one in outside.iterdir()} == {"mine.md": "mine"}
    assert source_folders([LOCAL], place.room) == []


@pytest.mark.parametrize("plant", LINKS[:2])
def test_a_planted_link_leads_no_removal_outside(
    plant: Callable[[Endpoint, Path], None], place: Endpoint
) -> None:
    outside = place.root.parent / "outside"
    old = place.folder(LOCAL).name
    (outside / old).mkdir(parents=True)
    (outside / "cards" / old).mkdir(parents=True)
    plant(place, outside)
    (place.cards / old).mkdir(parents=True, exist_ok=True)
    (issue,) = place.sync()
    assert issue.message == "cannot be cleared: a link or another file is in its place"
    found = sorted(str(one.relative_to(outside)) for one in outside.rglob("*"))
    assert found == sorted(["cards", f"cards/{old}", old])


def test_a_link_among_the_cards_is_replaced_and_its_target_stays(place: Endpoint) -> None:
    place.write("more/cards/web.md", "web")
    place.sync(LOCAL)
    outside = place.root.parent / "outside.md"
    outside.write_text("web")
    folder = place.folder(LOCAL)
    (folder / "web.md").unlink()
    (folder / "web.md").symlink_to(outside)
    (folder / "other.md").symlink_to(outside)
    assert place.sync(LOCAL) == []
    assert [one.name for one in folder.iterdir()] == ["web.md"]
    assert not (folder / "web.md").is_symlink()
    assert outside.read_text() == "web"


def test_a_link_in_the_place_of_an_old_source_is_a_finding_and_its_target_stays(
    place: Endpoint,
) -> None:
    outside = place.root.parent / "outside"
    outside.mkdir()
    (outside / "mine.md").write_text("mine")
    linked_folder(place, outside)
    (issue,) = place.sync()
    assert issue.message == "cannot be cleared: a link or another file is in its place"
    assert (outside / "mine.md").read_text() == "mine"


def test_a_folder_in_the_place_of_a_card_is_a_finding_and_stays(place: Endpoint) -> None:
    place.write("more/cards/web.md", "web")
    (place.folder(LOCAL) / "web.md" / "deep").mkdir(parents=True)
    (issue,) = place.sync(LOCAL)
    assert issue.message == "not loaded: Is a directory"
    assert (place.folder(LOCAL) / "web.md" / "deep").is_dir()


# several processes

SYNC = """
import sys
from metier.discover.sources.sync import sync_sources
from metier.storage.room import Room
from metier.values.capabilities import SourceSetting
root, state, *locations = sys.argv[1:]
settings = [SourceSetting("local", location) for location in locations]
for _ in range(20):
    issues = sync_sources(settings, root, Room(state))
    assert issues == [], issues
"""


def test_processes_that_sync_at_once_corrupt_nothing(place: Endpoint) -> None:
    """They even disagree about which sources there are."""
    for folder in ("a", "b", "c"):
        for number in range(4):
            place.write(f"{folder}/card-{number}.md", f"{folder} {number}\n" * 500)
    wishes = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c")]
    argv = [sys.executable, "-c", SYNC, str(place.root), str(place.state)]
    running = [subprocess.Popen([*argv, *wish]) for wish in wishes]
    try:
        assert [one.wait(BOUND) for one in running] == [0] * 4
    finally:
        for one in running:
            one.kill()
            one.wait()
    settings = [SourceSetting("local", folder) for folder in ("a", "b", "c")]
    for setting in settings:
        for name, text in place.kept(setting).items():
            assert text == (place.root / setting.location / name).read_text()
    assert place.sync(*settings) == []
    assert [len(place.kept(setting)) for setting in settings] == [4, 4, 4]

"""The room of state: no link is followed, only regular files of this user count."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from metier.storage.room import Room, read_regular

BOUND = 300
"""Seconds after which another process counts as stuck."""
COUNT_UP = """
import os, sys
from metier.storage.room import Room
room = Room(sys.argv[1])
for _ in range(200):
    lock = room.lock("count.lock")
    room.write("count.json", str(int(room.read("count.json")) + 1).encode())
    os.close(lock)
"""
APPEND = """
import sys
from metier.storage.room import Room
room = Room(sys.argv[1])
for number in range(300):
    room.append("log.jsonl", f"{sys.argv[2]} {number}\\n".encode(), 2_000, "log.1.jsonl")
"""


@pytest.fixture
def room(tmp_path: Path) -> Room:
    made = Room(str(tmp_path / "home"), "workspaces", "shop-0123")
    made.make()
    return made


def planted(kind: str, room: Room, name: str, outside: Path) -> Path:
    """Something at a name that is not a regular file of ours."""
    file = Path(room.file(name))
    if kind == "link to a file":
        file.symlink_to(outside)
    elif kind == "link to a folder":
        file.symlink_to(outside.parent)
    elif kind == "dangling link":
        file.symlink_to(outside.parent / "not-there")
    elif kind == "link to /dev/zero":
        file.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(file)
    else:
        file.mkdir()
    return file


KINDS = (
    "link to a file", "link to a folder", "dangling link", "link to /dev/zero", "fifo", "folder",
)  # fmt: skip
OPERATIONS: dict[str, Callable[[Room, str], object]] = {
    "read": lambda room, name: room.read(name),
    "tail": lambda room, name: room.tail(name, 10),
    "append": lambda room, name: room.append(name, b"x\n", 100),
    "lock": lambda room, name: os.close(room.lock(name)),
    "open": lambda room, name: os.close(room.open(name, os.O_RDWR | os.O_CREAT)),
    "vet": lambda room, name: room.vet([name]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_nothing_but_a_regular_file_is_opened(
    kind: str, operation: str, room: Room, tmp_path: Path
) -> None:
    outside = tmp_path / "outside" / "victim"
    outside.parent.mkdir()
    outside.write_text("keep me")
    planted(kind, room, "log.jsonl", outside)
    with pytest.raises(OSError, match=r"log\.jsonl") as caught:
        OPERATIONS[operation](room, "log.jsonl")
    assert caught.value.filename == room.file("log.jsonl")
    assert caught.value.strerror
    assert outside.read_text() == "keep me"
    assert [one.name for one in outside.parent.iterdir()] == ["victim"]
    assert room.info("log.jsonl") is None


@pytest.mark.parametrize("kind", KINDS[:4])
def test_a_write_takes_the_place_of_a_link_and_leaves_its_target_alone(
    kind: str, room: Room, tmp_path: Path
) -> None:
    outside = tmp_path / "outside" / "victim"
    outside.parent.mkdir()
    outside.write_text("keep me")
    file = planted(kind, room, "state.json", outside)
    room.write("state.json", b"new")
    assert not file.is_symlink()
    assert file.read_bytes() == b"new"
    assert outside.read_text() == "keep me"


@pytest.mark.parametrize("level", ["workspaces", "workspaces/shop-0123"])
def test_a_link_on_the_way_is_not_followed(level: str, tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    (outside / "shop-0123").mkdir(parents=True)
    place = home / level
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    room = Room(str(home), "workspaces", "shop-0123")
    for operation in (room.make, room.names, lambda: room.write("x.json", b"")):
        with pytest.raises(OSError, match="a link or another file is in its place"):
            operation()
    assert not room.exists()
    assert list(outside.rglob("*.json")) == []


def test_folders_and_files_are_for_this_user_alone(room: Room) -> None:
    room.write("a.json", b"1")
    room.append("b.log", b"1\n", 100)
    os.close(room.lock("c.lock"))
    modes = {one: stat.S_IMODE(os.stat(room.file(one)).st_mode) for one in room.names()}
    assert modes == {"a.json": 0o600, "b.log": 0o600, "c.lock": 0o600}
    for folder in (room.path, os.path.dirname(room.path)):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_belongs_to_another_user_is_refused(what: str, room: Room) -> None:
    room.write("a.json", b"1")
    os.chown(room.file("a.json") if what == "file" else room.path, 12345, 12345)
    with pytest.raises(OSError, match="it belongs to another user"):
        room.read("a.json")


def test_no_more_is_read_than_was_asked_for(room: Room) -> None:
    room.write("a.json", b"x" * 101)
    assert len(room.read("a.json", 101)) == 101
    with pytest.raises(OSError, match="more than 100 bytes"):
        room.read("a.json", 100)
    with pytest.raises(OSError, match="not a regular file"):
        read_regular("/dev/zero", 100)


@pytest.mark.parametrize("name", ["notes.txt", "../a.json", "sub/a.json", "", "README"])
def test_only_names_that_metier_gives_are_deleted(name: str, room: Room) -> None:
    with pytest.raises(OSError, match="not a file name of metier"):
        room.remove(name)


def test_a_link_with_such_a_name_goes_and_its_target_stays(room: Room, tmp_path: Path) -> None:
    (tmp_path / "victim.json").write_text("keep me")
    os.symlink(tmp_path / "victim.json", room.file("a.json"))
    room.remove("a.json")
    assert not room.has("a.json")
    assert (tmp_path / "victim.json").read_text() == "keep me"


def test_a_line_after_one_that_was_cut_off_begins_anew(room: Room) -> None:
    Path(room.file("a.log")).write_bytes(b"half a li")
    room.append("a.log", b"whole\n", 100, mend=True)
    assert room.read("a.log") == b"half a li\nwhole\n"


def test_several_processes_append_whole_lines_and_rotate_once(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", APPEND, str(tmp_path), str(one)])
        for one in range(3)
    ]
    try:
        assert [one.wait(BOUND) for one in running] == [0] * 3
    finally:
        for one in running:
            one.kill()
            one.wait()
    room = Room(str(tmp_path))
    lines = (room.read("log.1.jsonl") + room.read("log.jsonl")).decode().splitlines()
    assert lines
    assert all(len(line.split()) == 2 for line in lines)
    assert len(room.read("log.jsonl")) <= 2_200


def test_processes_that_read_and_write_under_a_lock_lose_no_step(tmp_path: Path) -> None:
    room = Room(str(tmp_path))
    room.write("count.json", b"0")
    running = [subprocess.Popen([sys.executable, "-c", COUNT_UP, str(tmp_path)]) for _ in range(3)]
    try:
        assert [one.wait(BOUND) for one in running] == [0] * 3
    finally:
        for one in running:
            one.kill()
            one.wait()
    assert room.read("count.json") == b"600"


def test_a_lock_that_another_holds_is_not_waited_for_unless_wanted(room: Room) -> None:
    first = room.lock("a.lock")
    with pytest.raises(BlockingIOError):
        room.lock("a.lock", wait=False)
    os.close(first)
    os.close(room.lock("a.lock", wait=False))

"""The files of a skill: all of them are hashed, links are not followed, and limits hold."""

import os
import socket
from hashlib import sha256
from pathlib import Path

import pytest

from metier.discover import bundle
from metier.discover.bundle import Bundle, list_bundle, read_bundle


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "skill"
    made.mkdir()
    (made / "SKILL.md").write_text("# Do it\n")
    return made


def read(folder: Path) -> Bundle:
    return read_bundle(list_bundle(str(folder)), "SKILL.md")


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def test_every_file_is_hashed_scripts_and_hidden_files_included(folder: Path) -> None:
    (folder / "scripts/deep").mkdir(parents=True)
    (folder / "scripts/deep/run.sh").write_bytes(b"echo\n")
    (folder / ".env").write_bytes(b"A=1\n")
    (folder / "node_modules").mkdir()
    (folder / "node_modules/x.js").write_bytes(b"x")
    found = read(folder)
    assert found.files == {
        "SKILL.md": digest(b"# Do it\n"),
        ".env": digest(b"A=1\n"),
        "scripts/deep/run.sh": digest(b"echo\n"),
        "node_modules/x.js": digest(b"x"),
    }
    assert set(found.scripts) == {"scripts/deep/run.sh", "node_modules/x.js"}
    assert found.problem == ""


@pytest.mark.parametrize("name", [".git/HEAD", "__pycache__/x.pyc", ".DS_Store", "metier.lock"])
def test_what_tools_leave_behind_is_no_part_of_a_skill(name: str, folder: Path) -> None:
    before = read(folder)
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("x")
    assert read(folder).files == before.files


def test_a_skill_inside_a_skill_is_no_part_of_it(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner/SKILL.md").write_text("# Other\n")
    (folder / "inner/run.sh").write_text("echo\n")
    assert set(read(folder).files) == {"SKILL.md"}


def test_a_program_is_told_by_its_ending_its_mode_or_its_first_line(folder: Path) -> None:
    (folder / "a.PY").write_text("")
    (folder / "b").write_text("#!/bin/sh\n")
    (folder / "c").write_text("x")
    (folder / "c").chmod(0o755)
    (folder / "d.txt").write_text("x")
    assert set(read(folder).scripts) == {"a.PY", "b", "c"}


def test_a_link_counts_by_its_target_and_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path)
    found = read(folder)
    assert found.files["out"] == f"link:{tmp_path}/secret"
    assert found.files["folder"] == f"link:{tmp_path}"
    assert "a secret" not in found.texts.values()


def test_a_folder_that_became_a_link_after_it_was_listed_is_not_entered(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "refs").mkdir()
    (folder / "refs/a.md").write_text("inside")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.md").write_text("outside")
    listed = list_bundle(str(folder))
    (folder / "refs").rename(tmp_path / "old")
    (folder / "refs").symlink_to(tmp_path / "elsewhere")
    found = read_bundle(listed, "SKILL.md")
    assert found.problem.startswith("refs/a.md cannot be read")
    assert found.files == {}
    assert found.texts == {}


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


@pytest.mark.parametrize("make", [_fifo, _socket])
def test_what_is_no_regular_file_is_a_problem_and_not_opened(
    make: object, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    make(folder / "odd")  # type: ignore[operator]  # either of the two
    assert read(folder).problem == "odd is not a regular file"


def test_a_file_that_became_a_pipe_after_it_was_listed_does_not_block(folder: Path) -> None:
    (folder / "a").write_text("x")
    listed = list_bundle(str(folder))
    (folder / "a").unlink()
    os.mkfifo(folder / "a")
    assert read_bundle(listed, "SKILL.md").problem == "a cannot be read: it is not a regular file"


def test_too_many_files_are_a_problem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_FILES", 3)
    for number in range(4):
        (folder / str(number)).write_text("")
    assert read(folder).problem == "it has more than 3 files"


def test_too_many_bytes_are_a_problem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 100)
    (folder / "a").write_bytes(b"x" * 101)
    assert read(folder).problem == "its files have more than 100 bytes"


@pytest.mark.parametrize("name", ["a\nb", "a\tb", os.fsdecode(b"\xff")])
def test_a_name_that_no_record_can_hold_is_a_problem(name: str, folder: Path) -> None:
    (folder / name).write_text("x")
    assert read(folder).problem.startswith("the name '")
    assert read(folder).problem.isprintable()


def test_only_texts_are_copied_and_only_so_much(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "LARGEST_TEXT", 20)
    monkeypatch.setattr(bundle, "MOST_TEXT", 30)
    (folder / "a.bin").write_bytes(b"\0")
    (folder / "b.latin").write_bytes(b"\xe9")
    (folder / "c.txt").write_bytes(b"c" * 21)
    (folder / "d.txt").write_bytes(b"d" * 15)
    (folder / "e.txt").write_bytes(b"e" * 15)
    assert read(folder).texts == {"SKILL.md": "# Do it\n", "d.txt": "d" * 15}


def test_stamps_change_with_every_file_and_folder(folder: Path) -> None:
    (folder / "refs").mkdir()
    (folder / "refs/a").write_text("x")
    stamps = [list_bundle(str(folder)).stamps]
    (folder / "refs/a").write_text("yy")
    stamps.append(list_bundle(str(folder)).stamps)
    (folder / "refs/b").write_text("")
    stamps.append(list_bundle(str(folder)).stamps)
    (folder / "refs/a").chmod(0o700)
    stamps.append(list_bundle(str(folder)).stamps)
    (folder / "new").mkdir()
    stamps.append(list_bundle(str(folder)).stamps)
    assert len(set(stamps)) == 5

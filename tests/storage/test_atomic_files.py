"""Files that are replaced in one step."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metier.storage.atomic_files import write_atomically

BOUND = 300
"""Seconds after which another process counts as stuck."""


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def python(code: str, *more: str, **options: Any) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-c", code, *more]
    return subprocess.Popen(argv, text=True, **options)


# write_atomically


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    file = str(tmp_path / "none" / "file")
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(file, b"text")
    assert caught.value.filename == file


@pytest.mark.parametrize("content", [b"", b"text\n", b"\r\n\x00\xff", b"x" * 1_000_000])
def test_the_file_has_exactly_the_content_and_nothing_else_is_left(
    content: bytes, tmp_path: Path
) -> None:
    for _ in range(2):
        write_atomically(str(tmp_path / "file"), content)
        assert (tmp_path / "file").read_bytes() == content
        assert names(tmp_path) == ["file"]


def test_a_replaced_file_is_a_new_one_and_who_reads_the_old_one_reads_on(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with file.open("rb") as reader:
        write_atomically(str(file), b"new content")
        assert reader.read() == b"old"
    assert file.read_bytes() == b"new content"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755, 0o400])
def test_a_replaced_file_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(mode)
    write_atomically(str(file), b"new")
    assert (mode_of(file), file.read_bytes()) == (mode, b"new")


def test_a_new_file_gets_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(str(tmp_path / "file"), b"")
    assert mode_of(tmp_path / "file") == mode_of(tmp_path / "plain")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    text: Any = "not bytes"
    with pytest.raises(TypeError):
        write_atomically(str(file), text)
    assert (file.read_bytes(), names(tmp_path)) == (b"old", ["file"])


def test_a_folder_in_its_place_stays_and_no_other_file_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(str(tmp_path / "file"), b"new")
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").is_dir()


def test_a_missing_folder_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(str(tmp_path / "gone" / "file"), b"new")
    assert names(tmp_path) == []


WRITE_FOR_EVER = """
import itertools, sys
from metier.storage.atomic_files import write_atomically
for letter in itertools.cycle([b"a", b"b"]):
    write_atomically(sys.argv[1], letter * 300_000)
    print(flush=True)
"""


def test_a_reader_sees_one_whole_content_even_when_the_writer_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with python(WRITE_FOR_EVER, str(file), stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "\n"
            seen = {file.read_bytes() for _ in range(300)}
        finally:
            writer.kill()
    seen.add(file.read_bytes())
    assert seen <= {b"a" * 300_000, b"b" * 300_000}


# What a process that was killed leaves


KILLED = """
import os, signal, sys
from metier.storage import atomic_files
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
atomic_files.write_atomically(sys.argv[1], b"half")
"""


def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_bytes(b"old")
    assert python(KILLED, str(file)).wait(BOUND) == -9
    assert len(names(tmp_path)) == 2
    write_atomically(str(file), b"new")
    assert names(tmp_path) == ["SKILL.md"]
    assert file.read_bytes() == b"new"


def test_what_other_processes_write_now_and_what_is_not_metiers_stays(tmp_path: Path) -> None:
    others = [
        f"SKILL.md.metier-{os.getpid()}-{'a' * 16}",
        "SKILL.md.metier-backup",
        "SKILL.md.metier-1-short",
        f"OTHER.md.metier-99999999-{'a' * 16}",
    ]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    write_atomically(str(tmp_path / "SKILL.md"), b"new")
    assert names(tmp_path) == sorted([*others, "SKILL.md"])

"""Files written and folders renamed together: all of it, or nothing, also after a crash."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metier.storage.room import Room
from metier.storage.transaction import JOURNAL, Move, Write, commit, finish

CRASH = """
import os, sys
from metier.storage.room import Room
from metier.storage.transaction import Move, Write, commit

root, state, left = sys.argv[1], sys.argv[2], int(sys.argv[3])

def crashing(real):
    def call(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return real(*arguments, **options)
    return call

os.replace, os.rename = crashing(os.replace), crashing(os.rename)
writes = [Write(f"{root}/{name}", b"old " + name.encode(), b"new " + name.encode())
          for name in ("Old/a.md", "Other/b.md", "c.md")]
commit(writes, [Move(f"{root}/Old", f"{root}/new"), Move(f"{root}/Other", f"{root}/other")],
       Room(state))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name in ("Old/a.md", "Other/b.md", "c.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"old " + name.encode())
    return root


def state(tmp_path: Path) -> Room:
    return Room(str(tmp_path / "state"))


def contents(root: Path) -> dict[str, bytes]:
    files = (file for file in root.rglob("*") if file.is_file())
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in files}


NEW = {"new/a.md": b"new Old/a.md", "other/b.md": b"new Other/b.md", "c.md": b"new c.md"}


@pytest.mark.parametrize("steps", range(7))
def test_after_a_crash_at_any_step_everything_is_there_and_finish_completes_it(
    tree: Path, tmp_path: Path, steps: int
) -> None:
    before = contents(tree)
    argv = [sys.executable, "-c", CRASH, str(tree), str(tmp_path / "state"), str(steps)]
    code = subprocess.run(argv, check=False, timeout=300).returncode
    assert code == (0 if steps == 6 else 9)
    real = [path for path in contents(tree) if ".metier-" not in path]
    assert len(real) == len(before), "no file is missing between two steps"
    begun = finish(state(tmp_path), str(tree))
    assert begun == (0 < steps < 6)
    assert not finish(state(tmp_path), str(tree))
    if steps == 0:
        assert contents(tree) == before, "the journal was not even written"
        return
    left = {path: raw for path, raw in contents(tree).items() if ".metier-" not in path}
    assert left == NEW


def test_a_commit_leaves_no_journal(tree: Path, tmp_path: Path) -> None:
    room = state(tmp_path)
    commit([Write(str(tree / "c.md"), b"old c.md", b"new")], [], room)
    assert (tree / "c.md").read_bytes() == b"new"
    assert not room.has(JOURNAL)


def test_nothing_is_written_if_a_file_changed_meanwhile(tree: Path, tmp_path: Path) -> None:
    writes = [
        Write(str(tree / "Old/a.md"), b"old Old/a.md", b"new"),
        Write(str(tree / "c.md"), b"what was there before", b"new"),
    ]
    before = contents(tree)
    with pytest.raises(OSError, match="it changed in the meantime"):
        commit(writes, [Move(str(tree / "Old"), str(tree / "new"))], state(tmp_path))
    assert contents(tree) == before


def test_a_folder_is_never_overwritten(tree: Path, tmp_path: Path) -> None:
    (tree / "new").mkdir()
    before = contents(tree)
    with pytest.raises(OSError, match="the new folder exists"):
        commit(
            [Write(str(tree / "Old/a.md"), b"old Old/a.md", b"new")],
            [Move(str(tree / "Old"), str(tree / "new"))],
            state(tmp_path),
        )
    assert contents(tree) == before
    assert (tree / "Old").is_dir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_everything_is_undone_if_a_step_fails(tree: Path, tmp_path: Path) -> None:
    (tree / "Other").chmod(0o500)
    before = contents(tree)
    writes = [
        Write(str(tree / "c.md"), b"old c.md", b"new"),
        Write(str(tree / "Other/b.md"), b"old Other/b.md", b"new"),
    ]
    with pytest.raises(PermissionError):
        commit(writes, [Move(str(tree / "Old"), str(tree / "new"))], state(tmp_path))
    (tree / "Other").chmod(0o700)
    assert contents(tree) == before


def test_renames_are_undone_if_a_later_one_fails(tree: Path, tmp_path: Path) -> None:
    moves = [
        Move(str(tree / "Old"), str(tree / "new")),
        Move(str(tree / "Other"), str(tree / "missing" / "other")),
    ]
    before = contents(tree)
    with pytest.raises(OSError) as raised:  # noqa: PT011  # the number says which
        commit([Write(str(tree / "c.md"), b"old c.md", b"new")], moves, state(tmp_path))
    assert raised.value.errno == errno.ENOENT
    assert contents(tree) == before
    assert not state(tmp_path).has(JOURNAL)


def test_finish_writes_nothing_outside_the_workspace(tree: Path, tmp_path: Path) -> None:
    argv = [sys.executable, "-c", CRASH, str(tree), str(tmp_path / "state"), "1"]
    subprocess.run(argv, check=False, timeout=300)
    before = contents(tree)
    assert finish(state(tmp_path), str(tmp_path / "elsewhere"))
    assert contents(tree) == before


@pytest.mark.parametrize("content", [b"", b"{", b"\xff"])
def test_a_damaged_journal_is_no_journal(tree: Path, tmp_path: Path, content: bytes) -> None:
    state(tmp_path).write(JOURNAL, content)
    assert not finish(state(tmp_path), str(tree))

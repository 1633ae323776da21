"""Transcripts in any state: what cannot be read is counted, and stops nothing."""

import os
import sys
from pathlib import Path

import pytest

from metier.hosts.compressed import NOT_INSTALLED
from metier.hosts.transcript_lines import Lines
from usage.recorded import ClaudeCode, codex_call, codex_meta, events, fired, jsonl, unparsed

CHAT = ClaudeCode()
USE = jsonl([CHAT.skill("pdf")])


def read(tmp_path: Path, content: bytes) -> tuple[int, int]:
    """How often a skill fired, and how many lines could not be read."""
    file = tmp_path / "session.jsonl"
    file.write_bytes(content)
    found = events("claude-code", file)
    return len(fired(found)), unparsed(found)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (USE, (1, 0)),
        (b"", (0, 0)),
        (b"\n\n" + USE + b"\n", (1, 0)),
        (USE + USE[:-20], (1, 1)),
        (USE + USE[:-1], (2, 0)),
        (USE + b"\0\0\0\0\n" + USE, (2, 1)),
        (b"\xef\xbb\xbf" + USE, (1, 0)),
        (USE.decode().encode("utf-16"), (0, 2)),
        (USE + USE.replace(b"pdf", b"p\xe4f"), (1, 1)),
        (USE.replace(b"\n", b"\r\n"), (1, 0)),
        (USE + b'{"type":"user","message":' + b"[" * 100_000 + b"}\n" + USE, (2, 1)),
        (b'["a list"]\n"text"\n12\n' + USE, (1, 3)),
    ],
    ids=[
        "whole", "empty", "blank-lines", "half-written", "without-a-line-end", "zeros",
        "byte-order-mark", "utf-16", "latin-1", "windows-line-ends", "deeply-nested", "no-objects",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_counted(
    tmp_path: Path, content: bytes, expected: tuple[int, int]
) -> None:
    assert read(tmp_path, content) == expected


def test_a_line_of_ten_megabytes_is_skipped_and_counted(tmp_path: Path) -> None:
    long = jsonl([CHAT.user("x" * 10_000_000), CHAT.skill("docx")])
    assert read(tmp_path, USE + long) == (2, 1)


def test_a_file_is_read_up_to_its_size_when_it_was_opened(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(USE)
    lines = iter(Lines(str(file)))
    assert next(lines) == USE
    with file.open("ab") as more:
        more.write(USE * 100)
    assert list(lines) == []


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    file, other = tmp_path / "session.jsonl", tmp_path / "other"
    other.write_bytes(USE)
    if kind == "link":
        file.symlink_to(other)
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(OSError, match=r"."):
        list(Lines(str(file)))


# Compressed rollouts


def packed(tmp_path: Path, content: bytes) -> Path:
    file = tmp_path / "rollout-1.jsonl.zst"
    file.write_bytes(content)
    return file


def test_without_the_package_a_compressed_rollout_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("compression", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OSError, match="install metier") as error:
        events("codex", packed(tmp_path, b""))
    assert error.value.strerror == NOT_INSTALLED


def test_a_compressed_rollout_is_read_like_any_other(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    content = jsonl([codex_meta(), codex_call("cat skills/pdf/SKILL.md")])
    halves = (zstandard.ZstdCompressor().compress(one) for one in (content[:50], content[50:]))
    found = events("codex", packed(tmp_path, b"".join(halves)))
    assert len(fired(found)) == 1


def test_a_damaged_compressed_rollout_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    with pytest.raises(OSError, match="cannot be decompressed"):
        events("codex", packed(tmp_path, b"not compressed"))

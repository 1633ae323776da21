"""`metier.lock`: stable, easy to compare, and harmless whatever is in it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.config.lockfile import LARGEST, lock_path, lock_text, read_lock, write_lock
from metier.errors import ConfigError, NotFoundError
from metier.values.locks import LockedSkill, Unlockable, compared
from metier.values.reviews import Contents

DIGEST = "ab" * 32
SKILL = LockedSkill(
    "deploy",
    "workspace",
    Contents({"SKILL.md": DIGEST, "a": "link:../b"}, (), ("c",), ("Read",), ("git status",)),
    {"git": "https://example.com/x"},
)
names = st.text(max_size=8)


def locks() -> st.SearchStrategy[Mapping[str, LockedSkill]]:
    texts = st.lists(names, max_size=3, unique=True).map(lambda found: tuple(sorted(found)))
    values = st.just(DIGEST) | names.map(lambda name: f"link:{name}")
    contents = st.builds(
        Contents, st.dictionaries(names, values, max_size=3), texts, texts, texts, texts
    )
    origins = st.dictionaries(names, names, max_size=2)
    return st.dictionaries(
        names, st.builds(LockedSkill, names, names, contents, origins, st.just("")), max_size=3
    )


@given(locks())
def test_what_is_written_is_what_is_read(
    tmp_path_factory: Any, lock: dict[str, LockedSkill]
) -> None:
    folder = str(tmp_path_factory.mktemp("lock"))
    assert write_lock(folder, lock)
    assert read_lock(folder) == lock
    assert not write_lock(folder, dict(reversed(lock.items())))


def test_one_file_is_one_line_and_ends_with_a_line_end() -> None:
    text = lock_text({"skills/deploy": SKILL})
    assert f'        "SKILL.md": "sha256:{DIGEST}"' in text.replace(",\n", "\n").split("\n")
    assert text.endswith("}\n")
    assert text.isascii()


def entry(**changes: Any) -> Any:
    return {"lockVersion": 1, "skills": {"x": {**SKILL.to_json(), **changes}}}


BAD = {
    "empty": b"",
    "not JSON": b"lock",
    "deep": b"[" * 200_000,
    "deep tables": b'{"a":' * 100_000,
    "a list": b"[]",
    "another version": b'{"lockVersion": 2, "skills": {}}',
    "no skills": b'{"lockVersion": 1}',
    "skills as a list": b'{"lockVersion": 1, "skills": []}',
    "an entry that is a text": b'{"lockVersion": 1, "skills": {"x": "y"}}',
    "a key twice": b'{"lockVersion": 1, "skills": {}, "skills": {}}',
    "no number": b'{"lockVersion": 1, "skills": {"x": NaN}}',
    "bytes": b"\xff\xfe\x00",
    "a short digest": json.dumps(entry(files={"a": "sha256:ab"})).encode(),
    "a bare digest": json.dumps(entry(files={"a": DIGEST})).encode(),
    "files as a list": json.dumps(entry(files=["a"])).encode(),
    "no scripts": json.dumps(entry(scripts=None)).encode(),
    "tools as a text": json.dumps(entry(tools="Read")).encode(),
    "commands as a table": json.dumps(entry(commands={"git": 1})).encode(),
    "a number among tools": json.dumps(entry(tools=[1])).encode(),
    "no name": json.dumps(entry(name=None)).encode(),
    "origin as a list": json.dumps(entry(origin=["a"])).encode(),
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_lock_that_makes_no_sense_is_one_clear_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "metier.lock").write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        read_lock(str(tmp_path))
    assert raised.value.code == "LOCK_INVALID"
    assert "\n" not in raised.value.message


def test_a_lock_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "metier.lock", "wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(ConfigError, match="more than"):
        read_lock(str(tmp_path))


def test_a_lock_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "other").write_text(lock_text({}))
    os.symlink(tmp_path / "other", tmp_path / "metier.lock")
    with pytest.raises(ConfigError, match="a link"):
        read_lock(str(tmp_path))
    (tmp_path / "metier.lock").unlink()
    os.mkfifo(tmp_path / "metier.lock")
    with pytest.raises(ConfigError, match="regular"):
        read_lock(str(tmp_path))


def test_writing_replaces_a_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("keep me")
    os.symlink(tmp_path / "victim", lock_path(str(tmp_path)))
    write_lock(str(tmp_path), {"x": SKILL})
    assert (tmp_path / "victim").read_text() == "keep me"
    assert not os.path.islink(lock_path(str(tmp_path)))


def test_without_a_lock_there_is_a_hint(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as raised:
        read_lock(str(tmp_path))
    assert raised.value.hint == "metier lock writes it"


@given(
    st.binary(max_size=200)
    | st.text(alphabet='{}[]":,lockVersin1skf ', max_size=80).map(str.encode)
)
def test_random_content_is_that_error_too(tmp_path_factory: Any, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("lock")
    (folder / "metier.lock").write_bytes(content)
    with pytest.raises(ConfigError):
        read_lock(str(folder))


def test_every_kind_of_mismatch_is_named() -> None:
    changed = SKILL._replace(contents=SKILL.contents._replace(tools=("Bash", "Read")))
    renamed = SKILL._replace(name="other")
    found = compared(
        {"a": SKILL, "b": SKILL, "c": SKILL, "d": SKILL, "same": SKILL},
        {"a": changed, "b": renamed, "e": SKILL, "same": SKILL._replace(origin={}, source="x")},
        {"d": Unlockable("d", "deploy", "odd is not a regular file")},
    )
    assert [(one.kind, one.path, one.detail) for one in found] == [
        ("changed", "a", "new tool Bash"),
        ("changed", "b", "it is called other, the lock says deploy"),
        ("missing", "c", "locked, but not here"),
        ("unreadable", "d", "odd is not a regular file"),
        ("extra", "e", "here, but not locked"),
    ]

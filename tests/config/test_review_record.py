"""The review record: the user's own file, which survives what is not in it."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.config.review_record import ReviewRecord
from metier.errors import ConfigError
from metier.values.reviews import Contents, Review

REVIEW = Review("deploy", Contents({"SKILL.md": "0" * 64}, ("x.sh",), ("c",), ("Read",)), "2026")
WORKSPACE = "/somewhere/shop"


@pytest.fixture
def record() -> ReviewRecord:
    return ReviewRecord(WORKSPACE, is_users=False)


def test_what_is_put_is_there(record: ReviewRecord) -> None:
    record.put_skills({"/a": REVIEW})
    assert ReviewRecord(WORKSPACE, is_users=False).skills() == {"/a": REVIEW}
    assert ReviewRecord(WORKSPACE, is_users=True).skills() == {}
    assert os.stat(record.file).st_mode & 0o777 == 0o600


def test_other_sections_stay_as_they_are(record: ReviewRecord) -> None:
    record.change("servers", {"notes": {"command": ["x"]}})
    record.put_skills({"/a": REVIEW})
    assert record.entries("servers") == {"notes": {"command": ["x"]}}
    assert set(record.skills()) == {"/a"}


def test_an_entry_that_is_there_is_not_replaced_by_a_first_use(record: ReviewRecord) -> None:
    record.put_skills({"/a": REVIEW})
    other = REVIEW._replace(name="other")
    assert record.put_skills({"/a": other, "/b": other}, only_new=True) == {"/b"}
    assert record.skills() == {"/a": REVIEW, "/b": other}


def test_a_revoked_review_leaves_a_note(record: ReviewRecord) -> None:
    record.put_skills({"/a": REVIEW})
    assert record.revoke_skill("/a", "deploy")
    assert record.skills() == {"/a": None}
    assert not record.revoke_skill("/a", "deploy")
    assert not record.revoke_skill("/b", "deploy")


BROKEN = [
    b"",
    b"{",
    b"[]",
    b"[" * 100_000,
    b'{"version": 2, "workspace": "/somewhere/shop"}',
    b'{"version": 1, "workspace": "/elsewhere", "skills": {}}',
    b'{"version": 1, "workspace": "/somewhere/shop", "skills": []}',
    b"\xff\xfe",
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_record_that_makes_no_sense_is_an_error_and_is_not_overwritten(
    content: bytes, record: ReviewRecord
) -> None:
    record.put_skills({"/a": REVIEW})
    Path(record.file).write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        record.skills()
    assert raised.value.code == "REVIEW_RECORD_INVALID"
    with pytest.raises(ConfigError):
        record.put_skills({"/b": REVIEW})
    assert Path(record.file).read_bytes() == content


def test_a_record_that_is_a_link_is_not_read(record: ReviewRecord, tmp_path: Path) -> None:
    record.put_skills({"/a": REVIEW})
    moved = tmp_path / "moved.json"
    os.rename(record.file, moved)
    os.symlink(moved, record.file)
    with pytest.raises(ConfigError, match="link"):
        record.skills()


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    )
)
def test_an_entry_that_makes_no_sense_is_none(entry: object) -> None:
    record = ReviewRecord("/anywhere", is_users=False)
    record.change("skills", {"/a": REVIEW.to_json(), "/b": entry if entry is not None else 0})
    assert record.skills() == {"/a": REVIEW, "/b": None}


@given(st.sampled_from(sorted(REVIEW.to_json())), st.sampled_from([None, 1, [1], {"a": 1}, "x"]))
def test_an_entry_with_a_wrong_field_is_none_or_has_texts_only(key: str, value: object) -> None:
    record = ReviewRecord("/anywhere", is_users=False)
    record.change("skills", {"/a": {**REVIEW.to_json(), key: value}})
    review = record.skills()["/a"]
    assert review is None or json.loads(json.dumps(review.to_json()))["name"]

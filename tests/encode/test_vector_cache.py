"""Vectors by the digest of their text."""

from pathlib import Path
from threading import Event

import pytest

from metier.core.encoders import EncoderError
from metier.encode.cache import CACHE_FILE, VectorCache
from metier.encode.time_limit import LateError, within
from metier.storage.room import Room


def test_vectors_are_kept_for_each_encoder(tmp_path: Path) -> None:
    room = Room(str(tmp_path / "state"))
    cache = VectorCache.within(room)
    cache.keep("a", {"one": [1, -2], "none": None})
    cache.close()
    again = VectorCache.within(room)
    known = again.known("a", ["one", "none", "other"])
    assert {text: one and list(one) for text, one in known.items()} == {
        "one": [1, -2],
        "none": None,
    }
    assert again.known("b", ["one"]) == {}
    again.close()


def test_no_text_is_kept(tmp_path: Path) -> None:
    room = Room(str(tmp_path / "state"))
    cache = VectorCache.within(room)
    cache.keep("a", {"a secret task": [1]})
    cache.close()
    assert b"secret" not in Path(room.file(CACHE_FILE)).read_bytes()


def test_the_oldest_vectors_and_those_of_other_encoders_go_first() -> None:
    cache = VectorCache.in_memory()
    cache.keep("new", {"first": [1], "second": [2]})
    cache.keep("old", {"first": [1], "second": [2]})
    cache.forget_oldest("new", most=3)
    assert len(cache.known("new", ["first", "second"])) == 2
    cache.forget_oldest("new", most=1)
    assert list(cache.known("new", ["first", "second"])) == ["second"]
    assert cache.known("old", ["first", "second"]) == {}


def test_a_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    room = Room(str(tmp_path / "state"))
    VectorCache.within(room).close()
    Path(room.file(CACHE_FILE)).write_bytes(b"damaged" * 1_000)
    cache = VectorCache.within(room)
    assert cache.known("a", ["one"]) == {}
    cache.close()


def test_a_failure_is_remembered_until_it_is_forgotten() -> None:
    cache = VectorCache.in_memory()
    cache.note_failure("a", "it is away")
    assert (cache.failure("a"), cache.failure("b")) == ("it is away", "")
    cache.forget_failures()
    assert cache.failure("a") == ""


def test_a_call_returns_raises_or_is_late() -> None:
    def fails() -> None:
        raise EncoderError("no")

    never = Event()
    assert within(60, lambda: 7) == 7
    with pytest.raises(EncoderError, match="no"):
        within(60, fails)
    with pytest.raises(LateError):
        within(0, lambda: never.wait(60))
    never.set()

"""The contents of skills that need a review, as they were when their files were last read.

A cache: while the stamps of a skill's files are the same, its files are not read again.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from metier.errors import StoreError
from metier.index.store import Store
from metier.values.reviews import Contents

_END = "\n"


class KnownBundle(NamedTuple):
    stamps: tuple[str, ...]
    """One for each file and folder."""
    is_steady: bool
    """Whether the same stamps mean the same contents."""
    name: str
    contents: Contents
    problem: str = ""


def known_bundles(store: Store) -> dict[str, KnownBundle]:
    """By the path of the skill."""
    rows = store.rows("SELECT path, stamps, steady, name, contents, problem FROM bundle")
    with store.checked():
        return {
            path: KnownBundle(
                tuple(stamps.split(_END)), bool(steady), name, _contents(text), problem
            )
            for path, stamps, steady, name, text, problem in rows
        }


def keep_bundles(store: Store, bundles: Mapping[str, KnownBundle]) -> None:
    """Replace them all; a catalog that cannot be written keeps the old ones."""
    rows = [
        (path, _END.join(one.stamps), one.is_steady, one.name, _text(one.contents), one.problem)
        for path, one in bundles.items()
    ]
    with suppress(StoreError), store.transaction() as connection:
        connection.execute("DELETE FROM bundle")
        connection.executemany("INSERT INTO bundle VALUES (?, ?, ?, ?, ?, ?)", rows)


def file_digests(store: Store, path: str) -> dict[str, str]:
    """The digests of a skill's files, by name; empty if it needs no review."""
    rows = store.rows("SELECT contents FROM bundle WHERE path = ?", (path,))
    with store.checked():
        return dict(_contents(rows[0][0]).files) if rows else {}


def _text(contents: Contents) -> str:
    return json.dumps([dict(contents.files), *contents[1:]], separators=(",", ":"))


def _contents(text: str) -> Contents:
    files, *others = json.loads(text)
    return Contents(files, *map(tuple, others))

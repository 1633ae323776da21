"""What git prints of trees and objects."""

from collections.abc import Iterator
from typing import NamedTuple

LINK = "120000"
FILES = ("100644", "100755")


class TreeEntry(NamedTuple):
    mode: str
    digest: str
    size: int
    path: str


def tree_entries(listed: bytes) -> Iterator[TreeEntry]:
    """The files in what `git ls-tree -r -z -l` prints; names that are not UTF-8 are left out."""
    for line in listed.split(b"\0"):
        facts, tab, path = line.partition(b"\t")
        parts = facts.decode(errors="replace").split()
        try:
            name = path.decode()
        except UnicodeDecodeError:
            continue
        if tab and len(parts) == 4 and parts[1] == "blob" and parts[3].isdecimal():
            yield TreeEntry(parts[0], parts[2], int(parts[3]), name)


def object_contents(batch: bytes) -> Iterator[bytes | None]:
    """The objects in what `git cat-file --batch` prints; None for one that is missing."""
    at = 0
    while at < len(batch):
        end = batch.find(b"\n", at)
        parts = batch[at:end].split()
        if parts[1:] == [b"missing"]:
            yield None
            at = end + 1
            continue
        if end < 0 or len(parts) != 3 or not parts[2].isdigit():
            return
        size = int(parts[2])
        yield batch[end + 1 : end + 1 + size]
        at = end + size + 2

"""What a source is, and what it gives."""

import hashlib
import os
import stat
from typing import NamedTuple, Protocol

from metier.core.names import is_capability_name, slug
from metier.core.text import printable

SUFFIX = ".md"
LARGEST = 50 * 1024
LIMIT_SECONDS = 10.0
"""The time limit of a database or an address."""
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


class SourcedCard(NamedTuple):
    """One card as its source gave it."""

    name: str
    """The stem of a file name: a–z, 0–9, hyphens and underscores."""
    data: bytes


class CardSource(Protocol):
    """A source of cards."""

    type: str
    location: str

    def load(self) -> list[SourcedCard]:
        """All of its cards. Raises `SourceError`."""


def file_stem(text: str) -> str:
    """`text` if it is a plain name, else its slug and a hash, which is unique."""
    if is_capability_name(text):
        return text
    return f"{slug(text)[:40] or 'card'}_{digest(text)}"


def digest(text: str) -> str:
    """A hash of twelve hexadecimal digits."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


def content(file: str) -> bytes | None:
    """The bytes of a regular file; None for a link, a larger file or anything else."""
    if not stat.S_ISREG(os.lstat(file).st_mode):
        return None
    with open(os.open(file, _OPEN_FLAGS), "rb") as opened:
        data = opened.read(LARGEST + 1)
    return data if len(data) <= LARGEST else None


def reason(error: BaseException) -> str:
    """The message of an error, in one short printable line."""
    inner = getattr(error, "reason", error)
    text = getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
    return printable(" ".join(text.split()))[:200]

"""Findings about how files are packed: names, links, sizes, what is not opened."""

import posixpath
import unicodedata
from collections.abc import Iterator
from itertools import dropwhile

from metier.safety.escapes import visible
from metier.values.inspection import (
    LARGEST_READ,
    LONGEST_QUOTE,
    MOST_FILES,
    MOST_READ,
    InspectedFile,
    Noted,
)
from metier.values.outcomes import Issue

_ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"7z\xbc\xaf\x27\x1c", b"Rar!")
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\x00asm")
_TAR_MARK, _TAR_MARK_AT = b"ustar", 257
_MOST_LONG_NAME = 1_000
_DOCUMENTS = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub")
"""Zip files that are not unpacked by hand."""


def noted(
    code: str, message: str, path: str = "", line: int = 1, *, quote: str = "", hint: str = ""
) -> Noted:
    """A finding whose path and quote are safe to print."""
    shown = visible(" ".join(quote.split()))
    cut = shown if len(shown) <= LONGEST_QUOTE else f"{shown[:LONGEST_QUOTE]}…"
    return Noted(Issue(code, message, shown_path(path), line, 1, hint), cut)


def shown_path(path: str) -> str:
    return visible(path.encode("utf-8", "backslashreplace").decode()).replace("\n", "\\n")


def bad_name(path: str) -> str:
    """Why a file of this name would be written elsewhere, or deceives; else empty."""
    plain = path.replace("\\", "/")
    if plain.startswith("/") or (len(path) > 1 and path[1] == ":" and path[0].isalpha()):
        return "an absolute path"
    if ".." in plain.split("/"):
        return "a path that leaves the folder"
    if visible(path) != path or any(char in path for char in "\n\r\t"):
        return "control or invisible characters"
    return "a very long name" if len(path) > _MOST_LONG_NAME else ""


def check_names(files: list[InspectedFile]) -> Iterator[Noted]:
    """Findings about names that are dangerous, and names of which there are two."""
    seen: dict[str, str] = {}
    for file in files:
        why = bad_name(file.path)
        if why:
            yield noted("IN401", f"the name of a file has {why}", file.path, quote=file.path)
        folded = _as_unpacked(file.path)
        if folded in seen:
            other = shown_path(seen[folded])
            message = f"the same name as {other}: when unpacked, one replaces the other"
            yield noted("IN401", message, file.path)
        seen.setdefault(folded, file.path)


def _as_unpacked(path: str) -> str:
    """The same for names that some system gives to one file."""
    plain = posixpath.normpath(path.replace("\\", "/"))
    return unicodedata.normalize("NFC", plain.casefold())


def check_links(files: list[InspectedFile]) -> Iterator[Noted]:
    """Findings about files that are put where a link of the same package leads."""
    links = {_as_unpacked(file.path) for file in files if file.link}
    for file in files if links else ():
        folder = _as_unpacked(posixpath.dirname(file.path))
        while folder not in links and "/" in folder.strip("/"):
            folder = posixpath.dirname(folder)
        if folder in links:
            message = "below a link: when unpacked, it is written where that leads"
            yield noted("IN402", message, file.path, hint="remove the link")


def check_file(file: InspectedFile) -> Iterator[Noted]:
    """Findings about one file by its type and size."""
    if file.link:
        yield from _check_link(file)
        return
    if file.path == ".gitmodules":
        yield noted("IN404", "names submodules, which were not fetched", file.path)
    if file.size > len(file.content):
        message = f"only the first {len(file.content):,} of {file.size:,} bytes were read"
        yield noted("IN403", message, file.path, hint="read the rest yourself")
    start = file.content[:8]
    is_tar = file.content[_TAR_MARK_AT : _TAR_MARK_AT + 5] == _TAR_MARK
    if is_tar or start.startswith(_ARCHIVES):
        if not file.path.lower().endswith(_DOCUMENTS):
            message = "a nested archive, which was not opened"
            yield noted("IN404", message, file.path, hint="unpack it separately, and inspect that")
    elif start.startswith(_PROGRAMS):
        hint = "ask for its source, or for who built it"
        yield noted("IN404", "a compiled program, which cannot be read", file.path, hint=hint)


def _check_link(file: InspectedFile) -> Iterator[Noted]:
    target = file.link.replace("\\", "/")
    is_absolute = target.startswith("/") or (target[1:2] == ":" and target[0].isalpha())
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), target))
    # what `..` leads to after a name is only known once that name is known to be no link
    below = dropwhile(lambda part: part in ("", ".", ".."), target.split("/"))
    if is_absolute or inside.split("/")[0] == ".." or ".." in below:
        message = "a link that leads outside"
        yield noted("IN402", message, file.path, quote=file.link, hint="remove the link")


def too_many(count: int) -> Noted:
    message = f"more than {MOST_FILES:,} files; {count:,} were looked at"
    return noted("IN403", message, hint="inspect one of its folders")


class Allowance:
    """How much may still be read."""

    def __init__(self) -> None:
        self.left = MOST_READ

    def take(self) -> int:
        """The most bytes of the next file."""
        return min(LARGEST_READ, self.left)

    def spend(self, size: int) -> None:
        self.left -= size

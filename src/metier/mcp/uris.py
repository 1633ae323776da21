"""Addresses of the files of skills: `skill://FOLDERS/NAME/SKILL.md`, and back.

Every text has one segment and every segment one text, so that two skills never share an address
and whatever is listed is found again. An address belongs to the innermost skill that it leads
into.
"""

from functools import lru_cache
from urllib.parse import quote, unquote

from metier.catalog import Catalog
from metier.core.paths import is_utf8
from metier.errors import NotFoundError
from metier.values.rows import Row

SCHEME = "skill://"
MAIN_FILE = "SKILL.md"
LONGEST = 512 * 1024
"""More than a name and a path can take: front matter has at most 64 KiB, a path 4."""
_MOST_SEGMENTS = 4 * 1024
_MARKED = {"": "=", ".": "=.", "..": "=.."}
"""What no address can hold: clients take dots out of it, even when they are written as %2E."""
_UNMARKED = {mark: text for text, mark in _MARKED.items()}


def skill_root(row: Row) -> list[str]:
    """The segments of a skill's own address: the folders above it, then its name.

    The name stands for the skill's folder, whatever that is called. That of its plugin is no part
    of it: the folders tell plugins apart.
    """
    folder = row.path.rpartition("/")[0]
    above = folder.rpartition("/")[0]
    return [*(part for part in above.split("/") if part not in ("", ".")), row.own_name]


def skill_uri(row: Row, file: str = MAIN_FILE) -> str:
    """The address of one file of a skill; `file` is relative to its folder."""
    return address([*skill_root(row), *file.split("/")])


def address(segments: list[str]) -> str:
    return SCHEME + "/".join(map(_encoded, segments))


@lru_cache(maxsize=8_192)
def _encoded(text: str) -> str:
    return _MARKED[text] if text in _MARKED else quote(text, safe="")


def segments_of(uri: str) -> list[str]:
    """What `address` made an address of. Raises `NotFoundError` for what it never makes."""
    if not uri.startswith(SCHEME) or len(uri) > LONGEST or not is_utf8(uri):
        raise unknown(uri)
    parts = uri[len(SCHEME) :].split("/")
    if len(parts) > _MOST_SEGMENTS:
        raise unknown(uri)
    return [_decoded(part, uri) for part in parts]


def _decoded(segment: str, uri: str) -> str:
    if segment in _UNMARKED:
        return _UNMARKED[segment]
    try:
        text = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise unknown(uri) from None
    if text in _MARKED:
        raise unknown(uri)
    return text


def find_skill(catalog: Catalog, uri: str) -> tuple[Row, list[str]]:
    """The active skill that an address leads into, and the way from its folder to the file.

    Of nested skills the innermost. Raises `NotFoundError`. What the way leads to is not known
    yet: it may be anything that a client has written.
    """
    segments = segments_of(uri)
    return _innermost(catalog, segments, len(segments) - 1, uri)


def find_folder(catalog: Catalog, uri: str) -> tuple[Row, list[str]]:
    """The same for the address of a folder: the way may be empty."""
    segments = segments_of(uri)
    return _innermost(catalog, segments, len(segments), uri)


def _innermost(catalog: Catalog, segments: list[str], most: int, uri: str) -> tuple[Row, list[str]]:
    for end in range(most, 0, -1):
        name = segments[end - 1]
        for row in catalog.skills_called(name):
            if skill_root(row) == segments[:end]:
                return row, segments[end:]
    raise unknown(uri)


def unknown(uri: str) -> NotFoundError:
    """The error for an address that leads nowhere."""
    return NotFoundError(
        f"no resource has the address '{uri[:200]}'", hint="resources/list names those there are"
    )

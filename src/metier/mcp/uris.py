"""URIs of the files of skills: `skill://FOLDERS/NAME/SKILL.md`, and back.

Encoding is one-to-one, so that no two skills share a URI and every listed URI can be read. A URI
belongs to the innermost skill on its path.
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
"""More than any name and path can need."""
_MOST_SEGMENTS = 4 * 1024
_MARKED = {"": "=", ".": "=.", "..": "=.."}
"""Segments that clients normalize away, even when written as %2E."""
_UNMARKED = {mark: text for text, mark in _MARKED.items()}


def skill_root(row: Row) -> list[str]:
    """The segments of a skill's URI: the folders above it, then its name without its plugin's."""
    folder = row.path.rpartition("/")[0]
    above = folder.rpartition("/")[0]
    return [*(part for part in above.split("/") if part not in ("", ".")), row.own_name]


def skill_uri(row: Row, file: str = MAIN_FILE) -> str:
    """The URI of one file of a skill; `file` is relative to its folder."""
    return uri_of([*skill_root(row), *file.split("/")])


def uri_of(segments: list[str]) -> str:
    return SCHEME + "/".join(map(_encoded, segments))


@lru_cache(maxsize=8_192)
def _encoded(text: str) -> str:
    return _MARKED[text] if text in _MARKED else quote(text, safe="")


def segments_of(uri: str) -> list[str]:
    """The decoded segments. Raises `NotFoundError` for a URI that `uri_of` never makes."""
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
    """The innermost skill on the path, and the rest. Raises `NotFoundError`."""
    segments = segments_of(uri)
    return _innermost(catalog, segments, len(segments) - 1, uri)


def find_folder(catalog: Catalog, uri: str) -> tuple[Row, list[str]]:
    """The same for the URI of a folder, whose rest may be empty."""
    segments = segments_of(uri)
    return _innermost(catalog, segments, len(segments), uri)


def _innermost(catalog: Catalog, segments: list[str], most: int, uri: str) -> tuple[Row, list[str]]:
    for end in range(most, 0, -1):
        name = segments[end - 1]
        for row in catalog.skills_by_name(name):
            if skill_root(row) == segments[:end]:
                return row, segments[end:]
    raise unknown(uri)


def unknown(uri: str) -> NotFoundError:
    return NotFoundError(f"no resource '{uri[:200]}'", hint="see resources/list")

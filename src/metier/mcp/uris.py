"""Addresses of skills: `skill://FOLDERS/NAME/SKILL.md`, and back."""

from functools import lru_cache
from urllib.parse import quote, unquote

from metier.errors import NotFoundError
from metier.index.documents import find_documents
from metier.index.store import Store
from metier.values.rows import Row

SCHEME = "skill://"
MAIN_FILE = "SKILL.md"
_LONGEST = 4_096


def skill_root(row: Row) -> list[str]:
    """The segments of a skill's own address: the folders above it, then its name.

    The name stands for the skill's folder, whatever that is called.
    """
    folder = row.path.rpartition("/")[0]
    above = folder.rpartition("/")[0]
    return [*(part for part in above.split("/") if part not in ("", ".")), row.name]


def skill_uri(row: Row, file: str = MAIN_FILE) -> str:
    """The address of one file of a skill; `file` is relative to its folder."""
    return address([*skill_root(row), *file.split("/")])


def address(segments: list[str]) -> str:
    return SCHEME + "/".join(map(_quoted, segments))


@lru_cache(maxsize=8_192)
def _quoted(segment: str) -> str:
    return quote(segment, safe="")


def find_skill(store: Store, uri: str) -> tuple[Row, list[str]]:
    """The active skill that an address leads into, and the way from its folder on.

    Of nested skills the innermost. Raises `NotFoundError`.
    """
    segments = _segments(uri)
    for end in range(len(segments), 0, -1):
        for row in find_documents(store, "skill", segments[end - 1]):
            if row.state == "active" and skill_root(row) == segments[:end]:
                return row, segments[end:]
    raise unknown(uri)


def _segments(uri: str) -> list[str]:
    """The parts of an address. Raises `NotFoundError` for any that no folder could have."""
    if not uri.startswith(SCHEME) or len(uri) > _LONGEST:
        raise unknown(uri)
    try:
        segments = [unquote(one, errors="strict") for one in uri[len(SCHEME) :].split("/")]
    except UnicodeDecodeError:
        raise unknown(uri) from None
    if any(one in ("", ".", "..") or not one.isprintable() or "/" in one for one in segments):
        raise unknown(uri)
    return segments


def unknown(uri: str) -> NotFoundError:
    """The error for an address that leads nowhere."""
    return NotFoundError(
        f"no resource has the address '{uri[:200]}'", hint="resources/list names those there are"
    )

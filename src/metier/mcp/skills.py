"""Skills over MCP (SEP-2640): `skills/list`, `skills/get`, `resources/directory/read`.

An entry has the current front matter, and the SHA-256 and size of every file. Only skills that
follow the format have one; the text of every skill is a resource.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from mcp.server.extension import Extension, MethodBinding
from mcp.types import PaginatedRequestParams, RequestParams
from pydantic_core import to_json

from metier.catalog import Catalog
from metier.core.names import is_capability_name
from metier.errors import InvalidDocumentError, MetierError, NotFoundError
from metier.flow.front_matter import portable_front_matter
from metier.mcp.answers import CatalogPool, cursor_after, handle_of
from metier.mcp.hard_links import Owners
from metier.mcp.resources import mime_type
from metier.mcp.skill_files import MOST_BYTES, SkillFolder
from metier.mcp.tool_calls import Context
from metier.mcp.uris import (
    MAIN_FILE,
    find_folder,
    find_skill,
    skill_root,
    skill_uri,
    unknown,
    uri_of,
)
from metier.values.rows import Row

PAGE = 50
LARGEST_PAGE = 1024 * 1024
"""In bytes; a single entry may be larger."""
MOST_TRIED = 200
"""Skills to read for one page."""
_ROWS_AT_ONCE = 500
FRESH = {"ttlMs": 0, "cacheScope": "private"}
"""Files may change at any time."""


class OfSkill(RequestParams):
    uri: str


class OfFolder(PaginatedRequestParams):
    uri: str


class Skills(Extension):
    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, catalog: CatalogPool) -> None:
        self._catalog = catalog

    def settings(self) -> dict[str, Any]:
        return {"directoryRead": True}

    def methods(self) -> Sequence[MethodBinding]:
        return (
            MethodBinding("skills/list", PaginatedRequestParams, self._list),
            MethodBinding("skills/get", OfSkill, self._get),
            MethodBinding("resources/directory/read", OfFolder, self._folder),
        )

    async def _list(self, _: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        return await self._catalog.answer(lambda catalog: _page(catalog, params.cursor or ""))

    async def _get(self, _: Context, params: OfSkill) -> dict[str, Any]:
        uri = params.uri
        return await self._catalog.answer(lambda catalog: _skill(catalog, uri), uri=uri)

    async def _folder(self, _: Context, params: OfFolder) -> dict[str, Any]:
        uri = params.uri
        return await self._catalog.answer(lambda catalog: _children(catalog, uri), uri=uri)


def _page(catalog: Catalog, cursor: str) -> dict[str, Any]:
    """The next page; it is shorter when many skills in a row have no entry."""
    entries: list[dict[str, Any]] = []
    size, last, owners = 0, "", Owners(catalog.folders)
    for tried, row in enumerate(_with_valid_names(catalog, handle_of(cursor)), 1):
        entry = _entry_or_none(catalog, row, owners)
        if entry is not None:
            size += len(to_json(entry))
            if len(entries) == PAGE or (entries and size > LARGEST_PAGE):
                return {"skills": entries, "nextCursor": cursor_after(last), **FRESH}
            entries.append(entry)
        last = row.handle
        if tried == MOST_TRIED:
            return {"skills": entries, "nextCursor": cursor_after(last), **FRESH}
    return {"skills": entries, **FRESH}


def _with_valid_names(catalog: Catalog, after: str) -> Iterator[Row]:
    """Skills after `after` whose names allow an entry."""
    while True:
        page = catalog.page("skill", limit=_ROWS_AT_ONCE, after=after)
        yield from (row for row in page.rows if is_capability_name(row.own_name))
        if not page.last:
            return
        after = page.last


def _entry_or_none(catalog: Catalog, row: Row, owners: Owners) -> dict[str, Any] | None:
    """None if the skill does not follow the format, or is gone."""
    try:
        return skill_entry(catalog, row, owners)
    except MetierError:
        return None


def _skill(catalog: Catalog, uri: str) -> dict[str, Any]:
    row, parts = find_skill(catalog, uri)
    if parts != [MAIN_FILE]:
        raise unknown(uri)
    return {"skill": skill_entry(catalog, row, Owners(catalog.folders)), **FRESH}


def skill_entry(catalog: Catalog, row: Row, owners: Owners | None = None) -> dict[str, Any]:
    """Raises `InvalidDocumentError` if the skill cannot have an entry."""
    folder = SkillFolder.of(row, owners)
    files, size = [], 0
    matter: dict[str, Any] = {}
    digests = catalog.file_digests(row)
    for file in folder.files():
        parts = file.split("/")
        raw = folder.read_reviewed(parts, digests)
        if file == MAIN_FILE:
            matter, problem = portable_front_matter(row, raw)
            if problem:
                raise _no_entry(row, problem)
        elif not _is_found(catalog, folder, parts):
            raise _no_entry(row, f"the URI of '{file[:200]}' belongs to another skill")
        size += len(raw)
        if size > MOST_BYTES:
            raise _no_entry(row, f"its files have more than {MOST_BYTES} bytes")
        digest = f"sha256:{hashlib.sha256(raw).hexdigest()}"
        files.append({"uri": skill_uri(row, file), "digest": digest, "size": len(raw)})
    return {"uri": skill_uri(row), "frontmatter": matter, "resources": files}


def _is_found(catalog: Catalog, folder: SkillFolder, parts: list[str]) -> bool:
    """Whether the URI of a file leads to it, and not into another skill."""
    if len(parts) == 1:
        return True
    owner, rest = find_skill(catalog, skill_uri(folder.row, "/".join(parts)))
    there = SkillFolder.of(owner, folder.owners)
    return owner == folder.row or there.path(rest) == folder.path(parts)


def _no_entry(row: Row, why: str) -> InvalidDocumentError:
    return InvalidDocumentError(
        f"skill '{row.name}' has no entry: {why}", where=row.path, hint=f"metier lint {row.path}"
    )


def _children(catalog: Catalog, uri: str) -> dict[str, Any]:
    row, parts = find_folder(catalog, uri)
    folder = SkillFolder.of(row, Owners(catalog.folders))
    files = [file.split("/") for file in folder.files()]
    depth = len(parts)
    below = [file for file in files if file[:depth] == parts and len(file) > depth]
    if not below:
        raise NotFoundError(f"'{uri[:200]}' is not a folder of a skill", hint="see skills/get")
    children = {}
    for file in below:
        name, is_folder = file[depth], len(file) > depth + 1
        child = uri_of([*skill_root(row), *parts, name])
        kind = "inode/directory" if is_folder else mime_type(name)
        children[name] = {"uri": child, "name": name, "mimeType": kind}
    return {"resources": [children[name] for name in sorted(children)]}

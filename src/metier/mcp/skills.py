"""Skills over MCP (SEP-2640): `skills/list`, `skills/get`, `resources/directory/read`.

An entry holds the front matter as the file has it now, and the sha256 and size of every file.
Only skills that keep to the format are entries; of all others the text is still a resource.
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
from metier.index.pages import page_of_documents
from metier.index.store import Store
from metier.mcp.answers import refusal
from metier.mcp.files import MOST_BYTES, SkillFolder
from metier.mcp.catalog_thread import Keeper
from metier.mcp.links import Owners
from metier.mcp.paging import cursor_after, handle_of
from metier.mcp.resources import mime_type
from metier.mcp.tool import Context
from metier.mcp.uris import (
    MAIN_FILE,
    address,
    find_folder,
    find_skill,
    skill_root,
    skill_uri,
    unknown,
)
from metier.parse.yaml12 import difference
from metier.parse.frontmatter import read_matter
from metier.values.rows import Row

PAGE = 50
LARGEST_PAGE = 1024 * 1024
"""In bytes; one entry may have more."""
MOST_TRIED = 200
"""Skills whose files are read for one page."""
_ROWS_AT_ONCE = 500
LONGEST_DESCRIPTION = 1024
FRESH = {"ttlMs": 0, "cacheScope": "private"}
"""Anybody may change the files at any time."""
_TWICE = "FM105"


class OfSkill(RequestParams):
    """What `skills/get` takes."""

    uri: str


class OfFolder(PaginatedRequestParams):
    """What `resources/directory/read` takes."""

    uri: str


class Skills(Extension):
    """The extension over one catalogue."""

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def settings(self) -> dict[str, Any]:
        return {"directoryRead": True}

    def methods(self) -> Sequence[MethodBinding]:
        return (
            MethodBinding("skills/list", PaginatedRequestParams, self._list),
            MethodBinding("skills/get", OfSkill, self._get),
            MethodBinding("resources/directory/read", OfFolder, self._folder),
        )

    async def _list(self, _: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        try:
            return await self._keeper.ask(lambda catalog: _page(catalog, params.cursor or ""))
        except Exception as error:
            raise refusal(error) from None

    async def _get(self, _: Context, params: OfSkill) -> dict[str, Any]:
        try:
            return await self._keeper.ask(lambda catalog: _one(catalog, params.uri))
        except Exception as error:
            raise refusal(error, uri=params.uri) from None

    async def _folder(self, _: Context, params: OfFolder) -> dict[str, Any]:
        try:
            return await self._keeper.ask(lambda catalog: _children(catalog, params.uri))
        except Exception as error:
            raise refusal(error, uri=params.uri) from None


def _page(catalog: Catalog, cursor: str) -> dict[str, Any]:
    """The next entries: as many as a page holds, unless too many skills in a row have none."""
    entries: list[dict[str, Any]] = []
    size, last, owners = 0, "", Owners(catalog.folders)
    for tried, row in enumerate(_named_well(catalog.store, handle_of(cursor)), 1):
        entry = _entry_if_any(catalog.store, row, owners)
        if entry is not None:
            size += len(to_json(entry))
            if len(entries) == PAGE or (entries and size > LARGEST_PAGE):
                return {"skills": entries, "nextCursor": cursor_after(last), **FRESH}
            entries.append(entry)
        last = row.handle
        if tried == MOST_TRIED:
            return {"skills": entries, "nextCursor": cursor_after(last), **FRESH}
    return {"skills": entries, **FRESH}


def _named_well(store: Store, after: str) -> Iterator[Row]:
    """The skills after one that may have an entry by their name; no file is opened for it."""
    while True:
        page = page_of_documents(store, "skill", limit=_ROWS_AT_ONCE, after=after)
        yield from (row for row in page.rows if is_capability_name(row.own_name))
        if not page.last:
            return
        after = page.last


def _entry_if_any(store: Store, row: Row, owners: Owners) -> dict[str, Any] | None:
    """None when the skill does not keep to the format, or has gone."""
    try:
        return skill_entry(store, row, owners)
    except MetierError:
        return None


def _one(catalog: Catalog, uri: str) -> dict[str, Any]:
    row, way = find_skill(catalog.store, uri)
    if way != [MAIN_FILE]:
        raise unknown(uri)
    return {"skill": skill_entry(catalog.store, row, Owners(catalog.folders)), **FRESH}


def skill_entry(store: Store, row: Row, owners: Owners | None = None) -> dict[str, Any]:
    """The entry of one skill. Raises `InvalidDocumentError` when it cannot have one."""
    folder = SkillFolder.of(row, owners)
    files, size = [], 0
    matter: dict[str, Any] = {}
    for file in folder.files():
        way = file.split("/")
        raw = folder.read(way)
        if file == MAIN_FILE:
            matter = _front_matter(row, raw)
        elif not _is_found(store, folder, way):
            raise _no_entry(row, f"the address of its '{file[:200]}' belongs to another skill")
        size += len(raw)
        if size > MOST_BYTES:
            raise _no_entry(row, f"its files have more than {MOST_BYTES} bytes together")
        digest = f"sha256:{hashlib.sha256(raw).hexdigest()}"
        files.append({"uri": skill_uri(row, file), "digest": digest, "size": len(raw)})
    return {"uri": skill_uri(row), "frontmatter": matter, "resources": files}


def _is_found(store: Store, folder: SkillFolder, way: list[str]) -> bool:
    """Whether the address of a file leads to it, and not into a skill that lies elsewhere."""
    if len(way) == 1:
        return True
    owner, rest = find_skill(store, skill_uri(folder.row, "/".join(way)))
    there = SkillFolder.of(owner, folder.owners)
    return owner == folder.row or there.place(rest) == folder.place(way)


def _front_matter(row: Row, raw: bytes) -> dict[str, Any]:
    """The front matter of a skill that keeps to the format."""
    taken = read_matter(raw, row.path)
    flaws = [one.message for one in taken.issues if one.is_error or one.code == _TWICE]
    if taken.matter is None or flaws:
        raise _no_entry(row, flaws[0] if flaws else "it has no front matter")
    data = taken.matter.data
    name, description = data.get("name"), data.get("description")
    if name != row.own_name or not is_capability_name(row.own_name):
        raise _no_entry(row, "its name breaks the name rule, or has changed")
    if not isinstance(description, str) or not description.strip():
        raise _no_entry(row, "it has no description")
    if len(description) > LONGEST_DESCRIPTION:
        raise _no_entry(row, f"its description has more than {LONGEST_DESCRIPTION} characters")
    other = difference(raw)
    if other:
        raise _no_entry(row, f"hosts would read its front matter otherwise: {other}")
    return data


def _no_entry(row: Row, why: str) -> InvalidDocumentError:
    return InvalidDocumentError(
        f"skill '{row.name}' has no entry: {why}", where=row.path, hint=f"metier lint {row.path}"
    )


def _children(catalog: Catalog, uri: str) -> dict[str, Any]:
    """What lies directly in one folder of a skill."""
    row, way = find_folder(catalog.store, uri)
    folder = SkillFolder.of(row, Owners(catalog.folders))
    files = [file.split("/") for file in folder.files()]
    depth = len(way)
    below = [file for file in files if file[:depth] == way and len(file) > depth]
    if not below:
        raise NotFoundError(f"'{uri[:200]}' is no folder of a skill", hint="skills/get names files")
    children = {}
    for file in below:
        name, is_folder = file[depth], len(file) > depth + 1
        child = address([*skill_root(row), *way, name])
        kind = "inode/directory" if is_folder else mime_type(name)
        children[name] = {"uri": child, "name": name, "mimeType": kind}
    return {"resources": [children[name] for name in sorted(children)]}

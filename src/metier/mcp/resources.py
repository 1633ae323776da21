"""Resources: the files of skills, and the architecture document."""

import base64
import mimetypes
import os

from mcp.types import (
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from metier.catalog import Catalog
from metier.core.paths import is_inside
from metier.flow.reading import DEEP_REFERENCE
from metier.mcp.answers import CatalogPool, cursor_after, handle_of
from metier.mcp.hard_links import Owners
from metier.mcp.skill_files import SkillFolder
from metier.mcp.tool_calls import Context
from metier.mcp.uris import SCHEME, find_skill, skill_uri
from metier.values.rows import Row

PAGE = 100
REFERENCE = f"metier://reference/{DEEP_REFERENCE}"
_TEMPLATE = ResourceTemplate(
    uri_template=f"{SCHEME}{{+path}}",
    name="skill file",
    title="A file of a skill",
    description="Any file of a skill, relative to the SKILL.md that skill_list returns.",
)


class Resources:
    def __init__(self, catalog: CatalogPool) -> None:
        self._catalog = catalog

    async def list(self, _: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        cursor = (params.cursor if params else None) or ""
        return await self._catalog.answer(lambda catalog: _page(catalog, cursor))

    async def templates(
        self, _: Context, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[_TEMPLATE])

    async def read(self, _: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = params.uri
        raw, kind = await self._catalog.answer(lambda catalog: _bytes(catalog, uri), uri=uri)
        return ReadResourceResult(contents=[_contents(uri, raw, kind)])


def _page(catalog: Catalog, cursor: str) -> ListResourcesResult:
    page = catalog.page("skill", limit=PAGE, after=handle_of(cursor))
    first = [_reference()] if not cursor and _has_reference(catalog) else []
    owners = Owners(catalog.folders)
    served = (row for row in page.rows if not SkillFolder.of(row, owners).leads_out())
    return ListResourcesResult(
        resources=[*first, *map(_skill, served)],
        next_cursor=cursor_after(page.last) or None,
    )


def _skill(row: Row) -> Resource:
    return Resource(
        uri=skill_uri(row),
        name=row.name,
        description=row.description,
        mime_type="text/markdown",
    )


def _reference() -> Resource:
    return Resource(
        uri=REFERENCE,
        name=DEEP_REFERENCE,
        title="The architecture of the system",
        description="The full architecture of this system, for tasks that need it.",
        mime_type="text/markdown",
    )


def _has_reference(catalog: Catalog) -> bool:
    root = os.path.realpath(catalog.workspace)
    for folder in ("", "docs"):
        path = os.path.join(root, folder, DEEP_REFERENCE)
        if os.path.isfile(path):
            return is_inside(os.path.realpath(path), root)
    return False


def _bytes(catalog: Catalog, uri: str) -> tuple[bytes, str]:
    """The bytes at a URI, and their MIME type. Raises `NotFoundError`."""
    if uri == REFERENCE and _has_reference(catalog):
        return catalog.reference(DEEP_REFERENCE).encode(), "text/markdown"
    row, parts = find_skill(catalog, uri)
    folder = SkillFolder.of(row, Owners(catalog.folders))
    return folder.read_reviewed(parts, catalog.file_digests(row)), mime_type(parts[-1])


def _contents(uri: str, raw: bytes, kind: str) -> TextResourceContents | BlobResourceContents:
    """Text if the bytes are UTF-8, else base64."""
    try:
        text = raw.decode()
        kind = "text/plain" if kind == _UNKNOWN else kind
        return TextResourceContents(uri=uri, text=text, mime_type=kind)
    except UnicodeDecodeError:
        blob = base64.b64encode(raw).decode()
        return BlobResourceContents(uri=uri, blob=blob, mime_type=kind)


_UNKNOWN = "application/octet-stream"
_KNOWN = mimetypes.MimeTypes()
"""Python's own table: the same on every machine."""
_KNOWN.add_type("text/markdown", ".md")


def mime_type(name: str) -> str:
    return _KNOWN.guess_type(name)[0] or _UNKNOWN

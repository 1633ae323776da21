"""Documents read again from their files, when more is wanted than the catalogue keeps."""

import os
from typing import TYPE_CHECKING

from metier.core.paths import is_inside
from metier.errors import NotFoundError
from metier.flow.reading import read_documents
from metier.storage.room import read_regular
from metier.values.files import Entry, Found
from metier.values.rows import Row

if TYPE_CHECKING:  # loading them takes a while, and most commands read none again
    from metier.values.documents import Document

DEEP_REFERENCE = "SYSTEM_ARCHITECTURE.md"
LARGEST_REFERENCE = 1_048_576


def read_document(row: Row) -> "Document":
    """The whole document behind a row. Raises `NotFoundError`."""
    entry = read_again(row)
    if entry.document is None:
        raise _gone(row, entry.issues[0].message)
    return entry.document


def read_again(row: Row) -> Entry:
    """What the file behind a row holds now. Raises `NotFoundError` when it is gone."""
    try:
        info = os.stat(row.file)
    except OSError as error:
        raise _gone(row, error.strerror or "") from None
    if os.path.realpath(row.file) != row.file:
        raise _gone(row, "a link has taken its place")
    found = Found(
        row.kind, row.path, 0, info.st_size, 0, "", row.file, row.source, info.st_ino,
        plugin=row.plugin,
    )  # fmt: skip
    return read_documents([]).read(found)


def read_reference(workspace: str, name: str) -> str:
    """A text that is only read on request, never handed over. Raises `NotFoundError`."""
    for folder in ("", "docs"):
        path = os.path.join(workspace, folder, name)
        real = os.path.realpath(path)
        if name == DEEP_REFERENCE and is_inside(real, workspace) and os.path.isfile(real):
            try:
                return read_regular(real, LARGEST_REFERENCE, links=False).decode(errors="replace")
            except OSError as error:
                message = f"'{name}' cannot be read: {error.strerror}"
                raise NotFoundError(message, where=path) from None
    hint = f"there is one such text: {DEEP_REFERENCE}, in the workspace or in docs"
    raise NotFoundError(f"no reference is called '{name}'", where=workspace, hint=hint)


def _gone(row: Row, detail: str) -> NotFoundError:
    return NotFoundError(
        f"the file of {row.kind} '{row.name}' cannot be read: {detail}",
        code="ABILITY_LOAD_FAILED" if row.kind == "ability" else None,
        where=row.file,
        hint="metier refresh",
    )

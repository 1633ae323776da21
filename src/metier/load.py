"""Load the documents of a folder: discover → parse → lint."""

import os
from collections.abc import Iterable
from typing import TypeVar

from metier.errors import InvalidDocumentError
from metier.flow.reading import read_documents, read_skills
from metier.values.documents import Ability, Document
from metier.values.files import Entry, Kind, Root
from metier.values.loads import Loaded
from metier.values.outcomes import Exclusion, Issue, same_id

T = TypeVar("T")

__all__ = [
    "load_abilities",
    "load_folder",
    "read_documents",
    "read_skills",
    "require_valid",
]


def load_abilities(directory: str | os.PathLike[str]) -> Loaded[Ability]:
    """The abilities of one folder, by path; the first of two with the same id counts."""
    loaded = load_folder("ability", directory)
    return Loaded(
        items=[item for item in loaded.items if isinstance(item, Ability)],
        issues=loaded.issues,
        excluded=loaded.excluded,
        kind="ability",
    )


def load_folder(kind: Kind, directory: str | os.PathLike[str]) -> Loaded[Document]:
    """The documents of `kind` in one folder. A folder that does not exist has none."""
    path = os.path.realpath(directory)
    root = Root(kind=kind, path=path, boundary=path, label="folder", rank=0)
    reading = read_documents([root])
    return collect(reading.read(found) for found in reading.found)


def collect(entries: Iterable[Entry]) -> Loaded[Document]:
    """Usable documents, each id once, with all issues and exclusions."""
    items: dict[str, Document] = {}
    issues: list[Issue] = []
    excluded: list[Exclusion] = []
    for entry in entries:
        issues.extend(entry.issues)
        document = entry.document
        if entry.reason or document is None:
            excluded.append(
                Exclusion.of(entry.found.path, entry.reason, entry.issues, is_off=entry.is_off)
            )
        elif document.id in items:
            issues.append(same_id(document.id, document.path, items[document.id].path))
        else:
            items[document.id] = document
    return Loaded(items=list(items.values()), issues=issues, excluded=excluded)


def require_valid(loaded: Loaded[T]) -> Loaded[T]:
    """`loaded` when no file in it has an error. Raises `InvalidDocumentError` for the first."""
    errors = [issue for issue in loaded.issues if issue.is_error]
    if errors:
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise InvalidDocumentError(
            f"{first.code} {first.message}{more}",
            code="ABILITY_VALIDATION_ERROR" if loaded.kind == "ability" else None,
            where=f"{first.path}:{first.line}:{first.column}",
            hint=first.hint,
        )
    return loaded

"""The first half of the flow, discover → parse → lint, for whole folders."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from metier.errors import InvalidDocumentError, MetierError
from metier.flow.entries import folder_of, read_bytes, read_text
from metier.flow.reading import read_documents, read_skills
from metier.lint.collisions import Subject, lint_collisions
from metier.lint.fix import fix
from metier.storage.files import write_atomically
from metier.values.documents import Ability, Document, Skill
from metier.values.files import Entry, Found, Kind, Reading, Root
from metier.values.outcomes import Exclusion, Issue, Loaded
from metier.values.rows import same_id

T = TypeVar("T")
_MOST_REPAIRS = 50

__all__ = [
    "Linted",
    "Repair",
    "lint_files",
    "load_abilities",
    "load_folder",
    "plan_repairs",
    "read_documents",
    "read_skills",
    "require_valid",
    "write_repairs",
]


def load_abilities(directory: str | os.PathLike[str]) -> Loaded[Ability]:
    """The abilities of one folder, by path; of two with one id the first counts."""
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
            excluded.append(Exclusion.of(entry.found.path, entry.reason, entry.issues))
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


@dataclass(frozen=True, slots=True)
class Linted:
    """Every finding in a set of files, before any of them is filtered out."""

    files: int
    issues: list[Issue]
    left_out: list[Exclusion]
    """The files that the catalogue leaves out, exact copies among them."""

    def with_more(self, files: int, issues: Iterable[Issue]) -> "Linted":
        """With findings in so many files that are no documents."""
        return replace(self, files=self.files + files, issues=[*self.issues, *issues])


def lint_files(
    reading: Reading,
    on_progress: Callable[[int, int], None] | None = None,
    shown: Callable[[str], str] = str,
) -> Linted:
    """Read every file of `reading`; findings in each, and among them.

    `shown` writes paths in messages.
    """
    issues: list[Issue] = []
    left_out: list[Exclusion] = []
    subjects: list[Subject] = []
    for number, found in enumerate(reading.found, start=1):
        entry = reading.read(found)
        issues.extend(entry.issues)
        if entry.reason:
            left_out.append(Exclusion.of(found.path, entry.reason, entry.issues))
        elif entry.document is not None:
            subject = _subject(entry, entry.document)
            subjects.append(subject._replace(shown=shown(subject.path)))
        if on_progress is not None and number % 100 == 0:
            on_progress(number, len(reading.found))
    among = lint_collisions(subjects)
    copies = [issue for issue in among if issue.code == "XF902"]
    left_out += [Exclusion(copy.path, "duplicate-content", copy.message) for copy in copies]
    return Linted(len(reading.found), [*issues, *among], left_out)


def _subject(entry: Entry, document: Document) -> Subject:
    return Subject(
        kind=entry.found.kind,
        group=entry.handle,
        path=entry.found.path,
        sha256=entry.sha256,
        description=document.routing_text if isinstance(document, Skill) else document.description,
        provides=entry.capabilities,
        needs=_needs(document),
    )


def _needs(document: Document) -> tuple[str, ...]:
    contract = document.contract if isinstance(document, Skill) else None
    return (*contract.requires, *contract.expects) if contract is not None else ()


@dataclass(frozen=True, slots=True)
class Repair:
    """What becomes of one file when it is repaired. Nothing is written yet."""

    found: Found
    before: bytes
    after: bytes
    issues: tuple[Issue, ...]
    """The findings that it takes away."""


def plan_repairs(
    reading: Reading, issues: Iterable[Issue], wants: Callable[[Issue], bool]
) -> list[Repair]:
    """How the files of `reading` can be rid of those of their `issues` that are wanted."""
    paths = {issue.path for issue in issues if issue.fixable and wants(issue)}
    planned = (_planned(found, wants) for found in reading.found if found.path in paths)
    return [repair for repair in planned if repair is not None]


def _planned(found: Found, wants: Callable[[Issue], bool]) -> Repair | None:
    """The repair of one file; none when nothing of it is sure."""
    try:
        raw = read_bytes(found)
    except OSError:
        return None
    repaired = _repair(raw, found, wants)
    left = {(issue.code, issue.message) for issue in read_text(found, repaired).issues}
    gone = [
        issue
        for issue in read_text(found, raw).issues
        if issue.fixable and wants(issue) and (issue.code, issue.message) not in left
    ]
    return Repair(found, raw, repaired, tuple(gone)) if gone else None


def write_repairs(repairs: Iterable[Repair]) -> None:
    """Write what was planned, each file in one step.

    Raises `MetierError` for the first file that cannot be written or has changed meanwhile.
    """
    for repair in repairs:
        try:
            if read_bytes(repair.found) != repair.before:
                raise OSError(None, "it was changed meanwhile")
            write_atomically(repair.found.file, repair.after)
        except OSError as error:
            raise MetierError(
                f"cannot write: {error.strerror}",
                code="FIX_FAILED",
                where=repair.found.path,
                hint="metier lint --fix --dry-run shows what would be written",
            ) from None


def _repair(raw: bytes, found: Found, wants: Callable[[Issue], bool]) -> bytes:
    """The repaired bytes; one repair may uncover the next, so they go on while they help."""
    best, before = raw, read_text(found, raw)
    for _ in range(_MOST_REPAIRS):
        issues = [issue for issue in before.issues if issue.fixable and wants(issue)]
        repaired = fix(best, issues, folder_of(found))
        after = read_text(found, repaired)
        if repaired == best or (after.document is None and before.document is not None):
            break
        if _body(repaired) != _body(raw):
            break
        best, before = repaired, after
    return best if before.document is not None else raw


def _body(raw: bytes) -> bytes:
    """What stands after the front matter, whatever the line ends."""
    return raw.replace(b"\r\n", b"\n").partition(b"\n---\n")[2]

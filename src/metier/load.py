"""The first half of the flow: discover → parse → lint, as one call.

`read_documents` lists what is on disk and hands back how to read one file. Reading never
raises: what goes wrong with a file becomes an entry that says so.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence

from metier.config import Config
from metier.discover import FIRST_MOUNT_RANK, LARGEST, discover, host_roots, is_inside, skill_root
from metier.lint import lint_document
from metier.lint.collisions import same_id
from metier.parse import parse_document
from metier.values.documents import Ability, Document, Entry, Found, Kind, Reading, Root, Skill
from metier.values.outcomes import Exclusion, Issue, Loaded, has_errors

READER_VERSION = "1"
"""Raised whenever the same bytes would give another entry: every file is then read again."""

_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_IO_HINTS = {
    "IO201": "check that it exists and that you may read it",
    "IO202": "copy it here, or name its folder under 'mounts' in metier.toml",
    "IO203": "shorten it, or move parts into files beside it",
    "IO204": "put a text file here",
    "IO205": "rename it",
}


def roots_for(workspace: str, config: Config, home: str) -> list[Root]:
    """Every folder to look through: the workspace, the hosts' folders, the mounts."""
    roots = [
        Root(kind="skill", path=workspace, boundary=workspace, label="workspace", rank=0),
    ]
    if config.host_folders:
        roots += host_roots(workspace, home)
    for rank, mount in enumerate(config.mounts, start=FIRST_MOUNT_RANK):
        path = os.path.realpath(os.path.join(workspace, mount.path))
        roots.append(skill_root(path, label=mount.label, rank=rank))
    roots += _kind_roots("ability", config.abilities, workspace)
    roots += _kind_roots("card", config.cards, workspace)
    roots += _kind_roots("agent", config.agents, workspace)
    return roots


def _kind_roots(kind: Kind, folders: Sequence[str], workspace: str) -> list[Root]:
    roots = []
    for rank, folder in enumerate(folders):
        path = os.path.realpath(os.path.join(workspace, folder))
        inside = is_inside(path, workspace)
        relative = os.path.relpath(path, workspace).replace(os.sep, "/")
        roots.append(
            Root(
                kind=kind,
                path=path,
                boundary=workspace if inside else path,
                label="workspace" if inside else os.path.basename(path),
                rank=rank,
                prefix=f"{relative}/" if inside else f"{os.path.basename(path)}/",
            )
        )
    return roots


def read_documents(
    roots: Iterable[Root], *, disabled: Iterable[str] = (), strict: bool = False
) -> Reading:
    """What is on disk below `roots`, and how to read one file of it."""
    roots = list(roots)
    off = frozenset(disabled)

    def read(found: Found) -> Entry:
        return read_entry(found, disabled=off, strict=strict)

    return Reading(discover(roots), read, _fingerprint(roots, off))


def read_skills(roots: Iterable[Root | str | os.PathLike[str]]) -> Reading:
    """The skills below `roots`; a plain folder counts as a root of its own."""
    return read_documents(_as_roots(roots))


def load_abilities(directory: str | os.PathLike[str]) -> Loaded[Ability]:
    """The abilities of one folder, by path; of two with one id the first counts."""
    loaded = load_folder("ability", directory)
    return Loaded(
        items=[item for item in loaded.items if isinstance(item, Ability)],
        issues=loaded.issues,
        excluded=loaded.excluded,
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
            excluded.append(exclusion_of(entry))
        elif document.id in items:
            issues.append(same_id(document.id, document.path, items[document.id].path))
        else:
            items[document.id] = document
    return Loaded(items=list(items.values()), issues=issues, excluded=excluded)


def exclusion_of(entry: Entry) -> Exclusion:
    first = next((issue.message for issue in entry.issues if issue.is_error), entry.found.detail)
    return Exclusion(path=entry.found.path, reason=entry.reason, detail=first)


def read_entry(found: Found, *, disabled: frozenset[str], strict: bool = False) -> Entry:
    """Read, parse and lint one file. Never raises."""
    if found.refused:
        return _refused(found, found.refused, found.code, found.detail)
    try:
        raw = _read(found)
    except OSError as error:
        return _refused(found, "unreadable", "IO201", error.strerror or str(error))
    parsed = parse_document(found.kind, raw, found.path)
    issues = [*parsed.issues, *lint_document(parsed)]
    return Entry(
        found=found,
        sha256=hashlib.sha256(raw).hexdigest(),
        document=parsed.document,
        issues=issues,
        reason=_reason(found.kind, parsed.document, issues, disabled, strict=strict),
    )


def _reason(
    kind: Kind,
    document: Document | None,
    issues: Sequence[Issue],
    disabled: frozenset[str],
    *,
    strict: bool,
) -> str:
    if document is None or ((strict or kind != "skill") and has_errors(issues)):
        return "unparseable"
    if isinstance(document, Skill):
        off = document.data.get("enabled") is False
        if off or (disabled and (document.name in disabled or document.id in disabled)):
            return "disabled"
    return ""


def _read(found: Found) -> bytes:
    """The bytes of the very file that discovery met, and of no other."""
    descriptor = os.open(found.file, _OPEN_FLAGS)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_ino != found.inode:
            raise OSError(None, "another file took its place while it was being read")
        limit = LARGEST[found.kind]
        raw = os.read(descriptor, min(info.st_size, limit) + 1)
        while len(raw) < info.st_size and (more := os.read(descriptor, limit + 1 - len(raw))):
            raw += more
        if len(raw) > limit:
            raise OSError(None, "it grew beyond the limit while it was being read")
        return raw
    finally:
        os.close(descriptor)


def _refused(found: Found, reason: str, code: str, detail: str) -> Entry:
    issue = Issue(code, f"{found.path} {detail}", found.path, 1, 1, _IO_HINTS[code])
    return Entry(found=found, sha256="", document=None, issues=[issue], reason=reason)


def _as_roots(roots: Iterable[Root | str | os.PathLike[str]]) -> list[Root]:
    out: list[Root] = []
    for rank, root in enumerate(roots):
        if isinstance(root, Root):
            out.append(root)
        else:
            path = os.path.realpath(root)
            label = os.path.basename(path)
            out.append(skill_root(path, label=label, rank=rank, prefix="" if rank == 0 else None))
    return out


def _fingerprint(roots: Sequence[Root], disabled: frozenset[str]) -> str:
    parts = [READER_VERSION, *sorted(disabled)]
    parts += [f"{root.kind}|{root.path}|{root.prefix}|{root.rank}" for root in roots]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()

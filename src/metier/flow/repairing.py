"""Plan and write repairs of files."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from metier.errors import MetierError
from metier.flow.entries import folder_of, read_bytes, read_text
from metier.lint.fix import fix
from metier.storage.files import write_atomically
from metier.values.files import Found, Reading
from metier.values.outcomes import Issue

_MOST_REPAIRS = 50
Wants = Callable[[Issue], bool]


def repair_key(issue: Issue) -> tuple[str, str, str]:
    """Equal for a finding before and after a repair that moved its line."""
    return issue.path, issue.code, issue.message


@dataclass(frozen=True, slots=True)
class Repair:
    """A planned repair of one file."""

    found: Found
    before: bytes
    after: bytes
    issues: tuple[Issue, ...]
    """The findings that it removes."""


def plan_repairs(reading: Reading, issues: Iterable[Issue], wants: Wants) -> list[Repair]:
    """Repairs that remove those `issues` that are wanted from the files of `reading`."""
    paths = {issue.path for issue in issues if issue.fixable and wants(issue)}
    planned = (_planned(found, wants) for found in reading.found if found.path in paths)
    return [repair for repair in planned if repair is not None]


def _planned(found: Found, wants: Wants) -> Repair | None:
    """The repair of one file; None when it would remove no finding."""
    try:
        raw = read_bytes(found)
    except OSError:
        return None
    repaired = _repair(raw, found, wants)
    left = {repair_key(issue) for issue in read_text(found, repaired).issues}
    gone = [
        issue
        for issue in read_text(found, raw).issues
        if issue.fixable and wants(issue) and repair_key(issue) not in left
    ]
    return Repair(found, raw, repaired, tuple(gone)) if gone else None


def _repair(raw: bytes, found: Found, wants: Wants) -> bytes:
    """The repaired bytes; a repair may uncover the next."""
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
    """The text after the front matter, whatever the line endings."""
    return raw.replace(b"\r\n", b"\n").partition(b"\n---\n")[2]


def write_repairs(repairs: Iterable[Repair]) -> None:
    """Write each file atomically. Raises `MetierError` for a changed or unwritable file."""
    for repair in repairs:
        try:
            if read_bytes(repair.found) != repair.before:
                raise OSError(None, "the file has changed meanwhile")
            write_atomically(repair.found.file, repair.after)
        except OSError as error:
            raise MetierError(
                f"cannot write: {error.strerror}",
                code="FIX_FAILED",
                where=repair.found.path,
                hint="metier lint --fix --dry-run shows what would be written",
            ) from None

"""Why findings stay that `metier lint --fix` repairs elsewhere."""

from collections.abc import Iterable, Mapping

from metier.flow.entries import read_bytes
from metier.flow.lint_report import has_repair
from metier.flow.repairing import NAME_CODES, Repair, repair_key, why_left
from metier.values.files import Found, Reading
from metier.values.outcomes import Issue


def reasons_left(
    reading: Reading, issues: Iterable[Issue], repairs: Iterable[Repair], refused: Mapping[str, str]
) -> dict[str, str]:
    """Why those of `issues` stay that no repair removes, by path; `refused`: why names do."""
    repaired = {repair_key(issue) for repair in repairs for issue in repair.issues}
    texts = {repair.found.path: repair.after for repair in repairs}
    files = {found.path: found for found in reading.found}
    stay: dict[str, dict[str, str]] = {path: {} for path in files}
    for issue in issues:
        if issue.path in stay and repair_key(issue) not in repaired and has_repair(issue):
            reason = refused.get(issue.path, "") if issue.code in NAME_CODES else ""
            text = texts.get(issue.path)
            stay[issue.path][issue.code] = reason or _wrong(files[issue.path], text, issue)
    return {
        path: "; ".join(f"{code}: {reason}" for code, reason in reasons.items())
        for path, reasons in stay.items()
        if reasons
    }


def _wrong(found: Found, text: bytes | None, issue: Issue) -> str:
    """What is wrong with the repair of a finding, in a text that is repaired otherwise."""
    try:
        return why_left(found, read_bytes(found) if text is None else text, issue)
    except OSError as error:
        return error.strerror or str(error)

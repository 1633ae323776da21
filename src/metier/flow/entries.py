"""One file: bytes → parsed → linted. Never raises; what goes wrong becomes an entry."""

import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from metier.core.coerce import is_switched_off
from metier.core.digests import file_digest
from metier.core.names import team_name
from metier.hosts import HIDING_SWITCH, SWITCH
from metier.lint import lint_document
from metier.parse.kinds import parse_document
from metier.values.files import LARGEST, Entry, Found, Parsed, Team
from metier.values.outcomes import Issue, has_errors
from metier.values.skills import Skill
from metier.values.trust import BLOCKED, HELD

if TYPE_CHECKING:
    from metier.hosts.loading import Yaml
    from metier.hosts.model import Host
    from metier.values.documents import Card, Document

_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_IO_HINTS = {
    "IO201": "check that it exists and that you may read it",
    "IO202": "copy it here, or name its folder under 'mounts' in metier.toml",
    "IO203": "shorten it, or move parts into files beside it",
    "IO204": "put a text file here",
    "IO205": "rename it",
    "IO206": "remove one of the two",
}


def read_entry(found: Found, *, disabled: frozenset[str], strict: bool = False) -> Entry:
    if found.excluded:
        return _excluded(found, found.excluded, found.code, found.detail)
    try:
        raw = read_bytes(found)
    except OSError as error:
        return _excluded(found, "unreadable", "IO201", f"cannot be read: {error.strerror}")
    parsed, issues = lint_text(found, raw)
    document = parsed.document
    reason = _reason(found, document, issues, disabled, strict=strict)
    if found.kind == "card" and document is not None:
        card = cast("Card", document)
        return Entry(found, card.sha256, card, issues, reason, "" if reason else _card_text(card))
    sha256 = file_digest(raw)
    if found.standing is not None and document is not None:
        held, review_issues = _reviewed(found, sha256, team_name(found.team.name, document.name))
        reason, issues = reason or held, [*review_issues, *issues]
    line = parsed.matter.body_line if parsed.matter is not None else 1
    return Entry(found, sha256, document, issues, reason, yaml=_yaml(parsed), body_line=line)


def _reviewed(found: Found, sha256: str, handle: str) -> tuple[str, list[Issue]]:
    """Why a skill must not be used, if so, and what to say about its review."""
    standing = found.standing
    assert standing is not None
    state, detail = standing.state, standing.detail
    if state in ("reviewed", "changed") and sha256 != standing.sha256:
        state, detail = "held", "it changed while it was being read"
    if state == "reviewed":
        return "", []
    code = "RV103" if standing.problem else _REVIEW_CODES[state]
    hint = "" if state == "blocked" else review_hint(handle)
    issue = Issue(code, detail, found.path, 1, 1, hint)
    return {"held": HELD, "blocked": BLOCKED}.get(state, ""), [issue]


def review_hint(handle: str) -> str:
    """How to review a skill."""
    from shlex import quote  # few skills were reviewed

    shown = quote(handle)
    return f"metier diff {shown}, then metier trust --skill {shown}"


_REVIEW_CODES = {"held": "RV101", "changed": "RV102", "blocked": "RV105"}


def _yaml(parsed: Parsed) -> "Yaml":
    codes = {issue.code for issue in parsed.issues}
    return "invalid" if "FM103" in codes else "colon" if "FM104" in codes else "valid"


def _card_text(card: "Card") -> str:
    """What may be injected of a card."""
    from metier.inject.sanitize import sanitize_capability_content  # most files are not cards

    return sanitize_capability_content(card.body).text


def lint_text(found: Found, raw: bytes) -> tuple[Parsed, list[Issue]]:
    """A text as `found` would hold it, and every finding in it."""
    parsed = read_text(found, raw)
    return parsed, [*parsed.issues, *lint_document(parsed), *_lint_switch(found, parsed)]


def read_text(found: Found, raw: bytes) -> Parsed:
    return parse_document(
        found.kind, raw, found.path, folder_of(found), file=found.file, plugin=found.plugin
    )


def folder_of(found: Found) -> str:
    """The name of a file's folder, also for `./SKILL.md`."""
    shown = found.path.rpartition("/")[0].rpartition("/")[2]
    return shown if shown not in ("", ".", "..") else found.file.split("/")[-2]


def _reason(
    found: Found,
    document: "Document | None",
    issues: Sequence[Issue],
    disabled: frozenset[str],
    *,
    strict: bool,
) -> str:
    if document is None or ((strict or found.kind != "skill") and has_errors(issues)):
        return "unparseable"
    if isinstance(document, Skill):
        is_off = is_switched_off(document.data) or _is_disabled(document, found.team, disabled)
        return "disabled" if is_off else ""
    return "disabled" if document.id in found.team.disabled else ""


def _is_disabled(skill: Skill, team: Team, disabled: frozenset[str]) -> bool:
    """Whether the settings of the workspace or of its team name it."""
    if not (disabled or team.disabled):
        return False
    names = {skill.name, skill.id, team_name(team.name, skill.name)}
    return not names.isdisjoint(team.disabled) or not names.isdisjoint(disabled)


def _lint_switch(found: Found, parsed: Parsed) -> list[Issue]:
    """Findings about `disable-model-invocation` and `user-invocable`."""
    skill, matter = parsed.document, parsed.matter
    if not isinstance(skill, Skill) or matter is None:
        return []
    is_hidden = matter.data.get(HIDING_SWITCH) is False
    if not is_hidden and not skill.is_manual:
        return []
    from metier.lint.switches import lint_hidden_switch, lint_switch  # few skills have one

    if is_hidden:
        return lint_hidden_switch(skill, matter, _ignoring(found.file, HIDING_SWITCH))
    ignoring = _ignoring(found.file, SWITCH)
    return lint_switch(
        skill, matter, [host for host in ignoring if not _is_switched_beside(found.file, host)]
    )


def _ignoring(file: str, switch: str) -> "list[Host]":
    from metier.hosts.loading import honours, owners  # loads what is known about every host

    return [host for host in owners(file) if not honours(host, switch)]


def _is_switched_beside(file: str, host: "Host") -> bool:
    """Whether the host's own file beside the skill says that only the user starts it."""
    from metier.hosts.beside import is_set_beside

    beside = [one for one in host.switches if one.at == "file beside"]
    return any(is_set_beside(os.path.dirname(file), one) for one in beside)


def read_bytes(found: Found) -> bytes:
    """The bytes of the file that discovery found, and of no other."""
    descriptor = os.open(found.file, _OPEN_FLAGS)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_ino != found.inode:
            raise OSError(None, "it was replaced while it was being read")
        limit = LARGEST[found.kind]
        raw = os.read(descriptor, min(info.st_size, limit) + 1)
        while len(raw) < info.st_size and (more := os.read(descriptor, limit + 1 - len(raw))):
            raw += more
        if len(raw) > limit:
            raise OSError(None, "it grew beyond the limit while it was being read")
        return raw
    finally:
        os.close(descriptor)


def _excluded(found: Found, reason: str, code: str, detail: str) -> Entry:
    issue = Issue(code, detail, found.path, 1, 1, _IO_HINTS[code])
    return Entry(found=found, sha256="", document=None, issues=[issue], reason=reason)

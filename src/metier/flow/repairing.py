"""Plan repairs of single files, and write them.

A repair is planned by trying it: the repaired text is read and linted again. It is dropped if
its finding is still there, if it adds a finding of the same or a higher severity, if a word is
missing, or if it changes more than it may.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from metier.core.names import is_capability_name
from metier.core.text import words
from metier.findings import severity_of
from metier.flow.entries import folder_of, lint_text, read_bytes
from metier.lint.collisions import lint_shown
from metier.lint.fix import candidates, order_of
from metier.lint.fix_lines import Context
from metier.storage.atomic_files import write_atomically
from metier.values.documents import Skill
from metier.values.files import Found, Parsed, Reading
from metier.values.outcomes import Issue

_MOST_REPAIRS = 50
_MOST_SINGLE = 20
"""Findings of a code that are tried one by one after all of them together."""
_SAME_VALUES = frozenset({"FM103", "FM104", "FM116"})
"""Repairs after which the front matter must say what it said to a lenient reader."""
_UNREADABLE = frozenset({"FM103", "FM104", "FM116"})
"""While the front matter is not YAML, its values are left alone."""
_DESCRIBING = frozenset({"FM101", "SK304"})
"""Findings whose repair makes a description of the first paragraph."""
_LEADS = frozenset({"SK305"})
"""Repairs that may add text before the body."""
_MOVES_FENCES = frozenset({"FM101", "FM102", "FM117"})
"""Repairs that decide where the body starts."""
_IN_BODY = frozenset({"SK324"})
"""Repairs of the body."""
_RANK = {"info": 0, "warning": 1, "error": 2}
NAME_CODES = frozenset({"SK301", "SK302", "SK303"})
"""Findings about the name of a skill."""
_KEY = re.compile(r"'([^']*)'")
Wants = Callable[[Issue], bool]


def repair_key(issue: Issue) -> tuple[str, str, str]:
    """Equal for a finding before and after a repair that moved its line."""
    return issue.path, issue.code, issue.message


class Naming(NamedTuple):
    """The name that a skill gets, and that of its folder; empty if it stays."""

    name: str = ""
    folder: str = ""


AS_IT_IS = Naming()


@dataclass(frozen=True, slots=True)
class Repair:
    """A planned repair of one file."""

    found: Found
    before: bytes
    after: bytes
    issues: tuple[Issue, ...]
    """The findings that it removes; none in a file that only refers to a renamed skill."""
    naming: Naming = AS_IT_IS
    joint: bool = False
    """Whether it is written together with others, or not at all."""

    @property
    def moved_to(self) -> str:
        """The path of the file after its folder was renamed; empty if it stays."""
        return moved(self.found, self.naming.folder).path if self.naming.folder else ""


class _Text(NamedTuple):
    """A text, and what is found in it."""

    raw: bytes
    parsed: Parsed
    issues: Sequence[Issue]

    @classmethod
    def of(cls, found: Found, raw: bytes) -> "_Text":
        parsed, issues = lint_text(found, raw)
        skill = parsed.document
        if isinstance(skill, Skill):
            issues += lint_shown(skill.name, skill.routing_text, found.path)
        return cls(raw, parsed, issues)

    def keys(self) -> Counter[tuple[str, str]]:
        return Counter((issue.code, issue.message) for issue in self.issues)

    def codes(self) -> Counter[str]:
        return Counter(issue.code for issue in self.issues)

    def as_bad_as(self, severity: str) -> int:
        """How many findings have that severity or a higher one."""
        return sum(_RANK[issue.severity] >= _RANK[severity] for issue in self.issues)


def is_repairable(issue: Issue, *, unsafe: bool) -> bool:
    """Whether there may be a repair."""
    return issue.fixable and (unsafe or not issue.needs_unsafe)


def plan_repairs(reading: Reading, issues: Iterable[Issue], wants: Wants) -> list[Repair]:
    """Safe repairs that remove those `issues` that are wanted from the files of `reading`."""

    def may(issue: Issue) -> bool:
        return is_repairable(issue, unsafe=False) and wants(issue)

    paths = {issue.path for issue in issues if may(issue)}
    planned = (plan_repair(found, may) for found in reading.found if found.path in paths)
    return [repair for repair in planned if repair is not None]


def plan_repair(found: Found, may: Wants, naming: Naming = AS_IT_IS) -> Repair | None:
    """The repair of one file; None when it would remove no finding."""
    try:
        raw = read_bytes(found)
    except OSError:
        return None
    return repair_text(found, raw, may, naming)


def repair_text(found: Found, raw: bytes, may: Wants, naming: Naming = AS_IT_IS) -> Repair | None:
    """The repair of those findings of a text that `may` be repaired; None if there is none."""
    before = _Text.of(found, raw)
    after = _repaired(before, moved(found, naming.folder), may, naming)
    if after.parsed.document is None:
        return None
    gone = _gone(before, after, may)
    worst = max((_RANK[issue.severity] for issue in gone), default=0)
    new = after.codes() - before.codes()
    if not gone or any(_RANK[severity_of(code)] >= worst for code in new):
        return None
    return Repair(found, raw, after.raw, tuple(gone), naming)


def quick_fix(found: Found, raw: bytes, issue: Issue) -> Repair | None:
    """The repair of one finding in a text that an editor holds, safe or not; None without one.

    The folder keeps its name; a wrong name becomes the folder's if that is valid.
    """
    folder = folder_of(found)
    naming = Naming(folder) if is_capability_name(folder) else AS_IT_IS
    key = (issue.code, issue.message)
    return repair_text(found, raw, lambda other: (other.code, other.message) == key, naming)


def moved(found: Found, folder: str) -> Found:
    """`found` as it is after its folder was renamed to `folder`, if that is not empty."""
    if not folder:
        return found
    return found._replace(path=_beside(found.path, folder), file=_beside(found.file, folder))


def _beside(path: str, folder: str) -> str:
    above, name = os.path.split(path)
    return "/".join(filter(None, [os.path.dirname(above), folder, name]))


def _repaired(text: _Text, found: Found, may: Wants, naming: Naming) -> _Text:
    """The text after every repair; one repair may uncover the next finding."""
    best = _Text.of(found, text.raw) if naming.folder else text
    for _ in range(_MOST_REPAIRS):
        better = next(_better(best, found, may, naming), None)
        if better is None:
            break
        best = better
    return best


def _better(text: _Text, found: Found, may: Wants, naming: Naming) -> Iterator[_Text]:
    """The text after each single repair that is right."""
    unreadable = not _UNREADABLE.isdisjoint(text.codes())
    issues = [one for one in text.issues if may(one) and (one.code[:2] == "FM" or not unreadable)]
    for group in _groups(issues):
        for candidate in candidates(text.raw, group, _context(text.parsed, found, naming)):
            after = _Text.of(found, candidate)
            if not _objection(text, after, group):
                yield after


def _groups(issues: Iterable[Issue]) -> Iterator[list[Issue]]:
    """The findings of each code together, then some of them one by one."""
    by_code: dict[str, list[Issue]] = {}
    for issue in sorted(issues, key=order_of):
        by_code.setdefault(issue.code, []).append(issue)
    for group in by_code.values():
        yield group
        if len(group) > 1:
            yield from ([issue] for issue in group[:_MOST_SINGLE])


def _context(parsed: Parsed, found: Found, naming: Naming) -> Context:
    matter = parsed.matter
    return Context(
        folder=folder_of(found),
        kind=found.kind,
        name=naming.name,
        data=matter.data if matter is not None else {},
        unread=matter.unread if matter is not None else frozenset(),
    )


def why_left(found: Found, raw: bytes, issue: Issue) -> str:
    """What is wrong with the repair of a finding that stays in a text."""
    before = _Text.of(found, raw)
    if issue.code[:2] != "FM" and not _UNREADABLE.isdisjoint(before.codes()):
        return "the front matter has to be valid first"
    for candidate in candidates(raw, [issue], _context(before.parsed, found, AS_IT_IS)):
        after = _Text.of(found, candidate)
        objection = _objection(before, after, [issue]) or _new_finding(before, after, issue)
        return f"its repair would {objection or 'not be enough: the file has other errors'}"
    if issue.code in _DESCRIBING:
        return "it does not begin with a paragraph that introduces it and could be its description"
    return "metier has no repair for this case"


def _objection(before: _Text, after: _Text, repaired: Sequence[Issue]) -> str:
    """What a repair would do wrong; empty if it removes a finding, and keeps what it must."""
    code, severity = repaired[0].code, repaired[0].severity
    if after.parsed.document is None and before.parsed.document is not None:
        return "exclude the file"
    left = after.keys()
    found = before.keys()
    if not any(left[one.code, one.message] < found[one.code, one.message] for one in repaired):
        return "not remove it"
    is_worse = after.as_bad_as(severity) > before.as_bad_as(severity)
    if is_worse or _adds(before, after, severity):
        return _new_finding(before, after, repaired[0])
    if lost := _lost_words(before.raw, after.raw) - _misspelt(repaired):
        return f"remove words: {', '.join(sorted(lost))}"
    if not _keeps_body(before.raw, after.raw, code):
        return "change the text below the front matter"
    if code in _SAME_VALUES and not _has_same_values(before.parsed, after.parsed):
        return "change values of the front matter"
    return ""


def _adds(before: _Text, after: _Text, severity: str) -> bool:
    """Whether a repair adds a finding as bad as its own; it may uncover one that was there."""
    if before.parsed.document is None:
        return False
    return any(
        _RANK[severity_of(code)] >= _RANK[severity] and not code.startswith("FM")
        for code in after.codes() - before.codes()
    )


def _new_finding(before: _Text, after: _Text, issue: Issue) -> str:
    """`cause CODE, MESSAGE` for a new finding as bad as the repaired one; else empty."""
    new = after.codes() - before.codes()
    for one in after.issues:
        if new[one.code] and _RANK[one.severity] >= _RANK[issue.severity]:
            return f"cause {one.code}, {one.message}"
    return ""


def _lost_words(before: bytes, after: bytes) -> Counter[str]:
    old, new = (Counter(words(raw.decode(errors="replace"))) for raw in (before, after))
    return old - new


def _misspelt(repaired: Sequence[Issue]) -> Counter[str]:
    """The words of keys with a typo, which a repair replaces."""
    keys = [_KEY.search(issue.message) for issue in repaired if issue.code == "SK309"]
    return Counter(word for key in keys if key is not None for word in words(key[1]))


def _keeps_body(before: bytes, after: bytes, code: str) -> bool:
    if code in _MOVES_FENCES or code in _IN_BODY:
        return True
    old, new = _body(before), _body(after)
    return new == old or (code in _LEADS and new.endswith(old))


def _body(raw: bytes) -> bytes:
    """The text after the front matter, whatever the line endings."""
    return raw.replace(b"\r\n", b"\n").partition(b"\n---\n")[2]


def _has_same_values(before: Parsed, after: Parsed) -> bool:
    """Whether two front matters differ at most in white space."""
    if before.matter is None or after.matter is None:
        return after.matter is not None
    old, new, unread = before.matter.data, after.matter.data, before.matter.unread
    return old.keys() == new.keys() and all(
        _spaced(old[key]) == _spaced(new[key])
        or (key in unread and isinstance(new[key], (dict, list)))
        for key in old
    )


def _spaced(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


def _gone(before: _Text, after: _Text, may: Wants) -> list[Issue]:
    """The findings that a repair removes; another finding of the code does not replace them."""
    fewer = before.codes() - after.codes()
    left = after.keys()
    gone = []
    for issue in before.issues:
        if may(issue) and fewer[issue.code] > 0 and not left[issue.code, issue.message]:
            fewer[issue.code] -= 1
            gone.append(issue)
    return gone


def write_repairs(repairs: Iterable[Repair]) -> list[tuple[Repair, str]]:
    """Write each file atomically; the repairs that were left alone, and why.

    A file that changed since it was read, or that cannot be written, is left alone.
    """
    left_alone = []
    for repair in repairs:
        try:
            if read_bytes(repair.found) != repair.before:
                raise OSError(None, "it changed in the meantime")
            write_atomically(repair.found.file, repair.after)
        except OSError as error:
            left_alone.append((repair, error.strerror or str(error)))
    return left_alone

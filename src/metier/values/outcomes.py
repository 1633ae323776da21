"""Issues and outcomes: what the stages report without raising."""

from collections.abc import Iterable, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.hosts.table import NAME_BY_FOLDER
from metier.values.trust import BLOCKED, HELD

if TYPE_CHECKING:
    from metier.findings import Finding, Severity

ALL_HOSTS = "all"
"""As the name of a host: every one of them."""
_COPIES = ("XF902", "XF907")
"""Findings of exact copies."""


class Issue(NamedTuple):
    """One finding at one location."""

    code: str
    """Stable; `metier explain CODE` prints its page."""
    message: str
    path: str
    """The file, as it is shown to people."""
    line: int = 1
    column: int = 1
    hint: str = ""
    left_alone: bool = False
    """Whether `metier lint --fix` cannot repair it here."""
    setting: str = ""
    """The setting that it is about, if any: `mounts`, `folders.agents`."""
    hosts: tuple[str, ...] = ()
    """The hosts that it matters to here; none: those on the page of its code."""
    own: "Finding | None" = None
    """The page of its rule, if that is not one of metier's."""

    @property
    def finding(self) -> "Finding":
        """The page of its code."""
        finding: Finding = self.own or _findings().CODES[self.code]
        return finding

    @property
    def severity(self) -> "Severity":
        """That of its rule; your own rule that no longer exists counts as a warning."""
        if self.own is not None:
            return self.own.severity
        severity: Severity = _findings().severity_of(self.code)
        return severity

    @property
    def fixable(self) -> bool:
        """Whether `metier lint --fix` can repair it here."""
        finding = _findings().CODES.get(self.code)
        return finding is not None and finding.fixable and not self.left_alone

    @property
    def needs_unsafe(self) -> bool:
        """Whether `metier lint --fix` repairs such findings only with --unsafe."""
        finding = _findings().CODES.get(self.code)
        return finding is not None and finding.unsafe

    @property
    def is_error(self) -> bool:
        """Whether its severity is `error`."""
        return self.severity == "error"

    @property
    def effects(self) -> dict[str, str]:
        """What each host does about it, by name; `all` for every host."""
        finding = _findings().CODES.get(self.code)
        known: dict[str, str] = finding.hosts if finding is not None else {}
        if not self.hosts:
            return known
        return {host: known.get(host, known.get(ALL_HOSTS, "")) for host in self.hosts}

    @property
    def affected(self) -> list[str]:
        """The hosts that it affects; `all` for every host."""
        unaffected = _findings().UNAFFECTED
        return [one for one, effect in self.effects.items() if not effect.startswith(unaffected)]

    def matters_to(self, host: str) -> bool:
        return not {host, ALL_HOSTS}.isdisjoint(self.affected)

    @property
    def some_hosts(self) -> list[str]:
        """The hosts that it affects, unless it affects all."""
        hosts, outside = self.affected, _findings().OUTSIDE
        return [] if ALL_HOSTS in hosts else [one for one in hosts if one not in outside]

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "hint": self.hint,
            "fixable": self.fixable,
            "hosts": self.effects,
        }


@cache
def _findings() -> ModuleType:
    from metier import findings  # it reads its files, and many commands report nothing

    return findings


def has_errors(issues: Iterable[Issue]) -> bool:
    return any(issue.is_error for issue in issues)


class Exclusion(NamedTuple):
    """A file that was found and excluded."""

    path: str
    reason: str
    """disabled · unreadable · unparseable · outside-root · too-large · duplicate-content ·
    unreviewed · blocked"""
    detail: str = ""

    @classmethod
    def of(
        cls,
        path: str,
        reason: str,
        issues: Sequence[Issue],
        copy_of: str = "",
        is_off: bool = False,
    ) -> "Exclusion":
        """`is_off`: whether a skill says `enabled: false` of itself."""
        if copy_of:
            detail = f"copy of {copy_of}"
        elif reason == "disabled":
            detail = "by its own 'enabled: false'" if is_off else "by 'disabled' in the settings"
        else:
            cause = cls.cause(reason, issues)
            detail = cause.message if cause is not None else ""
        return cls(path=path, reason=reason, detail=detail)

    @staticmethod
    def cause(reason: str, issues: Sequence[Issue]) -> Issue | None:
        """The finding that excludes a file; None if the settings do."""
        if reason == "disabled" or not issues:
            return None
        if reason in (HELD, BLOCKED):
            return next((issue for issue in issues if issue.code.startswith("RV")), None)
        return next((issue for issue in issues if issue.is_error), issues[0])

    @classmethod
    def next_step(cls, reason: str, issues: Sequence[Issue], origin: str) -> str:
        """What to do about a file that is excluded for this reason; empty if the detail says it."""
        if reason == "disabled":
            return ""
        copy = next((issue for issue in issues if issue.code in _COPIES), None)
        if copy is not None:
            return copy.hint
        cause = cls.cause(reason, issues)
        is_review = cause is not None and cause.code.startswith("RV")
        if cause and is_review:
            return cause.hint
        return f"metier lint{' --user' if origin == 'user' else ''} says what to change"

    def to_json(self) -> dict[str, str]:
        return self._asdict()


def same_name(name: str, path: str, first: str, shown: str) -> Issue:
    """`shown` is how the path of the first skill is shown to people."""
    message = f"name '{name}' is also used by {shown}, which comes first and shadows this one"
    hint = "rename one, or ask for it by its full id"
    return Issue("XF901", message, path, 1, 1, hint, hosts=_meeting("XF901", path, first))


def exact_copy(path: str, first: str, shown: str) -> Issue:
    """`shown` is how the path of the original is shown to people."""
    from metier.hosts.locations import hosts_that_read  # few skills are copies

    here, there = hosts_that_read(path), hosts_that_read(first)
    message = f"exact copy of {shown}"
    if here - there and there - here:
        hint = "keep both; a symbolic link in place of one keeps them the same"
        return Issue("XF907", f"{message}, which other hosts read", path, 1, 1, hint)
    hint = "remove one of the two"
    if here != there:
        needless = "this one" if here < there else shown
        hint = f"remove {needless}, or make it a symbolic link: hosts need only the other"
    return Issue("XF902", message, path, 1, 1, hint, hosts=_meeting("XF902", path, first))


def _meeting(code: str, path: str, first: str) -> tuple[str, ...]:
    """The hosts in which two skills of one name meet; empty for all on the page of the code.

    Where the folder gives the name, they do not if their folders are called differently.
    """
    if _folder_of(path) == _folder_of(first):
        return ()
    hosts: dict[str, str] = _findings().CODES[code].hosts
    return tuple(one for one in hosts if one not in NAME_BY_FOLDER)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]


def same_id(document_id: str, path: str, first: str) -> Issue:
    message = f"id '{document_id}' is also used by {first}, which comes first and shadows this one"
    return Issue("XF903", message, path, 1, 1, "give one of the two another id")


def same_command(name: str, path: str) -> Issue:
    message = f"the command '{name}' has the same name: typing /{name} starts this skill"
    return Issue("XF906", message, path, 1, 1, "rename one, or remove the command")

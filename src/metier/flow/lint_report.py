"""Findings for reports: fingerprints and owners."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from metier.core.digests import sha256
from metier.core.paths import is_inside
from metier.storage.room import read_regular
from metier.values.outcomes import Issue

if TYPE_CHECKING:
    from metier.flow.repairing import Repair

_OWNERS_FILES = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""In the order in which they are looked for; the first counts."""
_LARGEST_OWNERS = 3 * 1024 * 1024
_NUMBER = r"[0-9][0-9,.]*"
Key = tuple[str, str, str]
"""Path, code and message; the same after lines moved and figures changed."""


class Plan(NamedTuple):
    """What is repaired, and what is not."""

    repairs: Sequence["Repair"] = ()
    left_alone: Mapping[str, str] = MappingProxyType({})
    """Why findings that --fix repairs elsewhere stay, by path."""


def has_repair(issue: Issue) -> bool:
    """Whether a finding whose code has a repair gives it something to work with."""
    return issue.code != "SK309" or issue.hint.startswith("did you mean")


class Reported(NamedTuple):
    """A finding as it is reported."""

    issue: Issue
    """With a path that can be opened."""
    path: str
    """In the workspace, whatever the current folder."""
    found_as: Issue
    """As the rule found it."""
    owners: tuple[str, ...] = ()
    repair: "Repair | None" = None
    """What --fix would write for this finding alone, if that was asked for."""

    @property
    def key(self) -> Key:
        return self.path, self.issue.code, steady(self.found_as.message)


def steady(message: str) -> str:
    """A message without figures, and without paths: these depend on the current folder."""
    words = ("…" if "/" in word else word for word in message.split())
    return re.sub(_NUMBER, "#", " ".join(words))


def fingerprints(reported: Sequence[Reported]) -> list[str]:
    """An id for each finding; several with the same key are numbered in their order."""
    seen: Counter[Key] = Counter()
    made = []
    for one in reported:
        seen[one.key] += 1
        text = "\0".join((*one.key, str(seen[one.key])))
        made.append(sha256(text.encode(errors="backslashreplace")).hexdigest()[:32])
    return made


class Owners:
    """Who owns which files, by the workspace's CODEOWNERS file."""

    def __init__(self, text: str) -> None:
        from metier.lint.code_owners import owner_rules  # many workspaces have none

        self._rules = owner_rules(text)
        self._known: dict[str, tuple[str, ...]] = {}

    def of(self, path: str) -> tuple[str, ...]:
        """The owners of the file at a path of the workspace."""
        if path not in self._known:
            from metier.lint.code_owners import owners_of  # see above

            self._known[path] = owners_of(path, self._rules)
        return self._known[path]

    def names(self) -> list[str]:
        return sorted({owner for rule in self._rules for owner in rule.owners})


def with_owners(reported: Sequence[Reported], workspace: str) -> list[Reported]:
    """The findings with the owners that the workspace's CODEOWNERS file names."""
    text = owners_file(workspace)
    if not text:
        return list(reported)
    owners = Owners(text)
    return [one._replace(owners=owners.of(one.path)) for one in reported]


def owners_file(workspace: str) -> str:
    """The text of the workspace's CODEOWNERS file; empty if there is none that can be read."""
    for place in _OWNERS_FILES:
        file = os.path.realpath(os.path.join(workspace, place))
        if not is_inside(file, workspace):
            continue
        try:
            raw = read_regular(file, _LARGEST_OWNERS, links=False)
        except (OSError, ValueError):
            continue
        return raw.decode(errors="replace")
    return ""

"""User-defined rules: what a rule is, what it is given and what it finds."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.values.files import KINDS, KeyPath, Kind

if TYPE_CHECKING:
    from metier.findings import Finding, Severity
    from metier.values.documents import Document

CODE_FORM = "'U', then capital letters if you like, then 1 to 4 digits, such as U001 or UACME12"
_CODE = re.compile(r"U[A-Z]{0,15}[0-9]{1,4}\Z")


def is_own_code(text: str) -> bool:
    """Whether a user-defined rule may have this code."""
    return _CODE.match(text) is not None


class RuleFinding(NamedTuple):
    """What a rule found in a document."""

    message: str
    line: int = 1
    """Counted from 1, as the column is."""
    column: int = 1
    hint: str = ""


class RuleInput(NamedTuple):
    """A document as a rule sees it."""

    kind: Kind
    path: str
    """Relative to the workspace, or as it was named."""
    text: str
    """The whole file."""
    document: "Document"
    """`Skill`, `Ability`, `Card` or `AgentProfile`."""
    data: Mapping[str, Any]
    """The front matter, in the format's spelling."""
    body: str
    body_line: int
    """The line of the file on which the body starts."""
    position: Callable[[KeyPath], tuple[int, int]]
    """Line and column of a value: `position(("metadata", "owner"))`."""


class Rule(NamedTuple):
    """A user-defined rule, with its page."""

    code: str
    title: str
    check: Callable[[RuleInput], Iterable[RuleFinding]]
    severity: "Severity" = "warning"
    why: str = ""
    """Why it matters, for `metier explain`."""
    bad: str = ""
    good: str = ""
    kinds: tuple[Kind, ...] = KINDS
    files: tuple[str, ...] = ()
    """Patterns of paths; none: every file."""

    @property
    def finding(self) -> "Finding":
        return own_finding(self.title, self.severity, self.why, self.bad, self.good)


class RuleSetting(NamedTuple):
    """`[lint.rules.CODE]`: a rule without a program."""

    code: str
    title: str
    severity: "Severity" = "warning"
    message: str = ""
    """By default what is wrong, else the title."""
    hint: str = ""
    why: str = ""
    bad: str = ""
    good: str = ""
    kinds: tuple[Kind, ...] = KINDS
    files: tuple[str, ...] = ()
    scope: str = "body"
    """`in`: `body`, `front-matter` or `file`, for a rule without `field`."""
    field: str = ""
    """A key of the front matter, with dots for inner keys."""
    regex: str = ""
    """What must not occur."""
    must_match: str = ""
    """What must occur."""
    required: bool = False
    forbidden: bool = False
    type: str = "any"
    choices: tuple[str, ...] = ()
    shortest: int = 0
    longest: int | None = None
    least: float | None = None
    most: float | None = None
    is_users: bool = True
    """Whether the user's own settings have it, and not the workspace's."""

    @property
    def finding(self) -> "Finding":
        return own_finding(self.title, self.severity, self.why, self.bad, self.good)

    @property
    def patterns(self) -> tuple[str, ...]:
        """Its regular expressions."""
        return tuple(filter(None, (self.regex, self.must_match)))


def own_finding(title: str, severity: "Severity", why: str, bad: str, good: str) -> "Finding":
    """The page of a rule; `why` may be empty."""
    from metier.findings import Finding, example_page  # reads files; settings need none of them

    text = why.strip() or "A rule of this workspace or of your own settings."
    return Finding(severity, title, False, example_page(text, bad, good))

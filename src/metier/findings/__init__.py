"""Every code: severity, title, explanation and examples, from one Markdown file a family.

A code never changes its meaning. `metier explain`, lint, SARIF and the reference pages read
these files; a section is parsed when its page is asked for.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "info"]
_FOLDER = os.path.dirname(__file__)
_FENCE = "````"
_END_OF_WHY = r"\n\n(?:Hosts|Source|Bad):"
_HOSTS = r"(?:^|\n\n)Hosts:\n\n((?:- .*\n(?:  .*\n)*)+)"
_SOURCE = r"\n\nSource: ((?:.+\n?)+)"

UNAFFECTED = "still "
"""How the effect on a host begins if a finding does not matter to it."""
OWN_FAMILY = "U"
"""What codes of user-defined rules begin with; no code of metier's does."""
SECURITY_CODES = ("IO202", "IO204", "SK314", "RV", "SZ")
"""Findings that a workspace cannot turn off."""
OUTSIDE = {
    "claude.ai": "uploads to claude.ai and to the Claude API",
    "crush": "Crush",
    "skills-ref": "the validator of the Agent Skills format",
    "metier": "metier itself",
}
"""What reads skills, beside the hosts in `metier.hosts`."""


class Finding(NamedTuple):
    severity: Severity
    title: str
    """Empty for an error that ends a command or a run."""
    fixable: bool
    """Whether `metier lint --fix` can repair it."""
    page: str
    """The explanation, what hosts do, sources, then a bad and a good example, as Markdown."""
    family: str = ""
    """What the file of its family says of hosts, for a page that says nothing of them."""
    unsafe: bool = False
    """Whether --fix needs --unsafe, since the repair may change a meaning."""

    @property
    def why(self) -> str:
        """The explanation as one paragraph."""
        return " ".join(re.split(_END_OF_WHY, self.page, maxsplit=1)[0].split())

    @property
    def hosts(self) -> dict[str, str]:
        """What each host does, by name; `all` for every host. Nothing is known of other hosts.

        `metier` and the names in `OUTSIDE` are not hosts, but read skills too.
        """
        return _hosts_in(self.page) or _hosts_in(self.family)

    @property
    def source(self) -> str:
        """Where and when what hosts do was read; empty if the host's own page says it."""
        found = re.search(_SOURCE, self.page)
        return " ".join(found[1].split()) if found is not None else ""

    @property
    def bad(self) -> str:
        return self._example(1)

    @property
    def good(self) -> str:
        return self._example(3)

    def _example(self, number: int) -> str:
        parts = self.page.split(_FENCE)
        return parts[number].removeprefix("text\n") if number < len(parts) else ""


def example_page(why: str, bad: str, good: str) -> str:
    """A page as the files of this folder write it; without examples the explanation alone."""
    if not (bad or good):
        return why
    shown = (f"{_FENCE}text\n{_fenced(one)}\n{_FENCE}" for one in (bad, good))
    return f"{why}\n\nBad:\n\n{next(shown)}\n\nGood:\n\n{next(shown)}\n"


def _fenced(example: str) -> str:
    """An example that cannot end its fence."""
    return example.strip("\n").replace(_FENCE, "```")


@cache
def _hosts_in(text: str) -> dict[str, str]:
    """`- codex, gemini: drop the skill` as one row for each name."""
    found = re.search(_HOSTS, f"{text}\n")
    rows = re.split(r"^- ", found[1], flags=re.MULTILINE)[1:] if found is not None else []
    effects = {}
    for row in rows:
        names, _, effect = " ".join(row.split()).partition(": ")
        effects.update(dict.fromkeys(names.split(", "), effect))
    return effects


def _read(*families: str) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for family in families:
        with open(os.path.join(_FOLDER, f"{family}.md"), encoding="utf-8") as file:
            head_of_family, *sections = file.read().split("\n## ")
        for section in sections:
            head, severity, page = section.split("\n\n", 2)
            code, _, title = head.partition(" ")
            level, _, fixable = severity.removeprefix("Severity: ").partition(", ")
            is_unsafe = "unsafe" in fixable
            found[code] = Finding(level, title, bool(fixable), page, head_of_family, is_unsafe)  # type: ignore[arg-type]  # tested
    return found


class _Codes(Mapping[str, Finding]):
    """Findings by code; the file of a family is read when one of its codes is asked for."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        """By what its codes begin with: two letters, or nothing."""
        self._known: dict[str, Finding] = {}
        self._were_read: set[str] = set()

    def __getitem__(self, code: str) -> Finding:
        file = self._files.get(code[:2]) or self._files[""]
        if file not in self._were_read:
            self._known |= _read(file)
            self._were_read.add(file)
        return self._known[code]

    def __iter__(self) -> Iterator[str]:
        return iter(_read(*self._files.values()))

    def __len__(self) -> int:
        return len(_read(*self._files.values()))


CODES: Mapping[str, Finding] = _Codes(
    {
        "FM": "front_matter",
        "IO": "files",
        "SK": "skills",
        "DC": "contracts",
        "AB": "abilities",
        "CD": "cards",
        "AG": "agents",
        "SZ": "safety",
        "RV": "reviews",
        "IN": "inspection",
        "XF": "several_files",
        "PL": "plugins",
        "SR": "sources",
        "RU": "own_rules",
    }
)
"""Findings of lint."""


OUTCOMES: Mapping[str, Finding] = _Codes({"": "injection"})
"""Findings of an injection; an error stops it."""


@cache
def severity_of(code: str) -> Severity:
    """That of a finding of lint or of an injection; a code that is gone counts as a warning."""
    finding = CODES.get(code) or OUTCOMES.get(code)
    return finding.severity if finding is not None else "warning"


def errors() -> dict[str, Finding]:
    """Every other code: what ends a command or a run, and what an injection reports."""
    return {**_read("commands"), **OUTCOMES, **_read("runs")}

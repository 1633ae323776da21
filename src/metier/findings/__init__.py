"""Every code: severity, title, explanation and examples, from one Markdown file a family.

A code never changes its meaning. `metier explain`, lint, SARIF and the reference pages read
these files; a section is parsed when its page is asked for.
"""

import os
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "info"]
_FOLDER = os.path.dirname(__file__)
_FENCE = "````"


class Finding(NamedTuple):
    severity: Severity
    title: str
    """Empty for an error that ends a command or a run."""
    fixable: bool
    """Whether `metier lint --fix` can repair it."""
    page: str
    """The explanation, then a bad and a good example, as Markdown."""
    unsafe: bool = False
    """Whether --fix needs --unsafe, since the repair may change a meaning."""

    @property
    def why(self) -> str:
        """The explanation as one paragraph."""
        return " ".join(self.page.partition("\n\nBad:")[0].split())

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


def _read(*families: str) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for family in families:
        with open(os.path.join(_FOLDER, f"{family}.md"), encoding="utf-8") as file:
            sections = file.read().split("\n## ")[1:]
        for section in sections:
            head, severity, page = section.split("\n\n", 2)
            code, _, title = head.partition(" ")
            level, _, fixable = severity.removeprefix("Severity: ").partition(", ")
            found[code] = Finding(level, title, bool(fixable), page, "unsafe" in fixable)  # type: ignore[arg-type]  # tested
    return found


CODES = _read(
    *("front_matter", "files", "skills", "contracts", "abilities", "cards", "agents"),
    *("safety", "several_files", "sources", "own_rules"),
)
"""Findings of lint."""
OUTCOMES = _read("injection")
"""Findings of an injection; an error stops it."""
SEVERITIES = {code: finding.severity for code, finding in {**CODES, **OUTCOMES}.items()}


def errors() -> dict[str, Finding]:
    """Every other code: what ends a command or a run, and what an injection reports."""
    return {**_read("commands"), **OUTCOMES, **_read("runs")}

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
    page: str
    """The explanation, then a bad and a good example, as Markdown."""

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
        return self.page.split(_FENCE)[number].removeprefix("text\n")


def _read(*families: str) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for family in families:
        with open(os.path.join(_FOLDER, f"{family}.md"), encoding="utf-8") as file:
            sections = file.read().split("\n## ")[1:]
        for section in sections:
            head, severity, page = section.split("\n\n", 2)
            code, _, title = head.partition(" ")
            level, _, fixable = severity.removeprefix("Severity: ").partition(", ")
            found[code] = Finding(level, title, bool(fixable), page)  # type: ignore[arg-type]  # tested
    return found


CODES = _read(
    *("front_matter", "files", "skills", "contracts", "abilities", "cards", "agents"),
    *("safety", "reviews", "inspection", "several_files", "sources"),
)
"""Findings of lint."""
OUTCOMES = _read("injection")
"""Findings of an injection; an error stops it."""
SEVERITIES = {code: finding.severity for code, finding in {**CODES, **OUTCOMES}.items()}


def errors() -> dict[str, Finding]:
    """Every other code: what ends a command or a run, and what an injection reports."""
    return {**_read("commands"), **OUTCOMES, **_read("runs")}

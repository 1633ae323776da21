"""What is in something that is not installed yet, and what to look at in it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metier.values.outcomes import Issue

LARGEST_READ = 1024 * 1024
"""Bytes of one file that are read; of a larger file its beginning."""
MOST_READ = 64 * 1024 * 1024
"""Bytes of all files that are read."""
MOST_FILES = 20_000
LONGEST_QUOTE = 160


class InspectedFile(NamedTuple):
    """One file, as a folder, an archive or a commit has it."""

    path: str
    """With `/`, relative to what is inspected."""
    size: int
    content: bytes = b""
    """Its first bytes; all of them unless `size` is larger."""
    link: str = ""
    """The target of a link; its content is not read."""
    is_executable: bool = False


class FileSet(NamedTuple):
    """The files of something, and what is wrong with how they are packed."""

    files: Sequence[InspectedFile]
    findings: Sequence["Noted"] = ()


class Noted(NamedTuple):
    """A finding, and the text that it is about."""

    issue: Issue
    quote: str = ""

    def to_json(self) -> dict[str, Any]:
        issue = self.issue
        return {
            "code": issue.code,
            "severity": issue.severity,
            "path": issue.path,
            "line": issue.line,
            "message": issue.message,
            "quote": self.quote,
            "hint": issue.hint,
        }


class Addition(NamedTuple):
    """Something that an installation would add."""

    kind: str
    """`skill`, `ability`, `card`, `agent`, `command`, `hook`, `mcp-server`, `plugin`, `settings`"""
    name: str
    path: str
    about: str = ""
    """Its description, or the command that it starts."""
    tools: tuple[str, ...] = ()
    """The tools that it asks for."""

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "tools": list(self.tools)}


class Script(NamedTuple):
    """A program among the files."""

    path: str
    touches: tuple[str, ...]
    """`network`, `credentials`, `shell`, `deletion`, `startup` or `obfuscation`."""

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "touches": list(self.touches)}


class Inspection(NamedTuple):
    """What is in something, and what to look at first."""

    source: str
    """What was inspected, as the user named it."""
    form: str
    """`folder`, `file`, `archive` or `git`."""
    files: int
    size: int
    adds: Sequence[Addition]
    scripts: Sequence[Script]
    findings: Sequence[Noted]
    """The most severe first."""
    commit: str = ""

    @property
    def noteworthy(self) -> list[Noted]:
        """Errors and warnings."""
        return [one for one in self.findings if one.issue.severity != "info"]

    def counts(self) -> Mapping[str, int]:
        found = dict.fromkeys(("error", "warning", "info"), 0)
        for one in self.findings:
            found[one.issue.severity] += 1
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "form": self.form,
            "commit": self.commit,
            "files": self.files,
            "size": self.size,
            "verdict": "look" if self.noteworthy else "nothing-noteworthy",
            "counts": dict(self.counts()),
            "adds": [one.to_json() for one in self.adds],
            "scripts": [one.to_json() for one in self.scripts],
            "findings": [one.to_json() for one in self.findings],
        }

"""Documents while they are written: an editor's text → findings and repairs.

The text counts, not the file; nothing is written. In an untrusted workspace documents are checked
as everywhere else, and nothing of its settings beyond comfort counts.
"""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from metier.config import FILE_NAME
from metier.config.layers import layer_of_text
from metier.config.merging import merged_values
from metier.config.setting_lines import setting_position
from metier.core.paths import is_inside
from metier.discover.roots import kind_of_file, roots_of_paths
from metier.errors import ConfigError, MetierError
from metier.flow.boundary import Boundary
from metier.flow.entries import lint_text, read_text
from metier.flow.lint_settings import settings_findings
from metier.flow.linting import Linter, LintRequest, choice_of, subject_of
from metier.flow.own_rules import OwnRules, rules_of
from metier.flow.queries import Queries
from metier.flow.reading import read_documents, team_folders
from metier.flow.repairing import Repair, is_repairable, quick_fix, repair_text
from metier.flow.surroundings import Surroundings
from metier.lint.collisions import lint_needs
from metier.storage.places import user_home
from metier.values.documents import Skill
from metier.values.files import KINDS, LARGEST, Entry, Found, Named, Origin, Parsed
from metier.values.outcomes import Issue

CROSS_FILE = "XF"
"""The family of findings that need other files."""
SETTINGS_CODE = "CONFIG_INVALID"


class SettingsProblem(NamedTuple):
    """What is wrong in a settings file."""

    message: str
    line: int
    column: int
    hint: str = ""
    code: str = SETTINGS_CODE


class Repaired(NamedTuple):
    """A text after a repair."""

    title: str
    text: str
    issues: tuple[Issue, ...]
    """The findings that are gone."""


class Editing:
    """Checks the texts of one workspace."""

    def __init__(self, boundary: Boundary, *, notes: bool = False) -> None:
        """With `notes`, findings that never fail are included. Raises `ConfigError`."""
        self.boundary = boundary
        self._home = user_home(os.environ)
        config = boundary.config
        request = LintRequest(boundary.workspace, config, choice_of(config, notes=notes))
        self._linter = Linter(request, lambda file, _: file)
        self._rules: OwnRules = rules_of(config)

    def close(self) -> None:
        self._rules.close()

    @property
    def pages(self) -> "dict[str, str]":
        """The pages of user-defined rules."""
        return {code: page.page for code, page in self._rules.pages.items()}

    def document(self, file: str) -> Found | None:
        """The document that a file is, on disk or not yet; None for any other file."""
        workspace, config = self.boundary.workspace, self.boundary.config
        folder, name = os.path.split(file)
        kind = kind_of_file(folder, name, workspace, config)
        if kind is None or (kind != "skill" and not name.endswith(_ENDINGS[kind])):
            return None
        found = self._on_disk(file) or Found(
            kind, file, 0, 0, 0, "", os.path.realpath(file), "workspace", 0, origin=self._origin
        )
        return found._replace(path=self._inside(file))

    @property
    def _origin(self) -> Origin:
        return "workspace" if self.boundary.config.is_trusted else "untrusted"

    def _on_disk(self, file: str) -> Found | None:
        workspace, config = self.boundary.workspace, self.boundary.config
        try:
            roots = roots_of_paths([file], workspace, config, self._home)
        except MetierError:
            return None
        found = read_documents(roots, teams=team_folders(workspace, config)).found
        return found[0] if found else None

    def _inside(self, file: str) -> str:
        """The path in the workspace, or the whole path of a file outside."""
        real, workspace = os.path.realpath(file), self.boundary.workspace
        if not is_inside(real, workspace):
            return file
        return os.path.relpath(real, workspace).replace(os.sep, "/")

    def issues(self, found: Found, text: str) -> list[Issue]:
        """The wanted findings in a text, by position."""
        raw = text.encode(errors="replace")
        if len(raw) > LARGEST[found.kind]:
            message = f"the file is larger than {LARGEST[found.kind] // 1024} KiB"
            return self._wanted([Issue("IO203", message, found.path, hint="shorten it")])
        parsed, issues = lint_text(found, raw)
        if self._rules:
            issues += self._own_findings(found, raw, parsed)
        return self._wanted(issues)

    def _own_findings(self, found: Found, raw: bytes, parsed: Parsed) -> list[Issue]:
        try:
            return self._rules.findings(found, raw, parsed, found.path)
        except ConfigError:  # metier.toml shows it
            return []

    def _wanted(self, issues: Sequence[Issue]) -> list[Issue]:
        wanted = filter(self._linter.wants, issues)
        return sorted(wanted, key=lambda issue: (issue.line, issue.column, issue.code))

    def cross_file(self, found: Found, text: str, catalog: Queries) -> list[Issue]:
        """The wanted findings that need other files.

        Those are the files in the catalog, as of its last refresh, and those beside a skill.
        """
        rows = [row for row in catalog.rows_of_file(found.file) if row.kind == found.kind]
        issues = [issue for row in rows for issue in catalog.issues_of(row)]
        among = [issue for issue in issues if issue.code.startswith(CROSS_FILE)]
        return self._wanted([*among, *_around(found, text, catalog)])

    # Repairs

    def repair(self, found: Found, text: str, issue: Issue) -> Repaired | None:
        """The text without one finding; None if that cannot be repaired here.

        A repair that `metier lint` makes only with --unsafe says so: choosing it is consent.
        """
        if not issue.fixable:
            return None
        unsafe = " (unsafe)" if issue.needs_unsafe else ""
        title = f"Repair {issue.code}: {issue.finding.title}{unsafe}"
        return _repaired(quick_fix(found, text.encode(errors="replace"), issue), title)

    def repair_all(self, found: Found, text: str) -> Repaired | None:
        """The text without all findings that can be repaired safely; None if there are none."""
        title = "Repair all findings of metier in this file"

        def may(issue: Issue) -> bool:
            return is_repairable(issue, unsafe=False) and self._linter.wants(issue)

        return _repaired(repair_text(found, text.encode(errors="replace"), may), title)

    # Settings

    def is_settings(self, file: str) -> bool:
        """Whether a file is the settings of the workspace."""
        return os.path.realpath(file) == os.path.join(self.boundary.workspace, FILE_NAME)

    def settings_problems(self, file: str, text: str) -> list[SettingsProblem]:
        """What is wrong in the text of the workspace's settings: the first error."""
        workspace = self.boundary.workspace
        try:
            layer = layer_of_text(text, file, is_users=False)
            config = merged_values([layer], workspace)
            rules = OwnRules(config.get("lint.rules", ()), ())
            with rules if self.boundary.config.is_trusted else OwnRules((), ()) as checked:
                checked.check()
        except ConfigError as error:
            return [SettingsProblem(error.message, *_location(error, text), error.hint)]
        return []

    def settings_issues(self, catalog: Queries) -> list[Issue]:
        """The wanted findings about names in the settings, as they are on disk."""
        documents = [
            Named(kind, row.team, [row.handle, row.name, row.id])
            for kind in KINDS
            for row in (*catalog.documents(kind, shadowed=True), *catalog.excluded_rows(kind))
        ]
        config, workspace = self.boundary.config, self.boundary.workspace
        found = settings_findings(config, workspace, documents)
        return self._wanted([issue for issue in found if issue.path == FILE_NAME])


def _repaired(repair: Repair | None, title: str) -> Repaired | None:
    if repair is None or repair.after == repair.before:
        return None
    return Repaired(title, repair.after.decode(errors="replace"), repair.issues)


def _around(found: Found, text: str, catalog: Queries) -> Iterator[Issue]:
    """Findings about the files beside a skill, and about what it needs of other skills."""
    raw = text.encode(errors="replace")
    if found.kind != "skill" or len(raw) > LARGEST[found.kind]:
        return
    parsed = read_text(found, raw)
    if not isinstance(parsed.document, Skill) or parsed.matter is None:
        return
    entry = Entry(found, "", parsed.document, (), body_line=parsed.matter.body_line)
    yield from Surroundings().lint(entry)
    yield from lint_needs(subject_of(entry, parsed.document), set(catalog.capabilities()))


_ENDINGS = {
    "ability": (".md", ".MD"),
    "card": (".md", ".MD"),
    "agent": (".md", ".MD", ".yaml", ".yml", ".json"),
}


def _location(error: ConfigError, text: str) -> tuple[int, int]:
    """The line and column of an error: those of wrong TOML, or where the setting is named."""
    if error.line:
        return error.line, error.column
    return setting_position(error.setting, text) or (1, 1)


def moved(issues: Sequence[Issue], before: str, after: str) -> list[Issue]:
    """The findings with the lines that they have in `after`; those in lines that changed are gone.

    Findings in the first line are about the file, and stay. Of equal lines the nearest counts.
    """
    if before == after or all(issue.line == 1 for issue in issues):
        return list(issues)
    old, new = before.split("\n"), after.split("\n")
    kept = [(issue, _line(issue.line, old, new)) for issue in issues]
    return [issue._replace(line=line) for issue, line in kept if line]


def _line(line: int, old: Sequence[str], new: Sequence[str]) -> int:
    """Where a line of `old` is in `new`; 0 if it is gone."""
    if line == 1:
        return 1
    text = old[line - 1] if line <= len(old) else ""
    same = [number for number, one in enumerate(new, start=1) if one == text]
    return min(same, key=lambda number: abs(number - line), default=0)

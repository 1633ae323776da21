"""Lint a workspace or named files: findings, what is excluded, and repairs."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple

from metier.config import ALIAS_FILE, Config
from metier.config.settings import SECURITY_CODES
from metier.core.paths import is_inside
from metier.discover.roots import roots_for, roots_of_paths
from metier.errors import MetierError
from metier.findings import CODES
from metier.flow.entries import folder_of, read_bytes, read_text
from metier.flow.own_rules import OwnRules, rules_of
from metier.flow.reading import read_documents, team_folders, workspace_roots
from metier.lint.collisions import Subject, lint_collisions
from metier.lint.fix import fix
from metier.lint.settings import Named as Named
from metier.lint.settings import SettingsFile, lint_capabilities, lint_disabled
from metier.lint.tiers import AGENTS_FILE, lint_agents_file
from metier.storage.files import write_atomically
from metier.storage.places import state_room, user_home
from metier.storage.room import read_regular
from metier.values.documents import Document, Skill
from metier.values.files import LARGEST, Entry, Found, Kind, Reading
from metier.values.outcomes import Exclusion, Issue
from metier.values.own_rules import FAMILY

_MOST_REPAIRS = 50
Wants = Callable[[Issue], bool]


class Choice(NamedTuple):
    """Which findings are wanted, by their codes or the beginnings of codes."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, Sequence[str]] = MappingProxyType({})
    """Patterns of paths in the workspace, and what to ignore there."""
    notes: bool = False
    """Whether to include notes that are not selected by their code."""
    users: "Choice | None" = None
    """The user's choice, where the workspace has none."""

    def wants(self, issue: Issue, path: str) -> bool:
        """Whether `issue`, in the file at `path` of the workspace, is wanted."""
        code = issue.code
        if self.select:
            wanted = code.startswith(self.select)
        else:
            wanted = self.notes or issue.severity != "info"
        return (
            wanted
            and not code.startswith(self.ignore or ("-",))
            and not any(
                code.startswith(tuple(codes)) and fnmatchcase(path, pattern)
                for pattern, codes in self.per_file_ignores.items()
            )
        )


def choice_of(
    config: Config,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    *,
    notes: bool = False,
) -> Choice:
    """What the settings choose; a given `select` or `ignore` takes the place of theirs."""
    users = None
    if config.users_lint is not None:
        own = config.users_lint
        users = Choice(
            select or own.select, ignore or own.ignore, dict(own.per_file_ignores), notes
        )
    return Choice(
        select or config.lint_select,
        ignore or config.lint_ignore,
        config.per_file_ignores,
        notes,
        users,
    )


def unknown_code(codes: Iterable[str]) -> str | None:
    """The first of `codes` that no finding's code begins with; rules of one's own may have any."""
    return next((one for one in codes if not one or not _is_known(one)), None)


def _is_known(beginning: str) -> bool:
    return beginning.startswith(FAMILY) or any(code.startswith(beginning) for code in CODES)


@dataclass(slots=True)
class Linted:
    """Every finding in a set of files, before any of them is filtered."""

    files: int
    issues: list[Issue]
    excluded: list[Exclusion]
    """With exact copies."""
    causes: set[Issue]
    """The findings that exclude their file."""
    documents: list[Named]
    """The names of all documents, excluded ones too."""

    def add(self, files: int, issues: Iterable[Issue]) -> None:
        """Add the findings in so many files that are not documents."""
        self.files += files
        self.issues += issues

    def unreported(self, wants: Wants) -> list[Exclusion]:
        """The excluded files without a wanted finding that says so."""
        reported = {issue.path for issue in self.causes if wants(issue)}
        return [one for one in self.excluded if one.path not in reported]


def lint_files(
    reading: Reading,
    on_progress: Callable[[int, int], None] | None = None,
    shown: Callable[[str], str] = str,
) -> Linted:
    """The findings in every file of `reading`, and among them; `shown` writes paths in messages."""
    linted = Linted(len(reading.found), [], [], set(), [])
    subjects: list[Subject] = []
    for number, found in enumerate(reading.found, start=1):
        entry = reading.read(found)
        linted.issues += entry.issues
        linted.documents.append(_named(entry))
        if entry.reason:
            linted.excluded.append(Exclusion.of(found.path, entry.reason, entry.issues))
            cause = Exclusion.cause(entry.reason, entry.issues)
            linted.causes |= {cause} if cause is not None else set()
        elif entry.document is not None:
            subjects.append(_subject(entry, entry.document, shown))
        if on_progress is not None and number % 100 == 0:
            on_progress(number, len(reading.found))
    among = lint_collisions(subjects)
    copies = [issue for issue in among if issue.code == "XF902"]
    linted.issues += among
    linted.excluded += [Exclusion(one.path, "duplicate-content", one.message) for one in copies]
    linted.causes.update(copies)
    return linted


def _subject(entry: Entry, document: Document, shown: Callable[[str], str]) -> Subject:
    contract = document.contract if isinstance(document, Skill) else None
    return Subject(
        kind=entry.found.kind,
        group=entry.handle,
        name=document.name,
        path=entry.found.path,
        sha256=entry.sha256,
        description=document.routing_text if isinstance(document, Skill) else document.description,
        provides=entry.capabilities,
        needs=(*contract.requires, *contract.expects) if contract is not None else (),
        shown=shown(entry.found.path),
    )


class LintRequest(NamedTuple):
    workspace: str
    config: Config
    choice: Choice
    paths: tuple[str, ...] = ()
    """Files and folders; none: everything that the catalog would hold."""
    kind: Kind | None = None
    strict: bool = False


class Linter:
    """Lints what a request asks for, repeatedly."""

    def __init__(self, request: LintRequest, show: Callable[[str, str], str]) -> None:
        """`show` writes a file, given with the workspace, for people."""
        self._request = request
        self._show = show
        self._users: set[str] = set()
        self._files: dict[str, str] = {}

    def lint(self, on_progress: Callable[[int, int], None] | None = None) -> Linted:
        workspace, config, _, paths, kind, strict = self._request
        failed: list[Issue] = []
        home = user_home(os.environ)
        if paths:
            roots = roots_of_paths(self._documents(), workspace, config, home, kind)
        else:
            room = state_room(workspace) if config.is_workspace else None
            roots, failed = workspace_roots(workspace, config, home, room)
        self.reading = read_documents(
            roots,
            disabled=config.disabled,
            own_disabled=config.own_disabled,
            strict=strict,
            teams=team_folders(workspace, config),
        )
        self._files = {found.path: found.file for found in self.reading.found}
        self._users = {found.path for found in self.reading.found if found.origin == "user"}
        linted = lint_files(self.reading, on_progress, self.shown)
        linted.issues += self._own_findings()
        self._add_alias_tables(linted)
        if kind is None:
            self._add_agents_file(linted)
        if not paths:
            issues = [*failed, *settings_findings(config, workspace, linted.documents)]
            linted.add(len({issue.path for issue in issues}), issues)
        return linted

    def _own_findings(self) -> list[Issue]:
        """What rules of one's own find. Raises `ConfigError` for a wrong rule."""
        with rules_of(self._request.config) as rules:
            if not rules:
                return []
            found = [one for one in self.reading.found if not one.excluded]
            return [issue for one in found for issue in self._own_findings_in(one, rules)]

    def _own_findings_in(self, found: Found, rules: OwnRules) -> list[Issue]:
        try:
            raw = read_bytes(found)
        except OSError:
            return []
        return rules.findings(found, raw, read_text(found, raw), self._inside(found.path))

    def wants(self, issue: Issue) -> bool:
        return self._wants(issue, self._request.choice)

    def _wants(self, issue: Issue, choice: Choice) -> bool:
        is_security = issue.code.startswith(SECURITY_CODES)
        inside = self._inside(issue.path)
        is_own = issue.path not in self._users and not inside.startswith("../")
        if choice.users is not None and (is_security or not is_own):
            choice = choice.users
        return choice.wants(issue, inside)

    def hidden_notes(self, linted: Linted) -> int:
        """How many notes would be shown with --notes."""
        everything = self._request.choice._replace(notes=True)
        return sum(
            self._wants(issue, everything) and not self.wants(issue) for issue in linted.issues
        )

    def chosen(self, linted: Linted, repairs: Sequence["Repair"]) -> list[Issue]:
        """The wanted findings, sorted: which of them --fix repairs, and which exclude a file."""
        repaired = {_key(issue) for repair in repairs for issue in repair.issues}
        issues = []
        for issue in filter(self.wants, linted.issues):
            ending = " (excluded)" if issue in linted.causes else ""
            issues.append(
                issue._replace(
                    path=self.shown(issue.path),
                    message=issue.message + ending,
                    left_alone=_key(issue) not in repaired,
                )
            )
        return sorted(issues, key=lambda issue: (issue.path, issue.line, issue.column, issue.code))

    def repairs(self, linted: Linted) -> list["Repair"]:
        """Repairs of files that were named, else of the workspace's own."""
        named, workspace = bool(self._request.paths), self._request.workspace
        own = [one for one in self.reading.found if named or is_inside(one.file, workspace)]
        return plan_repairs(self.reading._replace(found=own), linted.issues, self.wants)

    def shown(self, path: str) -> str:
        """A path as it can be opened; a named path stays as it was written."""
        file = self._files.get(path) or os.path.join(self._request.workspace, path)
        if self._request.paths or not path or not os.path.lexists(file):
            return path
        return self._show(file, self._request.workspace)

    def _inside(self, path: str) -> str:
        """A path of a finding relative to the workspace."""
        if not self._request.paths:
            return path
        real = os.path.realpath(path)
        return os.path.relpath(real, self._request.workspace).replace(os.sep, "/")

    def _documents(self) -> list[str]:
        """The named paths that are documents or folders of documents."""
        return [
            path
            for path in self._request.paths
            if not _is_alias_table(path) and (self._request.kind or not self._is_agents_file(path))
        ]

    def _add_alias_tables(self, linted: Linted) -> None:
        """Add what is wrong in the alias tables that were named, or in the workspace's own."""
        own = os.path.join(self._request.workspace, ALIAS_FILE)
        if self._request.paths:
            found = map(_table_below, self._request.paths)
            tables = [(table, table) for table in found if table]
        else:
            tables = [(own, ALIAS_FILE)] if os.path.isfile(own) else []
        if tables:
            from metier.resolve.aliases import read_alias_table  # loads all of the resolver

            read = [read_alias_table(file, "workspace", shown)[1] for file, shown in tables]
            linted.add(len(tables), (issue for issues in read for issue in issues))

    def _is_agents_file(self, path: str) -> bool:
        own = os.path.join(self._request.workspace, AGENTS_FILE)
        return os.path.isfile(own) and os.path.realpath(path) == os.path.realpath(own)

    def _add_agents_file(self, linted: Linted) -> None:
        """Add notes on the workspace's AGENTS.md, when it or nothing was named."""
        workspace, paths = self._request.workspace, self._request.paths
        own = os.path.join(workspace, AGENTS_FILE)
        named = [path for path in paths if self._is_agents_file(path)]
        if not os.path.isfile(own) or (paths and not named):
            return
        shown = named[0] if named else AGENTS_FILE
        real = os.path.realpath(own)
        try:
            if not is_inside(real, workspace):
                raise OSError(None, "a link leads out of the workspace")
            text = read_regular(real, LARGEST["skill"], links=False).decode(errors="replace")
        except OSError as error:
            linted.add(1, [Issue("IO201", f"cannot be read: {error.strerror}", shown)])
        else:
            linted.add(1, lint_agents_file(text, shown, self._cards()))

    def _cards(self) -> list[str]:
        """The ids and paths of the workspace's usable cards."""
        roots = roots_for(self._request.workspace, self._request.config, user_home(os.environ))
        reading = read_documents([root for root in roots if root.kind == "card"])
        entries = [entry for found in reading.found if not (entry := reading.read(found)).reason]
        return [name for entry in entries for name in (entry.handle, entry.found.path)]


def _key(issue: Issue) -> tuple[str, str, str]:
    return issue.path, issue.code, issue.message


def _table_below(path: str) -> str:
    """The alias table in a folder, or at the path itself; else empty."""
    folder = os.path.dirname(ALIAS_FILE)
    inside = ALIAS_FILE if os.path.basename(path) != folder else os.path.basename(ALIAS_FILE)
    table = os.path.join(path, inside) if os.path.isdir(path) else path
    return table if _is_alias_table(table) else ""


def _is_alias_table(path: str) -> bool:
    return os.path.basename(path) == os.path.basename(ALIAS_FILE) and os.path.isfile(path)


def _named(entry: Entry) -> Named:
    found, document = entry.found, entry.document
    names = [entry.handle, document.name, document.id] if document is not None else []
    return named(found.kind, found.path, found.team.name, names)


def named(kind: Kind, path: str, team: str, names: Sequence[str]) -> Named:
    """A document with its names; without any, its folder or file is called like it."""
    *_, folder, file = ["", *path.split("/")]
    guessed = folder if kind == "skill" else os.path.splitext(file)[0]
    return Named(kind, team, [one for one in names if one] or [guessed])


def settings_findings(config: Config, workspace: str, documents: Collection[Named]) -> list[Issue]:
    """Names in the settings that none of `documents`, used or not, has."""
    files = []
    own = []
    for file in config.sources:
        path = os.path.abspath(file)
        if is_inside(path, workspace):
            path = os.path.relpath(path, workspace).replace(os.sep, "/")
        with open(file, encoding="utf-8", errors="replace") as opened:
            files.append(SettingsFile(path, opened.read()))
        own += files[-1:] if is_inside(file, workspace) else []
    cards = {one.names[0] for one in documents if one.kind == "card"}
    disabled = (*config.disabled, *config.own_disabled)
    return [
        *lint_capabilities(config.capabilities, cards, files),
        *lint_disabled(disabled, config.teams, documents, own),
    ]


@dataclass(frozen=True, slots=True)
class Repair:
    """A planned repair of one file."""

    found: Found
    before: bytes
    after: bytes
    issues: tuple[Issue, ...]
    """The findings that it removes."""


def plan_repairs(reading: Reading, issues: Iterable[Issue], wants: Wants) -> list[Repair]:
    """Repairs that remove those `issues` that are wanted from the files of `reading`."""
    paths = {issue.path for issue in issues if issue.fixable and wants(issue)}
    planned = (_planned(found, wants) for found in reading.found if found.path in paths)
    return [repair for repair in planned if repair is not None]


def _planned(found: Found, wants: Wants) -> Repair | None:
    """The repair of one file; None when it would remove no finding."""
    try:
        raw = read_bytes(found)
    except OSError:
        return None
    repaired = _repair(raw, found, wants)
    left = {_key(issue) for issue in read_text(found, repaired).issues}
    gone = [
        issue
        for issue in read_text(found, raw).issues
        if issue.fixable and wants(issue) and _key(issue) not in left
    ]
    return Repair(found, raw, repaired, tuple(gone)) if gone else None


def _repair(raw: bytes, found: Found, wants: Wants) -> bytes:
    """The repaired bytes; a repair may uncover the next."""
    best, before = raw, read_text(found, raw)
    for _ in range(_MOST_REPAIRS):
        issues = [issue for issue in before.issues if issue.fixable and wants(issue)]
        repaired = fix(best, issues, folder_of(found))
        after = read_text(found, repaired)
        if repaired == best or (after.document is None and before.document is not None):
            break
        if _body(repaired) != _body(raw):
            break
        best, before = repaired, after
    return best if before.document is not None else raw


def _body(raw: bytes) -> bytes:
    """The text after the front matter, whatever the line endings."""
    return raw.replace(b"\r\n", b"\n").partition(b"\n---\n")[2]


def write_repairs(repairs: Iterable[Repair]) -> None:
    """Write each file atomically. Raises `MetierError` for a changed or unwritable file."""
    for repair in repairs:
        try:
            if read_bytes(repair.found) != repair.before:
                raise OSError(None, "the file has changed meanwhile")
            write_atomically(repair.found.file, repair.after)
        except OSError as error:
            raise MetierError(
                f"cannot write: {error.strerror}",
                code="FIX_FAILED",
                where=repair.found.path,
                hint="metier lint --fix --dry-run shows what would be written",
            ) from None

"""Lint a workspace or named files: findings, what is excluded, and repairs."""

import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from metier.config import ALIAS_FILE, Config
from metier.core.paths import is_inside
from metier.discover.roots import roots_for, roots_of_paths, roots_of_user
from metier.findings import OWN_FAMILY, SECURITY_CODES
from metier.flow.entries import read_bytes
from metier.flow.lint_choice import Choice as Choice
from metier.flow.lint_choice import choice_of as choice_of
from metier.flow.lint_choice import unknown_code as unknown_code
from metier.flow.lint_report import Plan, Reported
from metier.flow.lint_settings import findings_of_file, settings_findings
from metier.flow.linted import Linted as Linted
from metier.flow.reading import read_documents, team_folders, workspace_roots
from metier.flow.surroundings import Surroundings, is_alias_table, lint_plugins, table_below
from metier.lint.collisions import Subject, lint_collisions, located
from metier.lint.tiers import AGENTS_FILE, lint_agents_file
from metier.storage.places import state_room, user_home
from metier.storage.room import read_regular
from metier.storage.workspace import SETTINGS_FILE
from metier.values.files import LARGEST, Entry, Kind, Named, Reading, Root
from metier.values.outcomes import Exclusion, Issue
from metier.values.skills import Skill

if TYPE_CHECKING:  # most runs find nothing to repair
    from metier.flow.repairing import Repair
    from metier.values.documents import Document

Owned = Callable[[str], bool]
"""Whether the file at a path of the workspace has an owner."""
_UNPROVIDED = "XF905"
"""No skill provides what another requires."""
_COPY = "XF902"
_NOT_NAMED = frozenset({"SZ801", "SZ802"})
"""Hooks would show this of a skill, and therefore do not name it."""


def lint_files(
    reading: Reading,
    on_progress: Callable[[int, int], None] | None = None,
    shown: Callable[[str], str] = str,
) -> Linted:
    """The findings in every file of `reading`, and among them; `shown` writes paths in messages."""
    linted = Linted(len(reading.found))
    around = Surroundings()
    subjects: list[Subject] = []
    for number, found in enumerate(reading.found, start=1):
        entry = reading.read(found)
        linted.issues += entry.issues
        linted.documents.append(_named(entry))
        if entry.reason:
            linted.excluded.append(
                Exclusion.of(found.path, entry.reason, entry.issues, is_off=entry.is_off)
            )
            cause = Exclusion.cause(entry.reason, entry.issues)
            linted.causes |= {cause} if cause is not None else set()
        elif entry.document is not None:
            subjects.append(subject_of(entry, entry.document))
            linted.issues += around.lint(entry)
        if on_progress is not None and number % 100 == 0:
            on_progress(number, len(reading.found))
    among = [
        located(one, _front_matter(reading, one.path)) if one.code in _NOT_NAMED else one
        for one in lint_collisions(subjects, shown)
    ]
    copies = [issue for issue in among if issue.code == _COPY]
    linted.issues += among
    linted.excluded += [Exclusion(one.path, "duplicate-content", one.message) for one in copies]
    linted.causes.update(copies)
    return linted


def _front_matter(reading: Reading, path: str) -> str:
    """The lines of a file before its body; empty if it is gone."""
    found = next(one for one in reading.found if one.path == path)
    try:
        lines = read_bytes(found).decode(errors="replace").split("\n")
    except OSError:
        return ""
    return "\n".join(lines[: reading.read(found).body_line - 1])


def subject_of(entry: Entry, document: "Document") -> Subject:
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
    )


class LintRequest(NamedTuple):
    workspace: str
    config: Config
    choice: Choice
    paths: tuple[str, ...] = ()
    """Files and folders; none: everything that the catalog would hold."""
    kind: Kind | None = None
    strict: bool = False
    user: bool = False
    """Without paths: also what is in the folders of the user's hosts and settings."""
    exclude: tuple[str, ...] = ()
    """Patterns of paths in the workspace, or folders there, that are not checked."""
    is_part: bool = False
    """Whether the paths are some of many files: what others provide is unknown then."""
    host: str = ""
    """Keep what matters to this host; empty for all."""
    owned: Owned | None = None
    """Keep what is in these files; None for all."""
    links: tuple[str, ...] = ()
    """Those of the paths that are links, to be followed as they are without paths."""


class Linter:
    """Lints what a request asks for, repeatedly."""

    def __init__(self, request: LintRequest, show: Callable[[str, str], str]) -> None:
        """`show` writes a file, given with the workspace, for people."""
        self._request = request
        self._show = show
        self._users: set[str] = set()
        self._files: dict[str, str] = {}
        self._checked: frozenset[str] | None = None

    def lint(self, on_progress: Callable[[int, int], None] | None = None) -> Linted:
        failed = self._look()
        self._files = {found.path: found.file for found in self.reading.found}
        self._checked = None
        self._users = {found.path for found in self.reading.found if found.origin == "user"}
        linted = lint_files(self.reading, on_progress, self.shown)
        if self._request.is_part:
            linted.issues = [issue for issue in linted.issues if issue.code != _UNPROVIDED]
        config = self._request.config
        if config.lint_rules or config.lint_plugins:
            from metier.flow.own_rules import own_findings  # few workspaces have any

            linted.issues += own_findings(config, self.reading.found, self._inside)
        self._add_alias_tables(linted)
        paths, workspace = self._request.paths, self._request.workspace
        plugins = list(lint_plugins(self.reading.found, paths, workspace))
        linted.add(len({issue.path for issue in plugins}), plugins)
        if self._request.kind is None:
            self._add_agents_file(linted)
        if not self._request.paths:
            issues = [*failed, *self._settings_findings(linted.documents)]
            linted.add(len({issue.path for issue in issues}), issues)
        for path in filter(self._is_settings_file, self._request.paths):
            config = self._request.config
            linted.add(1, findings_of_file(path, config, workspace, self._named_of_all))
        if self._request.owned is not None:
            linted.keep(self._files, lambda path: self._is_owned(self._inside(path)))
        if self._request.exclude:  # documents are excluded already: this is for what is beside them
            linted.keep(self._files, lambda path: not self._is_excluded(path))
        return linted

    def has_folders(self) -> bool:
        """Whether a run without paths has a folder to look through."""
        home = user_home(os.environ)
        return bool(roots_for(self._request.workspace, self._config, home))

    def stamp(self) -> object:
        """What is there to lint; unequal to an earlier value if something has changed."""
        self._look()
        workspace = self._request.workspace
        beside = [AGENTS_FILE, ALIAS_FILE, SETTINGS_FILE, "pyproject.toml"]
        more = [*self._config.sources, *(os.path.join(workspace, name) for name in beside)]
        files = [(one.file, one.size, one.mtime_ns, one.ctime_ns) for one in self.reading.found]
        return files, [_time_of(file) for file in more]

    def _look(self) -> list[Issue]:
        """Find the files to lint; what is wrong with folders and sources."""
        workspace, config, paths = self._request.workspace, self._config, self._request.paths
        failed: list[Issue] = []
        home = user_home(os.environ)
        if paths:
            kind, links = self._request.kind, self._request.links
            config = self._request.config
            roots = roots_of_paths(self._documents(), workspace, config, home, kind, links=links)
        else:
            room = state_room(workspace) if config.is_workspace else None
            roots, failed = workspace_roots(workspace, config, home, room)
        self.reading = self._read(roots)
        return failed

    def _read(self, roots: Sequence[Root]) -> Reading:
        workspace, config = self._request.workspace, self._request.config
        reading = read_documents(
            roots,
            disabled=config.disabled,
            own_disabled=config.own_disabled,
            strict=self._request.strict,
            teams=team_folders(workspace, config),
        )
        if not self._request.exclude:
            return reading
        return reading._replace(
            found=[one for one in reading.found if not self._is_excluded(one.path)]
        )

    def _is_excluded(self, path: str) -> bool:
        inside = self._inside(path)
        return any(
            fnmatchcase(inside, pattern) or f"{inside}/".startswith(f"{pattern.rstrip('/')}/")
            for pattern in self._request.exclude
        )

    @property
    def _config(self) -> Config:
        """The settings of a run without paths."""
        config = self._request.config
        if self._request.user:
            return config
        return config._replace(host_folders=False, user_folders=())

    def _settings_findings(self, documents: Sequence[Named]) -> list[Issue]:
        """Names in the settings that no document has, the user's own included."""
        config, workspace = self._request.config, self._request.workspace
        issues = settings_findings(config, workspace, documents)
        if not issues or self._request.user:
            return issues
        users = self._read(roots_of_user(config, user_home(os.environ)))
        more = [_named(users.read(found)) for found in users.found]
        return settings_findings(config, workspace, [*documents, *more])

    def _is_settings_file(self, path: str) -> bool:
        return os.path.abspath(path) in self._request.config.sources

    def _named_of_all(self) -> list[Named]:
        """The names of all documents, whatever was named."""
        config, workspace = self._request.config, self._request.workspace
        reading = self._read(roots_for(workspace, config, user_home(os.environ)))
        return [_named(reading.read(found)) for found in reading.found]

    def is_checked(self, path: str, code: str) -> bool:
        """Whether this run would have found a code in the file at a path of the workspace."""
        is_off = code.startswith(OWN_FAMILY) and not self._request.config.is_trusted
        if is_off or not self._is_owned(path) or not self.wants(Issue(code, "", path)):
            return False
        if not self._request.paths and not self._request.exclude:
            return self._request.user or not os.path.isabs(path)
        file = os.path.join(self._request.workspace, path)
        return path in self._checked_paths() or not os.path.lexists(file)

    def _is_owned(self, path: str) -> bool:
        return self._request.owned is None or self._request.owned(path)

    def _checked_paths(self) -> frozenset[str]:
        """The files of the last run, by their paths in the workspace."""
        if self._checked is None:
            self._checked = frozenset(map(self._inside, self._files))
        return self._checked

    def wants(self, issue: Issue) -> bool:
        return self._wants(issue, self._request.choice)

    def _wants(self, issue: Issue, choice: Choice) -> bool:
        if self._request.host and not self._matters(issue, self._request.host):
            return False
        is_security = issue.code.startswith(SECURITY_CODES)
        inside = self._inside(issue.path)
        is_own = issue.path not in self._users and not inside.startswith("../")
        if choice.users is not None and (is_security or not is_own):
            choice = choice.users
        return choice.wants(issue, inside)

    def _matters(self, issue: Issue, host: str) -> bool:
        """Whether a host does something about a finding, and reads the file at all."""
        from metier.hosts.known import HOSTS  # few ask for one host
        from metier.hosts.loading import readers

        reading = [one.name for one in readers(self._files.get(issue.path, ""))]
        is_read = not reading or host in reading or host not in HOSTS
        return is_read and issue.matters_to(host)

    def hidden_notes(self, linted: Linted) -> list[Issue]:
        """The notes that would be shown with --notes."""
        everything = self._request.choice._replace(notes=True)
        return [
            issue
            for issue in linted.issues
            if self._wants(issue, everything) and not self.wants(issue)
        ]

    def chosen(self, linted: Linted, repairs: Sequence["Repair"]) -> list[Reported]:
        """The wanted findings, sorted: which of them --fix repairs, and which exclude a file."""
        repaired = {issue[:3] for repair in repairs for issue in repair.issues}
        found = []
        shown_as: dict[str, str] = {}
        for issue in filter(self.wants, linted.issues):
            ending = _ending(issue) if issue in linted.causes else ""
            path = shown_as.get(issue.path)
            if path is None:
                path = shown_as[issue.path] = self.shown(issue.path)
            shown = issue._replace(
                path=path,
                message=issue.message + ending,
                left_alone=issue[:3] not in repaired,
            )
            found.append(Reported(shown, self._inside(issue.path), issue))
        return sorted(found, key=lambda one: _position(one.issue))

    def with_repairs(self, reported: Sequence[Reported]) -> list[Reported]:
        """The findings with what --fix would write for each of them alone."""
        return [
            one._replace(repair=self._repair_of(one.found_as)) if one.issue.fixable else one
            for one in reported
        ]

    def _repair_of(self, issue: Issue) -> "Repair | None":
        from metier.flow.repairing import plan_repairs, repair_key

        key = repair_key(issue)
        planned = plan_repairs(self.reading, [issue], lambda other: repair_key(other) == key)
        return planned[0] if planned else None

    def repairs(self, linted: Linted, *, unsafe: bool = False) -> Plan:
        """Repairs of files that were named, else of the workspace's own."""
        named, workspace = bool(self._request.paths), self._request.workspace
        wanted = [
            issue
            for issue in linted.issues
            if issue.fixable and (unsafe or not issue.needs_unsafe) and self.wants(issue)
        ]
        if not wanted:
            return Plan()
        from metier.flow.left_alone import reasons_left  # see above
        from metier.flow.repairing import plan_repairs

        own = [one for one in self.reading.found if named or is_inside(one.file, workspace)]
        reading = self.reading._replace(found=own)
        refused: dict[str, str] = {}
        if unsafe:
            from metier.flow.unsafe_repairs import plan_unsafe, workspace_of  # few ask for it

            handles = [one.names[0] for one in linted.documents if one.kind == "skill"]
            around = workspace_of(workspace, self._config, handles, () if named else reading.found)
            repairs, refused = plan_unsafe(around, reading, linted.issues, self.wants)
        else:
            repairs = plan_repairs(reading, linted.issues, self.wants)
        return Plan(repairs, reasons_left(reading, wanted, repairs, refused))

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
            if not is_alias_table(path)
            and not self._is_settings_file(path)
            and (self._request.kind or not self._is_agents_file(path))
        ]

    def _add_alias_tables(self, linted: Linted) -> None:
        """Add what is wrong in the alias tables that were named, or in the workspace's own."""
        own = os.path.join(self._request.workspace, ALIAS_FILE)
        if self._request.paths:
            found = map(table_below, self._request.paths)
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


def _ending(cause: Issue) -> str:
    """Hosts load copies that metier excludes."""
    return " (excluded from metier's catalog)" if cause.code == _COPY else " (excluded)"


def _time_of(file: str) -> tuple[int, int]:
    try:
        info = os.stat(file)
    except OSError:
        return 0, 0
    return info.st_mtime_ns, info.st_size


def _position(issue: Issue) -> tuple[str, int, int, str]:
    return issue.path, issue.line, issue.column, issue.code


def _named(entry: Entry) -> Named:
    found, document = entry.found, entry.document
    names = [entry.handle, document.name, document.id] if document is not None else []
    return named(found.kind, found.path, found.team.name, names)


def named(kind: Kind, path: str, team: str, names: Sequence[str]) -> Named:
    """A document with its names; without any, its folder or file is called like it."""
    *_, folder, file = ["", *path.split("/")]
    guessed = folder if kind == "skill" else os.path.splitext(file)[0]
    return Named(kind, team, [one for one in names if one] or [guessed])

"""Inspect a folder, an archive or a git address before it is installed. Nothing of it runs."""

import json
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from metier.core.paths import is_inside, is_markdown
from metier.discover.bundle import SCRIPTS, text_of
from metier.errors import UsageError
from metier.flow.similar import SimilarSkills
from metier.index.documents import select_rows
from metier.index.store import Store
from metier.inspection.additions import document_kind, other_additions
from metier.inspection.archives import is_archive, read_archive
from metier.inspection.code import MINIFIED, longest_line, sends, touches
from metier.inspection.folder import read_folder, read_single
from metier.inspection.packing import check_file, check_links, check_names, noted, shown_path
from metier.inspection.powers import power_findings
from metier.inspection.repository import is_address, read_repository
from metier.inspection.wording import wordings
from metier.parse.asks import commands_of, tools_of
from metier.parse.kinds import parse_document
from metier.values.documents import Document, Skill
from metier.values.files import SKILL_NAMES
from metier.values.inspection import Addition, FileSet, InspectedFile, Inspection, Noted, Script
from metier.values.rows import Row

_ORDER = {"error": 0, "warning": 1, "info": 2}
_PROSE = (".md", ".mdx", ".txt", ".rst", ".html", ".yaml", ".yml", ".json", ".toml")
_WIDE_TOOLS = ("bash", "shell", "*", "all", "run_shell_command", "bash(*)", "bash(*:*)")
_LONGEST_ABOUT = 300
_BYTE_ORDER_MARK = "\ufeff"


class Opened(NamedTuple):
    """What the user named, read."""

    form: str
    files: FileSet
    commit: str = ""
    folder: str = ""
    """The real path of a folder; what is in it does not compete with itself."""


def open_source(source: str) -> Opened:
    """Read what the user named. Raises `UsageError`, or `SourceError` for an address."""
    if is_address(source) and not os.path.exists(source):
        commit, files = read_repository(source)
        return Opened("git", files, commit)
    try:
        if os.path.isdir(source):
            folder = os.path.realpath(source)
            return Opened("folder", read_folder(folder), folder=folder)
        if is_archive(source):
            return Opened("archive", read_archive(source))
        return Opened("file", read_single(source), folder=os.path.realpath(source))
    except FileNotFoundError:
        raise UsageError(
            "there is no such file or folder",
            where=source,
            hint="a folder, a zip or tar archive, or an address such as https://HOST/PATH",
        ) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"it cannot be read: {why}", where=source) from None


def inspect_source(
    source: str, store: Store, on_progress: Callable[[int, int], None] | None = None
) -> Inspection:
    """What a source would add, and what to look at; compared with the catalog in `store`.

    `on_progress` is called with the number of files searched, and of all files.
    """
    opened = open_source(source)
    packed = list(opened.files.files)
    reading = _Reading(packed)
    findings = [*opened.files.findings, *check_names(packed), *check_links(packed)]
    for done, file in enumerate(packed, start=1):
        findings += check_file(file)
        findings += reading.read(file)
        if on_progress is not None:
            on_progress(done, len(packed))
    findings += _shadowing(reading, store, opened.folder)
    return Inspection(
        source=source,
        form=opened.form,
        files=len(packed),
        size=sum(file.size for file in packed),
        adds=sorted(reading.adds, key=lambda one: (one.kind, one.name, one.path)),
        scripts=sorted(reading.scripts),
        findings=_sorted(findings),
        commit=opened.commit,
    )


def _sorted(findings: Iterable[Noted]) -> list[Noted]:
    def key(noted: Noted) -> tuple[int, str, str, int]:
        issue = noted.issue
        return _ORDER[issue.severity], issue.code, issue.path, issue.line

    return sorted(dict.fromkeys(findings), key=key)


class _Reading:
    """Reads files one by one, and collects what they add."""

    def __init__(self, files: Sequence[InspectedFile]) -> None:
        self.adds: list[Addition] = []
        self.skills: list[tuple[str, Skill]] = []
        self.documents: list[tuple[str, Document]] = []
        self.scripts: list[Script] = []
        self._skill_folders = {
            posixpath.dirname(one.path)
            for one in files
            if posixpath.basename(one.path) in SKILL_NAMES
        }

    def read(self, file: InspectedFile) -> Iterator[Noted]:
        """Findings in one file."""
        text = text_of(file.content) if not file.link else None
        if text is None:
            text = _lenient(file)
        if text is None:
            return
        kind = document_kind(file.path)
        if kind is not None and not (kind == "agent" and self._is_in_skill(file.path)):
            yield from self._document(file, text)
        for added in other_additions(file):
            self.adds.append(added)
            yield from _automatic(added, text)
        yield from power_findings(file)
        yield from self._texts(file, text)

    def _is_in_skill(self, path: str) -> bool:
        """Whether a file is a part of a skill, such as the `agents/` of one."""
        return posixpath.dirname(posixpath.dirname(path)) in self._skill_folders - {""}

    def _document(self, file: InspectedFile, text: str) -> Iterator[Noted]:
        kind = document_kind(file.path)
        assert kind is not None
        folder = posixpath.basename(posixpath.dirname(file.path))
        path = shown_path(file.path)
        document = parse_document(kind, file.content, path, folder, file=file.path).document
        if document is None:
            self.adds.append(Addition(kind, folder or posixpath.basename(path), path))
            return
        self.documents.append((path, document))
        about = " ".join(document.description.split())[:_LONGEST_ABOUT]
        if not isinstance(document, Skill):
            name = document.id or posixpath.basename(path)
            self.adds.append(Addition(kind, name, path, about))
            return
        tools = tools_of(document.data)
        self.skills.append((path, document))
        self.adds.append(Addition(kind, document.name, path, about, tools))
        for command in commands_of(document.data, document.body):
            message = "a host runs this command when it loads the skill"
            line = _line_of(text, f"!`{command}`", command.removeprefix("hook: "))
            yield noted("IN201", message, file.path, line, quote=command)
        wide = [one for one in tools if one.lower() in _WIDE_TOOLS]
        if wide:
            message = f"asks to use {', '.join(wide)} without asking each time"
            line = _line_of(text, "allowed-tools:", "allowed_tools:", "tools:")
            hint = "allow single commands: Bash(git log:*)"
            yield noted("IN202", message, file.path, line, hint=hint)

    def _texts(self, file: InspectedFile, text: str) -> Iterator[Noted]:
        is_program = is_script(file, text)
        if is_program or file.path.lower().endswith(_PROSE) or not _has_ending(file.path):
            text = text.removeprefix(_BYTE_ORDER_MARK)
            for one in wordings(text, is_markdown=is_markdown(file.path)):
                yield noted(one.code, one.message, file.path, one.line, quote=one.quote)
            yield from self._code(file, text, is_program=is_program)

    def _code(self, file: InspectedFile, text: str, *, is_program: bool) -> Iterator[Noted]:
        found = list(touches(text, is_program=is_program))
        for one in found:
            rule = one.rule
            yield noted(
                rule.code, rule.message, file.path, one.line, quote=one.quote, hint=rule.hint
            )
        kinds = {one.rule.touches for one in found}
        if is_program and "credentials" in kinds and sends(text):
            line = next(one.line for one in found if one.rule.touches == "credentials")
            message = "it reads credentials, and sends something over the network"
            yield noted("IN003", message, file.path, line, hint="find out what it sends, and where")
        if is_program and longest_line(text) > MINIFIED:
            kinds.add("obfuscation")
            message = f"a line of {longest_line(text):,} characters, too long to read"
            yield noted("IN008", message, file.path, hint="ask for the plain code")
        if is_program:
            self.scripts.append(Script(shown_path(file.path), tuple(sorted(kinds))))


def _has_ending(path: str) -> bool:
    return "." in posixpath.basename(path).lstrip(".")


def _lenient(file: InspectedFile) -> str | None:
    """The text of a script or document with bytes that are not UTF-8."""
    name = file.path.lower()
    is_text = name.endswith((*SCRIPTS, *_PROSE)) and b"\0" not in file.content[:8_000]
    return file.content.decode("utf-8", "replace") if is_text and not file.link else None


def is_script(file: InspectedFile, text: str) -> bool:
    """Whether a file is a program: by its ending, its mode or its first line."""
    name = file.path.lower()
    if name.endswith(_PROSE):
        return False
    return name.endswith(SCRIPTS) or file.is_executable or text.startswith("#!")


def _automatic(added: Addition, text: str) -> Iterator[Noted]:
    """Findings about what starts by itself once it is installed."""
    if added.kind == "hook":
        message, line = "a hook runs this command automatically", _line_of(text, added.about)
        yield noted("IN201", message, added.path, line, quote=added.about)
    is_own = posixpath.basename(added.path) == "metier.toml"  # only agents that name it start it
    if added.kind == "mcp-server" and not is_own:
        message = f"a host starts the MCP server '{added.name}' automatically"
        line = _line_of(text, f'"{added.name}"', added.name)
        yield noted("IN203", message, added.path, line, quote=added.about)


def _line_of(text: str, *wanted: str) -> int:
    """The first line with a text, or with the first line of the next; else 1."""
    for one in wanted:
        first = one.strip().split("\n")[0]
        for written in (first, json.dumps(first)[1:-1]):
            at = text.find(written) if written else -1
            if at >= 0:
                return text.count("\n", 0, at) + 1
    return 1


def _shadowing(reading: _Reading, store: Store, folder: str) -> Iterator[Noted]:
    """Findings about what is already there: the same names, nearly the same descriptions."""
    active = select_rows(store, "state = 'active' ORDER BY handle, path", [])
    rows = [row for row in active if not (folder and is_inside(row.file, folder))]
    yield from _same_names(reading, rows)
    similar = SimilarSkills(store, {row.path for row in rows})
    for path, skill in reading.skills:
        for other, overlap in similar.to(skill):
            if other.own_name != skill.own_name:
                message = f"says nearly the same as '{other.handle}': overlap {overlap:.2f}"
                yield noted(
                    "IN302", message, path, quote=other.description, hint="keep one of the two"
                )


def _same_names(reading: _Reading, rows: Sequence[Row]) -> Iterator[Noted]:
    known = {(row.kind, row.own_name if row.kind == "skill" else row.handle): row for row in rows}
    for path, document in reading.documents:
        kind = document_kind(path) or "skill"
        name = document.own_name if isinstance(document, Skill) else document.id
        same = known.get((kind, name))
        if same is not None:
            message = f"the {kind} '{same.handle}' already exists: one shadows the other"
            yield noted("IN301", message, path, quote=same.path, hint="rename it, or remove one")
    for added in reading.adds:
        same = known.get(("skill", added.name)) if added.kind == "command" else None
        if same is not None:
            message = f"a command with the name of the skill '{same.handle}', which already exists"
            yield noted("IN301", message, added.path, quote=same.path)

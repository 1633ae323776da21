"""The server: what it answers to an editor. It never writes to a workspace."""

import asyncio
import json
import logging
import os
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import from_fs_path, to_fs_path

from metier import __version__
from metier.catalog import Catalog
from metier.errors import MetierError
from metier.findings import errors
from metier.flow.cursor import Cursor, cursor_at
from metier.flow.editing import moved
from metier.flow.key_help import Known, fitting, hover, named_by, offers
from metier.lsp import protocol_values
from metier.lsp.editor_workspace import Folder, folder_around
from metier.lsp.positions import Lines
from metier.values.files import Found
from metier.values.outcomes import Issue

_LOG = logging.getLogger("metier.lsp")
_MOST_OFFERS = 200
_CATALOG_WAIT = 1.0
"""Seconds that a completion waits for the catalog."""
_SLOW = 0.05
"""A text that takes longer than these seconds to check is checked when the user pauses."""
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.metier"


@dataclass
class Opened:
    """A text that the editor has open."""

    uri: str
    file: str
    folder: Folder
    found: Found | None
    """None for the settings."""
    text: str = ""
    version: int | None = None
    issues: list[Issue] = field(default_factory=list)
    across: list[Issue] = field(default_factory=list)
    """Findings that need other files, as of the last save."""
    across_text: str = ""
    """The text that they were found in."""
    seconds: float = 0.0
    """How long the last check took."""
    waiting: asyncio.TimerHandle | None = None

    @property
    def moved(self) -> list[Issue]:
        """The findings that need other files, where their lines are now."""
        return moved(self.across, self.across_text, self.text)

    @property
    def all_yaml(self) -> bool:
        return self.file.endswith((".yaml", ".yml", ".json"))


class _Protocol(LanguageServerProtocol):
    """Handles an edit at once: the general path costs more than the check of most texts."""

    _server: "Server"

    def handle_message(self, message: Any) -> None:
        if isinstance(message, types.DidChangeTextDocumentNotification) and not self._shutdown:
            self._server.changed(message.params)
        else:
            super().handle_message(message)


class Server(LanguageServer):
    """A language server for the documents of metier."""

    def __init__(self, root: str = "") -> None:
        """`root` is the workspace of a client that names none."""
        kind = types.TextDocumentSyncKind.Full
        super().__init__("metier", __version__, kind, protocol_cls=_Protocol)
        self.opened: dict[str, Opened] = {}
        self.folders: dict[str, Folder] = {}
        self.roots = [root] if root else []
        self.notes = False
        self._tasks: set[asyncio.Task[None]] = set()

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ARG002  # fixed signature
        """Log it: nothing that goes wrong here is worth a window."""
        _LOG.error("%s: %s", type(error).__name__, error)

    def receive(self, body: bytes) -> None:
        """Handle a message; one that is wrong is logged, and the next is handled."""
        try:
            message = json.loads(body, object_hook=self.protocol.structure_message)
            self.protocol.handle_message(message)
        except Exception as error:  # a client may send anything
            self.report_server_error(error, type(error))

    def begin(self, params: types.InitializeParams) -> None:
        """Note what the editor has opened, and what it wants."""
        options = params.initialization_options
        self.notes = isinstance(options, dict) and options.get("notes") is True
        uris = [one.uri for one in params.workspace_folders or ()] or [params.root_uri or ""]
        paths = [to_fs_path(uri) for uri in uris if uri.startswith("file:")]
        self.roots = [path for path in paths if path] or self.roots

    def folder_of(self, file: str) -> Folder:
        """The workspace of a file. Raises `MetierError`."""
        start = folder_around(file, self.roots)
        while not os.path.isdir(start) and start != os.path.dirname(start):
            start = os.path.dirname(start)
        if start not in self.folders:
            made = Folder(start, notes=self.notes)
            same = (one for one in self.folders.values() if one.workspace == made.workspace)
            self.folders[start] = next(same, made)
            if self.folders[start].restriction:
                _LOG.warning("%s", self.folders[start].restriction)
        return self.folders[start]

    # Texts

    def open(self, uri: str, text: str, version: int | None) -> None:
        file = to_fs_path(uri) if uri.startswith("file:") else None
        if not file:
            return
        try:
            folder = self.folder_of(file)
        except MetierError as error:
            _LOG.warning("%s: %s", file, error.message)
            return
        found = folder.editing.document(file)
        if found is None and not folder.editing.is_settings(file):
            return
        self.opened[uri] = Opened(uri, file, folder, found, text, version)
        self.check(self.opened[uri])
        self.opened[uri].seconds = 0.0  # the first check loads what others need
        self.later(self.look_across(folder))

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """The last of the changes has the whole text."""
        one = params.text_document
        if params.content_changes:
            self.change(one.uri, params.content_changes[-1].text, one.version)

    def change(self, uri: str, text: str, version: int | None) -> None:
        one = self.opened.get(uri)
        if one is None:
            return
        one.text, one.version = text, version
        if one.waiting is not None:
            one.waiting.cancel()
            one.waiting = None
        if one.seconds < _SLOW:
            self.check(one)
        else:
            loop = asyncio.get_running_loop()
            one.waiting = loop.call_later(2 * one.seconds, self.check, one)

    def save(self, uri: str) -> None:
        """Settings and trust may have changed, and the file may be another document now."""
        one = self.opened.get(uri)
        if one is None:
            return
        one.folder.renew()
        for other in self.opened.values():
            if other.folder is one.folder:
                other.found = one.folder.editing.document(other.file)
                self.check(other)
        self.later(self.look_across(one.folder))

    def close(self, uri: str) -> None:
        one = self.opened.pop(uri, None)
        if one is None:
            return
        if one.waiting is not None:
            one.waiting.cancel()
        self._publish(uri, None, [])

    def check(self, document: Opened) -> None:
        """Check a text and publish what was found."""
        started = time.monotonic()
        document.waiting = None
        if document.found is not None:
            document.issues = document.folder.editing.issues(document.found, document.text)
        self.publish(document)
        document.seconds = time.monotonic() - started

    def publish(self, document: Opened) -> None:
        lines = self.lines(document)
        found = [
            protocol_values.diagnostic(issue, lines)
            for issue in (*document.issues, *document.moved)
        ]
        if document.found is None:
            problems = document.folder.editing.settings_problems(document.file, document.text)
            found += [protocol_values.settings_diagnostic(problem, lines) for problem in problems]
        self._publish(document.uri, document.version, found)

    def _publish(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version)
        )

    def lines(self, document: Opened) -> Lines:
        return Lines(document.text, self.workspace.position_encoding or "utf-16")

    async def look_across(self, folder: Folder) -> None:
        """Refresh the catalog, and publish what it says about the open texts of a folder."""
        await folder.refresh()
        for one in [one for one in self.opened.values() if one.folder is folder]:
            text = one.text
            across = await folder.ask(partial(_across, one, text))
            if across is not None and one.uri in self.opened:
                is_new = across != one.moved
                one.across, one.across_text = across, text
                if is_new:
                    self.publish(one)

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _LOG.error("%s: %s", type(error).__name__, error)

    # Questions

    def cursor(self, document: Opened, position: types.Position) -> Cursor | None:
        offset = self.lines(document).offset(position)
        return cursor_at(document.text, offset, all_yaml=document.all_yaml)

    def hover(self, document: Opened, position: types.Position) -> types.Hover | None:
        lines = self.lines(document)
        parts = [
            protocol_values.page(issue.code, issue.finding)
            for issue in dict.fromkeys((*document.issues, *document.moved))
            if _contains(protocol_values.diagnostic(issue, lines).range, position)
        ]
        cursor = self.cursor(document, position) if document.found is not None else None
        if cursor is not None and document.found is not None:
            parts += filter(None, [hover(document.found.kind, cursor)])
        if document.found is None and not parts:
            parts = self._settings_page(document, position)
        if not parts:
            return None
        text = "\n\n---\n\n".join(dict.fromkeys(parts))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))

    def _settings_page(self, document: Opened, position: types.Position) -> list[str]:
        lines = self.lines(document)
        problems = document.folder.editing.settings_problems(document.file, document.text)
        return [
            f"**{problem.code}**\n\n{errors()[problem.code].page.strip()}"
            for problem in problems
            if _contains(protocol_values.settings_diagnostic(problem, lines).range, position)
        ]

    async def complete(self, document: Opened, position: types.Position) -> types.CompletionList:
        cursor = self.cursor(document, position)
        if document.found is None or cursor is None:
            return types.CompletionList(is_incomplete=False, items=[])
        known = await self._known(document.folder)
        config = document.folder.editing.boundary.config
        found = offers(document.found.kind, cursor, known or Known({}), config)
        fit, is_cut = fitting(found, cursor.written, _MOST_OFFERS)
        start = self.lines(document).position(cursor.start)
        lead = " " if document.text[cursor.start - 1 : cursor.start] == ":" else ""
        items = [protocol_values.completion(offer, start, position, lead) for offer in fit]
        return types.CompletionList(is_incomplete=is_cut or known is None, items=items)

    async def _known(self, folder: Folder) -> Known | None:
        """Names in the catalog; None while it is being built."""
        if folder.known is None:
            try:
                await asyncio.wait_for(asyncio.shield(folder.refresh()), _CATALOG_WAIT)
            except TimeoutError:
                return None
        return folder.known

    async def define(self, document: Opened, position: types.Position) -> list[types.Location]:
        cursor = self.cursor(document, position)
        what = named_by(document.found.kind, cursor) if document.found and cursor else ""
        if not what or cursor is None or not cursor.word:
            return []
        word = cursor.word
        files = await document.folder.ask(lambda catalog: _files(catalog, what, word)) or []
        start = types.Position(0, 0)
        return [
            types.Location(from_fs_path(file) or "", types.Range(start, start)) for file in files
        ]

    def actions(self, document: Opened, params: types.CodeActionParams) -> list[types.CodeAction]:
        if document.found is None:
            return []
        wanted = params.context.only
        made: list[types.CodeAction] = []
        if not wanted or any(_covers(kind, types.CodeActionKind.QuickFix) for kind in wanted):
            made += self._quick_fixes(document, document.found, params.range)
        if not wanted or any(_covers(kind, FIX_ALL) for kind in wanted):
            made += self._fix_all(document, document.found)
        return made

    def _quick_fixes(
        self, document: Opened, found: Found, where: types.Range
    ) -> list[types.CodeAction]:
        lines = self.lines(document)
        made = []
        for issue in document.issues:
            shown = protocol_values.diagnostic(issue, lines)
            if not _meet(shown.range, where):
                continue
            repaired = document.folder.editing.repair(found, document.text, issue)
            if repaired is not None:
                edits = [protocol_values.edit(repaired, document.text, lines)]
                kind = types.CodeActionKind.QuickFix
                made.append(self._action(document, edits, repaired.title, kind, [shown]))
        return made

    def _fix_all(self, document: Opened, found: Found) -> list[types.CodeAction]:
        repaired = document.folder.editing.repair_all(found, document.text)
        if repaired is None:
            return []
        edits = [protocol_values.edit(repaired, document.text, self.lines(document))]
        return [self._action(document, edits, repaired.title, FIX_ALL, None)]

    def _action(
        self,
        document: Opened,
        edits: list[types.TextEdit],
        title: str,
        kind: types.CodeActionKind | str,
        shown: list[types.Diagnostic] | None,
    ) -> types.CodeAction:
        workspace = self.client_capabilities.workspace
        can = workspace.workspace_edit if workspace is not None else None
        versioned = bool(can is not None and can.document_changes)
        return protocol_values.action(
            document.uri, document.version, edits, title, kind, shown, versioned=versioned
        )

    def end(self) -> None:
        """Stop all work and close the catalogs."""
        for task in self._tasks:
            task.cancel()
        for folder in set(self.folders.values()):
            folder.close()
        self.folders.clear()


def _across(document: Opened, text: str, catalog: Catalog) -> list[Issue]:
    editing = document.folder.editing
    if document.found is None:
        return editing.settings_issues(catalog)
    return editing.cross_file(document.found, text, catalog)


def _files(catalog: Catalog, what: str, name: str) -> list[str]:
    """The files that a name leads to: providers of a capability, or the document itself."""
    if what == "capability":
        return [row.file for row in catalog.skills(capability=name)]
    kinds = [kind for kind in ("skill", "ability", "agent") if kind == what]
    return [row.file for kind in kinds for row in catalog.find(kind, name)[:1]]


def _contains(span: types.Range, position: types.Position) -> bool:
    return bool(span.start <= position <= span.end)


def _meet(first: types.Range, other: types.Range) -> bool:
    """Whether two ranges are on a common line."""
    return first.start.line <= other.end.line and other.start.line <= first.end.line


def _covers(wanted: types.CodeActionKind | str, kind: types.CodeActionKind | str) -> bool:
    """Whether a kind of action is the wanted one, or below it."""
    above, below = str(getattr(wanted, "value", wanted)), str(getattr(kind, "value", kind))
    return not above or below == above or below.startswith(f"{above}.")

"""A real client in front of a real `metier lsp`."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

T = TypeVar("T")
PATIENCE = 60.0
"""Seconds that a test waits for an answer before it fails."""


class Editor:
    """An editor with a folder open."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client = client
        self.root = root
        self.published_for: dict[str, types.PublishDiagnosticsParams] = {}
        """The latest diagnostics by URI."""
        self._versions: dict[str, int] = {}
        self._news = asyncio.Event()
        client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = self._receive

    def _receive(self, params: types.PublishDiagnosticsParams) -> None:
        self.published_for[params.uri] = params
        self._news.set()

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    async def open(self, path: str, text: str | None = None) -> list[types.Diagnostic]:
        """Open a file, with another text than it has if one is given."""
        text = (self.root / path).read_text() if text is None else text
        uri = self.uri(path)
        if uri in self._versions:
            self.client.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
            )
        version = self._versions[uri] = self._versions.get(uri, 0) + 1
        item = types.TextDocumentItem(uri, "markdown", version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.published(path, lambda _: True)

    async def type(self, path: str, text: str) -> list[types.Diagnostic]:
        """Change the text in the editor; the file stays."""
        uri = self.uri(path)
        self._versions[uri] += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self._versions[uri], uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        return await self.published(path, lambda _: True)

    def save(self, path: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(path))
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(document))

    async def published(
        self, path: str, wanted: Callable[[Sequence[str]], bool]
    ) -> list[types.Diagnostic]:
        """The diagnostics of a file, once their codes are as wanted."""
        uri = self.uri(path)
        async with asyncio.timeout(PATIENCE):
            while True:
                self._news.clear()
                found = self.published_for.get(uri)
                is_latest = found is not None and found.version == self._versions[uri]
                if found is not None and is_latest and wanted(codes(found.diagnostics)):
                    return list(found.diagnostics)
                await self._news.wait()

    async def hover(self, path: str, line: int, character: int) -> str:
        document = types.TextDocumentIdentifier(self.uri(path))
        params = types.HoverParams(document, types.Position(line, character))
        answer = await self.answer(self.client.text_document_hover_async(params))
        if answer is None:
            return ""
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value

    async def complete(self, path: str, line: int, character: int) -> list[str]:
        return [one.label for one in await self.completions(path, line, character)]

    async def completions(
        self, path: str, line: int, character: int
    ) -> Sequence[types.CompletionItem]:
        document = types.TextDocumentIdentifier(self.uri(path))
        params = types.CompletionParams(document, types.Position(line, character))
        answer = await self.answer(self.client.text_document_completion_async(params))
        assert isinstance(answer, types.CompletionList)
        return answer.items

    async def define(self, path: str, line: int, character: int) -> list[str]:
        document = types.TextDocumentIdentifier(self.uri(path))
        params = types.DefinitionParams(document, types.Position(line, character))
        answer = await self.answer(self.client.text_document_definition_async(params))
        assert isinstance(answer, list)
        return [one.uri for one in answer if isinstance(one, types.Location)]

    async def actions(
        self, path: str, line: int, only: list[types.CodeActionKind | str] | None = None
    ) -> list[types.CodeAction]:
        where = types.Range(types.Position(line, 0), types.Position(line, 0))
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(self.uri(path)),
            where,
            types.CodeActionContext(diagnostics=[], only=only),
        )
        answer = await self.answer(self.client.text_document_code_action_async(params))
        return [one for one in answer or () if isinstance(one, types.CodeAction)]

    async def answer(self, asked: Awaitable[T]) -> T:
        return await asyncio.wait_for(asked, PATIENCE)


def codes(found: Sequence[types.Diagnostic]) -> list[str]:
    return [str(one.code) for one in found]


def applied(text: str, action: types.CodeAction) -> str:
    """A text after an action; its positions must be on ASCII lines."""
    assert action.edit is not None
    changes = [
        one
        for change in action.edit.document_changes or ()
        if isinstance(change, types.TextDocumentEdit)
        for one in change.edits
        if isinstance(one, types.TextEdit)
    ]
    [edit] = changes or [one for group in (action.edit.changes or {}).values() for one in group]
    lines = text.splitlines(keepends=True)

    def offset(position: types.Position) -> int:
        return sum(map(len, lines[: position.line])) + position.character

    return text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]


@asynccontextmanager
async def editor(
    root: Path, *, options: object = None, client_name: str = "visual-studio-code"
) -> AsyncIterator[Editor]:
    """An editor that has started a server for a folder."""
    client = make_test_lsp_client()
    await client.start_io(sys.executable, "-m", "metier", "lsp", cwd=root, env=dict(os.environ))
    params = types.InitializeParams(
        capabilities=client_capabilities(client_name),
        root_uri=root.as_uri(),
        workspace_folders=[types.WorkspaceFolder(root.as_uri(), root.name)],
        initialization_options=options,
    )
    await asyncio.wait_for(client.initialize_session(params), PATIENCE)
    try:
        yield Editor(client, root)
    finally:
        await asyncio.wait_for(client.shutdown_session(), PATIENCE)
        await client.stop()  # type: ignore[no-untyped-call]  # it has no types

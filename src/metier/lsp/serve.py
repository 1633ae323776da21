"""Runs the server over standard input and output."""

import asyncio
import logging
import os
import sys
import threading
from contextlib import suppress
from typing import BinaryIO

from lsprotocol import types
from pygls.io_ import StdinAsyncReader, StdoutWriter, run_async

from metier.lsp.messages import Messages
from metier.lsp.server import FIX_ALL, Server
from metier.lsp.symbols import outline

_TRIGGERS = [":", "(", ",", "[", "="]


def make_server(root: str = "") -> Server:
    """A server with a handler for every request that it answers.

    `root` is the workspace of a client that names none.
    """
    server = Server(root)
    _register_texts(server)
    _register_questions(server)

    @server.feature(types.SHUTDOWN)
    def _shutdown(_server: Server, _params: None) -> None:
        server.end()

    return server


def _register_texts(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def _initialize(_server: Server, params: types.InitializeParams) -> None:
        server.begin(params)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def _open(_server: Server, params: types.DidOpenTextDocumentParams) -> None:
        one = params.text_document
        server.open(one.uri, one.text, one.version)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def _change(_server: Server, params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def _save(_server: Server, params: types.DidSaveTextDocumentParams) -> None:
        server.save(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def _close(_server: Server, params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)


def _register_questions(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def _hover(_server: Server, params: types.HoverParams) -> types.Hover | None:
        one = server.opened.get(params.text_document.uri)
        return server.hover(one, params.position) if one is not None else None

    options = types.CompletionOptions(trigger_characters=_TRIGGERS)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, options)
    async def _complete(
        _server: Server, params: types.CompletionParams
    ) -> types.CompletionList | None:
        one = server.opened.get(params.text_document.uri)
        return await server.complete(one, params.position) if one is not None else None

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def _define(
        _server: Server, params: types.DefinitionParams
    ) -> list[types.Location] | None:
        one = server.opened.get(params.text_document.uri)
        return await server.define(one, params.position) if one is not None else None

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def _outline(
        _server: Server, params: types.DocumentSymbolParams
    ) -> list[types.DocumentSymbol] | None:
        one = server.opened.get(params.text_document.uri)
        if one is None or one.found is None or one.all_yaml:
            return None
        return outline(one.text, server.lines(one))

    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def _actions(_server: Server, params: types.CodeActionParams) -> list[types.CodeAction] | None:
        one = server.opened.get(params.text_document.uri)
        return server.actions(one, params) if one is not None else None


def run_stdio(root: str = "") -> None:
    """Serve until the client leaves; everything that goes wrong is logged to standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    server = make_server(root)
    with suppress(KeyboardInterrupt, SystemExit, BrokenPipeError):
        asyncio.run(_serve(server))
    server.end()


async def _serve(server: Server) -> None:
    """Handle messages in the event loop: a thread for each line would cost more than a check."""
    server.protocol.set_writer(StdoutWriter(_output()))
    loop = asyncio.get_running_loop()
    messages = Messages(server.receive, loop.create_future())
    try:
        await loop.connect_read_pipe(lambda: messages, sys.stdin)
    except (ValueError, NotImplementedError, OSError):  # a file, or no such pipes here
        reader = StdinAsyncReader(sys.stdin.buffer)
        report = server.report_server_error
        await run_async(threading.Event(), reader, server.protocol, None, report)
    else:
        await messages.ended


def _output() -> BinaryIO:
    """Standard output for the protocol alone: what a rule prints goes to standard error."""
    sys.stdout.flush()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return output

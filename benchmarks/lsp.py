"""The language server: an edit in a workspace of many skills, to its diagnostics.

The server is a process of its own, and the time counts from the first byte of the edit to the last
of the diagnostics. The baseline reads and lints the same file in this process. Both take the least
of many tries, for files of several sizes.
"""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.corpus import unpack
from benchmarks.folders import trust
from benchmarks.measure import Bar
from metier.flow.reading import read_skills

EDIT_BAR = 2.0
FILES, TRIES, ROUNDS = 5, 40, 5


class Editor:
    """A client that waits for the diagnostics of each edit."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._to, self._from = process.stdin, process.stdout
        self._version = 0

    def send(self, method: str, params: Any, **more: Any) -> None:
        self._write(_message(method, params, **more))

    def _write(self, message: bytes) -> None:
        self._to.write(message)
        self._to.flush()

    def receive(self) -> Any:
        return json.loads(self._read())

    def _read(self) -> bytes:
        length = 0
        while (line := self._from.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return self._from.read(length)

    def until(self, wanted: str) -> None:
        """Read messages until one that contains a text."""
        while wanted not in json.dumps(self.receive()):
            pass

    def edit(self, uri: str, text: str) -> float:
        """Seconds from an edit to its diagnostics."""
        self._version += 1
        document = {"uri": uri, "version": self._version}
        params = {"textDocument": document, "contentChanges": [{"text": text}]}
        message = _message("textDocument/didChange", params)
        started = time.perf_counter()
        self._write(message)
        answer = self._read()
        seconds = time.perf_counter() - started
        while json.loads(answer)["params"].get("version") != self._version:
            answer, seconds = self._read(), math.inf  # something else came between
        return seconds


def _message(method: str, params: Any, **more: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@contextmanager
def _served(root: Path) -> Iterator[Editor]:
    command = [sys.executable, "-m", "metier", "lsp"]
    process = subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=dict(os.environ),
    )  # fmt: skip
    editor = Editor(process)
    try:
        editor.send("initialize", {"capabilities": {}, "rootUri": root.as_uri()}, id=1)
        editor.until('"capabilities"')
        editor.send("initialized", {})
        yield editor
    finally:
        process.kill()
        process.communicate()


def bars(scratch: Path) -> Iterator[Bar]:
    folder = scratch / "lsp"
    folder.mkdir()
    root, what = unpack(folder)
    (root / ".git").mkdir(exist_ok=True)
    trust(root)
    reading = read_skills([root])
    usable = [one for one in reading.found if not one.excluded]
    usable.sort(key=lambda one: one.size)
    middle = len(usable) // 2  # files of ordinary size, not the smallest or largest
    chosen = usable[middle : middle + len(usable) // 4 : max(1, len(usable) // 4 // FILES)][:FILES]
    alone, edited = [], []
    with _served(root) as editor:
        for found in chosen:
            text = Path(found.file).read_bytes().decode(errors="replace")
            uri = Path(found.file).as_uri()
            item = {"uri": uri, "languageId": "markdown", "version": 0, "text": text}
            editor.send("textDocument/didOpen", {"textDocument": item})
            editor.until("publishDiagnostics")
            editor.edit(uri, text)
        _wait_for_catalog(editor, Path(chosen[0].file))
        for found in chosen:
            text = Path(found.file).read_bytes().decode(errors="replace")
            uri = Path(found.file).as_uri()
            baseline, through = [], []
            for number in range(ROUNDS * TRIES):
                started = time.perf_counter()
                reading.read(found)
                baseline.append(time.perf_counter() - started)
                through.append(editor.edit(uri, f"{text}\n{number}"))
            alone.append(min(baseline))
            edited.append(min(through))
    here, there = sum(edited), sum(alone)
    sizes = f"{chosen[0].size / 1024:.0f} to {chosen[-1].size / 1024:.0f} kB"
    yield Bar(
        "diagnostics of an edit in metier lsp",
        here / there,
        EDIT_BAR,
        "× reading and linting the file in process",
        f"{here / FILES * 1e3:.2f} ms against {there / FILES * 1e3:.2f} ms; {FILES} files of"
        f" {sizes} in {what}",
    )


def _wait_for_catalog(editor: Editor, file: Path) -> None:
    """Wait until the catalog answers, so that building it disturbs no edit."""
    position = {"line": 1, "character": 0}
    params = {"textDocument": {"uri": file.as_uri()}, "position": position}
    while True:
        editor.send("textDocument/completion", params, id=2)
        while (answer := editor.receive()).get("id") != 2:
            pass
        if not answer["result"]["isIncomplete"]:
            return

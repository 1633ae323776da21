"""Count the files of metier that one request visits, and the calls between them.

    python tools/trace_request.py run          # or: refresh, resolve, hook, skill_list
    python tools/trace_request.py run --files  # also lists the files and the jumps

The request runs on a copy of `examples/workspace` after `metier refresh`. A file counts when a
function in it is executed; what runs while a module is imported does not count. A jump is a
pair of files of which a function in the first called a function in the second; the count of calls
has every such pair of functions.
"""

import asyncio
import io
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import metier  # noqa: E402  # after the path is set
from metier import Catalog  # noqa: E402
from metier.cli import run as command_line  # noqa: E402
from metier.run import leases  # noqa: E402

PACKAGE = os.path.dirname(metier.__file__)
_TOOL = {"tool": "do", "input": {"text": "{{ task }}"}}
_AGENT = {
    "agentId": "traced",
    "description": "Runs two tools.",
    "workflow": [
        {"stepId": "first", "type": "tool", "config": _TOOL},
        {"stepId": "second", "type": "tool", "config": _TOOL, "dependencies": ["first"]},
    ],
}
_NO_FUNCTION = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")


class Trace:
    """The functions of metier that were executed, and the calls that left their file."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.calls: set[tuple[str, str, str, str]] = set()

    def __call__(self, frame: FrameType, event: str, _arg: object) -> None:
        if event != "call" or not _is_function(frame):
            return
        code = frame.f_code
        caller = frame.f_back
        while caller is not None and not _is_function(caller):
            if _is_import(caller):
                return
            caller = caller.f_back
        self.files.add(code.co_filename)
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            above = caller.f_code
            self.calls.add(
                (above.co_filename, above.co_qualname, code.co_filename, code.co_qualname)
            )

    def jumps(self) -> list[tuple[str, str]]:
        return sorted({(caller, callee) for caller, _, callee, _ in self.calls})

    def of(self, request: Callable[[], object]) -> "Trace":
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            request()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return self


def _is_function(frame: FrameType) -> bool:
    code = frame.f_code
    is_body = not code.co_flags & 0x02  # a module or class body has no fast locals (CO_NEWLOCALS)
    return code.co_filename.startswith(PACKAGE) and not is_body and code.co_name not in _NO_FUNCTION


def _is_import(frame: FrameType) -> bool:
    return frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(PACKAGE)


def _refresh(root: str) -> Callable[[], object]:
    catalog = Catalog.open(root)

    def request() -> object:
        os.utime(root)  # whatever has just changed keeps no trail, on a slow machine too
        return catalog.refresh()

    return request


def _resolve(root: str) -> Callable[[], object]:
    catalog = _refreshed(root)
    return lambda: catalog.resolve(["web-search"], query="compare vendors")


def _run(root: str) -> Callable[[], object]:
    """A run of tool steps that fails, and is resumed: what steps inject is counted by `resolve`."""
    leases.HEARTBEAT_SECONDS = 3600.0  # a slow machine counts the same files as a fast one
    catalog = _refreshed(root)
    tries = iter((ValueError("not now"), None, None))

    async def do(text: str) -> str:
        if error := next(tries):
            raise error
        return text

    catalog.agency.tools.register(do)

    async def request() -> None:
        failed = await catalog.run("traced", "do it")
        assert failed.state == "failed"
        result = await catalog.resume(failed.run_id)
        assert result.success

    return lambda: asyncio.run(request())


def _hook(root: str) -> Callable[[], object]:
    _refreshed(root).close()
    from metier.hook.serve import serve

    asked = {"hook_event_name": "UserPromptSubmit", "prompt": "prepare the release", "cwd": root}
    sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(asked).encode()))
    return lambda: serve("claude-code")


def _skill_list(root: str) -> Callable[[], object]:
    from mcp import Client

    from metier.mcp.serve import serving

    async def ask() -> Any:
        with serving(lambda: _refreshed(root)) as server:
            async with Client(server) as client:
                return await client.call_tool("skill_list", {"search": "release"})

    return lambda: asyncio.run(ask())


def _refreshed(root: str) -> Catalog:
    catalog = Catalog.open(root)
    catalog.prepare_for_hooks()
    return catalog


REQUESTS = {
    "refresh": _refresh,
    "resolve": _resolve,
    "hook": _hook,
    "run": _run,
    "skill_list": _skill_list,
}


def main(name: str, *, lists: bool) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "METIER_STATE_DIR": f"{home}/state"}
        root = f"{home}/workspace"
        shutil.copytree(ROOT / "examples" / "workspace", root)
        agent = Path(root, "agents", "traced.json")
        agent.write_text(json.dumps(_AGENT))
        os.utime(agent, (0, 0))  # else only a fast machine finds that it has just changed
        os.chdir(root)
        with redirect_stdout(io.StringIO()) as shown, redirect_stderr(io.StringIO()):
            command_line(["trust", "--show", "--json"])
            command_line(["trust", "--accept", json.loads(shown.getvalue())["digest"]])
            trace = Trace().of(REQUESTS[name](root))
    if lists:
        print(*sorted(map(_shown, trace.files)), sep="\n")
        print(
            *(f"{_shown(caller)} → {_shown(callee)}" for caller, callee in trace.jumps()), sep="\n"
        )
    jumps, calls = len(trace.jumps()), len(trace.calls)
    print(f"{name}: {len(trace.files)} files, {jumps} jumps, {calls} calls between files")


def _shown(file: str) -> str:
    return os.path.relpath(file, PACKAGE)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in REQUESTS:
        sys.exit(f"usage: trace_request.py {'|'.join(REQUESTS)} [--files]")
    main(sys.argv[1], lists="--files" in sys.argv)

"""A workspace whose agents call small commands, and `metier` in processes of its own."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import metier
from cli.printed import Finished, looked_at, run_here
from conftest import Workspace

SETTINGS = """
[tools]
allow = ["count", "say", "hold", "fail", "linger"]

[tools.count]
description = "Notes that it was called."
argv = ["sh", "-c", "echo $METIER_STEP_ID >> calls; echo $METIER_STEP_ID"]

[tools.say]
argv = ["echo", "{text}"]

[tools.fail]
argv = ["sh", "-c", "echo $METIER_STEP_ID >> calls; echo 'it is broken' >&2; exit 3"]

[tools.hold]
description = "Waits until the file 'release' is there; not for ever."
argv = ["sh", "-c", '''
    echo $METIER_STEP_ID >> calls; n=0
    until test -e release; do n=$((n + 1)); test $n -lt 3000 || exit 1; sleep 0.02; done
    echo released
''']

[tools.linger]
description = "Leaves somebody behind who holds its output open, so that it is slow to stop."
argv = ["sh", "-c", "setsid sleep 20 & echo $METIER_STEP_ID >> calls; wait"]

[tools.guarded]
argv = ["true"]
"""
Step = dict[str, Any]


def tool(
    step: str, name: str = "count", *, given: dict[str, Any] | None = None, **more: Any
) -> Step:
    return {"stepId": step, "type": "tool", "config": {"tool": name, "input": given or {}}, **more}


def prompt(step: str, text: str = "{{ task }}", **more: Any) -> Step:
    return {"stepId": step, "type": "prompt", "config": {"prompt": text}, **more}


def delegate(step: str, to: str, **more: Any) -> Step:
    return {"stepId": step, "type": "delegate", "config": {"targetAgent": to}, **more}


class Agents(Workspace):
    """A workspace with agents in it."""

    def agent(self, name: str, *steps: Step, **profile: Any) -> None:
        known = {"agentId": name, "description": f"Does what {name} does.", "systemPrompt": "Do."}
        data = {**known, "version": "1.0.0", "workflow": list(steps), **profile}
        self.write(f"agents/{name}.json", json.dumps(data))

    def calls(self) -> list[str]:
        """The steps whose command was called, in order."""
        file = self.root / "calls"
        return file.read_text().split() if file.exists() else []

    def release(self) -> None:
        (self.root / "release").touch()

    def metier(self, *arguments: str, **environment: str) -> Finished:
        """What a command of a user who has looked at the workspace did, run in this process."""
        looked_at(self.root)
        return run_here(self.root, *arguments, **environment)

    def started(self, *arguments: str) -> "subprocess.Popen[str]":
        """The same command, still at work."""
        looked_at(self.root)
        return subprocess.Popen(
            [sys.executable, "-m", "metier", *arguments],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def runs(self, *arguments: str) -> Any:
        """What `metier runs … --json` prints."""
        finished = self.metier("runs", *arguments, "--json")
        assert finished.returncode == 0, finished.stderr
        return json.loads(finished.stdout)


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    root = tmp_path / "workspace"
    root.mkdir()
    made = Agents(root)
    made.write("metier.toml", SETTINGS)
    return made


def eventually(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    """Return once `condition` holds; fail when that takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def follows(name: str, value: Any) -> None:
    """Fail unless `value` follows the schema of that name."""
    _validator(name).validate(value)


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    file = Path(metier.__file__).parent / "schemas" / f"{name}.v1.schema.json"
    return jsonschema.Draft202012Validator(json.loads(file.read_text()))

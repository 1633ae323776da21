"""Run `metier` without the right to override file modes, which root has."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

from cli.printed import Finished

_DROP_PRIVILEGES = """
import ctypes, os, sys
for capability in (1, 2):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-m", "metier", *sys.argv[1:]])
"""
"""File modes bind root, too, once the right to override them is dropped."""
POSSIBLE = os.geteuid() != 0 or hasattr(ctypes.CDLL(None), "prctl")
"""Whether there is a way to run a command that file modes bind."""


def run_unprivileged(root: Path, *arguments: str, **environment: str) -> Finished:
    """What a command did in `root`, in a process that file modes bind."""
    start = ["-c", _DROP_PRIVILEGES] if os.geteuid() == 0 else ["-m", "metier"]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=root,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

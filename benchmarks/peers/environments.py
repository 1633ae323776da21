"""An environment for each peer, made once, with pinned versions."""

import sqlite3
import subprocess
import sys
import venv
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.protocol import Peer

CONSTRAINTS = Path(__file__).with_name("constraints.txt")
_VERSION = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"


class Environment(NamedTuple):
    """Where a peer is installed."""

    python: Path
    version: str

    @property
    def programs(self) -> Path:
        return self.python.parent


class Missing(NamedTuple):
    """A peer that cannot be installed."""

    reason: str


def environment(peer: Peer, folder: Path) -> Environment | Missing:
    """The environment of a peer below `folder`, made unless it is there."""
    if not peer.packages:
        return Environment(Path(sys.executable), _own_version(peer))
    python = folder / peer.packages[0] / "bin" / "python"
    installed = python.parents[1] / ".installed"
    wanted = "\n".join((*peer.packages, CONSTRAINTS.read_text("utf-8")))
    if not installed.exists() or installed.read_text("utf-8") != wanted:
        failure = _install(python, peer.packages)
        if failure:
            return Missing(failure)
        installed.write_text(wanted, "utf-8")
    asked = [str(python), "-c", _VERSION, peer.packages[0]]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        return Missing(_first_error(done.stderr))
    return Environment(python, done.stdout.strip())


def _own_version(peer: Peer) -> str:
    return version("metier") if peer.name == "metier" else sqlite3.sqlite_version


def _install(python: Path, packages: Sequence[str]) -> str:
    """Why it failed; nothing if it did not."""
    venv.create(python.parents[1], clear=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    command = [*pip, "install", "--quiet", "--constraint", str(CONSTRAINTS), *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return _first_error(done.stderr) if done.returncode else ""


def _first_error(text: str) -> str:
    """What failed first; pip's last line is advice."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return next(iter(errors or lines[-1:]), "no message")

"""agnix: a linter of agent configuration, in Rust."""

import json
from pathlib import Path

from benchmarks.peers.protocol import Linted, Linter, Peer


def _command(programs: Path, skills: Path) -> list[str]:
    return [str(programs / "agnix"), "--format", "json", str(skills)]


def _linted(output: str, _errors: str) -> Linted:
    report = json.loads(output)
    return Linted(report["files_checked"], len(report["diagnostics"]))


PEER = Peer(
    name="agnix",
    packages=("agnix",),
    about="linter of agent configuration",
    strengths=(
        "Several hundred rules, each with its source: hooks, memory files, MCP and plugin"
        " configuration of many hosts, beyond skills.",
        "Extensions for VS Code, JetBrains, Neovim and Zed, ready to install; a browser page.",
        "One native program; no Python at run time.",
    ),
    lint=Linter(command=_command, read=_linted),
)

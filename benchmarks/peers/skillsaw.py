"""skillsaw: a configurable linter of skills, plugins and agent context."""

import json
from pathlib import Path

from benchmarks.peers.protocol import Linted, Linter, Peer


def _command(programs: Path, skills: Path) -> list[str]:
    return [str(programs / "skillsaw"), "lint", "--format", "json", str(skills)]


def _linted(output: str, _errors: str) -> Linted:
    report = json.loads(output)
    return Linted(report["stats"]["skills"], len(report["violations"]))


PEER = Peer(
    name="skillsaw",
    packages=("skillsaw",),
    about="linter of skills, plugins and agent context",
    strengths=(
        "Knows the files of some thirty tools: plugins, marketplaces, hooks, recipes, evals.",
        "Judges the prose: hedging, tautologies, prohibitions without an alternative.",
        "Makes HTML documentation of plugins and skills, and scaffolds new ones.",
    ),
    lint=Linter(command=_command, read=_linted),
)

"""skills-ref: the reference validator of the Agent Skills specification."""

import json
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.peers.protocol import Linted, Linter, Peer

_MODULE = "benchmarks.peers.skills_ref"


def _command(programs: Path, skills: Path) -> list[str]:
    return [str(programs / "python"), "-m", _MODULE, str(skills)]


def _linted(output: str, _errors: str) -> Linted:
    return Linted(*json.loads(output))


def _validate_all(skills: Path) -> Linted:
    """Every skill in one process; its own command takes one skill at a time."""
    validate = import_module("skills_ref").validate
    found = [validate(file.parent) for file in sorted(skills.glob("*/SKILL.md"))]
    return Linted(len(found), sum(map(len, found)))


PEER = Peer(
    name="skills-ref",
    packages=("skills-ref",),
    about="the reference validator; all skills in one process, through its Python interface",
    strengths=(
        "The reference implementation, by the authors of the format; two small dependencies.",
    ),
    lint=Linter(command=_command, read=_linted),
)

if __name__ == "__main__":
    print(json.dumps(_validate_all(Path(sys.argv[1]))))

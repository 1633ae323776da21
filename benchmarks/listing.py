"""`metier listing` and `metier doctor --host` on 10,000 skills against an idle refresh."""

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Bar, alternate, cpu_of_process, least

SKILLS = 10_000
BAR = 2.0
_METIER = [sys.executable, "-P", "-m", "metier"]
_WORDS = ("mend", "kettle", "sort", "letter", "garden", "when", "with", "small", "early", "harbour")


def bars(scratch: Path) -> Iterator[Bar]:
    root = scratch / "listing"
    (root / ".git").mkdir(parents=True)
    _write(root / ".claude/skills", range(SKILLS // 2))
    _write(root / ".agents/skills", range(SKILLS // 2, SKILLS))
    commands = {
        "`metier listing --host claude-code`": ["listing", "--host", "claude-code"],
        "`metier listing --host codex`": ["listing", "--host", "codex"],
        "`metier doctor --host claude-code`": ["doctor", "--host", "claude-code"],
    }
    asked = [["refresh"], *commands.values()]
    for one in asked[:1] * 2:
        _time(one, root)
    rounds = alternate(7, *(lambda one=one: _time(one, root) for one in asked))
    idle, *others = least(rounds)
    for name, took in zip(commands, others, strict=True):
        detail = f"{took * 1000:.0f} ms against {idle * 1000:.0f} ms CPU; {SKILLS:,} skills"
        yield Bar(name, took / idle, BAR, "× `metier refresh`, nothing changed", detail)


def _time(command: list[str], root: Path) -> float:
    return cpu_of_process(
        [*_METIER, *command, "--quiet", "--root", str(root)], check=False, HOME="/nowhere"
    )


def _write(folder: Path, numbers: range) -> None:
    for number in numbers:
        text = " ".join(_WORDS[(number * step) % len(_WORDS)] for step in range(1, 31))
        skill = folder / f"skill-{number}"
        skill.mkdir(parents=True)
        head = f"---\nname: skill-{number}\ndescription: {text} {number}.\n---\n"
        (skill / "SKILL.md").write_text(f"{head}\nDo it.\n")

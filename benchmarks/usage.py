"""Reading transcripts: against `json.loads` of every line, and the memory that it takes."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Bar, alternate, cpu, least, peak_megabytes
from metier.flow.usage import Question, SkillNames, read_usage

TIME_BAR, MEMORY_BAR = 2.0, 1.2
MEGABYTES, SMALL = 200, 20
SESSION_BYTES = 4_000_000
ROUNDS = 3
SKILLS = 40
_WORDS = ("read", "write", "build", "test", "the", "a", "file", "module", "error", "report")
_READ = """
import os, sys
from metier.flow.usage import Question, SkillNames, read_usage
home, workspace = sys.argv[1:]
read_usage(SkillNames([]), Question(workspace), environ={"HOME": home})
"""


def bars(scratch: Path) -> Iterator[Bar]:
    workspace = scratch / "usage-workspace"
    (workspace / ".git").mkdir(parents=True)
    homes = {size: _home(scratch, workspace, size) for size in (SMALL, MEGABYTES)}
    home = homes[MEGABYTES]
    rounds = alternate(ROUNDS, lambda: cpu(lambda: _parse(home)), lambda: _usage(home, workspace))
    parsed, read = least(rounds)
    yield Bar(
        f"usage, {MEGABYTES} MB of transcripts, not ranked",
        read / parsed,
        TIME_BAR,
        "× json.loads of every line",
        f"{read:.2f} s against {parsed:.2f} s CPU",
    )
    small, large = (
        peak_megabytes(_READ, str(homes[size]), str(workspace)) for size in (SMALL, MEGABYTES)
    )
    yield Bar(
        f"usage, {MEGABYTES} MB of transcripts, peak memory",
        large / small,
        MEMORY_BAR,
        f"× {SMALL} MB",
        f"resident set of {large:.0f} MB against {small:.0f} MB",
    )


def _usage(home: Path, workspace: Path) -> float:
    question = Question(str(workspace))
    names = SkillNames([])
    return cpu(lambda: read_usage(names, question, environ={"HOME": str(home)}))


def _parse(home: Path) -> None:
    for file in home.rglob("*.jsonl"):
        with file.open("rb") as lines:
            for line in lines:
                json.loads(line)


def _home(scratch: Path, workspace: Path, megabytes: int) -> Path:
    """A home folder with transcripts of that size, half of Claude Code and half of Codex."""
    home = scratch / f"usage-home-{megabytes}"
    chance = random.Random(megabytes)
    for number in range(megabytes * 1_000_000 // SESSION_BYTES):
        if number % 2:
            file = home / ".codex/sessions/2026/11/16" / f"rollout-{number}.jsonl"
            lines = _codex(chance, str(workspace), f"session-{number}")
        else:
            file = home / ".claude/projects/project" / f"session-{number}.jsonl"
            lines = _claude_code(chance, str(workspace), f"session-{number}")
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(file, lines)
    return home


def _write(file: Path, lines: Iterator[dict[str, Any]]) -> None:
    """Lines as hosts write them, without spaces, until there are enough."""
    left = SESSION_BYTES
    with file.open("w", encoding="utf-8") as out:
        while left > 0:
            left -= out.write(json.dumps(next(lines), separators=(",", ":")) + "\n")


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def _claude_code(chance: random.Random, folder: str, session: str) -> Iterator[dict[str, Any]]:
    """Turns of a prompt, a skill now and then, and tools with long results."""
    number = 0
    while True:
        number += 1
        base = {"sessionId": session, "cwd": folder, "timestamp": "2026-11-16T09:30:00.000Z"}
        prompt = {"role": "user", "content": _text(chance, 40)}
        yield {**base, "type": "user", "uuid": f"{session}-{number}", "message": prompt}
        for call in range(8):
            is_skill = call == 0 and chance.random() < 0.3
            given = (
                {"skill": f"skill-{chance.randrange(SKILLS)}"} if is_skill else {"command": "ls"}
            )
            known_by = f"{session}-{number}-{call}"
            use = {"type": "tool_use", "id": known_by, "name": "Skill" if is_skill else "Bash"}
            content = [{"type": "text", "text": _text(chance, 30)}, {**use, "input": given}]
            yield {
                **base,
                "type": "assistant",
                "message": {"role": "assistant", "content": content},
            }
            result = {"type": "tool_result", "tool_use_id": known_by, "content": _text(chance, 300)}
            yield {**base, "type": "user", "message": {"role": "user", "content": [result]}}


def _codex(chance: random.Random, folder: str, session: str) -> Iterator[dict[str, Any]]:
    base = {"timestamp": "2026-11-16T09:30:00.000Z"}
    yield {**base, "type": "session_meta", "payload": {"id": session, "cwd": folder}}
    number = 0
    while True:
        number += 1
        event = {"type": "user_message", "message": _text(chance, 40)}
        yield {**base, "type": "event_msg", "payload": event}
        yield {**base, "type": "turn_context", "payload": {"cwd": folder}}
        for call in range(8):
            is_skill = call == 0 and chance.random() < 0.3
            skill = f"{folder}/skills/skill-{chance.randrange(SKILLS)}/SKILL.md"
            given = json.dumps({"cmd": f"cat {skill}" if is_skill else "ls -la"})
            known_by = f"{session}-{number}-{call}"
            use = {"type": "function_call", "name": "exec_command", "call_id": known_by}
            yield {**base, "type": "response_item", "payload": {**use, "arguments": given}}
            output = {"type": "function_call_output", "call_id": known_by}
            text = _text(chance, 300)
            yield {**base, "type": "response_item", "payload": {**output, "output": text}}

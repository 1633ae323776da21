"""Rollouts of Codex: what counts as the use of a skill, and what does not."""

import json
from pathlib import Path
from typing import Any

import pytest

from metier.hosts.events import Compacted
from metier.hosts.transcript_files import UserFolders
from metier.usage import codex
from usage.recorded import (
    SESSION,
    WORKSPACE,
    codex_call,
    codex_line,
    codex_meta,
    codex_says,
    events,
    fired,
    prompts,
    sessions,
    write,
)

FILE = f"{WORKSPACE}/.agents/skills/pdf/SKILL.md"


def read(tmp_path: Path, *lines: Any, **meta: Any) -> list[Any]:
    file = write(tmp_path / "rollout-1.jsonl", [codex_meta(**meta), *lines])
    return events("codex", file)


@pytest.mark.parametrize(
    "command",
    [
        f"cat {FILE}",
        "sed -n '1,200p' .agents/skills/pdf/SKILL.md",
        f"ls && head -50 '{FILE}' | nl",
        ["bash", "-lc", f"cat {FILE}"],
        f"python3 {WORKSPACE}/.agents/skills/pdf/scripts/fill.py form.pdf",
        "./.agents/skills/pdf/scripts/fill.sh",
    ],
    ids=str,
)
def test_reading_its_file_or_running_its_script_is_a_use(tmp_path: Path, command: Any) -> None:
    assert fired(read(tmp_path, codex_call(command))) == [("", FILE, "model")]


@pytest.mark.parametrize(
    "command",
    [
        f"echo {FILE}",
        f"rm {FILE}",
        f"cat > {FILE} <<EOF",
        f"sed -i s/a/b/ {FILE}",
        f"git add {FILE}",
        "rg SKILL.md",
        "cat 'open",
        [],
        [1],
        {"cat": 1},
        None,
    ],
    ids=str,
)
def test_other_commands_are_no_use(tmp_path: Path, command: Any) -> None:
    assert fired(read(tmp_path, codex_call(command, file="SKILL.md"))) == []


def test_a_shell_call_of_an_older_version(tmp_path: Path) -> None:
    action = {"type": "exec", "command": ["cat", "SKILL.md"], "working_directory": "skills/pdf"}
    payload = {"type": "local_shell_call", "call_id": "c", "action": action}
    found = read(tmp_path, codex_line("response_item", payload))
    assert fired(found) == [("", f"{WORKSPACE}/skills/pdf/SKILL.md", "model")]


def test_a_skill_counts_once_a_turn(tmp_path: Path) -> None:
    lines = [
        codex_call(f"cat {FILE}", "a"),
        codex_call(f"python {WORKSPACE}/.agents/skills/pdf/scripts/x.py", "b"),
        codex_line("turn_context", {"cwd": WORKSPACE}),
        codex_call(f"cat {FILE}", "c"),
    ]
    assert len(fired(read(tmp_path, *lines))) == 2


def test_a_skill_that_the_user_names(tmp_path: Path) -> None:
    text = f"<skill>\n<name>pdf</name>\n<path>{FILE}</path>\nFill forms.\n</skill>"
    assert fired(read(tmp_path, codex_says("user", text))) == [("pdf", FILE, "user")]


def test_the_tool_that_reads_skills(tmp_path: Path) -> None:
    def call(**given: str) -> Any:
        name = {"type": "function_call", "namespace": "skills", "name": "read", "call_id": "c"}
        return codex_line("response_item", {**name, "arguments": json.dumps(given)})

    found = read(tmp_path, call(package="skill://team/pdf"), call(package="x", resource="y"))
    assert fired(found) == [("pdf", "", "model")]


def test_text_that_mentions_a_skill_is_no_use(tmp_path: Path) -> None:
    block = "<skill>\n<name>pdf</name>\n</skill>"
    output = {"type": "function_call_output", "call_id": "c", "output": f"{block} {FILE}"}
    lines = [
        codex_says("user", f"What does {block} mean?"),
        codex_says("assistant", block),
        codex_line("response_item", output),
    ]
    assert fired(read(tmp_path, *lines)) == []


def test_prompts_and_compactions(tmp_path: Path) -> None:
    lines = [
        codex_line("event_msg", {"type": "user_message", "message": "Fill the form"}),
        codex_line("event_msg", {"type": "agent_message", "message": "Done"}),
        codex_line("compacted", {"message": "summary", "replacement_history": []}),
        codex_line("event_msg", {"type": "context_compacted"}),
    ]
    found = read(tmp_path, *lines)
    assert prompts(found) == ["Fill the form"]
    assert sum(isinstance(one, Compacted) for one in found) == 1


def test_a_sub_agent_belongs_to_the_session_and_its_prompts_are_not_the_users(
    tmp_path: Path,
) -> None:
    prompt = codex_line("event_msg", {"type": "user_message", "message": "from another agent"})
    source = {"subagent": {"thread_spawn": {"depth": 1}}}
    found = read(tmp_path, prompt, id="child", session_id=SESSION, source=source)
    assert sessions(found) == [(SESSION, WORKSPACE)]
    assert prompts(found) == []


def test_of_a_rollout_that_is_there_twice_the_plain_one_is_read(
    empty_home: Path, tmp_path: Path
) -> None:
    day = empty_home / ".codex" / "sessions" / "2026" / "11" / "10"
    both = write(day / "rollout-a.jsonl", [codex_meta()])
    both.with_suffix(".jsonl.zst").write_bytes(b"")
    packed = day / "rollout-b.jsonl.zst"
    packed.write_bytes(b"")
    (day / "rollout-c.jsonl.zst.tmp").write_bytes(b"")
    archived = write(empty_home / ".codex" / "archived_sessions" / "rollout-d.jsonl", [])
    found = codex.transcripts(UserFolders({"HOME": str(empty_home)}, str(tmp_path)))
    assert {one.path for one in found} == {str(both), str(packed), str(archived)}

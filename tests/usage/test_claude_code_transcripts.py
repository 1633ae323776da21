"""Transcripts of Claude Code: what counts as the use of a skill, and what does not."""

from pathlib import Path
from typing import Any

from metier.hosts.events import Compacted, Session
from metier.hosts.transcript_files import UserFolders
from metier.usage import claude_code
from usage.recorded import (
    SESSION,
    WORKSPACE,
    ClaudeCode,
    claude_home,
    events,
    fired,
    prompts,
    sessions,
    write,
)


def read(tmp_path: Path, *lines: Any) -> list[Any]:
    return events("claude-code", write(tmp_path / "session.jsonl", lines))


def test_a_call_of_the_skill_tool_is_a_use_by_the_model(tmp_path: Path) -> None:
    chat = ClaudeCode()
    found = read(tmp_path, chat.user("Fill the form"), chat.skill("docs:pdf"))
    assert fired(found) == [("docs:pdf", "", "model")]
    assert sessions(found) == [(SESSION, WORKSPACE)]


def test_an_older_version_calls_the_argument_command(tmp_path: Path) -> None:
    chat = ClaudeCode()
    assert fired(read(tmp_path, chat.tool("Skill", command="/pdf"))) == [("pdf", "", "model")]


def test_a_command_is_a_use_by_the_user_and_no_prompt(tmp_path: Path) -> None:
    chat = ClaudeCode()
    lines = chat.says("Hello"), chat.user("hello"), chat.typed("pdf", "form.pdf")
    found = read(tmp_path, *lines)
    assert fired(found) == [("pdf", "", "user")]
    assert prompts(found) == ["hello"]


def test_reading_its_file_is_not_firing(tmp_path: Path) -> None:
    chat = ClaudeCode()
    file = "/home/me/.claude/skills/pdf/SKILL.md"
    lines = chat.tool("Read", file_path=file), chat.tool("Read", file_path="/work/README.md")
    assert fired(read(tmp_path, *lines)) == [("", file, "read")]


def test_text_that_mentions_a_skill_is_no_use(tmp_path: Path) -> None:
    chat = ClaudeCode()
    quoted = '{"type":"tool_use","id":"x","name":"Skill","input":{"skill":"pdf"}}'
    typed = "<command-name>/pdf</command-name>"
    lines = (
        chat.user(f"Why did {quoted} not fire? And {typed}?"),
        chat.says(f"You wrote {quoted} and {typed}"),
        chat.result(quoted + typed),
        chat.tool("Bash", command=f"echo '{quoted}'"),
        chat.user(typed, isMeta=True),
        chat.line("summary", summary=quoted + typed),
        chat.line("attachment", attachment={"type": "skill_listing", "content": "- pdf: Forms"}),
    )
    assert fired(read(tmp_path, *lines)) == []


def test_prompts_are_what_the_user_typed(tmp_path: Path) -> None:
    chat = ClaudeCode()
    lines = (
        chat.user("first"),
        chat.user([{"type": "text", "text": "second"}, {"type": "image", "source": {}}]),
        chat.user("from a sub-agent", isSidechain=True),
        chat.user("summary so far", isCompactSummary=True),
        chat.user("written by the host", isMeta=True),
        chat.user("<local-command-stdout>ok</local-command-stdout>"),
        chat.user("[Request interrupted by user]"),
        chat.result("output"),
    )
    assert prompts(read(tmp_path, *lines)) == ["first", "second"]


def test_a_compaction_is_seen(tmp_path: Path) -> None:
    chat = ClaudeCode()
    found = read(tmp_path, chat.user("hello"), chat.compaction())
    assert sum(isinstance(one, Compacted) for one in found) == 1


def test_nothing_is_read_of_a_session_that_is_not_wanted(tmp_path: Path) -> None:
    chat = ClaudeCode()
    file = write(tmp_path / "session.jsonl", [chat.user("hello"), chat.skill("pdf")])
    found = list(claude_code.read(str(file), lambda _: False))
    assert [type(one) for one in found] == [Session]


def test_sessions_and_their_sub_agents_are_found_and_links_are_not_followed(
    empty_home: Path, tmp_path: Path
) -> None:
    chat = ClaudeCode()
    main = claude_home(empty_home, [chat.user("hello")])
    agent = write(main.with_suffix("") / "subagents" / "agent-1.jsonl", [chat.user("go")])
    outside = write(tmp_path / "elsewhere" / "other.jsonl", [chat.user("hello")])
    main.with_name("link.jsonl").symlink_to(outside)
    main.parent.with_name("linked").symlink_to(outside.parent)
    folders = UserFolders({"HOME": str(empty_home)}, str(tmp_path))
    found = {one.path for one in claude_code.transcripts(folders)}
    assert found == {str(main), str(agent)}


def test_a_workspace_cannot_move_the_folder(empty_home: Path, tmp_path: Path) -> None:
    """A repository can set variables through the settings of a host."""
    own = claude_home(empty_home, [ClaudeCode().user("hello")])
    workspace = tmp_path / "workspace"
    (workspace / ".git").mkdir(parents=True)
    claude_home(workspace, [ClaudeCode().user("hello")])
    environ = {"HOME": str(empty_home), "CLAUDE_CONFIG_DIR": str(workspace / ".claude")}
    found = list(claude_code.transcripts(UserFolders(environ, str(workspace))))
    assert [one.path for one in found] == [str(own)]


def test_the_user_can_move_the_folder(empty_home: Path, tmp_path: Path) -> None:
    moved = claude_home(tmp_path / "moved", [ClaudeCode().user("hello")])
    environ = {"HOME": str(empty_home), "CLAUDE_CONFIG_DIR": str(tmp_path / "moved" / ".claude")}
    found = list(claude_code.transcripts(UserFolders(environ, str(tmp_path / "workspace"))))
    assert [one.path for one in found] == [str(moved)]

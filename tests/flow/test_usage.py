"""Counts of skills over the sessions of a workspace."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace, boundary_of
from metier.catalog import Catalog
from metier.config import Config
from metier.flow.usage import Question, Rank, Usage
from metier.flow.usage_cases import as_yaml, drafted
from metier.flow.usage_kept import FILE
from metier.flow.usage_sessions import SkillUse
from usage.recorded import ClaudeCode, claude_home, codex_call, codex_meta, copilot_event, write

SECRETIVE = "Fill the form of joe@example.org"


@pytest.fixture
def shop(workspace: Workspace) -> Workspace:
    workspace.skill("pdf-forms", folder=".claude/skills/pdf")
    workspace.skill("docx", folder=".claude/skills/docx")
    return workspace


def chat(shop: Workspace, session: str = "s1", day: str = "2026-11-10") -> ClaudeCode:
    return ClaudeCode(str(shop.root), session, day)


def usage(shop: Workspace, *, rank: Rank | None = None, **question: Any) -> Usage:
    with Catalog.within(boundary_of(shop.root, Config(host_folders=True))) as catalog:
        catalog.refresh()
        return catalog.usage(Question(catalog.workspace, **question), rank=rank)


def use(found: Usage, name: str) -> SkillUse:
    (one,) = (one for one in found.skills if one.name == name)
    return one


def test_claude_code_names_skills_by_their_folder(shop: Workspace, empty_home: Path) -> None:
    lines = chat(shop)
    claude_home(empty_home, [lines.user("Fill it"), lines.skill("pdf"), lines.typed("pdf")])
    pdf = use(usage(shop), "pdf-forms")
    assert (pdf.fired, pdf.sessions, pdf.model, pdf.user, pdf.read) == (2, 1, 1, 1, 0)


def test_the_folder_of_a_skill_wins_over_the_name_of_another_in_claude_code_only(
    shop: Workspace, empty_home: Path
) -> None:
    shop.skill("pdf", folder=".claude/skills/other")
    lines = chat(shop)
    claude_home(empty_home, [lines.skill("pdf")])
    start = copilot_event("session.start", 0, sessionId="c1", context={"cwd": str(shop.root)})
    call = copilot_event("tool.execution_start", 1, toolName="skill", arguments={"skill": "pdf"})
    write(empty_home / ".copilot" / "session-state" / "c1" / "events.jsonl", [start, call])
    assert use(usage(shop, hosts=("claude-code",)), "pdf-forms").fired == 1
    assert use(usage(shop, hosts=("copilot",)), "pdf").fired == 1


def test_other_hosts_are_joined_by_file(shop: Workspace, empty_home: Path) -> None:
    lines = [codex_meta(str(shop.root)), codex_call("cat .claude/skills/pdf/SKILL.md")]
    write(empty_home / ".codex" / "sessions" / "2026" / "11" / "10" / "rollout-1.jsonl", lines)
    found = usage(shop)
    assert use(found, "pdf-forms").model == 1
    assert found.hosts == {"codex": 1}


def test_reading_a_file_is_not_firing(shop: Workspace, empty_home: Path) -> None:
    lines = chat(shop)
    file = str(shop.root / ".claude/skills/pdf/SKILL.md")
    claude_home(empty_home, [lines.tool("Read", file_path=file)])
    pdf = use(usage(shop), "pdf-forms")
    assert (pdf.fired, pdf.sessions, pdf.read, pdf.last) == (0, 0, 1, 0.0)


def test_a_skill_that_is_not_in_the_catalog_is_named_apart(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    claude_home(empty_home, [lines.skill("other"), lines.typed("clear"), lines.typed("model")])
    found = usage(shop)
    assert found.others == {"other": 1}
    assert sum(one.fired for one in found.skills) == 0


def test_sessions_of_other_workspaces_count_only_on_request(
    shop: Workspace, empty_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "other" / ".git").mkdir(parents=True)
    nested = shop.root / "nested"
    (nested / ".git").mkdir(parents=True)
    for number, folder in enumerate([shop.root / "src", tmp_path / "other", nested, "", "x"]):
        lines = ClaudeCode(str(folder) or "?", f"s{number}")
        claude_home(empty_home, [lines.user("Hi"), lines.skill("pdf")], f"s{number}")
    assert usage(shop).sessions == 1
    assert use(usage(shop, everywhere=True), "pdf-forms").sessions == 5
    assert usage(shop).sessions == 1, "others are not stored here"


def test_a_resumed_session_does_not_count_twice_what_it_repeats(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    told = [lines.user("Fill it"), lines.skill("pdf")]
    claude_home(empty_home, told, "s1")
    claude_home(empty_home, [{**one, "sessionId": "s2"} for one in told], "s2")
    assert use(usage(shop), "pdf-forms").fired == 1


def test_a_skill_is_lost_if_it_fires_before_a_compaction_and_not_after(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    told = [
        lines.skill("pdf"), lines.skill("docx"), lines.compaction(),
        lines.user("Go on"), lines.skill("docx"),
    ]  # fmt: skip
    claude_home(empty_home, told)
    found = usage(shop)
    assert (use(found, "pdf-forms").lost, use(found, "docx").lost) == (1, 0)


def test_a_session_that_ends_with_a_compaction_lost_nothing(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    claude_home(empty_home, [lines.skill("pdf"), lines.compaction()])
    assert use(usage(shop), "pdf-forms").lost == 0


# What looked like a skill's job


def ranked(path: str = ".claude/skills/pdf/SKILL.md") -> Rank:
    return lambda _host, prompt: path if "form" in prompt else ""


def missed(shop: Workspace, home: Path, told: Iterable[Any]) -> int:
    claude_home(home, told)
    return use(usage(shop, rank=ranked()), "pdf-forms").missed


def test_a_prompt_for_which_nothing_fired_may_look_like_a_skills_job(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    told = [lines.user("Fill the form"), lines.says("Done"), lines.user("Thanks")]
    assert missed(shop, empty_home, told) == 1


@pytest.mark.parametrize("name", ["pdf", "docx", "unknown"])
def test_nothing_is_missed_where_any_skill_fired(
    shop: Workspace, empty_home: Path, name: str
) -> None:
    lines = chat(shop)
    assert missed(shop, empty_home, [lines.user("Fill the form"), lines.skill(name)]) == 0


def test_nothing_is_missed_while_the_model_still_sees_the_skill(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    told = [lines.skill("pdf"), lines.user("Fill another form")]
    assert missed(shop, empty_home, told) == 0
    told += [lines.compaction(), lines.user("And a third form")]
    assert missed(shop, empty_home, told) == 1


def test_a_skill_that_a_sub_agent_used_is_not_missed(shop: Workspace, empty_home: Path) -> None:
    lines = chat(shop)
    prompt, skill = lines.user("Fill the form"), lines.skill("pdf")
    main = claude_home(empty_home, [prompt, lines.says("Done")])
    agent = write(main.with_suffix("") / "subagents" / "agent-1.jsonl", [skill])
    os.utime(agent, (1_000, 1_000))
    assert use(usage(shop, rank=ranked()), "pdf-forms").missed == 0


def test_a_typed_skill_ends_the_turn_before_it(shop: Workspace, empty_home: Path) -> None:
    lines = chat(shop)
    told = [lines.user("Fill the form"), lines.says("Done"), lines.typed("docx")]
    assert missed(shop, empty_home, told) == 1


# Stored counts


def test_counts_outlive_the_transcripts_and_prompts_are_not_stored(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    told = [lines.skill("pdf"), lines.compaction(), lines.user(SECRETIVE)]
    file = claude_home(empty_home, told)
    first = usage(shop, rank=ranked(), keeps_prompts=True)
    file.unlink()
    assert (use(first, "pdf-forms").fired, use(first, "pdf-forms").lost) == (1, 1)
    second = usage(shop)
    assert use(second, "pdf-forms")._replace(missed=1) == use(first, "pdf-forms")
    for stored in shop.state.rglob("*"):
        assert stored.is_dir() or b"joe@example.org" not in stored.read_bytes(), stored


def test_a_session_that_is_read_again_is_not_counted_twice(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    claude_home(empty_home, [lines.skill("pdf")])
    assert [use(usage(shop), "pdf-forms").fired for _ in range(3)] == [1, 1, 1]


def test_what_a_deleted_transcript_of_a_sub_agent_said_still_counts(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    main = claude_home(empty_home, [lines.skill("docx")])
    agent = write(main.with_suffix("") / "subagents" / "agent-1.jsonl", [lines.skill("pdf")])
    usage(shop)
    agent.unlink()
    found = usage(shop)
    assert (use(found, "docx").fired, use(found, "pdf-forms").fired) == (1, 1)
    assert found.sessions == 1


def test_stored_sessions_follow_the_question(shop: Workspace, empty_home: Path) -> None:
    for session, day in (("s1", "2026-01-10"), ("s2", "2026-11-10")):
        lines = chat(shop, session, day)
        claude_home(empty_home, [lines.skill("pdf")], session)
    usage(shop)
    assert usage(shop, since=1_790_000_000.0).sessions == 1
    assert usage(shop, hosts=("codex",)).sessions == 0


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b'{"version":9}', b'{"version":1,"sessions":[1,{"host":"x"}]}']
)
def test_damaged_counts_are_built_again(shop: Workspace, empty_home: Path, content: bytes) -> None:
    lines = chat(shop)
    claude_home(empty_home, [lines.skill("pdf")])
    usage(shop)
    (shop.state / FILE).write_bytes(content)
    assert use(usage(shop), "pdf-forms").fired == 1


def test_counts_that_cannot_be_stored_are_still_shown(shop: Workspace, empty_home: Path) -> None:
    lines = chat(shop)
    claude_home(empty_home, [lines.skill("pdf")])
    usage(shop)
    (shop.state / FILE).unlink()
    (shop.state / FILE).mkdir()
    found = usage(shop)
    assert use(found, "pdf-forms").fired == 1
    assert found.not_stored


# Cases


def test_cases_are_redacted_and_say_whether_the_skill_fired(
    shop: Workspace, empty_home: Path
) -> None:
    lines = chat(shop)
    told = [
        lines.user(SECRETIVE), lines.says("Done"),
        lines.user("Write a letter"), lines.skill("docx"), lines.user("Thanks"),
    ]  # fmt: skip
    claude_home(empty_home, told)
    found = usage(shop, rank=ranked(), keeps_prompts=True)
    cases = drafted(found.reading.cases, home=str(empty_home))
    assert cases == [
        {"task": "Fill the form of [e-mail]", "skills": ["pdf-forms"], "source": "suggested"},
        {"task": "Write a letter", "skills": ["docx"], "source": "fired"},
    ]
    assert "joe" not in as_yaml(cases)


def test_prompts_are_dropped_unless_they_are_asked_for(shop: Workspace, empty_home: Path) -> None:
    lines = chat(shop)
    claude_home(empty_home, [lines.user(SECRETIVE), lines.skill("pdf")])
    assert usage(shop, rank=ranked()).reading.cases == []

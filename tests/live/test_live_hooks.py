"""The hook in real hosts: its text arrives once, in the user's turn, and goes with the hook."""

from pathlib import Path

import pytest

from conftest import trust
from live.lab import Lab, open_lab
from live.sent import listing_text, strings
from metier.listing.protocols import Call
from metier.listing.recorder import Request

FACT = "The kiln stands in the east wing of the pottery."
PROMPT = "Where is the kiln?"
EVERY_HOST = ["codex", "gemini", "opencode", "claude-code", "copilot"]
CARD = f"""\
---
id: pottery
name: Pottery
description: Where things are in the pottery.
priority: 10
triggers:
  keywords: [kiln]
  confidenceThreshold: 0.1
---
{FACT}
"""


def lab_with_a_card(name: str, folder: Path) -> Lab:
    lab = open_lab(name, folder)
    card = lab.workspace / "docs/capabilities/pottery.md"
    card.parent.mkdir(parents=True)
    card.write_text(CARD)
    (lab.workspace / "metier.toml").write_text("")
    trust(lab.workspace, speak=True, environ=lab.environ)
    return lab


def install(lab: Lab) -> None:
    done = lab.metier("hook", "install", lab.host.name)
    assert done.returncode == 0, done.stderr


def with_the_fact(requests: list[Request]) -> list[Request]:
    return [request for request in requests if times(request)]


def times(request: Request) -> int:
    return sum(text.count(FACT) for text in strings(request.body))


def settings(lab: Lab) -> dict[str, bytes]:
    """Every settings file of the host in the workspace; what the host itself adds is left out."""
    skipped = {".git", "docs", "node_modules"}
    return {
        str(file.relative_to(lab.workspace)): file.read_bytes()
        for file in sorted(lab.workspace.rglob("*"))
        if file.is_file() and not skipped & set(file.relative_to(lab.workspace).parts)
    }


def check_arrival(name: str, folder: Path) -> None:
    lab = lab_with_a_card(name, folder)
    install(lab)
    finished = lab.ask(PROMPT)
    assert finished.status == 0, finished.output
    [request] = with_the_fact(finished.requests)
    assert times(request) == 1
    assert request.tools, "the text is in a request that offers no tools, as one for a title"


def test_the_text_of_the_hook_arrives_once_in_codex(tmp_path: Path) -> None:
    check_arrival("codex", tmp_path)


@pytest.mark.live
@pytest.mark.parametrize("name", EVERY_HOST)
def test_the_text_of_the_hook_arrives_once_in_the_users_turn(name: str, tmp_path: Path) -> None:
    check_arrival(name, tmp_path)


@pytest.mark.live
@pytest.mark.parametrize("name", EVERY_HOST)
def test_an_uninstalled_hook_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    lab = lab_with_a_card(name, tmp_path)
    before = settings(lab)
    install(lab)
    assert settings(lab) != before
    assert lab.metier("hook", "uninstall", name).returncode == 0
    assert settings(lab) == before
    finished = lab.ask(PROMPT)
    assert finished.requests, finished.output
    assert with_the_fact(finished.requests) == []


SPAWN = {
    "codex": [
        Call("multi_agent_v1.spawn_agent", {"message": PROMPT}),
        Call("exec_command", {"cmd": "sleep 3"}),  # the session must not end before the agent asks
    ],
    "opencode": [
        Call("task", {"description": "Look", "prompt": PROMPT, "subagent_type": "general"})
    ],
    "copilot": [
        Call(
            "task",
            {
                "agent_type": "general-purpose", "description": "Look", "prompt": PROMPT,
                "name": "look", "mode": "sync",
            },
        )
    ],
}  # fmt: skip
"""What starts a sub-agent."""


@pytest.mark.live
@pytest.mark.parametrize("name", list(SPAWN))
def test_a_sub_agent_gets_the_text_for_its_own_prompt(name: str, tmp_path: Path) -> None:
    lab = lab_with_a_card(name, tmp_path)
    install(lab)
    finished = lab.ask("Say hello.", SPAWN[name])
    found = with_the_fact(finished.requests)
    assert found, finished.output
    assert {times(request) for request in found} == {1}
    assert len(found) < len(finished.requests), "the main agent has it too"


@pytest.mark.live
def test_a_second_step_of_codex_has_the_text_once(tmp_path: Path) -> None:
    lab = lab_with_a_card("codex", tmp_path)
    install(lab)
    finished = lab.ask(PROMPT, [Call("exec_command", {"cmd": "true"})])
    assert [times(request) for request in finished.requests] == [1, 1]


SKILL = "---\nname: mend-kettle\ndescription: Mends a kettle that leaks.\n---\n\nSolder.\n"
USED = "Skills that this session used before"
READ = Call("exec_command", {"cmd": "cat .agents/skills/mend-kettle/SKILL.md"})


def lab_with_a_skill(name: str, folder: Path) -> Lab:
    """The hook is installed, and may use the skill."""
    lab = lab_with_a_card(name, folder)
    file = lab.project_skills / "mend-kettle/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(SKILL)
    install(lab)
    return lab


def told(requests: list[Request]) -> list[bool]:
    """Whether each request names the skill among those that were used before."""
    texts = ["\n".join(strings(request.body)) for request in requests]
    return [USED in text and "mend-kettle" in text.partition(USED)[2] for text in texts]


@pytest.mark.live
def test_codex_gets_the_text_again_and_the_skills_it_used_after_a_compaction(
    tmp_path: Path,
) -> None:
    lab = lab_with_a_skill("codex", tmp_path)
    file = lab.home / ".codex/config.toml"
    file.write_text(f"model_auto_compact_token_limit = 1\n{file.read_text()}")
    finished = lab.ask(PROMPT, [READ])
    before, _, after = finished.requests
    assert (times(before), times(after)) == (1, 1)
    assert told([before, after]) == [False, True]
    assert listing_text("codex", [before]) == listing_text("codex", [after]) != ""


@pytest.mark.live
@pytest.mark.parametrize("name", ["claude-code"])
def test_the_skills_that_a_session_used_are_named_after_a_compaction(
    name: str, tmp_path: Path
) -> None:
    lab = lab_with_a_skill(name, tmp_path)
    used = lab.ask("Say hello.", [Call("Skill", {"skill": "mend-kettle"})])
    assert not any(told(used.requests)), used.output
    lab.ask("/compact", more=["--continue"])
    after = lab.ask("Say hello.", more=["--continue"])
    assert told(after.requests)[-1], after.output


@pytest.mark.live
@pytest.mark.parametrize("name", ["claude-code"])
def test_a_sub_agent_is_told_the_skills_that_its_session_used(name: str, tmp_path: Path) -> None:
    lab = lab_with_a_skill(name, tmp_path)
    task = {"description": "Look", "prompt": "Look.", "subagent_type": "general-purpose"}
    calls = [Call("Skill", {"skill": "mend-kettle"}), Call("Agent", task)]
    finished = lab.ask("Say hello.", calls)
    assert told(finished.requests).count(True) == 1, finished.output
    assert not told(finished.requests)[-1], "the main agent has it too"


@pytest.mark.live
@pytest.mark.parametrize("name", ["gemini"])
def test_the_skills_that_a_session_used_are_named_after_a_resume(name: str, tmp_path: Path) -> None:
    lab = lab_with_a_skill(name, tmp_path)
    calls = [Call("activate_skill", {"name": "mend-kettle"})]
    used = lab.ask("Say hello.", calls, ["--approval-mode", "yolo"])
    assert not any(told(used.requests)), used.output
    resumed = lab.ask("Say hello again.", more=["--resume", "latest"])
    assert told(resumed.requests)[-1], resumed.output

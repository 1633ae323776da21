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
@pytest.mark.parametrize("name", ["codex", "gemini", "opencode", "claude-code"])
def test_the_text_of_the_hook_arrives_once_in_the_users_turn(name: str, tmp_path: Path) -> None:
    check_arrival(name, tmp_path)


@pytest.mark.live
@pytest.mark.parametrize("name", ["codex", "gemini", "opencode", "claude-code"])
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
}
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
    starter = SPAWN[name][0].tool
    assert not any(starter in request.tools for request in found), "the main agent has it too"


@pytest.mark.live
def test_a_second_step_of_codex_has_the_text_once(tmp_path: Path) -> None:
    lab = lab_with_a_card("codex", tmp_path)
    install(lab)
    finished = lab.ask(PROMPT, [Call("exec_command", {"cmd": "true"})])
    assert [times(request) for request in finished.requests] == [1, 1]


@pytest.mark.live
def test_codex_lists_skills_after_a_compaction_but_drops_the_text_of_the_hook(
    tmp_path: Path,
) -> None:
    lab = lab_with_a_card("codex", tmp_path)
    install(lab)
    file = lab.home / ".codex/config.toml"
    file.write_text(f"model_auto_compact_token_limit = 1\n{file.read_text()}")
    finished = lab.ask(PROMPT, [Call("exec_command", {"cmd": "true"})])
    before, _, after = finished.requests
    assert (times(before), times(after)) == (1, 0)
    assert listing_text("codex", [before]) == listing_text("codex", [after]) != ""

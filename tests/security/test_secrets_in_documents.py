"""A document that quotes a key shows it to its readers on disk, and nowhere else."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.printed import run_here
from cli.terminals import at_terminal, piped
from conftest import Workspace, trust
from mcp_served import called, data_of
from metier.cli import run
from metier.cli.mcp import opened
from metier.cli.session import Session
from metier.mcp.serve import serving

SECRET = "hunter2-hunter2"
SETTINGS = """
host-folders = false
[tools.read]
argv = ["true"]
environment = ["TOKEN"]
"""
CARD = f"""---
id: shop
name: Shop
description: The shop and {SECRET}.
triggers:
  keywords: [deploy]
---
The shop takes {SECRET}.
"""
COMMANDS = [
    ("show", "skill", "ship"), ("show", "skill", "ship", "--json"), ("show", "card", "shop"),
    ("show", "ability", "deploying"), ("show", "agent", "worker"), ("list",), ("list", "cards"),
    ("inject", "--task", "deploy the shop"), ("inject", "--task", "deploy", "--json"),
    ("inject", "--task", f"deploy {SECRET}", "--explain"), ("which", f"deploy {SECRET}"),
    ("select", f"work with {SECRET}", "--explain"), ("inspect", "skills/ship"),
    ("trust", "--skill", "ship", "--show"), ("diff",), ("diff", "--json"), ("lint",),
    ("listing", "--show"), ("overlap",), ("lint", "--fix", "--dry-run"), ("lock",), ("verify",),
]  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("TOKEN", SECRET)
    made = Workspace(tmp_path / "shop")
    made.write("metier.toml", SETTINGS)
    made.write("docs/capabilities/shop.md", CARD)
    made.skill("ship", f"Ships with {SECRET}. Use it to deploy the shop.", body=f"Say {SECRET}.")
    made.write("skills/ship/run.sh", f"curl -H {SECRET} example.org | sh\n")
    made.write(
        "abilities/deploying.md",
        f"---\nabilityId: deploying\nname: Deploying\ndescription: Deploys with {SECRET}.\n"
        f"triggers:\n  keywords: [deploy]\n---\nDeploy with {SECRET}.\n",
    )
    profile = {"agentId": "worker", "description": f"Works with {SECRET}.", "version": "1.0.0"}
    made.write("agents/worker.json", json.dumps({**profile, "systemPrompt": f"Say {SECRET}."}))
    trust(made.root)
    return made


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_a_secret_of_a_document(
    shop: Workspace, command: tuple[str, ...]
) -> None:
    done = run_here(shop.root, *command)
    assert "Traceback" not in done.stderr
    assert done.stdout or done.stderr
    assert SECRET not in done.stdout
    assert SECRET not in done.stderr


@pytest.mark.parametrize("command", [("show", "skill", "ship"), ("inject", "--task", "deploy")])
def test_the_rest_of_the_text_is_there(shop: Workspace, command: tuple[str, ...]) -> None:
    assert "[secret]" in run_here(shop.root, *command).stdout


def test_a_change_of_a_skill_is_shown_without_secrets(shop: Workspace) -> None:
    run_here(shop.root, "refresh")
    shop.skill("ship", f"Ships with {SECRET}. Use it to deploy.", body=f"Always say {SECRET}.")
    shown = run_here(shop.root, "trust", "--skill", "ship", "--show").stdout
    assert "Always say [secret]." in shown
    assert SECRET not in shown


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_no_encoding_of_the_output_lets_a_secret_through(shop: Workspace, encoding: str) -> None:
    done = piped(shop, "show", "skill", "ship", PYTHONIOENCODING=encoding)
    assert b"[secret]" in done.stdout
    assert SECRET.encode() not in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [("which", "deploy the shop"), ("inspect", "--all", ".")])
def test_neither_a_terminal_nor_its_pager_shows_a_secret(
    shop: Workspace, command: tuple[str, ...]
) -> None:
    for number in range(30):
        shop.skill(f"more-{number}", f"Has {SECRET} {number}. Use it to deploy the shop.")
    shown = at_terminal(shop, *command, PAGER="cat").screen
    assert len(shown.splitlines()) > 10
    assert SECRET not in shown


@pytest.mark.slow
def test_no_answer_of_a_tool_of_the_server_has_a_secret(shop: Workspace) -> None:
    session = Session(root=str(shop.root), for_host=True)
    questions: dict[str, dict[str, Any]] = {
        "skill_list": {},
        "capability_list": {},
        "context_find": {"task": "deploy the shop"},
        "context_inject": {"messages": ["deploy the shop"]},
    }
    with serving(lambda: opened(session, allow_run=False)) as server:
        for name, args in questions.items():
            told = json.dumps(data_of(called(server, name, args)))
            assert SECRET not in told
            assert "[secret]" in told


@pytest.mark.parametrize("secret", [SECRET, "sk-ant-api03-0123456789abcdef"])
@pytest.mark.parametrize(
    "command",
    [("show", "{}"), ("{}",), ("show", "skill", "{}"), ("list", "--limit", "{}"), ("lint", "--{}")],
)
def test_a_mistyped_argument_that_is_a_secret_is_not_repeated(
    shop: Workspace, command: tuple[str, ...], secret: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--root", str(shop.root), *(part.format(secret) for part in command)]) == 2
    told = capsys.readouterr().err
    assert secret not in told
    assert "[secret]" in told

"""Two runs of the same task send the same bytes, so that providers can cache prompts.

The runs are two processes; between them the catalog is removed, and every file is written anew in
another order.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from conftest import state_of, trust
from mcp_served import environment
from openai_server import OpenAIServer, ToolWanted, openai_server

pytestmark = pytest.mark.slow

AGENT = """agentId: clerk
name: Clerk
description: Writes letters about invoices.
systemPrompt: Be brief.
model: lab:small
tools: [order_status, address_of]
requires: [letter-style]
coreAbilities: [tone]
"""
FILES = {
    "agents/clerk.yaml": AGENT,
    "abilities/tone.md": "---\nabilityId: tone\ncategory: style\n---\nWrite short sentences.\n",
    "abilities/facts.md": "---\nabilityId: facts\ncategory: style\ntags: [letter]\n---\nCheck.\n",
    "abilities/zeal.md": "---\nabilityId: zeal\ncategory: style\ntags: [letter]\n---\nBe kind.\n",
    **{
        f"docs/capabilities/{name}.md": f"---\nid: {name}\nname: {name}\ndescription: How {name}"
        " works.\ntriggers:\n  keywords: [invoice, letter]\n---\n# It\n\nEach has a number.\n"
        for name in ("paper", "ink")
    },
    **{
        f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: Letters in the style {name}."
        "\ncapabilities: [letter-style]\n---\n\nStart with a greeting.\n"
        for name in ("formal", "casual", "brisk")
    },
}
SCRIPT = """
import sys
from metier import Catalog

def order_status(number: int, region: str = "eu") -> str:
    '''The state of an order.'''
    return "shipped"

def address_of(customer: str) -> str:
    '''Where a customer lives.'''
    return "Main Street"

with Catalog.open(sys.argv[1]) as catalog:
    catalog.refresh()
    for one in (order_status, address_of)[:: int(sys.argv[2])]:
        catalog.agency.tools.register(one)
    result = catalog.run_sync("clerk", "a letter about invoice 7")
    assert result.success, result.to_json()
"""


def run_once(root: Path, names: Iterable[str], server: OpenAIServer, step: int) -> list[bytes]:
    """What a run in a process of its own sends, after these files were written in this order."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    (root / "metier.toml").write_text(
        f'host-folders = false\n[models.lab]\nbase-url = "{server.url}"\n'
    )
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(FILES[name])
    trust(root)
    for file in state_of(root).glob("catalog*"):
        file.unlink()
    server.bodies.clear()
    server.answers = [ToolWanted("order_status", {"number": 7}), "Dear customer"]
    argv = [sys.executable, "-c", SCRIPT, str(root), str(step)]
    done = subprocess.run(argv, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(server.bodies)


def test_separate_runs_send_the_same_bytes(tmp_path: Path) -> None:
    names = sorted(FILES)
    with openai_server("Hi") as server:
        first = run_once(tmp_path / "w", names, server, 1)
        second = run_once(tmp_path / "w", reversed(names), server, -1)
    assert len(first) == 2
    assert first == second
    asked, again = (json.loads(body) for body in first)
    assert again["messages"][: len(asked["messages"])] == asked["messages"]
    assert again["tools"] == asked["tools"]
    text = json.dumps(asked)
    for injected in ("Write short sentences", "Be kind", "Each has a number", "a greeting"):
        assert injected in text
    assert [one["function"]["name"] for one in asked["tools"]] == ["order_status", "address_of"]

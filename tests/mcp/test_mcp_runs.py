"""Agents run for a client, where somebody allowed it."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult

from conftest import Workspace
from mcp_served import ERAS, asked, called, data_of, error_of, refreshed, server_over
from metier.cli.mcp import opened
from metier.cli.session import Session
from metier.config.record import TrustRecord
from metier.mcp.answers import schema
from metier.mcp.serve import serving
from metier.serving.catalog_thread import trust_stamp

pytestmark = pytest.mark.slow

QUICK = """
agentId: quick
description: Does it at once.
systemPrompt: Be quick.
"""
SLOW = """
agentId: slow
description: Waits for ever.
tools: [wait]
workflow:
  - stepId: wait
    type: tool
    config: {tool: wait}
"""
SETTINGS = """
host-folders = false
[tools]
allow = ["wait"]
[tools.wait]
description = "Waits."
argv = ["sleep", "600"]
timeout = 600
"""


@pytest.fixture
def server(workspace: Workspace) -> Iterator[Server[Any]]:
    workspace.write("agents/quick.yaml", QUICK)
    workspace.trust()
    with server_over(workspace.root, allow_run=True) as made:
        yield made


@pytest.mark.parametrize("era", ERAS)
def test_a_run_begins_at_once_and_can_be_looked_at_until_it_ends(
    server: Server[Any], era: str
) -> None:
    async def talk(client: Client) -> dict[str, Any]:
        args = {"agent": "quick", "task": "say hello", "model": "offline"}
        begun = data_of(await client.call_tool("run_start", args))
        jsonschema.validate(begun, schema("run"))
        while True:
            found = data_of(await client.call_tool("run_get", {"runId": begun["runId"]}))
            if found["state"] not in ("pending", "running"):
                return found

    found = asked(server, talk, era)
    jsonschema.validate(found, schema("run"))
    assert found["state"] == "succeeded"
    assert found["agentId"] == "quick"
    assert found["task"] == "say hello"
    assert found["steps"]


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("run_start", {"agent": "nobody", "task": "x"}, "NOT_FOUND"),
        ("run_start", {"agent": "quick"}, "TOOL_VALIDATION_ERROR"),
        ("run_start", {"agent": "quick", "task": "x", "model": "nope"}, "USAGE"),
        ("run_get", {"runId": "nothing"}, "NOT_FOUND"),
    ],
)
def test_a_run_that_cannot_begin_is_an_error_with_a_code(
    server: Server[Any], name: str, args: dict[str, Any], code: str
) -> None:
    error = error_of(called(server, name, args))
    assert error["code"] == code
    assert not error["where"].startswith("/")  # clients learn no path of the machine


def test_no_agent_of_an_untrusted_workspace_runs(workspace: Workspace) -> None:
    workspace.write("agents/quick.yaml", QUICK)
    args = {"agent": "quick", "task": "x", "model": "offline"}
    with server_over(workspace.root, allow_run=True) as server:
        assert error_of(called(server, "run_start", args))["code"] == "WORKSPACE_UNTRUSTED"
    with refreshed(workspace.root) as catalog:
        assert catalog.agency.store.runs() == []


def test_no_more_than_so_many_runs_are_at_work_at_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.mcp.runs.MOST_AT_ONCE", 2)
    workspace.write("agents/slow.yaml", SLOW)
    workspace.write("metier.toml", SETTINGS)
    workspace.trust()

    async def talk(client: Client) -> list[CallToolResult]:
        args = {"agent": "slow", "task": "wait"}
        answers = [await client.call_tool("run_start", args) for _ in range(3)]
        return [one for one in answers if isinstance(one, CallToolResult)]

    with serving(session_of(workspace).catalog, allow_run=True) as server:
        *begun, refused = asked(server, talk)
    assert {data_of(one)["state"] for one in begun} == {"running"}
    assert error_of(refused)["code"] == "RUN_BUSY"


def session_of(workspace: Workspace) -> Session:
    return Session(root=str(workspace.root), quiet=True, for_host=True)


def test_a_run_that_is_at_work_when_the_server_ends_is_cancelled_and_kept(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.write("agents/slow.yaml", SLOW)
    workspace.write("metier.toml", SETTINGS)
    workspace.trust()

    async def talk(client: Client) -> str:
        args = {"agent": "slow", "task": "wait"}
        run_id: str = data_of(await client.call_tool("run_start", args))["runId"]
        found = data_of(await client.call_tool("run_get", {"runId": run_id}))
        assert found["state"] == "running"
        listed = await asyncio.wait_for(client.call_tool("skill_list", {}), 10)
        assert data_of(listed)["total"] == 0  # others are answered meanwhile
        return run_id

    with serving(session_of(workspace).catalog, allow_run=True) as server:
        run_id = asked(server, talk)
    with refreshed(workspace.root) as catalog:
        assert catalog.agency.store.run(run_id).state == "cancelled"


def test_a_server_follows_the_users_trust_while_it_serves(workspace: Workspace) -> None:
    workspace.write("agents/quick.yaml", QUICK)
    session = Session(root=str(workspace.root), quiet=True, for_host=True)
    args = {"agent": "quick", "task": "x", "model": "offline"}
    fresh = partial(opened, session, allow_run=True)
    with serving(fresh, allow_run=True, stamp=trust_stamp) as server:
        assert error_of(called(server, "run_start", args))["code"] == "WORKSPACE_UNTRUSTED"
        workspace.trust()
        assert data_of(called(server, "run_start", args))["agentId"] == "quick"
        TrustRecord().drop(str(workspace.root))
        assert error_of(called(server, "run_start", args))["code"] == "WORKSPACE_UNTRUSTED"
        workspace.trust()
        workspace.write("metier.toml", SETTINGS)
        assert error_of(called(server, "run_start", args))["code"] == "WORKSPACE_UNTRUSTED"
        workspace.skill("newcomer")
        assert "newcomer" in str(data_of(called(server, "skill_list", {})))

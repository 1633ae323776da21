"""Fifty clients at once, ten thousand skills: no error, and memory that does not grow."""

import asyncio
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from conftest import Workspace
from mcp_served import data_of, environment, over_http, refreshed

CLIENTS, SKILLS = 50, 10_000
SECONDS = 60.0 if os.environ.get("METIER_SOAK") else 5.0
GROWTH = 1.1
"""What the server may have of the memory that it had when it was warm."""


def megabytes(process: int) -> float:
    """The memory that a process has."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) / 1024


QUESTIONS: list[tuple[dict[str, Any], int]] = [
    ({}, SKILLS),
    ({"limit": 50, "cursor": "c2tpbGwtMDUwMDA"}, SKILLS),
    ({"capability": "thing-7"}, SKILLS // 500),
    ({"limit": 10}, SKILLS),
]
"""What is asked for, and how many there are."""


async def load(url: str, seconds: float) -> int:
    """How often clients were answered that ask one question after the other."""
    end = time.monotonic() + seconds

    async def ask(number: int) -> int:
        calls = 0
        async with Client(url) as client:
            while time.monotonic() < end or calls < len(QUESTIONS):
                args, total = QUESTIONS[(number + calls) % len(QUESTIONS)]
                data = data_of(await client.call_tool("skill_list", args))
                assert data["total"] == total
                assert len(data["skills"]) == min(total, args.get("limit", 50))
                calls += 1
        return calls

    return sum(await asyncio.gather(*(ask(number) for number in range(CLIENTS))))


@pytest.mark.slow
def test_fifty_clients_get_no_error_and_memory_stays_flat(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("this system does not tell how much memory a process has")
    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)
    for index in range(SKILLS):
        workspace.skill(
            f"skill-{index:05}",
            f"Does thing {index} well. Use it when thing {index} is needed.",
            folder=f"skills/{index % 100:02}/skill-{index:05}",
            extra=f"capabilities: [thing-{index % 500}]",
        )
    with refreshed(workspace.root) as catalog:
        assert len(catalog.names("skill")) == SKILLS
    with over_http(workspace.root, "--no-refresh") as server:
        asyncio.run(load(server.url, min(SECONDS, 3.0)))
        before = megabytes(server.process.pid)
        assert asyncio.run(load(server.url, SECONDS)) >= CLIENTS * len(QUESTIONS)
        after = megabytes(server.process.pid)
        assert after <= before * GROWTH, f"{before:.0f} MB grew to {after:.0f} MB"
        assert server.stop() == 0

"""Fifty clients at once: no error, flat memory. `python -m benchmarks mcp` measures the speed."""

import asyncio
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.mcp import CLIENTS
from mcp import Client

from conftest import Workspace
from mcp_served import HttpServer, data_of, environment, over_http, own_home, refreshed
from soak import SOAK

SKILLS, SECONDS = (10_000, 60.0) if SOAK else (1_000, 1.0)
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
    ({"limit": 50, "cursor": "c2tpbGwtMDA1MDA"}, SKILLS),
    ({"capability": "thing-7"}, SKILLS // 500),
    ({"limit": 10}, SKILLS),
]
"""What is asked for, and how many there are."""


async def ask_all(url: str, seconds: float) -> int:
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


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server with many skills."""
    workspace = Workspace(tmp_path_factory.mktemp("load"))
    for index in range(SKILLS):
        workspace.skill(
            f"skill-{index:05}",
            f"Does thing {index} well. Use it when thing {index} is needed.",
            folder=f"skills/{index % 100:02}/skill-{index:05}",
            extra=f"capabilities: [thing-{index % 500}]",
        )
    with own_home(tmp_path_factory.mktemp("home")):
        with refreshed(workspace.root) as catalog:
            assert len(catalog.names("skill")) == SKILLS
        with over_http(workspace.root, "--no-refresh") as server:
            yield server


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)


@pytest.mark.slow
def test_fifty_clients_get_no_error_and_memory_stays_flat(served: HttpServer) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("this system does not tell how much memory a process has")
    asyncio.run(ask_all(served.url, min(SECONDS, 3.0)))
    before = megabytes(served.process.pid)
    assert asyncio.run(ask_all(served.url, SECONDS)) >= CLIENTS * len(QUESTIONS)
    after = megabytes(served.process.pid)
    assert after <= before * GROWTH, f"{before:.0f} MB grew to {after:.0f} MB"

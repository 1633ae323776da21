"""`run_start` leaves runs to workers when there are any."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mcp import Client

from cli.worker_processes import Team, acts
from cli.worker_processes import team as team
from mcp_served import ERAS, asked, data_of
from metier.catalog import Catalog
from metier.mcp.serve import serving

pytestmark = pytest.mark.slow


@contextmanager
def refreshed(team: Team) -> Iterator[Catalog]:
    with Catalog.open(team.root) as catalog:
        catalog.refresh()
        yield catalog


async def ended_run(client: Client) -> dict[str, Any]:
    begun = data_of(await client.call_tool("run_start", {"agent": "clerk", "task": "t"}))
    while True:
        found = data_of(await client.call_tool("run_get", {"runId": begun["runId"]}))
        if found["state"] not in ("pending", "running"):
            return found
        await asyncio.sleep(0.05)


def test_a_run_is_executed_by_a_worker_if_one_is_alive(team: Team) -> None:
    team.agent("clerk", *acts(1))
    worker = team.worker()

    with serving(lambda: refreshed(team), allow_run=True) as server:
        found = asked(server, ended_run, ERAS[0])
    assert found["state"] == "succeeded", found
    assert f"run {found['runId']} starts" in team.log(worker)


def test_a_run_is_executed_by_the_server_if_no_worker_is_alive(team: Team) -> None:
    team.agent("clerk", *acts(1))
    team.trust()

    with serving(lambda: refreshed(team), allow_run=True) as server:
        assert asked(server, ended_run, ERAS[0])["state"] == "succeeded"

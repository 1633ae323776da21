"""A refresh while serving: seen at the next request, whole or not at all."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from conftest import Workspace
from mcp_served import asked, called, data_of, refreshed, server_over
from metier.index.documents import page_of_documents

pytestmark = pytest.mark.slow


def names(data: dict[str, Any]) -> list[str]:
    return [row["name"] for row in data["skills"]]


def refresh(root: Path) -> None:
    with refreshed(root):
        pass


def test_a_refresh_by_another_connection_is_seen_at_the_next_request(
    workspace: Workspace,
) -> None:
    workspace.skill("first", extra="capabilities: [one]")

    async def talk(client: Client) -> None:
        assert names(data_of(await client.call_tool("skill_list", {}))) == ["first"]
        args = {"requires": ["two"], "mode": "strict"}
        assert data_of(await client.call_tool("capability_resolve", args))["selected"] == []
        workspace.skill("second", extra="capabilities: [two]")
        (workspace.root / "skills" / "first" / "SKILL.md").unlink()
        await asyncio.to_thread(refresh, workspace.root)
        assert names(data_of(await client.call_tool("skill_list", {}))) == ["second"]
        report = data_of(await client.call_tool("capability_resolve", args))
        assert report["selected"] == ["second::skills/second"]
        assert [one.name for one in (await client.list_resources()).resources] == ["second"]

    with server_over(workspace.root) as server:
        asked(server, talk)


def test_what_is_on_disk_but_not_refreshed_is_not_seen(workspace: Workspace) -> None:
    workspace.skill("first")
    with server_over(workspace.root) as server:
        assert names(data_of(called(server, "skill_list"))) == ["first"]
        workspace.skill("second")
        assert names(data_of(called(server, "skill_list"))) == ["first"]


def test_no_answer_ever_shows_half_of_a_refresh(workspace: Workspace) -> None:
    """Two generations of fifty skills take turns; each answer must be of one of them."""
    workspace.skill("keeper")

    def generation(number: int) -> None:
        shutil.rmtree(workspace.root / "skills" / "many", ignore_errors=True)
        for index in range(50):
            workspace.skill(f"s{index}-of-{number}", folder=f"skills/many/{index}")
        refresh(workspace.root)

    async def talk(client: Client) -> set[str]:
        seen: set[str] = set()
        for number in range(6):
            changing = asyncio.create_task(asyncio.to_thread(generation, number))
            while not changing.done():
                answer = data_of(await client.call_tool("skill_list", {"limit": 200}))
                many = [name for name in names(answer) if name != "keeper"]
                ends = {name.rpartition("-")[2] for name in many}
                assert (len(many), len(ends)) in ((0, 0), (50, 1))
                assert answer["total"] == len(many) + 1
                seen |= ends
            await changing
        return seen

    with server_over(workspace.root) as server:
        assert len(asked(server, talk)) >= 3


def test_rows_and_total_of_a_page_are_of_one_state_whoever_writes_between(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.skill("first")
    with refreshed(workspace.root) as catalog:
        rows = catalog.store.rows

        def written_between(sql: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
            found = rows(sql, parameters)
            if "ORDER BY handle" in sql:
                workspace.skill("second")
                refresh(workspace.root)
            return found

        monkeypatch.setattr(catalog.store, "rows", written_between)
        for count in (1, 2):
            page = page_of_documents(catalog.store, "skill", limit=10)
            assert (len(page.rows), page.total) == (count, count)


def test_a_catalog_that_was_made_anew_is_the_one_that_answers(workspace: Workspace) -> None:
    workspace.skill("first")
    with server_over(workspace.root) as server:
        assert names(data_of(called(server, "skill_list"))) == ["first"]
        workspace.skill("second")
        files = list(workspace.state.glob("restricted.db*"))
        assert files
        for file in files:
            file.unlink()
        refresh(workspace.root)
        assert names(data_of(called(server, "skill_list"))) == ["first", "second"]


@pytest.mark.parametrize("clients", [8])
def test_many_at_once_get_each_their_own_answer(workspace: Workspace, clients: int) -> None:
    for index in range(20):
        workspace.skill(f"skill-{index:02}", extra=f"capabilities: [cap-{index:02}]")

    async def one(client: Client, index: int) -> None:
        wanted = f"cap-{index % 20:02}"
        listed = data_of(await client.call_tool("skill_list", {"capability": wanted}))
        assert names(listed) == [f"skill-{index % 20:02}"]
        args = {"requires": [wanted], "query": wanted}
        report = data_of(await client.call_tool("capability_resolve", args))
        assert report["required_capabilities"] == [wanted]
        assert report["selected"] == [f"skill-{index % 20:02}::skills/skill-{index % 20:02}"]

    async def talk(client: Client) -> None:
        await asyncio.gather(*(one(client, index) for index in range(clients * 5)))

    with server_over(workspace.root) as server:
        asked(server, talk)

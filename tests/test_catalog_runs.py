"""Runs by the name of an agent, kept beside the catalog."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.errors import NotFoundError, UsageError
from metier.flow.boundary import Boundary
from metier.run.tool import schema_tool
from metier.storage.workspace import RUNS_FILE
from metier.values.runs import StepRecord
from run.office import TASK, Office, office
from run.world import Data, do

__all__ = ["office"]


def test_a_run_by_name_is_kept_beside_the_catalog(office: Office) -> None:
    office.agent()
    result = office.run("hello", input={"x": 1})
    assert (result.state, result.output) == ("succeeded", "answer 0")
    folder = Path(office.catalog.store.path).parent
    assert (folder / RUNS_FILE).is_file()
    with Catalog.open(office.workspace.root) as other:
        kept: StepRecord = other.agency.store.steps(other.agency.store.run(result.run_id).key)[0]
        assert kept.output == "answer 0"


def test_the_bundled_agent_runs_without_any_file(office: Office) -> None:
    result = office.catalog.run_sync("standard", "hello")
    assert result.success
    assert "careful assistant" in office.request.system


def test_a_listener_that_fails_is_logged_and_stops_no_run(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise ValueError("the dashboard is down")

    assert office.catalog.run_sync("standard", "hello", on_event=fail).success
    assert "on_event failed at 'run.started'" in caplog.text
    assert "the dashboard is down" in caplog.text


def test_an_agent_that_is_not_there_is_not_found_and_nothing_is_begun(office: Office) -> None:
    office.agent()
    with pytest.raises(NotFoundError) as raised:
        office.catalog.run_sync("wroker", "hello")
    assert "'worker'" in raised.value.hint
    assert office.catalog.agency.store.runs() == []


def test_select_then_run_then_fork(office: Office) -> None:
    office.workspace.write(
        "agents/other.yaml", "agentId: other\ndescription: d\nkeywords: [cooking]\n"
    )
    office.agent(do("a"), do("b"), keywords=["migration"])
    catalog = office.catalog

    async def do_it(args: Data) -> Any:
        return args

    catalog.agency.tools.register(schema_tool("do", {}, do_it))
    best, *_ = catalog.select_agents(TASK)
    result = catalog.run_sync(best.agent_id, TASK)
    assert (best.agent_id, result.state) == ("worker", "succeeded")
    (first, _) = catalog.agency.checkpoints.list(result.run_id)
    forked = asyncio.run(catalog.agency.fork(result.run_id, first.checkpoint_id, input=[1]))
    assert forked.success
    assert forked.run.forked_from == first.checkpoint_id


def test_standard_is_always_selectable_in_a_catalog(office: Office) -> None:
    office.workspace.write("agents/other.yaml", "agentId: other\ndescription: d\nteam: sales\n")
    found = office.catalog.select_agents("anything at all", exclude=["standard"], team="sales")
    assert [(one.agent_id, one.confidence) for one in found] == [("standard", 0.5)]


def test_a_catalog_in_memory_keeps_runs_in_memory(office: Office) -> None:
    office.agent()
    kept = office.catalog
    same = Boundary(kept.workspace, kept.trust, kept.config)
    with Catalog.in_memory(same) as catalog:
        catalog.refresh()
        result = catalog.run_sync("worker", "hello", model="offline")
        assert result.success
        assert catalog.agency.store.runs()[0].run_id == result.run_id


def test_a_model_that_is_none_leaves_no_run_at_work(workspace: Workspace) -> None:
    workspace.write("metier.toml", "")
    workspace.trust()
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        with contextlib.suppress(UsageError):
            catalog.run_sync("standard", "hello", model="nonsense")
        assert [one.state for one in catalog.agency.store.runs()] in ([], ["failed"])

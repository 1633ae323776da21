"""Runs from Python that are resumed, cancelled or need consent."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Workspace
from metier import Agent, Catalog, ModelReply, ModelRequest, NotFoundError, UsageError, tool
from metier.run.models import ModelOptions, Price, ProviderSettings, ScriptedModel, model_for
from metier.values.models import ToolCall
from metier.values.runs import Usage

CLERK = Agent("clerk", "Answers letters.")


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    workspace.trust()
    with Catalog.open(workspace.root) as opened:
        opened.refresh()
        yield opened


class Lab:
    """A model of the program's own."""

    name = "lab:model"

    async def respond(self, request: ModelRequest) -> ModelReply:
        raise ConnectionError(f"no answer to {len(request.messages)}")


@pytest.fixture
def failed(catalog: Catalog) -> str:
    """A run whose model failed."""
    return catalog.run_sync(CLERK, "x", model=Lab()).run_id


# Resuming


@pytest.mark.parametrize("model", ["offline", ScriptedModel(["done"], name="other:model")])
def test_a_run_is_resumed_with_another_model_if_one_is_given(
    model: Any, catalog: Catalog, failed: str
) -> None:
    result = catalog.resume_sync(failed, model=model)
    assert result.success, result.errors[0].message


def test_the_model_of_a_resume_answers_for_delegates_too(catalog: Catalog) -> None:
    steps = [{"stepId": "ask", "type": "delegate", "config": {"targetAgent": "clerk"}}]
    catalog.add(Agent("clerk", "Answers letters.", model=Lab()))
    chief = Agent("chief", "Delegates.", workflow=steps, model=Lab())
    run_id = catalog.run_sync(chief, "x").run_id
    assert catalog.resume_sync(run_id, model=ScriptedModel(["done"])).output == "done"


def test_an_unknown_name_of_a_model_changes_nothing_in_the_run(
    catalog: Catalog, failed: str
) -> None:
    before = catalog.run_result(failed)
    with pytest.raises(UsageError, match="no provider of models is called 'opnai'"):
        catalog.resume_sync(failed, model="opnai:gpt-5")
    assert catalog.run_result(failed) == before


def test_a_resume_is_streamed_like_a_run(catalog: Catalog, failed: str) -> None:
    async def follow() -> tuple[list[str], Any]:
        async with catalog.stream_resume(failed, model=ScriptedModel(["done"])) as stream:
            kinds = [event.kind async for event in stream]
        return kinds, stream.result.output

    kinds, output = asyncio.run(follow())
    assert (kinds[-1], output) == ("run.finished", "done")
    assert "model.answered" in kinds


def test_a_resume_without_the_agent_of_python_says_to_add_it(
    workspace: Workspace, catalog: Catalog
) -> None:
    def order_status() -> str:
        return "shipped"

    agent = Agent("clerk", "Answers letters.", tools=[order_status])
    failed = catalog.run_sync(agent, "x", model=Lab()).run_id
    with Catalog.open(workspace.root) as later:
        (error, *_) = later.resume_sync(failed, model="offline").errors
        assert (error.code, "catalog.add(agent)" in error.hint) == ("TOOL_NOT_FOUND", True)
        later.add(agent)
        assert later.resume_sync(failed, model="offline").success


# Cancelling


def test_a_run_is_cancelled_by_its_id(catalog: Catalog) -> None:
    @tool
    async def wait() -> None:
        """Waits."""
        started.set()
        await asyncio.Event().wait()

    started = asyncio.Event()
    call = ModelReply("", [ToolCall("1", "wait", {})])
    agent = Agent("clerk", "Waits.", tools=[wait], model=ScriptedModel([call]))

    async def run_and_cancel() -> str:
        task = asyncio.ensure_future(catalog.run(agent, "x"))
        await started.wait()
        (running,) = catalog.runs(state="running")
        assert catalog.cancel(running.run_id)
        return (await task).run_id

    run_id = asyncio.run(run_and_cancel())
    assert catalog.run_result(run_id).state == "cancelled"
    assert not catalog.cancel(run_id)


def test_a_run_that_has_ended_or_is_unknown_is_not_cancelled(catalog: Catalog) -> None:
    ended = catalog.run_sync(CLERK, "x", model="offline")
    assert not catalog.cancel(ended.run_id)
    assert catalog.run_result(ended.run_id).state == "succeeded"
    with pytest.raises(NotFoundError):
        catalog.cancel("no-such-run")


# Consent


def test_a_program_can_consent_to_a_tool(catalog: Catalog) -> None:
    @tool(needs_consent=True)
    def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    def ask() -> str:
        model = ScriptedModel([ModelReply("", [ToolCall("1", "pay", {"amount": 3})]), _last])
        agent = Agent("clerk", "Pays.", tools=[pay])
        return str(catalog.run_sync(agent, "x", model=model).output)

    assert "catalog.allow_tools('pay')" in ask()
    with pytest.raises(UsageError) as caught:
        catalog.allow_tools("pay", "pya")
    assert caught.value.hint == "did you mean 'pay'?"
    assert "catalog.allow_tools('pay')" in ask()
    catalog.allow_tools("pay")
    assert ask() == "paid 3"


def _last(request: ModelRequest) -> str:
    return request.messages[-1].text


@pytest.mark.parametrize("options", [ModelOptions(), ModelOptions(input=0.1, output=0.4)])
def test_a_limit_of_cost_needs_the_price_of_the_model(
    options: ModelOptions, catalog: Catalog
) -> None:
    lab = ProviderSettings("http://127.0.0.1:1/v1", models={"small": options})
    model = model_for("lab:small", settings={"lab": lab})
    agent = Agent("clerk", "Answers letters.", more={"limits": {"cost": 0.01}})
    result = catalog.run_sync(agent, "x", model=model)
    (error, *_) = result.errors
    if options.input is None:
        assert "needs the price of 'lab:small'" in error.message
        assert "[models.lab.small]" in error.hint
        assert result.usage.requests == 0
    else:
        assert "price" not in error.message


class Gateway:
    """A model of a user, whose replies say which tokens were used."""

    name = "own:gateway"

    async def respond(self, request: ModelRequest) -> ModelReply:
        return ModelReply("Done.", usage=Usage(1_000, 1_000, requests=len(request.messages)))


class PricedGateway(Gateway):
    price = Price(1.0, 9.0)


def test_a_limit_of_cost_needs_the_price_of_a_model_object(catalog: Catalog) -> None:
    agent = Agent("clerk", "Answers letters.", more={"limits": {"cost": 0.02}})
    result = catalog.run_sync(agent, "x", model=Gateway())
    (error, *_) = result.errors
    assert error.message.endswith("needs the price of 'own:gateway', which is not known")
    assert error.hint.startswith("give the object a price: price = Price(input, output)")
    assert result.usage.requests == 0
    priced = catalog.run_sync(agent, "x", model=PricedGateway())
    assert (priced.success, priced.usage.cost) == (True, 0.01)
    assert catalog.run_sync(agent, "x", model=ScriptedModel(["Done."])).success
    strict = Agent("strict", "Answers letters.", more={"limits": {"cost": 0.001}})
    assert catalog.run_sync(strict, "x", model=PricedGateway()).errors[0].code == (
        "RUN_LIMIT_EXCEEDED"
    )

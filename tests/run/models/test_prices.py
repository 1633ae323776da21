"""What models cost."""

import asyncio

import pytest

from metier.run.models import Price, ProviderModel, ProviderSettings, price_of
from metier.values.models import Message, ModelRequest
from metier.values.run_settings import ModelOptions
from metier.values.runs import Usage

OWN = ProviderSettings(
    "http://127.0.0.1:1/v1", models={"small": ModelOptions(input=0.5, output=2.0)}
)


def test_the_settings_say_what_a_model_costs() -> None:
    assert price_of("own:small", {"own": OWN}) == Price(0.5, 2.0)
    assert price_of("own:large", {"own": OWN}) is None


def test_published_prices_count_for_the_address_of_the_provider_only() -> None:
    pytest.importorskip("genai_prices")
    published = price_of("openai:gpt-4o", {})
    assert published is not None
    assert 0 < published.input < published.output
    assert price_of("openai:gpt-4o", {"openai": ProviderSettings("http://127.0.0.1:1/v1")}) is None
    assert price_of("nobody:knows", {}) is None


def test_the_offline_model_is_free() -> None:
    assert price_of("offline", {}) == Price(0.0, 0.0) == price_of("offline:template", {})


def test_a_price_is_for_a_million_tokens() -> None:
    assert Price(2.0, 10.0).cost(Usage(500_000, 100_000)) == pytest.approx(2.0)


def test_answers_cost_what_the_settings_say() -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.test import TestModel

    model = ProviderModel("own:small", OWN, connect=lambda: TestModel(call_tools=[]))
    reply = asyncio.run(model.respond(ModelRequest("", [Message("user", "hello")])))
    used = reply.usage
    assert used.cost == pytest.approx((used.input_tokens * 0.5 + used.output_tokens * 2) / 1e6)
    assert used.cost > 0

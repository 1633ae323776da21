"""A real server of the OpenAI protocol: llama.cpp, with a model that writes nonsense."""

import asyncio
import importlib.util
import os
import sys
from collections.abc import Iterator

import pytest
from jsonschema import validate

from metier.errors import ModelError
from metier.run.models import ProviderSettings, model_for
from metier.values.models import Message, Model, ModelReply, ModelRequest, ToolSpec
from run.models.servers import running
from run.models.tiny_llama import write_tiny_llama

pytestmark = pytest.mark.slow

KEY = "the-key-of-the-test"
SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.api_keys = sys.argv[1], 0, [sys.argv[2]]
params.n_ctx, params.n_parallel = 4096, 2
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
sys.stdin.read()
"""
ASKED = ModelRequest(
    "Be short.", [Message("user", "Hello, what is 漢字?")], temperature=0.0, max_tokens=12
)
CHOICE = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "green"]},
        "sure": {"type": "boolean"},
        "parts": {"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 2},
    },
    "required": ["colour", "sure", "parts"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: no llama.cpp server")
    file = tmp_path_factory.mktemp("llama") / "tiny.gguf"
    write_tiny_llama(file)
    with running([sys.executable, "-c", SERVE, str(file), KEY], "listening", os.environ) as found:
        yield found


@pytest.fixture
def model(address: str, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LLAMA_KEY", KEY)
    settings = {"llama": ProviderSettings(f"{address}/v1", "LLAMA_KEY")}
    return model_for("llama:tiny", settings=settings)


def respond(model: Model, request: ModelRequest) -> ModelReply:
    return asyncio.run(model.respond(request))


def test_a_text_is_as_long_as_was_allowed(model: Model) -> None:
    reply = respond(model, ASKED)
    assert len(reply.text) == 12
    assert reply.tool_calls == []
    assert reply.usage.output_tokens == 12
    assert reply.usage.requests == 1
    assert reply.usage.cost == 0.0


def test_the_temperature_reaches_the_model(model: Model) -> None:
    assert respond(model, ASKED).text == respond(model, ASKED).text
    hot = ASKED._replace(temperature=2.0, max_tokens=40)
    assert len({respond(model, hot).text for _ in range(4)}) == 4


def test_the_system_prompt_and_the_history_reach_the_model(model: Model) -> None:
    talk = [*ASKED.messages, Message("assistant", "x" * 50), Message("user", "And then?")]
    bare = respond(model, ASKED._replace(system="")).usage.input_tokens
    short = respond(model, ASKED).usage.input_tokens
    long = respond(model, ASKED._replace(messages=talk)).usage.input_tokens
    assert bare < short < long - 50


def test_a_streamed_text_is_the_same_text_in_pieces(model: Model) -> None:
    pieces: list[str] = []
    reply = respond(model, ASKED._replace(on_text=pieces.append))
    assert len(pieces) > 1
    assert "".join(pieces) == reply.text == respond(model, ASKED).text
    assert reply.usage.output_tokens == 12


@pytest.mark.parametrize("is_streamed", [False, True])
def test_even_nonsense_follows_the_schema(model: Model, is_streamed: bool) -> None:
    pieces: list[str] = []
    on_text = pieces.append if is_streamed else None
    request = ASKED._replace(output_schema=CHOICE, max_tokens=300, on_text=on_text)
    reply = respond(model, request)
    validate(reply.data, CHOICE)
    assert not is_streamed or "".join(pieces) == reply.text


def test_with_tools_the_schema_is_told_and_the_model_stays_free(model: Model) -> None:
    look = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})
    reply = respond(model, ASKED._replace(output_schema=CHOICE, tools=[look]))
    assert reply.data is None
    told = reply.usage.input_tokens - respond(model, ASKED).usage.input_tokens
    assert told > 100


def test_many_calls_at_once_are_all_answered(model: Model) -> None:
    async def ask() -> set[str]:
        replies = await asyncio.gather(*(model.respond(ASKED) for _ in range(8)))
        return {reply.text for reply in replies}

    assert len(asyncio.run(ask())) == 1


def test_a_wrong_key_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LLAMA_KEY", "a-wrong-key")
    settings = {"llama": ProviderSettings(f"{address}/v1", "LLAMA_KEY")}
    with pytest.raises(ModelError, match="refuses the key") as caught:
        respond(model_for("llama:tiny", settings=settings), ASKED)
    assert caught.value.kind == ""
    assert "wrong-key" not in caught.value.message


def test_a_talk_that_is_too_long_is_an_error_that_does_not_pass(model: Model) -> None:
    with pytest.raises(ModelError, match="HTTP 400") as caught:
        respond(model, ASKED._replace(messages=[Message("user", "x" * 10_000)]))
    assert caught.value.kind == ""

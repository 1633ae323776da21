"""A server that answers by rules, in the OpenAI protocol: tool calls, errors, rate limits."""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from conftest import REPOSITORY
from metier.errors import ModelError
from metier.run.models import ProviderSettings, model_for
from metier.values.models import Message, Model, ModelReply, ModelRequest, ToolCall, ToolSpec
from run.models.servers import running

pytestmark = pytest.mark.slow

NODE = REPOSITORY / "tests" / "node"
PACKAGE = NODE / "node_modules" / "@copilotkit" / "aimock"
INSTALL = "npm install --no-audit --no-fund --no-package-lock --ignore-scripts --fetch-retries=0"
INSTALL_SECONDS = 90
ENDS_WITH_ITS_INPUT = "data:text/javascript,process.stdin.on('end',()=>process.exit()).resume()"
"""So it does not stay when the tests are killed."""
KEY = "the-key-of-the-test"
WEATHER = ToolSpec(
    "get_weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CALL = ToolCall("call_1", "get_weather", {"city": "Bern"})
LONG = "Hello, this is a text that comes in several pieces."


def failing(word: str, status: int, message: str, **more: str) -> dict[str, Any]:
    error = {"message": message, "type": "some_error", **more}
    return {"match": {"userMessage": word}, "response": {"error": error, "status": status}}


RULES = [
    {
        "match": {"userMessage": "weather", "hasToolResult": False},
        "response": {"toolCalls": [{"id": CALL.id, "name": CALL.name, "arguments": CALL.args}]},
    },
    {
        "match": {"userMessage": "weather", "toolResultContains": "sun"},
        "response": {"content": "It is sunny."},
    },
    {
        "match": {"userMessage": "twice"},
        "response": {
            "content": "I look.",
            "toolCalls": [
                {"id": f"call_{city}", "name": CALL.name, "arguments": {"city": city}}
                for city in ("Bern", "Rome")
            ],
        },
    },
    {
        "match": {"userMessage": "mumble"},
        "response": {"toolCalls": [{"id": "call_9", "name": CALL.name, "arguments": '{"city": '}]},
    },
    {
        "match": {"userMessage": "value", "responseFormat": "json_schema"},
        "response": {"content": '{"a": 1}'},
    },
    {
        "match": {"userMessage": "price"},
        "response": {
            "content": "Dear.",
            "usage": {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500},
        },
    },
    failing("hurry", 429, "Slow down"),
    failing("poor", 429, "No credit left", code="insufficient_quota"),
    failing("crash", 500, "Oh no"),
    failing("busy", 503, "Come back later"),
    failing("wrong", 400, "That is\nwrong"),
    failing("nowhere", 404, "No such model"),
    {
        "match": {"userMessage": "drop"},
        "response": {"content": LONG},
        "chaos": {"disconnectRate": 1},
    },
    {
        "match": {"userMessage": "garble"},
        "response": {"content": LONG},
        "chaos": {"malformedRate": 1},
    },
    {"match": {"userMessage": "break"}, "response": {"content": LONG}, "truncateAfterChunks": 3},
    {"match": {"userMessage": "hello"}, "response": {"content": LONG}},
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    install()
    rules = tmp_path_factory.mktemp("aimock") / "rules.json"
    rules.write_text(json.dumps({"fixtures": RULES}))
    server = ["node", "--import", ENDS_WITH_ITS_INPUT, str(PACKAGE / "dist" / "cli.js")]
    environment = {**os.environ, "AIMOCK_API_KEYS": KEY}
    options = ["--port", "0", "--fixtures", str(rules), "--strict"]
    with running([*server, *options], "listening", environment) as found:
        yield found


def install() -> None:
    """Install the server once; tests in several processes wait for the one that does it."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed: no aimock server")
    wanted = json.loads((NODE / "package.json").read_text())["dependencies"]["@copilotkit/aimock"]
    with (NODE / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if installed() != wanted:
            try:
                subprocess.run(
                    INSTALL.split(),
                    cwd=NODE,
                    timeout=INSTALL_SECONDS,
                    capture_output=True,
                    check=True,
                )
            except (subprocess.SubprocessError, OSError) as error:
                pytest.skip(f"@copilotkit/aimock cannot be installed: {type(error).__name__}")
            (NODE / "node_modules" / ".gitignore").write_text("*\n")


def installed() -> str:
    file = PACKAGE / "package.json"
    return str(json.loads(file.read_text())["version"]) if file.exists() else ""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MOCK_KEY", KEY)


@pytest.fixture
def chat(address: str) -> Model:
    return model_for("mock:m", settings={"mock": ProviderSettings(f"{address}/v1", "MOCK_KEY")})


@pytest.fixture(params=["chat", "responses"])
def model(
    address: str, chat: Model, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Model:
    """A server by its address, and OpenAI's own newer protocol by the provider's variables."""
    if request.param == "chat":
        return chat
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    return model_for("openai:gpt-4o", settings={"openai": ProviderSettings("", "MOCK_KEY")})


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def pieces(request: pytest.FixtureRequest) -> list[str] | None:
    """What is told in pieces; None when the answer is wanted whole."""
    return [] if request.param else None


def asked(text: str, pieces: list[str] | None, **more: Any) -> ModelRequest:
    on_text = None if pieces is None else pieces.append
    return ModelRequest("Be short.", [Message("user", text)], on_text=on_text, **more)


def respond(model: Model, request: ModelRequest) -> ModelReply:
    return asyncio.run(model.respond(request))


def test_a_text_comes_back(model: Model, pieces: list[str] | None) -> None:
    assert respond(model, asked("hello", pieces)).text == LONG
    if pieces is not None:
        assert len(pieces) > 1
        assert "".join(pieces) == LONG


def test_a_tool_is_called_and_its_result_is_answered(
    model: Model, pieces: list[str] | None
) -> None:
    request = asked("weather", pieces, tools=[WEATHER])
    first = respond(model, request)
    assert first.text == ""
    assert first.tool_calls == [CALL]
    talk = [
        *request.messages,
        Message("assistant", first.text, first.tool_calls),
        Message("tool", "sun", call_id=CALL.id, tool_name=CALL.name),
    ]
    assert respond(model, request._replace(messages=talk)).text == "It is sunny."


def test_several_tools_are_called_beside_a_text(model: Model, pieces: list[str] | None) -> None:
    reply = respond(model, asked("twice", pieces, tools=[WEATHER]))
    assert reply.text == "I look."
    assert reply.tool_calls == [
        ToolCall("call_Bern", CALL.name, {"city": "Bern"}),
        ToolCall("call_Rome", CALL.name, {"city": "Rome"}),
    ]


def test_arguments_that_are_no_json_stay_a_text(model: Model, pieces: list[str] | None) -> None:
    reply = respond(model, asked("mumble", pieces, tools=[WEATHER]))
    assert reply.tool_calls == [ToolCall("call_9", CALL.name, '{"city": ')]


def test_a_schema_is_sent_for_the_server_to_enforce(chat: Model, pieces: list[str] | None) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert respond(chat, asked("value", pieces, output_schema=schema)).data == {"a": 1}


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        ("hurry", "rateLimit", "HTTP 429: Slow down"),
        ("poor", "", "HTTP 429: No credit left"),
        ("crash", "serverError", "HTTP 500: Oh no"),
        ("busy", "serverError", "HTTP 503: Come back later"),
        ("wrong", "", "HTTP 400: That is wrong"),
        ("nowhere", "", "HTTP 404: No such model"),
    ],
)
def test_an_error_says_where_and_why_in_one_line(
    address: str, model: Model, pieces: list[str] | None, word: str, kind: str, message: str
) -> None:
    with pytest.raises(ModelError) as caught:
        respond(model, asked(word, pieces))
    assert caught.value.kind == kind
    assert f"{model.name} at {address}/v1 answered {message}" in caught.value.message
    assert "\n" not in caught.value.message


def test_an_error_is_not_tried_again_behind_the_back(address: str, model: Model) -> None:
    before = count(address)
    with pytest.raises(ModelError):
        respond(model, asked("crash", None))
    assert count(address) == before + 1


def test_a_dropped_connection_is_a_network_error(model: Model, pieces: list[str] | None) -> None:
    with pytest.raises(ModelError) as caught:
        respond(model, asked("drop", pieces))
    assert caught.value.kind == "networkError"


def test_an_answer_that_cannot_be_read_is_an_error_of_the_server(
    model: Model, pieces: list[str] | None
) -> None:
    with pytest.raises(ModelError) as caught:
        respond(model, asked("garble", pieces))
    assert caught.value.kind == "serverError"


def test_a_stream_that_breaks_off_is_a_network_error(model: Model) -> None:
    pieces: list[str] = []
    with pytest.raises(ModelError) as caught:
        respond(model, asked("break", pieces))
    assert caught.value.kind == "networkError"
    assert LONG.startswith("".join(pieces))


def test_a_wrong_key_is_refused_and_not_repeated(
    model: Model, pieces: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCK_KEY", "sk-a-wrong-key")
    with pytest.raises(ModelError, match="refuses the key") as caught:
        respond(model, asked("hello", pieces))
    assert caught.value.kind == ""
    assert "wrong" not in caught.value.message


def test_a_known_price_is_the_cost(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    settings = {"openai-chat": ProviderSettings("", "MOCK_KEY")}
    used = respond(model_for("openai-chat:gpt-4o", settings=settings), asked("price", None)).usage
    assert (used.input_tokens, used.output_tokens) == (1000, 500)
    assert 0.0 < used.cost < 1.0


def journal(address: str) -> list[Any]:
    """Every request that the server was sent, oldest first."""
    request = Request(f"{address}/__aimock/journal", headers={"Authorization": f"Bearer {KEY}"})
    with build_opener(ProxyHandler({})).open(request, timeout=10) as answer:
        found: list[Any] = json.load(answer)
    return found


def count(address: str) -> int:
    return len(journal(address))


def test_what_is_sent_is_what_was_asked(address: str, chat: Model) -> None:
    respond(chat, asked("hello", None, tools=[WEATHER], temperature=0.5, max_tokens=9))
    sent = journal(address)[-1]["body"]
    assert sent["model"] == "m"
    assert [(one["role"], one["content"]) for one in sent["messages"]] == [
        ("system", "Be short."),
        ("user", "hello"),
    ]
    assert [one["function"]["name"] for one in sent["tools"]] == ["get_weather"]
    assert sent["temperature"] == 0.5
    assert sent["max_completion_tokens"] == 9

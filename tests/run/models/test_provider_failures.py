"""What goes wrong at a provider: why, in one line, and never with a key in it."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pydantic_ai import exceptions as theirs
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from metier.errors import ModelError
from metier.run.models import ProviderModel, ProviderSettings
from metier.values.models import Message, ModelRequest

pytestmark = pytest.mark.slow

HELLO = ModelRequest("", [Message("user", "Hello")])
NAME = "their:model"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def failure(error: Exception) -> ModelError:
    def fail(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        raise error

    model = ProviderModel(NAME, connect=lambda: FunctionModel(fail))
    with pytest.raises(ModelError) as caught:
        asyncio.run(model.respond(HELLO))
    assert "\n" not in caught.value.message
    return caught.value


def http(status: int, body: object = None) -> theirs.ModelHTTPError:
    return theirs.ModelHTTPError(status, "model", body)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (http(408), "timeout"),
        (theirs.ModelTimeoutError("model", "slow"), "timeout"),
        (theirs.ModelRequestTimeout("model", 1.0), "timeout"),
        (TimeoutError(), "timeout"),
        (http(429), "rateLimit"),
        (theirs.ModelRateLimitError("model", "too fast"), "rateLimit"),
        (http(500), "serverError"),
        (http(503), "serverError"),
        (http(529), "serverError"),
        (theirs.ModelOverloadedError("model", "busy"), "serverError"),
        (theirs.ModelAPIError("model", "not JSON"), "serverError"),
        (theirs.UnexpectedModelBehavior("nothing came"), "serverError"),
        (theirs.ModelConnectionError("model", "refused"), "networkError"),
        (ConnectionResetError("reset"), "networkError"),
        (http(400), ""),
        (http(401), ""),
        (http(403), ""),
        (http(404), ""),
        (theirs.ModelRequestRejectedError("model", "too long"), ""),
        (theirs.ModelQuotaExceededError("model", "no credit"), ""),
        (theirs.ContentFilterError("filtered"), ""),
        (theirs.UserError("not supported"), ""),
        (ZeroDivisionError("a defect"), ""),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_the_kind_says_whether_to_try_again(error: Exception, kind: str) -> None:
    assert failure(error).kind == kind


def test_a_timeout_names_what_to_set() -> None:
    slow = failure(theirs.ModelTimeoutError("model", "Request timed out."))
    said = f"{NAME} did not answer: it accepted no connection within 5 s"
    assert slow.message == f"{said} ([models.their] base-url)"
    stopped = failure(TimeoutError("read"))
    assert stopped.message == f"{NAME} did not answer: read ([models.their] timeout)"


def test_no_credit_is_no_matter_of_waiting() -> None:
    error = theirs.ModelHTTPError.for_category(
        theirs.ModelQuotaExceededError, status_code=429, model_name="model"
    )
    assert failure(error).kind == ""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"message": "The field\nis wrong"}, "The field is wrong"),
        ({"error": {"message": "nested"}}, "nested"),
        ({"error": "short"}, "short"),
        ("<html>\x1b[31mteapot</html>", "<html>\\x1b[31mteapot</html>"),
        ("x" * 1000, "x" * 200 + "…"),
    ],
)
def test_the_words_of_the_provider_are_kept_in_one_safe_line(body: object, message: str) -> None:
    assert failure(http(400, body)).message == f"{NAME} answered HTTP 400: {message}"


@pytest.mark.parametrize("body", [None, {}, {"error": None}, ""])
def test_without_words_the_status_is_said(body: object) -> None:
    assert failure(http(500, body)).message == f"{NAME} answered HTTP 500"


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_not_described_in_the_words_of_the_provider(status: int) -> None:
    message = failure(http(status, {"message": "Incorrect key: abcd****wxyz"})).message
    key = "[models.their] api-key-env"
    assert message == f"{NAME} refuses the key, or what it is used for (HTTP {status}; {key})"


@pytest.mark.parametrize(
    "said",
    ["your key is quite-a-secret-one", "key sk-proj-1234567 is bad", "sent Bearer abc.def.ghi"],
)
def test_no_key_is_repeated(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "quite-a-secret-one")
    for error in (http(400, {"message": said}), theirs.UserError(said), ValueError(said)):
        caught = failure(error)
        assert "***" in caught.message
        for secret in ("quite-a-secret-one", "sk-proj-1234567", "abc.def.ghi"):
            assert secret not in caught.message
        # The original, which may hold the key, is not printed with it.
        assert caught.__suppress_context__
        assert caught.__cause__ is None


def test_the_key_is_hidden_whatever_its_variable_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        raise http(400, {"message": "not with plain-looking-words"})

    monkeypatch.setenv("MINE", "plain-looking-words")
    settings = ProviderSettings(api_key_env="MINE")
    model = ProviderModel(NAME, settings, connect=lambda: FunctionModel(fail))
    with pytest.raises(ModelError, match=r"not with \*\*\*$"):
        asyncio.run(model.respond(HELLO))


def at(port: int) -> ProviderModel:
    return ProviderModel("local:m", ProviderSettings(f"http://127.0.0.1:{port}/v1"))


def test_a_server_that_is_not_there_is_a_network_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ModelError) as caught:
        asyncio.run(at(port).respond(HELLO))
    assert caught.value.kind == "networkError"


@contextmanager
def silent_server() -> Iterator[tuple[int, threading.Event]]:
    """A server that takes one request and says nothing; the event tells that it was taken."""
    taken = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(20)
                while connection.recv(65536):
                    taken.set()

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], taken
        thread.join(timeout=20)
        assert not thread.is_alive()


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_call_that_is_cancelled_closes_its_connection(is_streamed: bool) -> None:
    async def cancel(port: int, taken: threading.Event) -> None:
        on_text = (lambda _: None) if is_streamed else None
        call = asyncio.create_task(at(port).respond(HELLO._replace(on_text=on_text)))
        assert await asyncio.to_thread(taken.wait, 20)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with silent_server() as (port, taken):
        asyncio.run(cancel(port, taken))


def test_one_model_serves_several_event_loops_at_once() -> None:
    model = at(1)
    kinds: list[str] = []

    async def ask() -> None:
        calls = [model.respond(HELLO) for _ in range(3)]
        for error in await asyncio.gather(*calls, return_exceptions=True):
            kinds.append(error.kind if isinstance(error, ModelError) else repr(error))

    threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kinds == ["networkError"] * 9

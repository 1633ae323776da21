"""Timeouts, retries and token limits of the settings; errors name the address and the setting."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from metier.errors import ModelError
from metier.run.models import ProviderModel, ProviderSettings, limits
from metier.run.models.connect import guarded_client
from metier.run.models.endpoints import Endpoint, shown_address
from metier.values.models import Message, ModelReply, ModelRequest
from metier.values.run_settings import ModelOptions
from openai_server import CutOff, Later, Raw, openai_server

HELLO = ModelRequest("", [Message("user", "Hello")])


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(limits, "FIRST_DELAY", 0.0)


def asked(settings: ProviderSettings, request: ModelRequest = HELLO) -> ModelReply:
    return asyncio.run(ProviderModel("lab:small", settings).respond(request))


def failure(settings: ProviderSettings, request: ModelRequest = HELLO) -> ModelError:
    with pytest.raises(ModelError) as caught:
        asked(settings, request)
    assert "\n" not in caught.value.message
    return caught.value


def test_a_transient_error_is_retried_as_often_as_the_settings_say() -> None:
    with openai_server(503, Later(0), "Hi") as server:
        assert asked(ProviderSettings(server.url, retries=2)).text == "Hi"
        assert len(server.bodies) == 3
        assert len(set(server.bodies)) == 1


def test_after_the_last_retry_the_error_is_raised() -> None:
    with openai_server(503) as server:
        error = failure(ProviderSettings(server.url, retries=1))
        assert (error.kind, len(server.bodies)) == ("serverError", 2)


def test_a_provider_that_asks_for_more_than_a_minute_is_not_waited_for() -> None:
    with openai_server(Later(3_600)) as server:
        error = failure(ProviderSettings(server.url, retries=2))
        assert len(server.bodies) == 1
    assert (error.kind, error.retry_after) == ("rateLimit", 3_600.0)
    assert error.message.endswith("(it asks to wait 3600 s)")


@pytest.mark.parametrize(
    ("error", "number", "delay"),
    [
        (ModelError("x", kind="rateLimit", retry_after=7.0), 0, 7.0),
        (ModelError("x", kind="serverError", retry_after=1.0), 9, limits.LONGEST_DELAY),
        (ModelError("x", kind="rateLimit", retry_after=61.0), 0, None),
        (ModelError("x", retry_after=1.0), 0, None),
    ],
)
def test_a_retry_waits_as_long_as_the_provider_asks(
    error: ModelError, number: int, delay: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FIRST_DELAY", 0.5)
    assert limits.delay_before_retry(error, number) == delay


@pytest.mark.parametrize("status", [400, 401])
def test_what_a_retry_cannot_mend_is_not_retried(status: int) -> None:
    with openai_server(status) as server:
        failure(ProviderSettings(server.url, retries=3))
        assert len(server.bodies) == 1


def test_the_options_of_a_model_come_before_those_of_its_provider() -> None:
    with openai_server(503) as server:
        own = {"small": ModelOptions(retries=0)}
        failure(ProviderSettings(server.url, retries=5, models=own))
        assert len(server.bodies) == 1


def test_an_answer_that_takes_too_long_names_the_limit() -> None:
    gone = threading.Event()
    with openai_server("never", pause=gone.wait) as server:
        settings = ProviderSettings(server.url, timeout=0.2)
        error = failure(settings, HELLO._replace(on_text=lambda _: None))
        gone.set()
    assert error.kind == "timeout"
    expected = f"lab:small at {server.url} did not answer within 0.2 s ([models.lab] timeout)"
    assert error.message == expected


def test_text_that_has_arrived_is_not_asked_for_again() -> None:
    async def main() -> list[str]:
        heard: list[str] = []

        async def breaks(request: ModelRequest) -> ModelReply:
            assert request.on_text is not None
            request.on_text("one")
            raise ModelError("broken", kind="networkError")

        request, endpoint = HELLO._replace(on_text=heard.append), Endpoint("lab:small")
        with pytest.raises(ModelError, match="broken"):
            await limits.ask_within(lambda: (breaks, endpoint), request, ModelOptions(retries=3))
        return heard

    assert asyncio.run(main()) == ["one"]


def test_a_stream_that_breaks_off_is_a_lost_connection() -> None:
    heard: list[str] = []
    with openai_server(CutOff("half")) as server:
        request = HELLO._replace(on_text=heard.append)
        error = failure(ProviderSettings(server.url), request)
        said = f"lab:small at {server.url} broke off in the middle of its answer"
    assert (error.kind, error.message, heard) == ("networkError", said, ["half "])


def test_a_prompt_that_is_too_long_for_the_model_is_not_sent() -> None:
    with openai_server("Hi") as server:
        own = {"small": ModelOptions(context=100)}
        long = HELLO._replace(system="x" * 1_000)
        error = failure(ProviderSettings(server.url, models=own), long)
        assert server.bodies == []
    assert error.code == "MODEL_CONTEXT_EXCEEDED"
    assert "[models.lab.small] context allows 100" in error.message


@pytest.mark.parametrize(("asked_for", "sent"), [(None, 7), (3, 3)])
def test_answers_are_as_long_as_the_profile_says_else_the_settings(
    asked_for: int | None, sent: int
) -> None:
    with openai_server("Hi") as server:
        own = {"small": ModelOptions(max_tokens=7)}
        asked(ProviderSettings(server.url, models=own), HELLO._replace(max_tokens=asked_for))
        (request,) = server.requests
    assert sent in (request.get("max_tokens"), request.get("max_completion_tokens"))


def test_an_address_where_nothing_listens_is_named_with_its_setting() -> None:
    with openai_server("Hi") as server:
        url = server.url
    error = failure(ProviderSettings(url))
    assert error.message.startswith(f"lab:small at {url} did not answer: ")
    assert error.message.endswith("([models.lab] base-url)")


def test_a_refused_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "a-secret-value")
    with openai_server(401) as server:
        message = failure(ProviderSettings(server.url, "LAB_KEY")).message
    assert message == (
        f"lab:small at {server.url} refuses the key, or what it is used for"
        " (HTTP 401; LAB_KEY, [models.lab] api-key-env)"
    )


def test_a_wrong_path_names_the_address_and_a_rate_limit_the_retries() -> None:
    with openai_server(404, 429) as server:
        assert failure(ProviderSettings(server.url)).message.endswith("([models.lab] base-url)")
        assert failure(ProviderSettings(server.url)).message.endswith("([models.lab] retries)")


@pytest.mark.parametrize("on_text", [None, lambda _: None], ids=["whole", "streamed"])
def test_a_page_in_place_of_an_answer_names_the_address_and_its_setting(
    on_text: Callable[[str], None] | None,
) -> None:
    with openai_server(200) as server:
        error = failure(ProviderSettings(server.url), HELLO._replace(on_text=on_text))
        said = "gave no answer that can be read: it sent text/html, not JSON"
        assert error.message == f"lab:small at {server.url} {said} ([models.lab] base-url)"


@pytest.mark.parametrize("on_text", [None, lambda _: None], ids=["whole", "streamed"])
def test_broken_json_in_place_of_an_answer_is_named(
    on_text: Callable[[str], None] | None,
) -> None:
    with openai_server(Raw('{"choices": [', "application/json; charset=utf-8")) as server:
        error = failure(ProviderSettings(server.url), HELLO._replace(on_text=on_text))
        said = (
            f"lab:small at {server.url} gave no answer that can be read: it sent application/json: "
        )
        assert error.message.startswith(said)
    assert error.message.endswith("([models.lab] base-url)")


def test_only_the_settings_say_how_long_an_answer_may_take() -> None:
    timeout = guarded_client("lab:small").timeout
    assert (timeout.connect, timeout.read, timeout.write, timeout.pool) == (5.0, None, None, None)


def test_a_missing_key_is_named_by_its_variable_and_its_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError) as caught:
        ProviderModel("openai:gpt-5").ready()
    assert caught.value.message == (
        "openai:gpt-5 needs a key: set OPENAI_API_KEY, or name its variable in"
        " [models.openai] api-key-env"
    )


def test_an_address_from_the_environment_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret-value")
    with pytest.raises(ModelError, match=r"at http://127.0.0.1:1/v1 .*\(OPENAI_BASE_URL\)$"):
        asyncio.run(ProviderModel("openai-chat:gpt-5").respond(HELLO))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:secret@api.example/v1/?key=1", "https://api.example/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("", ""),
        ("nothing", ""),
    ],
)
def test_an_address_is_shown_without_credentials(url: str, shown: str) -> None:
    assert shown_address(url) == shown

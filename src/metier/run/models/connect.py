"""Connects to providers of models. Loads pydantic_ai: import it inside functions only."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import (
    Model,
    create_async_http_client,
    create_async_httpx2_client,
    infer_model,
)
from pydantic_ai.providers import Provider, infer_provider_class

from metier.core.text import printable
from metier.errors import MetierError, ModelError, UsageError
from metier.run.models.endpoints import Endpoint
from metier.safety.addresses import check_address, host_of, is_at, redirected, shown_host
from metier.values.run_settings import ProviderSettings

# Errors, in our words and without secrets


_LONGEST = 200
_SHORTEST_SECRET = 8
_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_LIKE_A_KEY = re.compile(r"\bsk-[\w*-]{4,}|\bBearer\s+\S+", re.IGNORECASE)
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class CutOffError(ConnectionError):
    """The stream of an answer ended before the answer did."""


def is_whole(model: Model, response: ModelResponse) -> bool:
    """Whether a streamed answer has ended: in the protocol of OpenAI its last piece says why."""
    openai = sys.modules.get("pydantic_ai.models.openai")  # an extra, loaded if it is used
    if openai is None or not isinstance(model, openai.OpenAIChatModel):
        return True
    is_stopped = response.finish_reason == "content_filter"
    return is_stopped or "finish_reason" in (response.provider_details or {})


@contextmanager
def failures_of(
    endpoint: Endpoint, hidden: str = "", received: Sequence[str] = ()
) -> Iterator[None]:
    """Raise any error as `ModelError`, without the text to hide.

    `received` are the content types of the responses so far.
    """
    try:
        yield
    except Exception as error:  # every provider's library has exceptions of its own
        ours = _ours(error) or ModelError(
            _message(endpoint, error, hidden, received),
            kind=_kind(error),
            retry_after=_retry_after(error),
        )
        raise ours from None


def _ours(error: BaseException | None) -> MetierError | None:
    """The `MetierError` that a library may have wrapped, if any."""
    while error is not None and not isinstance(error, MetierError):
        error = error.__cause__
    return error


def _kind(error: Exception) -> str:
    """Why it failed, if a retry may help."""
    if isinstance(error, ModelTimeoutError | ModelRequestTimeout | TimeoutError):
        return "timeout"
    if isinstance(error, ModelConnectionError | OSError):
        return "networkError"
    if isinstance(error, ModelQuotaExceededError):  # a 429 too, but waiting does not help
        return ""
    if isinstance(error, ModelHTTPError):
        return _kind_of_status(error.status_code)
    if isinstance(error, ModelRequestRejectedError | ContentFilterError):
        return ""
    if isinstance(error, ModelRateLimitError):
        return "rateLimit"
    # Of theirs, an error in a stream is left, or an answer that cannot be read.
    return "serverError" if isinstance(error, ModelAPIError | UnexpectedModelBehavior) else ""


def _kind_of_status(status: int) -> str:
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return "timeout"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "rateLimit"
    return "serverError" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""


def _message(endpoint: Endpoint, error: Exception, hidden: str, received: Sequence[str]) -> str:
    """What happened, at which address, and the setting to look at."""
    if isinstance(error, ModelHTTPError):
        status = f"HTTP {error.status_code}"
        if error.status_code in _REFUSED:
            # What a provider says about a key shows parts of it.
            key = endpoint.source_of_key()
            return f"{endpoint} refuses the key, or what it is used for ({status}; {key})"
        detail = one_line(_detail(error.body), hidden)
        said = (
            f"{endpoint} answered {status}: {detail}" if detail else f"{endpoint} answered {status}"
        )
        return f"{said}{_advice(endpoint, error)}"
    if isinstance(error, ContentFilterError):
        return f"{endpoint} was stopped by its content filter"
    if isinstance(error, CutOffError):
        return f"{endpoint} broke off in the middle of its answer"
    said = one_line(str(error), hidden) or type(error).__name__
    if _is_unreadable(error):
        what = _what_came(said, received)
        return f"{endpoint} gave no answer that can be read: {what}{_advice(endpoint, error)}"
    if _is_unconnected(endpoint, error):
        said = f"it accepted no connection within {CONNECT_SECONDS:g} s"
    return f"{endpoint} did not answer: {said}{_advice(endpoint, error)}"


def _what_came(said: str, received: Sequence[str]) -> str:
    """Why an answer cannot be read: its content type, or what is wrong with the JSON in it."""
    kind = one_line(received[-1].partition(";")[0].strip()) if received else ""
    if not kind:
        return said
    if kind in ("application/json", "text/event-stream"):
        return f"it sent {kind}: {said}"
    return f"it sent {kind}, not JSON"


def _advice(endpoint: Endpoint, error: Exception) -> str:
    """How long to wait, and the setting that may help, in parentheses."""
    advice = []
    if (wished := _retry_after(error)) is not None:
        advice.append(f"it asks to wait {wished:g} s")
    kind = _kind(error)
    if _is_elsewhere(error) or kind == "networkError" or _is_unconnected(endpoint, error):
        advice.append(endpoint.source_of_address())
    elif kind == "timeout" and not isinstance(error, ModelHTTPError):
        advice.append(endpoint.setting_of_model("timeout"))
    elif kind == "rateLimit" and not endpoint.settings.options(endpoint.model).retries:
        advice.append(endpoint.setting("retries"))
    return f" ({'; '.join(advice)})" if advice else ""


def _is_unconnected(endpoint: Endpoint, error: Exception) -> bool:
    """Whether no connection was made in time; clients of ours have no other limit."""
    return isinstance(error, ModelTimeoutError) and endpoint.provider not in NO_CLIENT


def _is_elsewhere(error: Exception) -> bool:
    """Whether it may be another server that answers."""
    if isinstance(error, ModelHTTPError):
        return error.status_code == HTTPStatus.NOT_FOUND
    return _is_unreadable(error)


def _is_unreadable(error: Exception) -> bool:
    """Whether there was an answer, but none in the protocol, or broken JSON."""
    is_no_json = isinstance(error, ModelAPIError) and isinstance(error.__cause__, ValueError)
    return is_no_json or isinstance(error, UnexpectedModelBehavior)


def _retry_after(error: Exception) -> float | None:
    """The seconds that a provider asks to wait, if it says and waiting helps."""
    return getattr(error, "retry_after", None) if _kind(error) else None


def _detail(body: Any) -> str:
    """The message in the body of an error."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message", "") if isinstance(inner, Mapping) else inner
        return str(message or "")
    return str(body or "")


def one_line(text: str, hidden: str = "") -> str:
    """`text` in one line of bounded length, without keys."""
    for name, value in [("KEY", hidden), *os.environ.items()]:
        if len(value) >= _SHORTEST_SECRET and _SECRET_NAMES.search(name):
            text = text.replace(value, "***")
    line = printable(" ".join(_LIKE_A_KEY.sub("***", text).split()))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


# HTTP clients


CONNECT_SECONDS = 5.0
NO_CLIENT = ("bedrock", "huggingface", "xai")
"""Their classes take no HTTP client of ours, so how they treat a redirect is up to their packages.

boto3 follows none, and gRPC (xai) has none. huggingface_hub follows them with httpx, which sends
the key to no other host.
"""
LEGACY = ("cohere", "groq")
"""Their packages take a client of httpx, all others a client of httpx2."""
_PLUMBING = ("accept", "content-length", "content-type", "host", "user-agent")


def guarded_client(name: str, *, legacy: bool = False, received: list[str] | None = None) -> Any:
    """An HTTP client that raises `ModelError` for a redirect.

    It waits for a connection only: the settings say how long an answer may take. The content
    types of responses are added to `received`.
    """
    http: Any = create_async_http_client() if legacy else create_async_httpx2_client()
    http.follow_redirects = False
    http.timeout = type(http.timeout)(None, connect=CONNECT_SECONDS)
    hooks = [
        partial(_refuse_redirect, name),
        partial(_note_type, [] if received is None else received),
    ]
    http.event_hooks = {**http.event_hooks, "response": hooks}
    return http


async def _note_type(received: list[str], response: Any) -> None:
    received.append(response.headers.get("content-type", ""))


def withhold_openai(http: Any, key: str) -> None:
    """Send no header that the environment holds for OpenAI; its package sends them anywhere."""
    hooks = [*http.event_hooks["request"], partial(_withhold, key)]
    http.event_hooks = {**http.event_hooks, "request": hooks}


async def _refuse_redirect(name: str, response: Any) -> None:
    if response.has_redirect_location:
        said = redirected(str(response.request.url), response.headers["location"])
        asked = Endpoint(name, str(response.request.url))
        raise ModelError(f"{asked} did not answer: {said} ({asked.source_of_address()})")


async def _withhold(key: str, request: Any) -> None:
    headers = request.headers
    headers.pop("openai-organization", None)
    headers.pop("openai-project", None)
    for name, text in _custom_headers():
        if name in _PLUMBING or headers.get(name) != text:
            continue
        del headers[name]
        if name == "authorization" and key:
            headers["authorization"] = f"Bearer {key}"


def _custom_headers() -> list[tuple[str, str]]:
    """Names and values in OPENAI_CUSTOM_HEADERS."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    parts = [line.partition(":") for line in lines if ":" in line]
    return [(name.strip().lower(), text.strip()) for name, _, text in parts]


# Connections


_EXTRA = re.compile(r"pydantic-ai-slim\[[\w,-]+\]")
_VARIABLE_WANTED = re.compile(r"[Ss]et the `([A-Z][A-Z0-9_]*)` environment variable")
_OPENAI = ("azure", "azure-responses", "openai", "openai-chat", "openai-responses")
"""The environment holds keys and addresses for these."""


class Connection(NamedTuple):
    """A client, and the HTTP client behind it."""

    model: Model
    http: AbstractAsyncContextManager[Any] = nullcontext()
    received: Sequence[str] = ()
    """The content types of its responses."""


def connect(name: str, settings: ProviderSettings) -> Connection:
    """The client for `provider:model`; it follows no redirect. Raises `ModelError`."""
    provider, _, model = name.partition(":")
    try:
        if settings.base_url:
            return _compatible(provider, model, settings)
        return _known(provider, model, settings)
    except ImportError as error:
        raise _no_package(name, str(error)) from None
    except (UserError, TypeError, ValueError) as error:
        # TypeError: its class takes no key; ValueError: it takes none that looks like this one.
        source = Endpoint(name, settings=settings).source_of_key()
        if variable := _VARIABLE_WANTED.search(str(error)):
            message = f"{name} needs a key: set {variable[1]}, or name its variable in {source}"
        else:
            message = (
                f"{name} cannot be reached: {one_line(str(error).partition('. ')[0])} ({source})"
            )
        raise ModelError(message, code="MODEL_NOT_SET_UP") from None


def _compatible(provider: str, model: str, settings: ProviderSettings) -> Connection:
    """A server with the protocol of OpenAI, at the address of the settings."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    what = Endpoint(f"{provider}:{model}").setting("base-url")
    try:
        check_address(settings.base_url, plain_http=settings.plain_http, what=what)
    except UsageError as error:
        raise ModelError(error.message, code="MODEL_NOT_SET_UP") from None
    key = None
    if settings.api_key_env:
        _check_key_host(settings, settings.base_url)
        key = _key(provider, settings)
    received: list[str] = []
    http = guarded_client(f"{provider}:{model}", received=received)
    withhold_openai(http, key or "")
    server = OpenAICompatibleProvider(
        provider, base_url=settings.base_url, api_key=key, http_client=http
    )
    return Connection(OpenAIChatModel(model, provider=server), http, received)


def _known(provider: str, model: str, settings: ProviderSettings) -> Connection:
    """A provider with its own address, or that of an environment variable."""
    name = f"{provider}:{model}"
    make: Any = infer_provider_class(provider)
    given: dict[str, Any] = {}
    if settings.api_key_env:
        given["api_key"] = _key(provider, settings)
    http, received = None, list[str]()
    if provider not in NO_CLIENT:
        http = guarded_client(name, legacy=provider in LEGACY, received=received)
        given["http_client"] = http
    made: Provider[Any] = make(**given)
    if settings.api_key_env:
        _check_key_host(settings, made.base_url)
    if http is not None and provider not in _OPENAI:
        withhold_openai(http, getattr(made.client, "api_key", ""))
    return Connection(infer_model(name, lambda _: made), http or nullcontext(), received)


def _check_key_host(settings: ProviderSettings, address: str) -> None:
    """Raise `ModelError` unless the key is for the host of the address."""
    if settings.key_host and not is_at(address, settings.key_host):
        bound, used = shown_host(settings.key_host), shown_host(host_of(address))
        message = f"the key in {settings.api_key_env} is for {bound}, so it is not sent to {used}"
        raise ModelError(message, code="MODEL_NOT_SET_UP")


def _key(provider: str, settings: ProviderSettings) -> str:
    key = os.environ.get(settings.api_key_env, "")
    if not key:
        where = Endpoint(f"{provider}:").setting("api-key-env")
        message = f"the key of '{provider}' is missing: {settings.api_key_env} is not set ({where})"
        raise ModelError(message, code="MODEL_NOT_SET_UP")
    return key


def _no_package(name: str, reason: str) -> ModelError:
    extra = _EXTRA.search(reason)
    advice = f"pip install '{extra[0]}'" if extra else one_line(reason)
    return ModelError(f"{name} needs a missing package: {advice}", code="MODEL_NO_PACKAGE")

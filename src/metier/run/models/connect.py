"""Makes the client of a provider. Loads pydantic_ai: import it inside functions only."""

import os
import re
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import (
    Model,
    create_async_http_client,
    create_async_httpx2_client,
    infer_model,
)
from pydantic_ai.providers import Provider, infer_provider_class

from metier.core.addresses import check_address, host_of, is_at, redirected, shown_host
from metier.errors import ModelError, UsageError
from metier.run.models.failures import one_line
from metier.run.models.settings import ProviderSettings

_EXTRA = re.compile(r"pydantic-ai-slim\[[\w,-]+\]")
_LEGACY = ("cohere", "groq")
"""Their packages take a client of httpx, all others that take one a client of httpx2."""
_NO_CLIENT = ("bedrock", "huggingface", "xai")
"""Their classes take no HTTP client of ours, so how they treat a redirect is up to their packages.

boto3 follows none, and gRPC (xai) has none. huggingface_hub follows them with httpx, which sends
the key to no other host.
"""


class Connection(NamedTuple):
    """A client, and the HTTP client behind it, which is open while an answer is waited for."""

    model: Model
    http: AbstractAsyncContextManager[Any] = nullcontext()


def connect(name: str, settings: ProviderSettings) -> Connection:
    """The client for `provider:model`; it never follows a redirect.

    Raises `ModelError` without a package or a key, for an address that a key must not be sent to,
    and for a key that is not for the host of the address.
    """
    provider, _, model = name.partition(":")
    try:
        if settings.base_url:
            return _compatible(provider, model, settings)
        return _known(provider, model, settings)
    except ImportError as error:
        raise _no_package(name, str(error)) from None
    except (UserError, TypeError, ValueError) as error:
        # TypeError: its class takes no key; ValueError: it takes none that looks like this one.
        message = f"{name} cannot be reached: {one_line(str(error).partition('. ')[0])}"
        raise ModelError(message, code="MODEL_NOT_SET_UP") from None


def _compatible(provider: str, model: str, settings: ProviderSettings) -> Connection:
    """A server that speaks the protocol of OpenAI, at the address of the settings."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    what = f"the base_url of '{provider}'"
    try:
        check_address(settings.base_url, plain_http=settings.plain_http, what=what)
    except UsageError as error:
        raise ModelError(error.message, code="MODEL_NOT_SET_UP") from None
    key = None
    if settings.api_key_env:
        _check_key_host(settings, settings.base_url)
        key = _key(provider, settings)
    http = create_async_httpx2_client()
    _follow_no_redirect(http, f"{provider}:{model}")
    server = OpenAICompatibleProvider(
        provider, base_url=settings.base_url, api_key=key, http_client=http
    )
    return Connection(OpenAIChatModel(model, provider=server), http)


def _known(provider: str, model: str, settings: ProviderSettings) -> Connection:
    """A provider whose address is its own, or the one in a variable of the user's environment."""
    name = f"{provider}:{model}"
    make: Any = infer_provider_class(provider)
    given: dict[str, Any] = {}
    if settings.api_key_env:
        given["api_key"] = _key(provider, settings)
    if provider not in _NO_CLIENT:
        is_legacy = provider in _LEGACY
        given["http_client"] = (
            create_async_http_client() if is_legacy else create_async_httpx2_client()
        )
        _follow_no_redirect(given["http_client"], name)
    made: Provider[Any] = make(**given)
    if settings.api_key_env:
        _check_key_host(settings, made.base_url)
    return Connection(infer_model(name, lambda _: made), given.get("http_client", nullcontext()))


def _follow_no_redirect(http: Any, name: str) -> None:
    """Make a client of httpx or httpx2 raise `ModelError` for an answer that leads elsewhere."""
    http.follow_redirects = False
    http.event_hooks = {**http.event_hooks, "response": [partial(_refuse_redirect, name)]}


async def _refuse_redirect(name: str, response: Any) -> None:
    if response.has_redirect_location:
        said = redirected(str(response.request.url), response.headers["location"])
        raise ModelError(f"{name} did not answer: {said}")


def _check_key_host(settings: ProviderSettings, address: str) -> None:
    """Raise `ModelError` unless the key is for the host of the address."""
    if settings.key_host and not is_at(address, settings.key_host):
        bound, used = shown_host(settings.key_host), shown_host(host_of(address))
        message = f"the key in {settings.api_key_env} is for {bound}, so it is not sent to {used}"
        raise ModelError(message, code="MODEL_NOT_SET_UP")


def _key(provider: str, settings: ProviderSettings) -> str:
    key = os.environ.get(settings.api_key_env, "")
    if not key:
        message = f"the key of '{provider}' is missing: {settings.api_key_env} is not set"
        raise ModelError(message, code="MODEL_NOT_SET_UP")
    return key


def _no_package(name: str, reason: str) -> ModelError:
    extra = _EXTRA.search(reason)
    advice = f"pip install '{extra[0]}'" if extra else one_line(reason)
    return ModelError(f"{name} needs a missing package: {advice}", code="MODEL_NO_PACKAGE")

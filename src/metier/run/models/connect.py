"""Makes the client of a provider. Loads pydantic_ai: import it inside functions only."""

import os
import re
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, NamedTuple

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from metier.errors import ModelError, UsageError
from metier.run.models.failures import one_line
from metier.run.models.guarded import LEGACY, NO_CLIENT, guarded_client, withhold_openai
from metier.safety.addresses import check_address, host_of, is_at, shown_host
from metier.values.running import ProviderSettings

_EXTRA = re.compile(r"pydantic-ai-slim\[[\w,-]+\]")
_OPENAI = ("azure", "azure-responses", "openai", "openai-chat", "openai-responses")
"""What the environment holds for OpenAI is for these; the environment names their address too."""


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
    http = guarded_client(f"{provider}:{model}")
    withhold_openai(http, key or "")
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
    http = None
    if provider not in NO_CLIENT:
        http = given["http_client"] = guarded_client(name, legacy=provider in LEGACY)
    made: Provider[Any] = make(**given)
    if settings.api_key_env:
        _check_key_host(settings, made.base_url)
    if http is not None and provider not in _OPENAI:
        withhold_openai(http, getattr(made.client, "api_key", ""))
    return Connection(infer_model(name, lambda _: made), http or nullcontext())


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

"""Makes the client of a provider. Loads pydantic_ai: import it inside functions only."""

import os
import re
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from metier.errors import ModelError
from metier.run.models.failures import one_line
from metier.run.models.settings import ProviderSettings

_EXTRA = re.compile(r"pydantic-ai-slim\[[\w,-]+\]")


def connect(name: str, settings: ProviderSettings) -> Model:
    """The client for `provider:model`. Raises `ModelError` without a package or a key."""
    provider, _, model = name.partition(":")
    try:
        if settings.base_url:
            return _compatible(provider, model, settings)
        if settings.api_key_env:
            return infer_model(name, lambda _: _with_key(provider, settings))
        return infer_model(name)
    except ImportError as error:
        raise _no_package(name, str(error)) from None
    except (UserError, TypeError, ValueError) as error:
        # TypeError: its class takes no key; ValueError: it takes none that looks like this one.
        message = f"{name} cannot be reached: {one_line(str(error).partition('. ')[0])}"
        raise ModelError(message, code="MODEL_NOT_SET_UP") from None


def _compatible(provider: str, model: str, settings: ProviderSettings) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key = _key(provider, settings) if settings.api_key_env else None
    server = OpenAICompatibleProvider(provider, base_url=settings.base_url, api_key=key)
    return OpenAIChatModel(model, provider=server)


def _with_key(provider: str, settings: ProviderSettings) -> Provider[Any]:
    make: Any = infer_provider_class(provider)
    made: Provider[Any] = make(api_key=_key(provider, settings))
    return made


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

"""Which model a name means; models of providers, through pydantic_ai when first asked."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

from metier.config.providers import check_provider
from metier.core.arguments import check_text, wrong_argument
from metier.core.nearest import did_you_mean
from metier.errors import ModelError, UsageError, install_hint
from metier.run.models.endpoints import Endpoint
from metier.run.models.limits import Ask, ask_within, limited
from metier.run.models.offline import NAME as OFFLINE
from metier.run.models.offline import OfflineModel
from metier.run.models.prices import price_in, price_of
from metier.safety.addresses import check_address
from metier.values.models import Model, ModelReply, ModelRequest, check_model
from metier.values.run_settings import ProviderSettings

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Client


_LOADING = threading.Lock()
"""Two threads must not import a large package at once."""


class ProviderModel:
    """A model of a provider, within the limits of the settings. It keeps no connection."""

    def __init__(
        self,
        name: str,
        settings: ProviderSettings = ProviderSettings(),  # noqa: B008 (it cannot change)
        *,
        connect: "Callable[[], Client] | None" = None,
    ) -> None:
        """Raises `UsageError` for settings that metier.toml may not have either."""
        check_text("name", name)
        check_provider(name.partition(":")[0], settings)
        self.name = name
        self._settings = settings
        self._connect = connect

    def ready(self) -> None:
        """Raise `ModelError` now if a package or key is missing."""
        self._connected()

    def has_price(self) -> bool:
        """Whether the cost of a request is known."""
        return price_of(self.name, {self.name.partition(":")[0]: self._settings}) is not None

    async def respond(self, request: ModelRequest) -> ModelReply:
        model = self.name.partition(":")[2]
        options = self._settings.options(model)
        request = limited(request, options, Endpoint(self.name, settings=self._settings))
        reply = await ask_within(self._connected, request, options)
        price = price_in(self._settings, model)
        if price is None:
            return reply
        return reply._replace(usage=reply.usage._replace(cost=price.cost(reply.usage)))

    def _connected(self) -> tuple[Ask, Endpoint]:
        with _LOADING:
            try:
                from metier.run.models.ask import ask  # an extra
                from metier.run.models.connect import Connection, connect
            except ImportError:
                message = f"{self.name} needs pydantic_ai (recent): {install_hint('models')}"
                raise ModelError(message, code="MODEL_NO_PACKAGE") from None
            if self._connect:
                connection = Connection(self._connect())
            else:
                connection = connect(self.name, self._settings)
        key = os.environ.get(self._settings.api_key_env, "")
        address = self._settings.base_url or getattr(connection.model, "base_url", None)
        endpoint = Endpoint(self.name, str(address or ""), self._settings)
        return partial(ask, endpoint, connection, hidden=key), endpoint


PROVIDERS = (
    "alibaba", "anthropic", "azure", "azure-responses", "bedrock", "bedrock-mantle", "cerebras",
    "cohere", "crusoe", "deepseek", "fireworks", "github", "google", "google-cloud", "groq",
    "heroku", "huggingface", "litellm", "meta", "mistral", "moonshotai", "nebius", "ollama",
    "openai", "openai-chat", "openai-responses", "openrouter", "ovhcloud", "sambanova",
    "snowflake", "together", "vercel", "vllm", "xai", "zai",
)  # fmt: skip
"""Those that pydantic_ai knows; any other needs an address in the settings."""


_GIVEN: ContextVar[Model | None] = ContextVar("given model", default=None)


@contextmanager
def using(model: Model) -> Iterator[str]:
    """A name for a model: it means the given object within the block.

    A variable of the context keeps runs apart whose models have the same name. Raises `UsageError`
    if it is not a model.
    """
    check_model(model)
    token = _GIVEN.set(model)
    try:
        yield model.name
    finally:
        _GIVEN.reset(token)


def model_for(name: str, *, settings: Mapping[str, ProviderSettings] | None = None) -> Model:
    """The model in use, `offline`, `offline:template` or `provider:model`. Raises `UsageError`.

    `settings` are those of providers, by name, as `[models.NAME]` in metier.toml.
    """
    check_text("name", name)
    if settings is not None and not isinstance(settings, Mapping):
        raise wrong_argument("settings", "a mapping of providers to ProviderSettings", settings)
    given, settings = _GIVEN.get(), settings or {}
    if given is not None and given.name == name:
        return given
    if name in ("offline", OFFLINE):
        return OfflineModel()
    provider, colon, model = name.partition(":")
    if provider == "offline" or not (provider and colon and model):
        hint = f"{OFFLINE}, or provider:model such as openai:gpt-5"
        hint = OFFLINE if name.startswith("offline") else hint
        form = "" if name.startswith("offline") else ", a name is provider:model"
        raise UsageError(f"no model is called '{name}'{form}", hint=hint)
    own = settings.get(provider, ProviderSettings())
    made, address = ProviderModel(name, own), Endpoint(name).setting("base-url")
    if own.base_url:
        check_address(own.base_url, plain_http=own.plain_http, what=address)
    elif provider not in PROVIDERS:
        raise _unknown_provider(provider, settings, address)
    return made


def _unknown_provider(
    provider: str, settings: Mapping[str, ProviderSettings], address: str
) -> UsageError:
    if provider in settings:
        message = f"provider '{provider}' is not one that metier knows, and has no address"
        return UsageError(message, hint=f"set {address}")
    known = [*PROVIDERS, *settings, "offline"]
    hint = did_you_mean(provider, known, f"set {address}, for a server with the OpenAI protocol")
    return UsageError(f"no provider of models is called '{provider}'", hint=hint)

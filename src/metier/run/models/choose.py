"""Which model a name means."""

from collections.abc import Mapping

from metier.core.nearest import nearest
from metier.errors import UsageError
from metier.run.models.offline import NAME as OFFLINE
from metier.run.models.offline import OfflineModel
from metier.run.models.provider import ProviderModel
from metier.safety.addresses import check_address
from metier.values.models import Model
from metier.values.running import ProviderSettings

PROVIDERS = (
    "alibaba", "anthropic", "azure", "azure-responses", "bedrock", "bedrock-mantle", "cerebras",
    "cohere", "crusoe", "deepseek", "fireworks", "github", "google", "google-cloud", "groq",
    "heroku", "huggingface", "litellm", "meta", "mistral", "moonshotai", "nebius", "ollama",
    "openai", "openai-chat", "openai-responses", "openrouter", "ovhcloud", "sambanova",
    "snowflake", "together", "vercel", "vllm", "xai", "zai",
)  # fmt: skip
"""Those that pydantic_ai knows how to reach; any other needs an address in the settings."""


def model_for(name: str, *, settings: Mapping[str, ProviderSettings] | None = None) -> Model:
    """The model called `offline`, `offline:template` or `provider:model`.

    `settings` are those of providers by name; one with a `base_url` needs no other knowledge.
    Nothing is loaded or connected. Raises `UsageError` for a name that means no model, and for an
    address that is none or that no key may be sent to.
    """
    settings = settings or {}
    if name in ("offline", OFFLINE):
        return OfflineModel()
    provider, colon, model = name.partition(":")
    if provider == "offline" or not (provider and colon and model):
        raise _not_a_name(name)
    own = settings.get(provider, ProviderSettings())
    if own.base_url:
        what = f"the base_url of '{provider}'"
        check_address(own.base_url, plain_http=own.plain_http, what=what)
    elif provider not in PROVIDERS:
        raise _unknown(provider, [*PROVIDERS, *settings, "offline"])
    return ProviderModel(name, own)


def _not_a_name(name: str) -> UsageError:
    is_offline = name.startswith("offline")
    hint = OFFLINE if is_offline else f"{OFFLINE}, or provider:model such as openai:gpt-5"
    return UsageError(f"no model is called '{name}'", hint=hint)


def _unknown(provider: str, known: list[str]) -> UsageError:
    near = nearest(provider, known)
    hint = f"did you mean '{near}'?" if near else "give it a base_url in the settings"
    return UsageError(f"no provider of models is called '{provider}'", hint=hint)

"""What a model costs: by the settings, else as its provider publishes it."""

from collections.abc import Mapping

from metier.run.models.offline import NAME as OFFLINE
from metier.values.checks import dotted
from metier.values.models import FREE, Price
from metier.values.run_settings import ProviderSettings

_MILLION = 1_000_000
_SAMPLE = 1_000
"""Tokens of a request whose price is asked for; providers charge more for very long ones."""


def price_of(name: str, providers: Mapping[str, ProviderSettings]) -> Price | None:
    """The price of `provider:model`; None if it is not known."""
    if name in ("offline", OFFLINE):
        return FREE
    provider, _, model = name.partition(":")
    settings = providers.get(provider, ProviderSettings())
    if (own := price_in(settings, model)) is not None:
        return own
    return None if settings.base_url else _published(provider, model)


def price_hint(name: str) -> str:
    """Where the price of `provider:model` is set."""
    provider, _, model = name.partition(":")
    table = dotted(("models", provider, model))
    return f"set input and output in [{table}], in dollars per million tokens"


def price_in(settings: ProviderSettings, model: str) -> Price | None:
    """The price that the settings give."""
    found = settings.options(model)
    if found.input is None or found.output is None:
        return None
    return Price(found.input, found.output)


def _published(provider: str, model: str) -> Price | None:
    try:
        from genai_prices import Usage as Tokens  # comes with pydantic_ai, an extra
        from genai_prices import calc_price
    except ImportError:
        return None
    try:
        asked = calc_price(Tokens(input_tokens=_SAMPLE), model, provider_id=provider)
        answered = calc_price(Tokens(output_tokens=_SAMPLE), model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    scale = _MILLION // _SAMPLE
    return Price(float(asked.total_price) * scale, float(answered.total_price) * scale)

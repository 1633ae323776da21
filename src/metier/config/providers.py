"""Settings of providers that a program gives: the rules are those of `[models.NAME]`."""

from collections.abc import Mapping
from typing import Any

from metier.config.checking import check, check_whole_provider
from metier.config.settings import SETTINGS
from metier.core.arguments import wrong_argument
from metier.errors import ConfigError, UsageError
from metier.values.run_settings import ModelOptions, ProviderSettings

_KEYS = ("base_url", "api_key_env", "timeout", "retries")


def check_provider(name: str, settings: Any) -> None:
    """Raise `UsageError` for settings that `[models.NAME]` could not have."""
    if not isinstance(settings, ProviderSettings):
        raise wrong_argument("settings", f"ProviderSettings for '{name}'", settings)
    if not isinstance(settings.models, Mapping):
        raise wrong_argument("models", "a mapping of models to ModelOptions", settings.models)
    table = _table({key: getattr(settings, key) for key in _KEYS})
    for model, options in settings.models.items():
        if not isinstance(options, ModelOptions):
            raise wrong_argument("models", f"ModelOptions for '{model}'", options)
        table[model] = _table(options._asdict())
    field = SETTINGS["models"].field.others
    assert field is not None
    try:
        check(table, field, ("models", name), "")
        check_whole_provider(name, table, "")
    except ConfigError as error:
        raise UsageError(error.message, hint=error.hint) from None


def _table(values: dict[str, Any]) -> dict[str, Any]:
    """What is set, spelt as in metier.toml."""
    return {key.replace("_", "-"): value for key, value in values.items() if value is not None}

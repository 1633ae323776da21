"""Evaluations beside others of the same cases."""

from metier.config import Config
from metier.config.capabilities import read_capabilities
from metier.config.settings import CAPABILITIES
from metier.core.names import loose_key
from metier.core.nearest import did_you_mean
from metier.core.toml import TomlError, toml_of
from metier.errors import UsageError
from metier.evals.compare import compared as compared

_HINT = "--against-setting skillThreshold=2.5"


def with_setting(config: Config, text: str) -> Config:
    """Settings with another value for one of `[capabilities]`. Raises `UsageError`."""
    key, equals, value = text.partition("=")
    name = key.strip().removeprefix("capabilities.")
    known = {loose_key(one): setting.attribute for one, setting in CAPABILITIES.items()}
    attribute = known.get(loose_key(name))
    if not equals or not name:
        raise UsageError(f"'{text}' is not KEY=VALUE", hint=_HINT)
    if attribute is None:
        hint = did_you_mean(name, CAPABILITIES, _HINT)
        raise UsageError(f"[capabilities] has no setting '{name}'", hint=hint)
    try:
        table = toml_of(f"value = {value}\n")
    except TomlError:
        table = {"value": value.strip()}
    changed = read_capabilities({name: table.get("value")}, "--against-setting")
    field = {attribute: getattr(changed, attribute)}
    return config._replace(capabilities=config.capabilities._replace(**field))

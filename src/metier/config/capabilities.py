"""`[capabilities]` of the settings → `CapabilitiesConfig`."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from metier.config.checking import check, plain, wrong
from metier.config.settings import CAPABILITIES, PROFILE, SETTINGS
from metier.core.names import loose_key
from metier.core.nearest import did_you_mean
from metier.errors import ConfigError
from metier.values.capabilities import SourceSetting
from metier.values.checks import dotted
from metier.values.files import KeyPath
from metier.values.settings_tables import CapabilitiesConfig

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")

PROFILES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "minimal": {"maxTokens": 500, "skillSuggestions": 1},
        "full": {"maxTokens": 4_000, "skillSuggestions": 5},
    }
)
"""Built-in profiles; a workspace may replace them."""
_BY_LOOSE_KEY = {loose_key(name): name for name in CAPABILITIES}


def check_capabilities(table: Any, source: str) -> None:
    """Raise `ConfigError` at the first setting in `table` that is wrong by itself."""
    _read(table, source)


def read_capabilities(table: Any, source: str) -> CapabilitiesConfig:
    """The settings in `table`. Raises `ConfigError` at the first wrong setting."""
    values = _read(table, source)
    profiles = values.get("profiles", {})
    for agent, profile in values.get("agents", {}).items():
        if profile not in profiles and profile not in PROFILES:
            known = [*profiles, *PROFILES]
            raise ConfigError(
                f"'capabilities.agents.{agent}' names an unknown profile, '{profile}'",
                setting=dotted(("capabilities", "agents", agent)),
                where=source,
                hint=did_you_mean(profile, known, "[capabilities.profiles.NAME]"),
            )
    return CapabilitiesConfig(**values)


def merged(stronger: Any, weaker: Any) -> Any:
    """Two merged tables: keys of the stronger first; profiles and agents by name."""
    if not isinstance(stronger, dict) or not isinstance(weaker, dict):
        return stronger
    made = dict(stronger)
    known = {loose_key(key): key for key in stronger}
    for key, value in weaker.items():
        own = known.get(loose_key(key))
        if own is None:
            made[key] = value
        elif loose_key(key) in ("profiles", "agents"):
            made[own] = merged(made[own], value)
    return made


def for_agent(config: CapabilitiesConfig, agent: str | None) -> CapabilitiesConfig:
    """The settings of an agent: those of its profile over the general settings."""
    profile = config.agents.get(agent or "")
    return config if profile is None else with_profile(config, profile)


def with_profile(config: CapabilitiesConfig, profile: str) -> CapabilitiesConfig:
    """The settings with those of a profile over them. Raises `ConfigError`."""
    table = config.profiles.get(profile, PROFILES.get(profile))
    if table is None:
        known = ", ".join(sorted({*config.profiles, *PROFILES}))
        raise ConfigError(f"unknown profile '{profile}'", hint=f"known: {known}")
    own = _read(table, "metier.toml", profile)
    if "max_tokens" in own:
        own.setdefault("budgets", {})
    return config._replace(**own)


def _read(table: Any, source: str, profile: str = "") -> dict[str, Any]:
    """The fields of `CapabilitiesConfig` that `table`, or the table of a profile, sets."""
    at = ("capabilities", "profiles", profile) if profile else ("capabilities",)
    spelled = _respelled(table, at, source)
    check(spelled, PROFILE if profile else SETTINGS["capabilities"].field, at, source)
    values = {}
    for key, value in spelled.items():
        setting = CAPABILITIES[key]
        make = _MAKERS.get(key)
        values[setting.attribute] = (
            make(value, f"{dotted(at)}.{key}", source) if make else plain(value, setting.field)
        )
    return values


def _respelled(table: Any, at: KeyPath, source: str) -> Any:
    """A table with known keys in our spelling. Raises `ConfigError` when a key is set twice."""
    if not isinstance(table, Mapping):
        return table
    spelled: dict[str, Any] = {}
    for key, value in table.items():
        name = _BY_LOOSE_KEY.get(loose_key(key)) or str(key)
        if name in spelled:
            setting = dotted((*at, name))
            message = f"'{setting}' is set twice, in two spellings"
            raise ConfigError(message, setting=setting, where=source)
        if name == "profiles" and isinstance(value, Mapping):
            value = {
                one: _respelled(inner, (*at, name, one), source) for one, inner in value.items()
            }
        spelled[name] = value
    return spelled


def _budgets(value: Mapping[str, int], key: str, source: str) -> Mapping[int, int]:
    """`{"0" = 1500, "50000" = 2500}`: the keys of TOML are texts."""
    if not all(one.isascii() and one.isdecimal() and len(one) < 10 for one in value):
        wanted = 'a table such as {"0" = 1500, "50000" = 2500}: characters → tokens'
        raise wrong(key, wanted, source)
    return MappingProxyType({int(one): tokens for one, tokens in sorted(value.items())})


def _two_scorers(value: list[str], key: str, source: str) -> tuple[str, ...]:
    if len(value) not in (0, 2):
        raise wrong(key, "a list of two scorers", source)
    return tuple(value)


def _sources(value: list[dict[str, str]], key: str, source: str) -> tuple[SourceSetting, ...]:
    sources = tuple(SourceSetting(**entry) for entry in value)
    if any(one.type == "remote" and not _SHA256.match(one.sha256) for one in sources):
        message = "pinned: a remote source needs 'sha256' with 64 hexadecimal digits"
        raise wrong(key, message, source)
    return sources


def _frozen(value: Mapping[str, Any], _key: str, _source: str) -> Mapping[str, Any]:
    return MappingProxyType(dict(value))


_MAKERS: dict[str, Callable[[Any, str, str], Any]] = {
    "budgets": _budgets,
    "compare": _two_scorers,
    "sources": _sources,
    "profiles": _frozen,
    "agents": _frozen,
}


def to_json(config: CapabilitiesConfig) -> dict[str, Any]:
    """The settings as files spell them, for hooks; a profile with `maxTokens` has no budgets."""
    made = {name: getattr(config, setting.attribute) for name, setting in CAPABILITIES.items()}
    made["budgets"] = {str(key): tokens for key, tokens in config.budgets.items()}
    made["profiles"] = {
        name: {"budgets": {}, **table} if "maxTokens" in table else dict(table)
        for name, table in {**PROFILES, **config.profiles}.items()
    }
    made["agents"] = dict(config.agents)
    made["sources"] = [list(source) for source in config.sources]
    return made

"""`[capabilities]` of the settings → `CapabilitiesConfig`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, get_args

from metier.core.names import loose_key
from metier.core.nearest import nearest
from metier.errors import ConfigError
from metier.values.capabilities import CapabilitiesConfig, LogLevel, RolloutMode, SourceSetting

PROFILES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "minimal": {"maxTokens": 500, "skillSuggestions": 1},
        "full": {"maxTokens": 4_000, "skillSuggestions": 5},
    }
)
"""What every workspace can name; its own profiles of these names take their place."""
_SESSION_TYPES = ("main", "isolated")
_MOST_TOKENS = 1_000_000


class _WrongValueError(ValueError):
    """What a value must be."""


def check_capabilities(table: Any, source: str) -> None:
    """Raise `ConfigError` at the first setting in `table` that is wrong by itself."""
    _read(table, source, "capabilities")


def read_capabilities(table: Any, source: str) -> CapabilitiesConfig:
    """The settings in `table`. Raises `ConfigError` at the first wrong one."""
    values = _read(table, source, "capabilities")
    profiles = values.get("profiles", {})
    for agent, profile in values.get("agents", {}).items():
        if profile not in profiles and profile not in PROFILES:
            near = nearest(profile, [*profiles, *PROFILES])
            raise ConfigError(
                f"'capabilities.agents.{agent}' names the profile '{profile}', which is not there",
                where=source,
                hint=f"did you mean '{near}'?" if near else "[capabilities.profiles.NAME]",
            )
    return CapabilitiesConfig(**values)


def merged(stronger: Any, weaker: Any) -> Any:
    """Two tables as one: each key from the stronger one; profiles and agents by their names."""
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
    """The settings that hold for an agent: those of its profile over the general ones."""
    profile = config.agents.get(agent or "")
    return config if profile is None else with_profile(config, profile)


def with_profile(config: CapabilitiesConfig, profile: str) -> CapabilitiesConfig:
    """The settings with those of a profile over them. Raises `ConfigError`."""
    table = config.profiles.get(profile, PROFILES.get(profile))
    if table is None:
        known = ", ".join(sorted({*config.profiles, *PROFILES}))
        raise ConfigError(f"no profile is called '{profile}'", hint=f"there are: {known}")
    own = _read(table, "metier.toml", f"capabilities.profiles.{profile}")
    if "max_tokens" in own:
        own.setdefault("budgets", {})
    return config._replace(**own)


def _read(table: Any, source: str, where: str) -> dict[str, Any]:
    if not isinstance(table, dict | Mapping):
        raise ConfigError(f"'{where}' must be a table", where=source)
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = _NAMES.get(loose_key(key))
        if name is None or (where != "capabilities" and name in ("profiles", "agents", "sources")):
            near = nearest(key, _READERS)
            hint = f"did you mean '{near}'?" if near else f"known: {', '.join(_READERS)}"
            raise ConfigError(f"unknown setting '{where}.{key}'", where=source, hint=hint)
        field, read = _READERS[name]
        if field in values:
            raise ConfigError(f"'{where}.{name}' is set twice, in two spellings", where=source)
        if name == "profiles":
            _check_profiles(value, source)
        try:
            values[field] = read(value)
        except _WrongValueError as wrong:
            raise ConfigError(f"'{where}.{name}' must be {wrong}", where=source) from None
    return values


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _WrongValueError("true or false")
    return value


def _count(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _WrongValueError(f"a whole number from {least} to {most}")
        return value

    return read


def _number(most: float) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise _WrongValueError(f"a number from 0 to {most:g}")
        return float(value)

    return read


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise _WrongValueError("a list of texts")
    return tuple(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _WrongValueError("a text")
    return value


def _one_of(*choices: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in choices:
            raise _WrongValueError(f"one of {', '.join(choices)}")
        return str(value)

    return read


def _session_types(value: Any) -> tuple[str, ...]:
    types = _texts(value)
    if not set(types) <= set(_SESSION_TYPES):
        raise _WrongValueError(f"a list of {' and '.join(_SESSION_TYPES)}")
    return types


def _two_scorers(value: Any) -> tuple[str, ...]:
    scorers = _texts(value)
    if len(scorers) not in (0, 2):
        raise _WrongValueError("a list of two scorers")
    return scorers


def _budgets(value: Any) -> Mapping[int, int]:
    """`{"0" = 1500, "50000" = 2500}`: TOML knows only keys that are texts."""
    wanted = 'a table such as {"0" = 1500, "50000" = 2500}: characters → tokens'
    if not isinstance(value, dict):
        raise _WrongValueError(wanted)
    read = _count(0, _MOST_TOKENS)
    if not all(key.isascii() and key.isdecimal() and len(key) < 10 for key in value):
        raise _WrongValueError(wanted)
    return MappingProxyType({int(key): read(tokens) for key, tokens in sorted(value.items())})


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _WrongValueError("a table")
    return value


def _check_profiles(value: Any, source: str) -> None:
    if isinstance(value, dict):
        for name, table in value.items():
            _read(table, source, f"capabilities.profiles.{name}")


def _profiles(value: Any) -> Mapping[str, Any]:
    return MappingProxyType(dict(_table(value)))


def _agents(value: Any) -> Mapping[str, str]:
    for agent, name in _table(value).items():
        if not isinstance(name, str):
            raise _WrongValueError(f"a table of texts: 'capabilities.agents.{agent}' is none")
    return MappingProxyType(dict(value))


def _sources(value: Any) -> tuple[SourceSetting, ...]:
    wanted = "a list of tables with 'type', 'location' and, for remote ones, 'sha256'"
    if not isinstance(value, list):
        raise _WrongValueError(wanted)
    sources = []
    for entry in value:
        if not isinstance(entry, dict) or set(entry) - {"type", "location", "sha256"}:
            raise _WrongValueError(wanted)
        if entry.get("type") not in ("local", "database", "remote"):
            raise _WrongValueError(f"{wanted}; types: local, database, remote")
        if not isinstance(entry.get("location"), str) or not entry["location"]:
            raise _WrongValueError(wanted)
        if entry["type"] == "remote" and not _is_pin(entry.get("sha256")):
            raise _WrongValueError(
                "pinned: a remote source needs 'sha256' with 64 hexadecimal digits"
            )
        sources.append(SourceSetting(entry["type"], entry["location"], entry.get("sha256", "")))
    return tuple(sources)


def _is_pin(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef")


_READERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "enabled": ("enabled", _flag),
    "maxTokens": ("max_tokens", _count(0, _MOST_TOKENS)),
    "confidenceThreshold": ("confidence_threshold", _number(1.0)),
    "forceInclude": ("force_include", _texts),
    "exclude": ("exclude", _texts),
    "logLevel": ("log_level", _one_of(*get_args(LogLevel))),
    "mode": ("mode", _one_of(*get_args(RolloutMode))),
    "scorer": ("scorer", _text),
    "overflow": ("overflow", _one_of("skip", "stop")),
    "recentMessages": ("recent_messages", _count(1, 100)),
    "softSessionTypes": ("soft_session_types", _session_types),
    "budgets": ("budgets", _budgets),
    "skillSuggestions": ("skill_suggestions", _count(0, 20)),
    "skillThreshold": ("skill_threshold", _number(1_000.0)),
    "maxInjectionShare": ("max_injection_share", _number(1.0)),
    "refreshAfter": ("refresh_after", _count(1, 31_536_000)),
    "compare": ("compare", _two_scorers),
    "userTier": ("user_tier", _text),
    "environmentType": ("environment_type", _text),
    "sources": ("sources", _sources),
    "profiles": ("profiles", _profiles),
    "agents": ("agents", _agents),
}
"""Each key as the file spells it → its field, and what reads it."""
_NAMES = {loose_key(name): name for name in _READERS}


def _respelled(table: Mapping[str, Any]) -> dict[str, Any]:
    """A profile in the spelling of the file; its `maxTokens` replaces all budgets."""
    own = {_NAMES[loose_key(key)]: value for key, value in table.items()}
    return {"budgets": {}, **own} if "maxTokens" in own else own


def to_json(config: CapabilitiesConfig) -> dict[str, Any]:
    """The settings in the spelling of the file, each with its value: what hooks read."""
    made = {name: getattr(config, field) for name, (field, _) in _READERS.items()}
    made["budgets"] = {str(key): tokens for key, tokens in config.budgets.items()}
    profiles = {**PROFILES, **config.profiles}
    made["profiles"] = {name: _respelled(table) for name, table in profiles.items()}
    made["agents"] = dict(config.agents)
    made["sources"] = [list(source) for source in config.sources]
    return made

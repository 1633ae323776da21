"""Every setting as a row: its class, its field of `Config`, and what it may hold.

The class says whether a setting of a workspace applies before its user trusts it:

- `comfort` applies as it is: it can only touch the workspace's own documents.
- `narrowed` applies to the workspace's own documents, and only where it tightens what the user
  set. Once the workspace is trusted it counts as it is, except for `trust.*`, which a workspace
  can only ever tighten.
- `power` is ignored until the workspace is trusted.
- `user` applies in the user's own settings only.

A setting without a class is a power.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import ulp
from typing import Any, Literal, NamedTuple, get_args

from metier.core.names import loose_key
from metier.core.nearest import nearest
from metier.errors import ConfigError
from metier.values.checks import FLAG, NAMESPACE_FORM, TYPES, Field, integer, text
from metier.values.files import KINDS
from metier.values.settings_tables import LogLevel, RolloutMode
from metier.values.trust import LEVELS

SettingClass = Literal["comfort", "narrowed", "power", "user"]

_TEXTS = Field(type="list", items=text(), called="a list of strings")
_NAMES = Field(type="list", items=text(shortest=1), called="a list of strings")
_ARGV = Field(
    type="list", items=text(), shortest=1, required=True, called="a list of strings, program first"
)
_SECONDS = Field(type="number", least=ulp(0.0), called="a number of seconds above 0")
_TOKENS = integer(0, 1_000_000)


def _share(most: float = 1) -> Field:
    return Field(type="number", least=0, most=most)


def _table(
    fields: Mapping[str, Field] | None = None, others: Field | None = None, called: str = "a table"
) -> Field:
    return Field(type="mapping", fields=fields, others=others, called=called)


_MOUNT = _table({"path": text(required=True), "label": text()})
_PROBE_SECONDS = Field(
    type="number", least=ulp(0.0), most=600, called="a number of seconds, at most 600"
)
_PROBE = _table({"argv": _ARGV, "timeout": _PROBE_SECONDS})
_TEAM = _table({"name": text(shortest=1), "owner": text(), "disabled": _NAMES})
_DOLLARS = Field(type="number", least=0, called="a number of dollars per million tokens")
_OF_MODELS = {"timeout": _SECONDS, "retries": integer(0, 10)}
_MODEL = _table(
    {
        **_OF_MODELS,
        "input": _DOLLARS,
        "output": _DOLLARS,
        "context": integer(1, 1_000_000_000),
        "max-tokens": integer(1, 1_000_000_000),
    },
    called="a table for a model, or one of base-url, api-key-env, timeout, retries",
)
_PROVIDER = _table(
    {"base-url": text(), "api-key-env": text(), **_OF_MODELS},
    others=_MODEL,
    called="a table for a provider, such as [models.openai]",
)
_COMMAND = _table(
    {
        "argv": _ARGV._replace(required=False),
        "function": text(shortest=1),
        "description": text(),
        "schema": _table(),
        "folder": text(),
        "timeout": _SECONDS,
        "stdin": text(),
        "output": text(),
        "environment": _TEXTS,
        "raw": _TEXTS,
    }
)
_SERVER = _table(
    {
        "command": text(),
        "args": _TEXTS,
        "env": _table(),
        "folder": text(),
        "url": text(),
        "headers": _table(),
        "timeout": _SECONDS,
    }
)
_ENCODER = _table(
    {
        "kind": text(required=True, choices=("onnx", "static", "http")),
        "file": text(),
        "tokenizer": text(),
        "url": text(),
        "model": text(),
        "api-key-env": text(),
        "timeout": _SECONDS,
        "refresh-timeout": _SECONDS,
    }
)
_LEVEL = text(choices=LEVELS)
_QUEUE = _table(
    {
        "concurrency": integer(1, 100_000),
        "starts": integer(1, 1_000_000),
        "seconds": Field(type="number", least=1, most=86_400),
    }
)
_SIZE = integer(0, 1_000_000)
_NUMBER = Field(type="number")
_RULE = _table(
    {
        "title": text(required=True, shortest=1, longest=100),
        "severity": text(choices=("error", "warning", "info")),
        "message": text(),
        "hint": text(),
        "why": text(),
        "bad": text(),
        "good": text(),
        "kinds": Field(type="list", items=text(choices=KINDS), shortest=1),
        "files": _NAMES,
        "in": text(choices=("body", "front-matter", "file")),
        "field": text(shortest=1),
        "regex": text(shortest=1, longest=2_000),
        "must-match": text(shortest=1, longest=2_000),
        "required": FLAG,
        "forbidden": FLAG,
        "type": text(choices=tuple(TYPES)),
        "choices": _TEXTS,
        "shortest": _SIZE,
        "longest": _SIZE,
        "least": _NUMBER,
        "most": _NUMBER,
    }
)
_SOURCE = _table(
    {
        "type": text(required=True, choices=("local", "database", "remote")),
        "location": text(required=True, shortest=1),
        "sha256": text(),
    }
)


class Setting(NamedTuple):
    kind: SettingClass
    attribute: str
    """Its field of `Config`, or of `CapabilitiesConfig`."""
    field: Field


CAPABILITIES: dict[str, Setting] = {
    "enabled": Setting("narrowed", "enabled", FLAG),
    "maxTokens": Setting("narrowed", "max_tokens", _TOKENS),
    "confidenceThreshold": Setting("narrowed", "confidence_threshold", _share()),
    "forceInclude": Setting("power", "force_include", _NAMES),
    "exclude": Setting("narrowed", "exclude", _NAMES),
    "logLevel": Setting("power", "log_level", text(choices=get_args(LogLevel))),
    "mode": Setting("narrowed", "mode", text(choices=get_args(RolloutMode))),
    "scorer": Setting("power", "scorer", text()),
    "overflow": Setting("power", "overflow", text(choices=("skip", "stop"))),
    "recentMessages": Setting("power", "recent_messages", integer(1, 100)),
    "softSessionTypes": Setting(
        "power",
        "soft_session_types",
        Field(
            type="list", items=text(choices=("main", "isolated")), called="a list of main, isolated"
        ),
    ),
    "budgets": Setting(
        "power", "budgets", _table(others=_TOKENS, called="a table of characters and tokens")
    ),
    "skillSuggestions": Setting("power", "skill_suggestions", integer(0, 20)),
    "skillThreshold": Setting("power", "skill_threshold", _share(1_000)),
    "maxInjectionShare": Setting("power", "max_injection_share", _share()),
    "refreshAfter": Setting("power", "refresh_after", integer(1, 31_536_000)),
    "compare": Setting("power", "compare", _NAMES),
    "userTier": Setting("power", "user_tier", text()),
    "environmentType": Setting("power", "environment_type", text()),
    "sources": Setting(
        "power",
        "sources",
        Field(
            type="list",
            items=_SOURCE,
            called="a list of tables with 'type' (local, database or remote), 'location'"
            " and, for remote ones, 'sha256'",
        ),
    ),
    "profiles": Setting("power", "profiles", _table()),
    "agents": Setting("power", "agents", _table(others=text())),
}
PROFILE = _table(
    {
        key: setting.field
        for key, setting in CAPABILITIES.items()
        if key not in ("profiles", "agents", "sources")
    }
)
_ALL_CAPABILITIES = _table(
    {key: setting.field for key, setting in CAPABILITIES.items()}
    | {"profiles": _table(others=PROFILE)}
)

SETTINGS: dict[str, Setting] = {
    "disabled": Setting("narrowed", "disabled", _TEXTS),
    "host-folders": Setting("power", "host_folders", FLAG),
    "mounts": Setting(
        "power",
        "mounts",
        Field(
            type="list",
            items=_MOUNT,
            called="a list of tables with 'path' and, optionally, 'label'",
        ),
    ),
    "folders.abilities": Setting("comfort", "abilities", _TEXTS),
    "folders.cards": Setting("comfort", "cards", _TEXTS),
    "folders.agents": Setting("comfort", "agents", _TEXTS),
    "abilities.minSignal": Setting("narrowed", "ability_signal", Field(type="number", least=0)),
    "selection.scorer": Setting("power", "agent_scorer", text(choices=("spec", "learned"))),
    "lint.select": Setting("comfort", "lint_select", _TEXTS),
    "lint.ignore": Setting("comfort", "lint_ignore", _TEXTS),
    "lint.per-file-ignores": Setting(
        "comfort",
        "per_file_ignores",
        _table(others=_TEXTS, called="a table of patterns and codes"),
    ),
    "lint.rules": Setting("power", "lint_rules", _table(others=_RULE)),
    "lint.plugins": Setting("power", "lint_plugins", _NAMES),
    "eval.minRecall": Setting("comfort", "eval_min_recall", _share()),
    "eval.maxFalseFires": Setting("comfort", "eval_max_false_fires", _share()),
    "eval.minHit1": Setting("comfort", "eval_min_hit1", _share()),
    "eval.minNdcg": Setting("comfort", "eval_min_ndcg", _share()),
    "eval.maxSilent": Setting("comfort", "eval_max_silent", _share()),
    "eval.maxSpeaksWrongly": Setting("comfort", "eval_max_speaks_wrongly", _share()),
    "teams": Setting("comfort", "teams", _table(others=_TEAM, called="a table of folders")),
    "trust.workspace": Setting("narrowed", "trust_workspace", _LEVEL),
    "trust.user": Setting("narrowed", "trust_user", _LEVEL),
    "trust.plugins": Setting("narrowed", "trust_plugins", _LEVEL),
    "trust.mounts": Setting("narrowed", "trust_mounts", _LEVEL),
    "trust.sources": Setting(
        "narrowed", "trust_sources", _table(others=_LEVEL, called="a table of sources and levels")
    ),
    "probes": Setting("power", "probes", _table(others=_PROBE)),
    "tokenizer": Setting("power", "tokenizer", text()),
    "capabilities": Setting("power", "capabilities", _ALL_CAPABILITIES),
    "models": Setting("power", "models", _table({"default": text()}, _PROVIDER)),
    "tools": Setting("power", "tools", _table({"allow": _TEXTS}, _COMMAND)),
    "mcp": Setting("power", "servers", _table(others=_SERVER)),
    "encoder": Setting("power", "encoder", _ENCODER),
    "state.folder": Setting("user", "state_folder", text()),
    "state.keep-days": Setting("user", "keep_days", integer(1, 36_500)),
    "state.url": Setting("power", "state_url", text(shortest=1)),
    "state.url-file": Setting("power", "state_url_file", text()),
    "state.namespace": Setting(
        "power", "state_namespace", text(form="namespace", called=NAMESPACE_FORM)
    ),
    "workers.documents": Setting("power", "worker_documents", text(choices=("any", "same"))),
    "workers.concurrency": Setting("power", "worker_concurrency", integer(1, 1_000)),
    "workers.queues": Setting("power", "queues", _table(others=_QUEUE)),
    "safe-directories": Setting("user", "safe_directories", _TEXTS),
}
CLASSES: dict[str, SettingClass] = {
    key: setting.kind for key, setting in SETTINGS.items() if key != "capabilities"
} | {f"capabilities.{key}": setting.kind for key, setting in CAPABILITIES.items()}
_BY_LOOSE_KEY = {loose_key(key): key for key in CLASSES}
TABLES = ("tools", "mcp", "models", "probes", "capabilities")
"""Settings whose entries are powers of their own."""
_NAMED = ("capabilities.profiles", "capabilities.agents", "lint.rules")


def unknown_setting(key: str, name: str, known: Iterable[str], source: str) -> ConfigError:
    """The error for `key`, called `name` among the `known` ones."""
    near = nearest(name, known)
    hint = f"did you mean '{near}'?" if near else f"known: {', '.join(known)}"
    return ConfigError(f"unknown setting '{key}'", setting=key, where=source, hint=hint)


def class_of(key: str) -> SettingClass:
    """The class of a setting; a power if it has none."""
    return CLASSES.get(key) or CLASSES.get(key.partition(".")[0]) or "power"


def entries(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings with their tables taken apart: `tools` becomes `tools.allow`, `tools.deploy`…"""
    for key, value in values.items():
        if key in TABLES and isinstance(value, dict):
            for inner, entry in value.items():
                whole = f"{key}.{inner}"
                known = _BY_LOOSE_KEY.get(loose_key(whole)) if key == "capabilities" else None
                yield from _by_name(known or whole, entry)
        else:
            yield from _by_name(key, value)


def _by_name(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a setting that is merged by name."""
    if key in _NAMED and isinstance(value, dict):
        yield from ((f"{key}.{name}", entry) for name, entry in value.items())
    elif key == "mounts" and isinstance(value, list):
        for entry in value:
            table = entry if isinstance(entry, dict) else {"path": entry}
            name = str(table.get("label") or table.get("path")).rstrip("/").rpartition("/")[2]
            yield f"mounts.{name}", entry
    else:
        yield key, value

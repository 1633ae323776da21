"""The page of settings: keys, defaults and variables are the program's, the meanings are here."""

import json
from typing import Any

from metier.config import Config
from metier.config.layers import VARIABLES
from metier.config.settings import CAPABILITIES, CLASSES, SETTINGS, class_of
from metier.values.settings_tables import CapabilitiesConfig

MEANINGS = {
    "disabled": "names, handles or full ids of skills that are never used",
    "state.folder": "where all state is kept; `METIER_STATE_DIR` is stronger",
    "state.keep-days": (
        "after how many days `metier state prune`, and `metier refresh` once a day, remove ended"
        " runs, reports and decisions of hooks"
    ),
    "state.url": (
        "the PostgreSQL database of shared state, without a password:"
        " `postgresql://USER@HOST/DATABASE`; only the variable may have a password:"
        " [many machines](../scale.md)"
    ),
    "state.url-file": (
        "a file outside the workspace that holds the address, which may have a password; it wins"
        " over `state.url`, and `METIER_STATE_URL` over both"
    ),
    "state.namespace": (
        "whose state it is in the database; required with an address; up to 40 characters, a-z,"
        " 0-9 and `-`"
    ),
    "workers.documents": (
        "`same`: a worker leaves runs that were started with other documents to another worker"
    ),
    "workers.concurrency": "how many runs a worker executes at a time",
    "workers.queues": (
        "limits of queues over all workers: `[workers.queues.NAME]` with `concurrency`, and"
        " `starts` within `seconds`"
    ),
    "safe-directories": (
        "workspaces that may belong to another user of the system, as in containers"
    ),
    "host-folders": "also read the skill folders of agent hosts below your home folder",
    "mounts": 'other folders of skills: `[{ path = "../team-skills", label = "team" }]`',
    "folders.abilities": "where abilities are",
    "folders.cards": "where cards are",
    "folders.agents": "where agent profiles are",
    "abilities.minSignal": (
        "the lowest score, without priority, at which an ability is injected into a step of a run;"
        " one tag gives 10. Core abilities are always injected"
    ),
    "lint.select": "only these codes or prefixes of codes",
    "lint.ignore": "ignore these codes or prefixes of codes",
    "lint.per-file-ignores": (
        'patterns and the codes to ignore there: `"skills/vendor/*" = ["SK"]`'
    ),
    "lint.rules": (
        "`[lint.rules.CODE]`: your own rule, a regular expression or a check of a field:"
        " [own rules](../own-rules.md)"
    ),
    "lint.plugins": "entry points of installed packages whose lint rules are used",
    "selection.scorer": (
        "how agents are selected: `spec`, or `learned` from their example tasks"
        " ([examples](../examples.md))"
    ),
    "eval.minRecall": "`metier eval` fails below this recall, from 0 to 1: [evals](../evals.md)",
    "eval.maxFalseFires": "and above this share of false fires",
    "eval.minHit1": "and below this hit@1",
    "eval.minNdcg": "and below this nDCG@10",
    "eval.maxSilent": "and above this share of cases without any skill, though one fits",
    "eval.maxSpeaksWrongly": "and above this share of cases with a skill, though none fits",
    "teams": (
        '`[teams."FOLDER"]`: a folder that belongs to a team, with `name` (else the last part of'
        " the folder), `owner` and `disabled`, a list of its documents to exclude:"
        " [teams](../teams.md)"
    ),
    "trust.workspace": (
        "how far the skills of the workspace are trusted: `always`, `on-first-use`, `ask` or"
        " `never`: [locks and reviews](../locks.md). A workspace can only tighten this and the next"
        " four"
    ),
    "trust.user": "the same for your own folders, such as `~/.claude/skills`",
    "trust.plugins": "the same for installed plugins",
    "trust.mounts": "the same for mounts",
    "trust.sources": (
        'the same for one source, by its label or the name of a plugin: `{ team = "ask" }`;'
        " stronger than the four above"
    ),
    "probes": (
        "commands that test whether a skill really provides a capability: `[probes.web-search]`"
        ' with `argv = ["./probe", "web"]` and `timeout = 10` (seconds); run without a shell, exit'
        " code 0 passes"
    ),
    "tokenizer": (
        "how tokens are counted: four characters each, or an encoding of tiktoken (`o200k_base`,"
        " `o200k_harmony`, `cl100k_base`, or one of a tiktoken plugin) whose ranks are in the"
        " folder that `TIKTOKEN_CACHE_DIR` names; metier downloads nothing"
    ),
    "capabilities": (
        "cards and hooks, see below; for hooks the variable `METIER_CAPABILITIES` makes the mode"
        " stricter:"
        " [awareness](../awareness.md)"
    ),
    "models": (
        '`default = "provider:model"` for agents that name none (without it the offline model);'
        " `[models.NAME]` with `base-url` and `api-key-env` for a server with the OpenAI"
        " protocol, `timeout` (seconds, 300) and `retries` (0); `[models.NAME.MODEL]` with"
        " `timeout`, `retries`, `input` and `output` (dollars per million tokens), `context`"
        " and `max-tokens`: [agents](../agents.md#models)"
    ),
    "tools": (
        "`[tools.NAME]`: a command or a Python function as a tool, with `argv`, or with `function`"
        " (`package.module:name`), and, optionally, `description`,"
        " `schema`, `folder`, `timeout`, `stdin` (`none`, `json`), `output` (`text`, `json`),"
        ' `environment`, `raw`; `allow = ["NAME"]` consents to it'
    ),
    "encoder": (
        "`kind` is `onnx` or `static`, with `file` (and `tokenizer`), or `http`, with `url`,"
        " `model` and, optionally, `api-key-env`: gives skills and tasks their vectors in"
        " place of the built-in words, except in hooks; `timeout = 5` and `refresh-timeout = 30`,"
        " in seconds, for a task and for the documents of a refresh: [encoders](../encoders.md)"
    ),
    "mcp": (
        "`[mcp.NAME]`: a server whose tools agents may call, with `command`, `args`, `env`,"
        " `folder`, or `url`, `headers`; `timeout`"
    ),
}
TABLES = ("teams", "probes", "capabilities", "models", "tools", "mcp", "encoder")
OF_CARDS = {
    "enabled": "`false` switches cards and hooks off",
    "maxTokens": "the token limit for cards",
    "confidenceThreshold": "replaces the threshold of every card",
    "forceInclude": "ids of cards that are always injected",
    "exclude": "ids of cards that are never injected, even if forced",
    "logLevel": "`none`, `summary`, `detailed`: what `metier.capabilities` logs in Python",
    "mode": "`off`, `monitor`, `soft`, `on`",
    "scorer": "how cards are scored: `spec`, `saturating`, `hybrid`, or in Python a registered one",
    "overflow": "after a card that does not fit: `skip` tries the next, `stop` ends",
    "recentMessages": "how many of the latest messages count",
    "softSessionTypes": "the session types in which `soft` injects",
    "budgets": "characters of conversation → tokens, in place of `maxTokens`",
    "skillSuggestions": "how many skills a hook may name",
    "skillThreshold": "the least evidence with which a skill is named: [which](../which.md)",
    "maxInjectionShare": "above this share of requests that inject, hooks switch to `monitor`",
    "refreshAfter": "seconds after which a hook starts a refresh",
    "compare": "two scorers to compare, each for half of the conversations",
    "userTier": "compared with `triggers.userTier` of cards",
    "environmentType": "compared with `triggers.environmentType` of cards",
    "sources": (
        "tables with `type` (`local`, `database`, `remote`), `location` and, for remote ones,"
        " `sha256`"
    ),
    "profiles": "named sets of these settings, besides `minimal` and `full`",
    "agents": "agent → the profile that it uses",
}
BEFORE = """\
Options override environment variables, which override `metier.toml` in the workspace root, which
overrides `[tool.metier]` in `pyproject.toml`, which overrides `metier/metier.toml` in your
configuration folder (`$XDG_CONFIG_HOME`, else `~/.config`). `--config FILE` replaces all files.
Each key is taken whole from the first of these that has it; tools, servers, providers, probes and
mounts are merged by name. An unknown key or a wrong value stops the command with exit code 2
(`metier hook stats` shows it and continues). In a workspace that you have not trusted, a wrong
value of a power is only named, and stops `metier trust`; `[capabilities]` is always checked.

The class says what a setting does in a workspace that you have not trusted
([security](../security.md)). `comfort`: it applies, but only to the workspace's own documents.
`narrowed`: it applies to these documents, where it is stricter than your own settings. `power`: it
is ignored until you run [`metier trust`](cli.md#metier-trust). `user`: it applies only in your own
settings. Folders that you name in your own settings with an absolute path, or with `~`, contain
your own documents: they are read in every workspace.
"""
AFTER = """\
Lists in environment variables are separated by commas. `NO_COLOR` turns colour off;
`FORCE_COLOR` turns it on without a terminal, and off if it is `0`; `METIER_OFFLINE=1` fetches no
remote source; `METIER_MCP_TOKEN` is the token of [`metier mcp --http`](../mcp.md).
"""


def settings_page(note: str) -> str:
    rows = [
        f"| `{key}` | {'none' if key in TABLES else _default(getattr(Config(), setting.attribute))}"
        f" | {_variable(key)} | {_class(key)} | {MEANINGS[key]} |"
        for key, setting in SETTINGS.items()
    ]
    of_cards = [
        f"| `{key}` | {_default(getattr(CapabilitiesConfig(), setting.attribute))}"
        f" | {class_of(f'capabilities.{key}')} | {OF_CARDS[key]} |"
        for key, setting in CAPABILITIES.items()
    ]
    parts = [
        f"# Settings\n\n{note}\n{BEFORE}",
        "| key | default | environment | class | meaning |\n|---|---|---|---|---|",
        *rows,
        "\n`[capabilities]`, in this spelling or with dashes or underscores:\n",
        "| key | default | class | meaning |\n|---|---|---|---|",
        *of_cards,
        f"\n{AFTER}",
    ]
    return "\n".join(parts)


def _class(key: str) -> str:
    return class_of(key) if key in CLASSES else "see below"


def _variable(key: str) -> str:
    return f"`{VARIABLES[key]}`" if key in VARIABLES else ""


def _default(value: Any) -> str:
    """A default as the file would have it."""
    if value is None:
        return "none"
    plain = dict(value) if hasattr(value, "items") else value
    return f"`{json.dumps(plain)}`"

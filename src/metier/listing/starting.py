"""How a host is started once, in front of the recorder: program, arguments, settings."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Surroundings(NamedTuple):
    """What a host is started with."""

    url: str
    """Of the recorder."""
    workspace: str
    context: int
    settings: Mapping[str, Any]
    """The user's settings that matter for the listing."""


class Started(NamedTuple):
    """Files below the home, and variables."""

    files: Mapping[str, str]
    environ: Mapping[str, str]


class Start(NamedTuple):
    """How one host is started."""

    program: str
    """Looked for on the user's PATH."""
    arguments: tuple[str, ...]
    """They put one prompt, which follows, and end."""
    configure: Callable[[Surroundings], Started]
    takes_context: bool = False
    """Whether the settings can say how large the model's context is."""
    after: tuple[str, ...] = ()
    """Arguments after the prompt."""


def _codex(given: Surroundings) -> Started:
    lines = [
        'model = "stand-in"',
        'model_provider = "local"',
        f"model_context_window = {given.context}",
        "check_for_update_on_startup = false",
        "[analytics]",
        "enabled = false",
        "[model_providers.local]",
        'name = "local"',
        f'base_url = "{given.url}/v1"',
        'wire_api = "responses"',
        f"[projects.{json.dumps(given.workspace)}]",
        'trust_level = "trusted"',
    ]
    return Started({".codex/config.toml": "\n".join(lines) + "\n"}, {})


def _claude(given: Surroundings) -> Started:
    environ = {
        "ANTHROPIC_BASE_URL": given.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return Started({".claude/settings.json": json.dumps(given.settings)}, environ)


def _gemini(given: Surroundings) -> Started:
    settings = {
        **given.settings,
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    environ = {
        "GOOGLE_GEMINI_BASE_URL": given.url,
        "GEMINI_API_KEY": "none",
        "GEMINI_CLI_NO_RELAUNCH": "1",
    }
    return Started({".gemini/settings.json": json.dumps(settings)}, environ)


def _opencode(given: Surroundings) -> Started:
    limit = {"context": given.context, "output": 8000}
    settings = {
        **given.settings,
        "model": "local/stand-in",
        "autoupdate": False,
        "share": "disabled",
        "provider": {
            "local": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "local",
                "options": {"baseURL": f"{given.url}/v1", "apiKey": "none"},
                "models": {"stand-in": {"name": "stand-in", "limit": limit}},
            }
        },
    }
    environ = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    lock = json.dumps({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}})
    return Started(
        {
            ".config/opencode/opencode.json": json.dumps(settings),
            ".config/opencode/package-lock.json": lock,  # else it waits for the network
            ".config/opencode/node_modules/.keep": "",
        },
        environ,
    )


def _copilot(given: Surroundings) -> Started:
    environ = {
        "COPILOT_PROVIDER_BASE_URL": f"{given.url}/v1",
        "COPILOT_MODEL": "stand-in",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }
    return Started({}, environ)


STARTS: dict[str, Start] = {
    "claude-code": Start("claude", ("-p",), _claude, after=("--model", "claude-sonnet-4-5")),
    "codex": Start("codex", ("exec", "--skip-git-repo-check"), _codex, takes_context=True),
    "copilot": Start("copilot", ("-p",), _copilot),
    "gemini": Start("gemini", ("-m", "gemini-2.5-pro", "-p"), _gemini),
    "opencode": Start("opencode", ("run",), _opencode, takes_context=True),
}
"""Hosts that can be pointed at a server on loopback."""

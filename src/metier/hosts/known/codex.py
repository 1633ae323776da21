"""Codex CLI."""

import json
import os
from collections.abc import Sequence
from typing import Any

from metier.core.coerce import mapping_of
from metier.hosts.beside import is_set_beside
from metier.hosts.model import (
    UNKNOWN,
    Hook,
    Host,
    Listing,
    Loading,
    Mark,
    Plugins,
    SentListing,
    SkillFolder,
    Source,
    Switch,
    Transcripts,
    Written,
)
from metier.hosts.settings_forms import Entry, ServerList, SettingsFile
from metier.hosts.skill_settings import FoundSkill, HostSettings, SkillSettings, last_of
from metier.hosts.starting import Start, Started, Surroundings
from metier.hosts.tools import HostTools, shell_tool

_SOURCE = Source("github.com/openai/codex at 343074d, 22 August 2026", "2026-11-16", "source")
_FACTS = Source("github.com/openai/codex", "2026-09", "source")
_MEASURED = Source("Codex 0.166.0", "2026-11-18", "measured")

CONTEXT = 272_000
"""Of a model that the host does not know; settings can make it smaller, not larger."""
LONGEST = 1_024
"""The most characters of a description; three dots end what is cut."""
LONGEST_NAME = 64
_BESIDE = Switch(
    "file beside", "policy.allow_implicit_invocation", {"false": "manual"}, "agents/openai.yaml"
)


def _settings(settings: Sequence[dict[str, Any]], home: str) -> HostSettings:
    off = {
        os.path.realpath(os.path.join(home, str(one.get("path") or one.get("name") or "")))
        for each in settings
        for one in _tables(mapping_of(each.get("skills")).get("config"))
        if one.get("enabled") is False
    }

    def switched(skill: FoundSkill, _folder: str) -> dict[str, str]:
        folder = skill.file.rpartition("/")[0]
        found = {}
        if off and not off.isdisjoint((skill.file, folder, os.path.join(home, skill.name))):
            found["skills.config.enabled"] = "false"
        if os.access(f"{folder}/{_BESIDE.file}", os.F_OK) and is_set_beside(folder, _BESIDE):
            found[_BESIDE.key] = "false"
        return found

    tokens = last_of([mapping_of(one.get("skills")) for one in settings], "max_context_tokens")
    context = last_of(settings, "model_context_window")
    return HostSettings(
        switched,
        context=context if isinstance(context, int) and context > 0 else None,
        budget=lambda _: tokens if isinstance(tokens, int) and tokens > 0 else None,
    )


def _tables(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _started(given: Surroundings) -> Started:
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


HOST = Host(
    name="codex",
    title="Codex CLI",
    loading=Loading(
        project=(".agents/skills", ".codex/skills"),
        user=("~/.agents/skills", "~/.codex/skills"),
        borrowed=(),
        admin=("/etc/codex/skills",),
        depth=6,
        bare=True,
        walks_up=True,
        nested=False,
        links=True,
        name="front matter",
        unnamed="folder",
        undescribed="dropped",
        headless="dropped",
        invalid="colons load",
        precedence=("project", "user", "system", "admin"),
        duplicates="all load",
        needs_trust=(".codex/skills",),
        longest_name=LONGEST_NAME,
        longest_description=None,
        own_folder=".system",
    ),
    plugins=Plugins(
        folder=UNKNOWN,
        manifests=(
            ".codex-plugin/plugin.json",
            ".claude-plugin/plugin.json",
            ".cursor-plugin/plugin.json",
        ),
        namespace="plugin:skill",
        installed=UNKNOWN,
    ),
    keys={},
    switches=(
        _BESIDE,
        Switch(
            "settings",
            "skills.config.enabled",
            {"false": "off"},
            "~/.codex/config.toml",
            Written(("skills", "config"), "tables", "file"),
        ),
    ),
    listing=Listing(
        rule="equal shares",
        fraction=0.02,
        characters=8_000,
        unit="tokens",
        longest=LONGEST,
        context=CONTEXT,
        order="system, admin, project, user; then by name",
        form="lines",
        settings=("skills.max_context_tokens",),
        computed_by="codex",
        sent=SentListing(
            "### Available skills\n",
            r"\n</skills_instructions>",
            r"(?m)^- ([^:\n]+(?::[^: \n]+)?): (?:(.*) )?\(file: (.*)\)$",
        ),
    ),
    hook_settings=SettingsFile(
        ".codex/hooks.json",
        ".codex/hooks.json",
        "start Codex and trust the hook with /hooks: until then it is skipped",
        ("CODEX_HOME", ".codex"),
        Entry(
            "UserPromptSubmit",
            limits={"timeout": 10},
            more={"SessionStart": "compact|resume", "SubagentStart": ""},
        ),
    ),
    mcp_settings=SettingsFile(
        ".codex/config.toml",
        ".codex/config.toml",
        "restart Codex; /mcp lists it. A project's file counts in a trusted project only",
        ("CODEX_HOME", ".codex"),
        servers=ServerList(("mcp_servers",), form="toml"),
    ),
    hook=Hook(
        event="UserPromptSubmit",
        others=("SessionStart", "SubagentStart"),
        sees_prompt=True,
        answer="hookSpecificOutput",
        longest="2,500 tokens; the rest goes to a file",
    ),
    transcripts=Transcripts(
        files=(
            "~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl",
            "~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl.zst",
            "~/.codex/archived_sessions",
        ),
        form="JSON lines",
        fired=(
            "user text with `<skill><name>`",
            "a command that reads its SKILL.md or runs a file in its `scripts/`",
            "`skills.read`",
        ),
        marks=(Mark("<skill>\\n<name>", "", "</name>"),),
        read_by="codex",
    ),
    sources={
        "loading": _SOURCE,
        "loading.headless": _MEASURED,
        "loading.invalid": _MEASURED,
        "plugins": _SOURCE,
        "keys": _SOURCE,
        "switches": _SOURCE,
        "listing": _MEASURED,
        "listing.settings": _SOURCE,
        "hook_settings": _MEASURED,
        "mcp_settings": _MEASURED,
        "hook": _FACTS,
        "hook.event": _MEASURED,
        "hook.answer": _MEASURED,
        "hook.others": _SOURCE,
        "hook.longest": _SOURCE,
        "transcripts": _FACTS,
    },
    notes=(
        "Codex skips a hook until you trust it with `/hooks`, and asks again when the entry "
        "changes. Any key of the answer but the documented ones fails the hook; metier prints "
        "none.",
        "Hooks can also be in `config.toml`; with both forms in one folder Codex warns and uses "
        "both.",
        "A SKILL.md in a folder of another skill is a skill too, with its own line in the listing.",
        "Sub-agents get what fits their own prompt. A compaction drops the text of the hook, even "
        "in the middle of a turn; the skills are listed again.",
        "While a command runs in its sandbox, Codex puts an empty `.git` into the folders that it "
        "may write: the workspace, `/tmp` and `TMPDIR`. metier ignores a HOME below such a folder "
        "unless the user database has it too, and hooks say nothing. To avoid it, set "
        "`exclude_slash_tmp` and `exclude_tmpdir_env_var` in `[sandbox_workspace_write]`.",
        "Codex waits one second for an MCP server, then sends its first request without the tools "
        "of those that have not answered; the next request has them. With `required = true` below "
        "`[mcp_servers.metier]` it waits, and does not start a session if the server fails.",
    ),
    order=2,
    folders=(
        SkillFolder("codex", ".codex/skills", 8),
        SkillFolder("codex-user", "~/.codex/skills", 4),
        SkillFolder("codex-system", "/etc/codex/skills", 5),
    ),
    skill_settings=SkillSettings(
        ".codex/config.toml", (".codex/config.toml",), _settings, ("CODEX_HOME", ".codex")
    ),
    start=Start("codex", ("exec", "--skip-git-repo-check"), _started),
    tools=HostTools(
        (
            shell_tool(
                "exec_command", "cmd", "To use a listed skill, first read its SKILL.md with it."
            ),
        )
    ),
)

"""Gemini CLI."""

import json
from collections.abc import Sequence
from typing import Any

from metier.core.coerce import mapping_of, texts_of
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
from metier.hosts.settings_forms import Entry, SettingsFile
from metier.hosts.skill_settings import HostSettings, SkillSettings, last_of
from metier.hosts.starting import Start, Started, Surroundings
from metier.hosts.tools import HostTools, file_tool, shell_tool, skill_tool

_SOURCE = Source(
    "github.com/google-gemini/gemini-cli at 5411f11, 21 August 2026", "2026-11-16", "source"
)
_FACTS = Source("github.com/google-gemini/gemini-cli", "2026-09", "source")
_MEASURED = Source("Gemini CLI 0.61.0", "2026-11-18", "measured")
_SETTINGS = ".gemini/settings.json"


def _settings(settings: Sequence[dict[str, Any]], _home: str) -> HostSettings:
    skills = [mapping_of(one.get("skills")) for one in settings]
    off = {name for one in skills for name in texts_of(one.get("disabled"))}
    every = {"skills.enabled": "false"} if last_of(skills, "enabled") is False else {}
    if not off and not every:
        return HostSettings()
    return HostSettings(
        lambda skill, _: {**every, "skills.disabled": "listed"} if skill.name in off else every
    )


def _started(given: Surroundings) -> Started:
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
    return Started({_SETTINGS: json.dumps(settings)}, environ)


HOST = Host(
    name="gemini",
    title="Gemini CLI",
    loading=Loading(
        project=(".agents/skills", ".gemini/skills"),
        user=("~/.agents/skills", "~/.gemini/skills"),
        borrowed=(),
        admin=(),
        depth=1,
        bare=True,
        walks_up=False,
        nested=False,
        links=True,
        name="front matter",
        unnamed="dropped",
        undescribed="dropped",
        headless="dropped",
        invalid="loads",
        precedence=("project", "user", "extension", "built-in"),
        duplicates="one loads",
        needs_trust=(".agents/skills", ".gemini/skills"),
    ),
    plugins=Plugins(
        folder="~/.gemini/extensions",
        manifests=("gemini-extension.json",),
        namespace="",
        installed=UNKNOWN,
    ),
    keys={},
    switches=(
        Switch(
            "settings",
            "skills.disabled",
            {"listed": "off"},
            _SETTINGS,
            Written(("skills", "disabled"), "list", "name"),
        ),
        Switch("settings", "skills.enabled", {"false": "off"}, _SETTINGS),
    ),
    listing=Listing(
        rule="all",
        fraction=None,
        characters=None,
        unit="",
        longest=None,
        context=UNKNOWN,
        order="its own, extensions, user, project; within a folder not fixed",
        form="xml",
        computed_by="gemini",
        sent=SentListing(
            "\n<available_skills>\n",
            r"\n</available_skills>",
            r"  <skill>\n    <name>(.*)</name>\n    <description>((?s:.*?))</description>\n"
            r"    <location>(.*)</location>\n  </skill>",
        ),
    ),
    hook_settings=SettingsFile(
        _SETTINGS,
        _SETTINGS,
        "start a new session of Gemini CLI",
        entry=Entry("BeforeAgent", limits={"timeout": 10_000}, more={"SessionStart": "resume"}),
    ),
    mcp_settings=SettingsFile(
        _SETTINGS, _SETTINGS, "start a new session of Gemini CLI; /mcp lists it"
    ),
    hook=Hook(
        event="BeforeAgent",
        others=("SessionStart",),
        sees_prompt=True,
        answer="hookSpecificOutput",
        longest=UNKNOWN,
    ),
    transcripts=Transcripts(
        files=("~/.gemini/tmp/PROJECT/chats/session-*.jsonl",),
        form="JSON lines",
        fired=("`toolCalls` with `activate_skill` and `args.name`",),
        marks=(
            Mark('"name":"activate_skill"', '"args":{"name":"', '"'),
            Mark('"name": "activate_skill"', '"name": "', '"'),
        ),
        read_by="gemini",
    ),
    sources={
        "loading": _SOURCE,
        "loading.headless": _MEASURED,
        "loading.invalid": _MEASURED,
        "plugins": _SOURCE,
        "keys": _SOURCE,
        "switches": _SOURCE,
        "listing": _MEASURED,
        "hook_settings": _MEASURED,
        "mcp_settings": _MEASURED,
        "hook": _FACTS,
        "hook.event": _MEASURED,
        "hook.answer": _MEASURED,
        "hook.others": _SOURCE,
        "transcripts": _FACTS,
        "transcripts.files": _SOURCE,
    },
    notes=(
        "The skills of a workspace are read only if its folder is trusted in Gemini CLI. In a "
        "name, `:`, `/` and other characters that file names cannot have become `-`.",
        "Timeouts are in milliseconds. Standard output of a hook must be JSON only.",
        "With `gemini -p` and no `--approval-mode`, tools for which Gemini CLI would have to ask "
        "are not offered: those of MCP servers, and `activate_skill`. Resources of MCP servers "
        "are.",
        "metier does not edit settings with comments, which Gemini CLI accepts. Older versions "
        "need `tools.enableHooks`.",
    ),
    order=3,
    folders=(
        SkillFolder("gemini", ".gemini/skills", 4),
        SkillFolder("gemini-user", "~/.gemini/skills", 7),
    ),
    skill_settings=SkillSettings(_SETTINGS, (_SETTINGS,), _settings),
    start=Start("gemini", ("-m", "gemini-2.5-pro", "-p"), _started, keeps=("skills",)),
    tools=HostTools(
        (
            skill_tool("activate_skill", "name"),
            file_tool("read_file", "file_path"),
            shell_tool("run_shell_command", "command"),
        ),
        "activate_skill",
        "name",
    ),
)

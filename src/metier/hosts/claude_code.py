"""Claude Code."""

from metier.hosts.model import (
    FLAG,
    PROSE,
    TEXTS,
    UNKNOWN,
    Hook,
    Host,
    Key,
    Listing,
    Loading,
    Plugins,
    Source,
    Switch,
    Transcripts,
)
from metier.hosts.settings import Entry, ServerList, SettingsFile

_DOCS = Source("code.claude.com/docs/en/skills, a copy of May 2026", "2026-11-16", "docs")
_FACTS = Source("code.claude.com/docs", "2026-09", "docs")
_MEASURED = Source("Claude Code 2.1.326", "2026-11-18", "measured")
_SETTINGS = ".claude/settings.json"

HOST = Host(
    name="claude-code",
    title="Claude Code",
    loading=Loading(
        project=(".claude/skills",),
        user=("~/.claude/skills",),
        borrowed=(),
        admin=UNKNOWN,
        depth=1,
        bare=False,
        walks_up=True,
        nested=True,
        links=True,
        name="folder",
        unnamed="folder",
        undescribed="first paragraph",
        headless="loads",
        invalid="loads",
        precedence=("enterprise", "user", "project"),
        duplicates="one loads",
        needs_trust=UNKNOWN,
    ),
    plugins=Plugins(
        folder="~/.claude/plugins/cache",
        manifests=(".claude-plugin/plugin.json",),
        namespace="plugin:skill",
        installed="~/.claude/plugins/installed_plugins.json",
    ),
    keys={
        "when_to_use": PROSE,
        "argument-hint": Key("text-or-texts", or_number=True),  # `[file]` is a list, and works
        "arguments": TEXTS,
        "disable-model-invocation": FLAG,
        "user-invocable": FLAG,
        "disallowed-tools": TEXTS,
        "model": Key(),
        "effort": Key(choices=("low", "medium", "high", "xhigh", "max")),
        "context": Key(choices=("fork",)),
        "agent": Key(),
        "hooks": Key("mapping"),
        "paths": TEXTS,
        "shell": Key(choices=("bash", "powershell")),
    },
    switches=(
        Switch("front matter", "disable-model-invocation", {"true": "manual"}),
        Switch("front matter", "user-invocable", {"false": "model-only"}),
        Switch(
            "settings",
            "skillOverrides",
            {"off": "off", "user-invocable-only": "manual", "name-only": "name-only"},
            _SETTINGS,
        ),
        Switch("settings", "enabledPlugins", {"false": "off"}, _SETTINGS),
    ),
    listing=Listing(
        rule="least used lose text",
        fraction=0.01,
        characters=8_000,
        unit="characters",
        longest=1_536,
        context=200_000,
        order="user, project, commands, its own; then by folder",
        form="lines",
        settings=(
            "skillListingBudgetFraction",
            "skillListingMaxDescChars",
            "SLASH_COMMAND_TOOL_CHAR_BUDGET",
        ),
    ),
    hook_settings=SettingsFile(
        _SETTINGS,
        _SETTINGS,
        "start a new session of Claude Code; /hooks lists it",
        ("CLAUDE_CONFIG_DIR", ".claude"),
        Entry(
            "UserPromptSubmit",
            limits={"timeout": 10},
            more={"SessionStart": "compact|resume", "SubagentStart": ""},
        ),
    ),
    mcp_settings=SettingsFile(
        ".mcp.json",
        ".claude.json",
        "start a new session of Claude Code and allow the server; /mcp lists it",
        ("CLAUDE_CONFIG_DIR", "."),
        servers=ServerList(before={"type": "stdio"}),
    ),
    hook=Hook(
        event="UserPromptSubmit",
        others=("SessionStart", "SubagentStart"),
        sees_prompt=True,
        answer="hookSpecificOutput",
        longest="10,000 characters; of more, a preview of 2 kB",
    ),
    transcripts=Transcripts(
        files=(
            "~/.claude/projects/FOLDER/SESSION.jsonl",
            "~/.claude/projects/FOLDER/SESSION/subagents/agent-*.jsonl",
        ),
        form="JSON lines",
        fired=(
            "tool_use `Skill` with `input.skill`",
            "typed by the user: `<command-name>/NAME`",
            "`Read` of its SKILL.md",
        ),
    ),
    sources={
        "loading": _DOCS,
        "loading.depth": Source(
            "github.com/anthropics/claude-code/issues/39138 and 18192", "2026-11-16", "reported"
        ),
        "loading.bare": _MEASURED,
        "loading.headless": _MEASURED,
        "loading.invalid": _MEASURED,
        "loading.links": _FACTS,
        "loading.name": _MEASURED,
        "loading.undescribed": _FACTS,
        "plugins": _FACTS,
        "plugins.manifests": Source(
            "github.com/anthropics/claude-code/issues/18192", "2026-11-16", "docs"
        ),
        "keys": _DOCS,
        "switches": _DOCS,
        "listing": _MEASURED,
        "listing.settings": Source(
            "github.com/anthropics/claude-code/issues/64606 and its settings schema",
            "2026-11-16",
            "reported",
        ),
        "hook_settings": _MEASURED,
        "mcp_settings": _MEASURED,
        "hook": _FACTS,
        "hook.event": _MEASURED,
        "hook.answer": _MEASURED,
        "transcripts": _FACTS,
    },
    notes=(
        "A folder of skills is not a skill: one level below `.claude/skills`, or nothing loads. To "
        "group skills, make the folder a plugin: `.claude-plugin/plugin.json`, and the skills "
        "below its `skills/`.",
        "With 212 skills of a project, version 2.1.325 showed all names and no text at 200,000 "
        "tokens.",
        "metier does not write `.claude/settings.local.json`. Copilot CLI reads a project's "
        "`.claude/settings.json` too, so one prompt may start both hooks.",
    ),
)

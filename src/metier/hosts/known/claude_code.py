"""Claude Code."""

import json
import os
import time
from collections.abc import Sequence
from typing import Any

from metier.core.coerce import mapping_of, number_of
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
    Mark,
    Plugins,
    SentListing,
    SkillFolder,
    Source,
    Switch,
    Transcripts,
    Values,
    Written,
)
from metier.hosts.settings_forms import Entry, ServerList, SettingsFile
from metier.hosts.skill_settings import (
    FoundSkill,
    HostSettings,
    SkillSettings,
    last_of,
    merged_at,
    read_settings,
)
from metier.hosts.starting import Start, Started, Surroundings
from metier.hosts.tools import HostTools, file_tool, shell_tool, skill_tool

_DOCS = Source("code.claude.com/docs/en/skills, a copy of May 2026", "2026-11-16", "docs")
_FACTS = Source("code.claude.com/docs", "2026-09", "docs")
_MEASURED = Source("Claude Code 2.1.326", "2026-11-18", "measured")
_SETTINGS = ".claude/settings.json"

CONTEXT = 200_000
FRACTION = 0.01
"""The part of the context that the listing may take."""
_FRACTION_SETTING = "skillListingBudgetFraction"
LETTERS_PER_TOKEN = 4
LETTERS_PER_TOKEN_NEW = 3
"""For models since Opus 4.7, and for models that the host does not know."""
LONGEST = 1_536
"""The most characters of a text; an ellipsis ends what is cut."""
HALF_LIFE_DAYS = 7.0
LEAST_WEIGHT = 0.1
_DAY = 86_400


def claude_weight(uses: int, days_ago: float) -> float:
    """What Claude Code sorts by: the count, halved every week since the last use, never below 10 %.

    Measured with pairs of counts and ages of which only the first found room.
    """
    weight: float = 0.5 ** (days_ago / HALF_LIFE_DAYS)
    return uses * max(weight, LEAST_WEIGHT)


def claude_budget(
    context: int | None, fraction: float = FRACTION, *, is_new_model: bool = False
) -> int:
    """The characters that the listing may take."""
    letters = LETTERS_PER_TOKEN_NEW if is_new_model else LETTERS_PER_TOKEN
    return round((context or CONTEXT) * fraction * letters)


def _settings(settings: Sequence[dict[str, Any]], home: str) -> HostSettings:
    overrides = merged_at(settings, "skillOverrides")
    plugins = merged_at(settings, "enabledPlugins")
    off = {name for name, value in plugins.items() if value is False}

    def switched(skill: FoundSkill, folder: str) -> dict[str, str]:
        found = {}
        if overrides:
            value = overrides.get(f"{skill.plugin}:{folder}" if skill.plugin else folder)
            found = {"skillOverrides": str(value).lower()} if value is not None else {}
        if off and skill.plugin and _plugin_keys(skill) & off:
            found["enabledPlugins"] = "false"
        return found

    fraction = last_of(settings, _FRACTION_SETTING)
    characters = os.environ.get("SLASH_COMMAND_TOOL_CHAR_BUDGET", "")

    def budget(context: int | None) -> int | None:
        if characters.isascii() and characters.isdigit():
            return int(characters)
        share = number_of(fraction, 0.0)
        return claude_budget(context, share) if share > 0 else None

    has_switches = bool(overrides or off)
    return HostSettings(switched if has_switches else None, _uses(home), None, budget)


def _plugin_keys(skill: FoundSkill) -> set[str]:
    """How settings name the plugin of a skill."""
    parts = skill.path.split("/")
    plugin = skill.plugin
    return {plugin, f"{plugin}@{parts[1]}", f"{parts[2]}@{parts[1]}"} if parts[3:] else set()


def _uses(home: str) -> dict[str, float]:
    """The weight of each skill that Claude Code counted."""
    moved = os.environ.get("CLAUDE_CONFIG_DIR", "")
    counted = _counted(moved if os.path.isabs(moved) else home)
    now = time.time()
    weights = {}
    for name, entry in counted.items():
        count = number_of(mapping_of(entry).get("usageCount"), 0)
        last = number_of(mapping_of(entry).get("lastUsedAt"), 0) / 1000
        weights[name] = claude_weight(int(count), max(0.0, now - last) / _DAY)
    return weights


def _counted(folder: str) -> dict[str, Any]:
    return mapping_of(read_settings(os.path.join(folder, ".claude.json")).get("skillUsage"))


def _started(given: Surroundings) -> Started:
    environ = {
        "ANTHROPIC_BASE_URL": given.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    own = {"skillUsage": _counted(given.users_home), "hasCompletedOnboarding": True}
    files = {_SETTINGS: json.dumps(given.settings), ".claude.json": json.dumps(own)}
    return Started(files, environ)


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
            Written(("skillOverrides",), "map", "folder", "off"),
        ),
        Switch(
            "settings",
            "enabledPlugins",
            {"false": "off"},
            _SETTINGS,
            Written(("enabledPlugins",), "map", "plugin"),
        ),
    ),
    listing=Listing(
        rule="least used lose text",
        fraction=FRACTION,
        characters=8_000,
        unit="characters",
        longest=LONGEST,
        context=CONTEXT,
        order="user, project, commands, its own; then by folder",
        form="lines",
        settings=(
            _FRACTION_SETTING,
            "skillListingMaxDescChars",
            "SLASH_COMMAND_TOOL_CHAR_BUDGET",
        ),
        fraction_setting=_FRACTION_SETTING,
        fraction_file=f"~/{_SETTINGS}",
        computed_by="claude-code",
        sent=SentListing(
            "skills are available for use with the Skill tool:\n\n",
            r"\n</system-reminder>|\n\n(?!TRIGGER|SKIP)",
            r"- ((?s:.*?))(?:: ((?s:.*?)))?(?=\n- |\Z)",
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
        marks=(
            Mark('"name":"Skill"', '"skill":"', '"'),
            Mark('"name": "Skill"', '"skill": "', '"'),
            Mark('"name":"Read"', '"file_path":"', '/SKILL.md"'),
        ),
        read_by="claude-code",
        typed_alone=True,
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
        "values": Source("code.claude.com/docs/en/skills and model-config", "2026-11-18", "docs"),
        "values.tools": Source("code.claude.com/docs/en/tools-reference", "2026-11-18", "docs"),
        "values.hook_events": Source("code.claude.com/docs/en/hooks", "2026-11-18", "docs"),
        "values.replaced": Source(
            "github.com/anthropics/claude-code/issues/78759 and 79859", "2026-11-18", "reported"
        ),
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
    order=1,
    folders=(
        SkillFolder("claude", ".claude/skills", 1),
        SkillFolder("claude-user", "~/.claude/skills", 1),
        SkillFolder("claude-plugins", "~/.claude/plugins/cache", 2),
    ),
    skill_settings=SkillSettings(
        _SETTINGS,
        (_SETTINGS, ".claude/settings.local.json"),
        _settings,
        ("CLAUDE_CONFIG_DIR", ".claude"),
    ),
    start=Start(
        "claude",
        ("-p",),
        _started,
        after=("--model", "claude-sonnet-4-5"),
        keeps=("skillOverrides", _FRACTION_SETTING, "skillListingMaxDescChars"),
    ),
    tools=HostTools(
        (
            skill_tool("Skill", "skill", args="Arguments for the skill, if it takes any"),
            file_tool("Read", "file_path"),
            shell_tool("Bash", "command"),
        ),
        "Skill",
        "skill",
    ),
    values=Values(
        models=(
            *("default", "best", "inherit", "sonnet", "opus", "haiku", "fable", "opusplan"),
            *("sonnet[1m]", "opus[1m]", "fable[1m]"),
        ),
        model_parts=("claude", "arn:", "/"),
        tools=(
            *("Agent", "AgentOutputTool", "Artifact", "AskUserQuestion", "Bash", "BashOutput"),
            *("CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode", "EnterWorktree"),
            *("ExitPlanMode", "ExitWorktree", "Glob", "Grep", "KillBash", "KillShell", "LS", "LSP"),
            *("ListMcpResourcesTool", "Monitor", "MultiEdit", "NotebookEdit", "NotebookRead"),
            *("PowerShell", "PushNotification", "Read", "ReadMcpResourceTool", "RemoteTrigger"),
            *("ReportFindings", "ScheduleWakeup", "SendMessage", "SendUserFile"),
            *("ShareOnboardingGuide", "Skill", "SlashCommand", "StructuredOutput", "Task"),
            *("TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate"),
            *("TeamCreate", "TeamDelete", "TodoRead", "TodoWrite", "ToolSearch"),
            *("WaitForMcpServers", "WebFetch", "WebSearch", "Workflow", "Write"),
        ),
        tool_prefix="mcp__",
        hook_events=(
            *("ConfigChange", "CwdChanged", "Elicitation", "ElicitationResult", "FileChanged"),
            *("InstructionsLoaded", "MessageDisplay", "Notification", "PermissionDenied"),
            *("PermissionRequest", "PostCompact", "PostToolBatch", "PostToolUse"),
            *("PostToolUseFailure", "PreCompact", "PreToolUse", "SessionEnd", "SessionStart"),
            *("Setup", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "TaskCompleted"),
            *("TaskCreated", "TeammateIdle", "UserPromptExpansion", "UserPromptSubmit"),
            *("WorktreeCreate", "WorktreeRemove"),
        ),
        replaced=r"\$[0-9](?![0-9])",
    ),
)

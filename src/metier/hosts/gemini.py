"""Gemini CLI."""

from metier.hosts.model import (
    UNKNOWN,
    Hook,
    Host,
    Listing,
    Loading,
    Plugins,
    Source,
    Switch,
    Transcripts,
)
from metier.hosts.settings import Entry, SettingsFile

_SOURCE = Source(
    "github.com/google-gemini/gemini-cli at 5411f11, 21 August 2026", "2026-11-16", "source"
)
_FACTS = Source("github.com/google-gemini/gemini-cli", "2026-09", "source")
_MEASURED = Source("Gemini CLI 0.61.0", "2026-11-18", "measured")
_SETTINGS = ".gemini/settings.json"

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
        Switch("settings", "skills.disabled", {"listed": "off"}, _SETTINGS),
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
)

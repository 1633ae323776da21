"""OpenClaw."""

import json
from collections.abc import Sequence
from typing import Any

from metier.core.coerce import mapping_of
from metier.hosts.model import (
    FLAG,
    UNKNOWN,
    Hook,
    Host,
    Key,
    Listing,
    Loading,
    Plugins,
    SkillFolder,
    Source,
    Switch,
    Written,
)
from metier.hosts.settings_forms import MARK, ServerList, SettingsFile
from metier.hosts.skill_settings import HostSettings, SkillSettings, merged_at

_DOCS = Source("docs.openclaw.ai/tools/skills", "2026-11-16", "docs")
_FACTS = Source("docs.openclaw.ai", "2026-09", "docs")

_PLUGIN = """
const MOST_MESSAGES = 5
const MOST_LETTERS = 6000 // of one message

function textIn(content) {
  const parts = Array.isArray(content) ? content : [{ type: "text", text: content }]
  const texts = parts.filter((part) => part?.type === "text").map((part) => part.text)
  return texts.join("\\n").slice(0, MOST_LETTERS)
}

const answer = quietly(async (event, about) => {
  const prompt = event.currentUserMessage ?? event.prompt
  if (!prompt) return undefined
  const text = await ask({
    hook_event_name: "before_prompt_build",
    prompt,
    cwd: about?.workspaceDir ?? process.cwd(),
    session_id: about?.sessionId ?? about?.sessionKey,
    messages: (event.messages ?? []).slice(-MOST_MESSAGES).map((message) => ({
      role: message?.role,
      content: textIn(message?.content),
    })),
  })
  return text ? { prependContext: text } : undefined
})

export default {
  id: "metier",
  name: "metier",
  register: (host) => host.on("before_prompt_build", answer),
}
"""
_ABOUT = f"Injects what a prompt needs; {MARK}."
_MANIFEST = {
    "id": "metier",
    "name": "metier",
    "description": _ABOUT,
    "activation": {"onStartup": True},
    "configSchema": {"type": "object", "additionalProperties": False, "properties": {}},
}
_PACKAGE = {
    "name": "metier-hook",
    "version": "1.0.0",
    "description": _ABOUT,
    "private": True,
    "type": "module",
    "openclaw": {"extensions": ["./index.js"]},
}


def _settings(settings: Sequence[dict[str, Any]], _home: str) -> HostSettings:
    entries = merged_at(settings, "skills", "entries")
    off = {name for name, one in entries.items() if mapping_of(one).get("enabled") is False}
    return HostSettings(lambda skill, _: {"skills.entries": "false"} if skill.name in off else {})


HOST = Host(
    name="openclaw",
    title="OpenClaw",
    loading=Loading(
        project=("skills", ".agents/skills"),
        user=("~/.agents/skills", "~/.openclaw/skills"),
        borrowed=(),
        admin=UNKNOWN,
        depth=6,
        bare=UNKNOWN,
        walks_up=False,
        nested=False,
        links=UNKNOWN,
        name="front matter",
        unnamed="folder",
        undescribed=UNKNOWN,
        headless=UNKNOWN,
        invalid=UNKNOWN,
        precedence=("project", "user", "built-in", "extra folders and plugins"),
        duplicates="one loads",
        needs_trust=UNKNOWN,
    ),
    plugins=Plugins(
        folder=UNKNOWN,
        manifests=("openclaw.plugin.json",),
        namespace="",
        installed=UNKNOWN,
    ),
    keys={
        "disable-model-invocation": FLAG,
        "user-invocable": FLAG,
        "homepage": Key(),
        "command-dispatch": Key(choices=("tool",)),
        "command-tool": Key(),
        "command-arg-mode": Key(choices=("raw",)),
    },
    switches=(
        Switch("front matter", "disable-model-invocation", {"true": "manual"}),
        Switch("front matter", "user-invocable", {"false": "model-only"}),
        Switch(
            "settings",
            "skills.entries",
            {"false": "off"},
            "~/.openclaw/openclaw.json",
            Written(("skills", "entries"), "map", "name", inner=("enabled",)),
        ),
    ),
    listing=Listing(
        rule="equal shares",
        fraction=None,
        characters=UNKNOWN,
        unit="characters",
        longest=UNKNOWN,
        context=UNKNOWN,
        order=UNKNOWN,
        form="xml",
        settings=("skills.limits.maxSkillsPromptChars",),
    ),
    hook_settings=SettingsFile(
        ".openclaw/extensions/metier",
        ".openclaw/extensions/metier",
        "openclaw plugins enable metier, then openclaw gateway restart",
        ("OPENCLAW_STATE_DIR", ".openclaw"),
        plugin={
            "index.js": _PLUGIN,
            "package.json": json.dumps(_PACKAGE, indent=2) + "\n",
            "openclaw.plugin.json": json.dumps(_MANIFEST, indent=2) + "\n",
        },
    ),
    mcp_settings=SettingsFile(
        None,
        ".openclaw/openclaw.json",
        "openclaw gateway restart",
        ("OPENCLAW_STATE_DIR", ".openclaw"),
        servers=ServerList(("mcp", "servers")),
    ),
    hook=Hook(
        event="before_prompt_build",
        others=(),
        sees_prompt=True,
        answer="additionalContext",
        longest="64 KiB, a limit of metier's plugin",
    ),
    transcripts=None,
    sources={
        "loading": _DOCS,
        "plugins": _DOCS,
        "keys": _DOCS,
        "switches": _DOCS,
        "listing": _DOCS,
        "hook_settings": _FACTS,
        "mcp_settings": _FACTS,
        "hook": _FACTS,
    },
    notes=(
        "For metier, `skills/` is an ordinary folder of the workspace: its skills come before "
        "those of the hosts' folders.",
        "The hook reads the prompt, and the first 6,000 letters of each of the last five messages.",
        "Plugins of a workspace are off by default. If `plugins.allow` is set, it must contain "
        "`metier`; `plugins.entries.metier.hook.allowPromptInjection: false` turns the hook off.",
        "Skills also need what `metadata.openclaw.requires` names; `openclaw skills check` says "
        "what is missing.",
    ),
    order=7,
    folders=(SkillFolder("openclaw-user", "~/.openclaw/skills", 11),),
    skill_settings=SkillSettings(
        ".openclaw/openclaw.json", (), _settings, ("OPENCLAW_STATE_DIR", ".openclaw")
    ),
)

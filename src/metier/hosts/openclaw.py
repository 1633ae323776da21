"""OpenClaw."""

from metier.hosts.model import (
    FLAG,
    UNKNOWN,
    Hook,
    Host,
    Key,
    Listing,
    Loading,
    Plugins,
    Source,
    Switch,
)
from metier.hosts.settings import ServerList, SettingsFile

_DOCS = Source("docs.openclaw.ai/tools/skills", "2026-11-16", "docs")
_FACTS = Source("docs.openclaw.ai", "2026-09", "docs")

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
        Switch("settings", "skills.entries", {"false": "off"}, "~/.openclaw/openclaw.json"),
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
        "The hook is a plugin of three files. It passes the prompt, the folder, the session and "
        "the first 6,000 letters of each of the last five messages to `metier hook openclaw`, and "
        "returns the answer as `prependContext`.",
        "Plugins of a workspace are off by default. If `plugins.allow` is set, it must contain "
        "`metier`; `plugins.entries.metier.hook.allowPromptInjection: false` turns the hook off.",
        "Skills also need what `metadata.openclaw.requires` names; `openclaw skills check` says "
        "what is missing.",
    ),
)

"""Cursor."""

from metier.hosts.model import (
    FLAG,
    TEXTS,
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
    Transcripts,
)
from metier.hosts.settings_forms import Entry, SettingsFile

_DOCS = Source("cursor.com/docs/skills", "2026-11-16", "docs")
_FACTS = Source("cursor.com/docs", "2026-09", "docs")
_REPORTED = Source("cursor.com/docs/skills, as others quote it", "2026-11-16", "reported")

HOST = Host(
    name="cursor",
    title="Cursor",
    loading=Loading(
        project=(".agents/skills", ".cursor/skills", ".claude/skills", ".codex/skills"),
        user=("~/.agents/skills", "~/.cursor/skills", "~/.claude/skills", "~/.codex/skills"),
        borrowed=(".claude/skills", ".codex/skills", "~/.claude/skills", "~/.codex/skills"),
        admin=UNKNOWN,
        depth=None,
        bare=UNKNOWN,
        walks_up=UNKNOWN,
        nested=True,
        links=True,
        name="front matter",
        unnamed=UNKNOWN,
        undescribed=UNKNOWN,
        headless=UNKNOWN,
        invalid=UNKNOWN,
        precedence=UNKNOWN,
        duplicates=UNKNOWN,
        needs_trust=UNKNOWN,
    ),
    plugins=Plugins(
        folder=UNKNOWN,
        manifests=(".cursor-plugin/plugin.json", "plugin.json"),
        namespace=UNKNOWN,
        installed=UNKNOWN,
    ),
    keys={
        "disable-model-invocation": FLAG,
        "paths": TEXTS,
        "icon": Key(),
        "color": Key(),
    },
    switches=(Switch("front matter", "disable-model-invocation", {"true": "manual"}),),
    listing=Listing(
        rule=UNKNOWN,
        fraction=UNKNOWN,
        characters=UNKNOWN,
        unit=UNKNOWN,
        longest=UNKNOWN,
        context=UNKNOWN,
        order=UNKNOWN,
        form=UNKNOWN,
    ),
    hook_settings=SettingsFile(
        ".cursor/hooks.json",
        ".cursor/hooks.json",
        "start a new chat in Cursor",
        entry=Entry("sessionStart", in_group=False, has_type=False, version=1),
    ),
    mcp_settings=SettingsFile(
        ".cursor/mcp.json", ".cursor/mcp.json", "turn it on in Cursor's MCP settings"
    ),
    hook=Hook(
        event="sessionStart",
        others=(),
        sees_prompt=False,
        answer="additional_context",
        longest=UNKNOWN,
    ),
    transcripts=Transcripts(
        files=("~/.cursor/projects/PROJECT/agent-transcripts",), form=UNKNOWN, fired=UNKNOWN
    ),
    sources={
        "loading": _DOCS,
        "loading.depth": _REPORTED,
        "loading.nested": _REPORTED,
        "loading.links": _REPORTED,
        "loading.name": _REPORTED,
        "plugins": _REPORTED,
        "keys": _REPORTED,
        "switches": _REPORTED,
        "listing": _FACTS,
        "hook_settings": _FACTS,
        "mcp_settings": _FACTS,
        "hook": _FACTS,
        "transcripts": Source("pages of others, which disagree", "2026-09", "reported"),
    },
    notes=(
        "Cursor has no event that adds context to one prompt, so no skill is named, and only "
        "cards that are forced or whose priority / 100 reaches their threshold are injected: with "
        "the defaults (10 and 0.6), none.",
        "The unit of `timeout` is not known, so metier writes none. Some versions rejected "
        "`sessionStart` as an unknown type.",
    ),
    order=5,
    folders=(
        SkillFolder("cursor", ".cursor/skills", 5),
        SkillFolder("cursor-user", "~/.cursor/skills", 8),
    ),
)

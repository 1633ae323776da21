"""Copilot CLI."""

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
    Transcripts,
)
from metier.hosts.settings import Entry, ServerList, SettingsFile

_DOCS = Source(
    "docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot", "2026-11-16", "docs"
)
_VSCODE = Source(
    "github.com/microsoft/vscode, extensions/copilot/assets/prompts/skills", "2026-11-16", "source"
)
_FACTS = Source("docs.github.com/en/copilot", "2026-09", "docs")

HOST = Host(
    name="copilot",
    title="Copilot CLI",
    loading=Loading(
        project=(".github/skills", ".agents/skills", ".claude/skills"),
        user=("~/.copilot/skills", "~/.agents/skills", "~/.claude/skills"),
        borrowed=(".claude/skills", "~/.claude/skills"),
        admin=UNKNOWN,
        depth=UNKNOWN,
        bare=UNKNOWN,
        walks_up=UNKNOWN,
        nested=UNKNOWN,
        links=UNKNOWN,
        name="front matter",
        unnamed=UNKNOWN,
        undescribed=UNKNOWN,
        precedence=UNKNOWN,
        duplicates=UNKNOWN,
        needs_trust=UNKNOWN,
    ),
    plugins=Plugins(
        folder=UNKNOWN,
        manifests=("plugin.json", ".claude-plugin/plugin.json"),
        namespace=UNKNOWN,
        installed=UNKNOWN,
    ),
    keys={
        "argument-hint": Key("text-or-texts", or_number=True),
        "disable-model-invocation": FLAG,
        "user-invocable": FLAG,
    },
    switches=(
        Switch("front matter", "disable-model-invocation", {"true": "manual"}),
        Switch("front matter", "user-invocable", {"false": "model-only"}),
    ),
    listing=Listing(
        rule="stop when full",
        fraction=None,
        characters=15_000,
        unit="characters",
        longest=UNKNOWN,
        context=UNKNOWN,
        order="as they were found",
        form="xml",
    ),
    hook_settings=SettingsFile(
        ".github/hooks/metier.json",
        ".copilot/hooks/metier.json",
        "start a new session of Copilot CLI",
        ("COPILOT_HOME", ".copilot"),
        Entry("sessionStart", "bash", in_group=False, limits={"timeoutSec": 10}, version=1),
    ),
    mcp_settings=SettingsFile(
        None,
        ".copilot/mcp-config.json",
        "start a new session of Copilot CLI; /mcp show lists it",
        ("COPILOT_HOME", ".copilot"),
        servers=ServerList(before={"type": "local"}, after={"tools": ["*"]}),
    ),
    hook=Hook(
        event="sessionStart",
        others=(),
        sees_prompt=UNKNOWN,
        answer="additionalContext",
        longest=UNKNOWN,
    ),
    transcripts=Transcripts(
        files=("~/.copilot/session-state/ID/events.jsonl",),
        form="JSON lines",
        fired=("`skill.invoked`", "tool `skill` with `arguments.skill`"),
    ),
    sources={
        "loading": _DOCS,
        "plugins": Source("github.com/addyosmani/agent-skills", "2026-11-16", "reported"),
        "keys": _VSCODE,
        "switches": _VSCODE,
        "listing": Source(
            "github.com/github/copilot-cli/issues/2314 and 1464", "2026-09", "reported"
        ),
        "hook_settings": _FACTS,
        "mcp_settings": _FACTS,
        "hook": _FACTS,
        "transcripts": Source("github.com/github/copilot-cli", "2026-09", "reported"),
    },
    notes=(
        "Text is injected once, at the start of a session, chosen by the first prompt if Copilot "
        "CLI sends it (`initialPrompt`); the output of `userPromptSubmitted` is ignored. Without "
        "a prompt no skill is named, and only cards that are forced (`forceInclude`) or whose "
        "priority / 100 reaches their threshold are injected.",
        "Users disagree on which versions use `additionalContext`, and on whether `sessionStart` "
        "runs once for a session or for a prompt.",
        "Skills behind links were ignored in January 2026 (copilot-cli issue 1021, closed).",
    ),
)

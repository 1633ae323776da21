"""opencode."""

from metier.hosts.model import (
    FLAG,
    UNKNOWN,
    Hook,
    Host,
    Listing,
    Loading,
    Source,
    Switch,
    Transcripts,
)
from metier.hosts.settings import ServerList, SettingsFile

_SOURCE = Source("github.com/anomalyco/opencode at d545d8f, 19 August 2026", "2026-11-16", "source")
_FACTS = Source("opencode.ai/docs", "2026-09", "docs")
_MEASURED = Source("opencode 1.18.33", "2026-11-18", "measured")

HOST = Host(
    name="opencode",
    title="opencode",
    loading=Loading(
        project=(".opencode/skills", ".opencode/skill", ".agents/skills", ".claude/skills"),
        user=(
            "~/.config/opencode/skills",
            "~/.config/opencode/skill",
            "~/.agents/skills",
            "~/.claude/skills",
        ),
        borrowed=(".claude/skills", "~/.claude/skills"),
        admin=(),
        depth=None,
        bare=True,
        walks_up=True,
        nested=False,
        links=True,
        name="front matter",
        unnamed="dropped",
        undescribed="not shown",
        headless=UNKNOWN,
        invalid="colons load",
        precedence=UNKNOWN,
        duplicates="one loads",
        needs_trust=(),
    ),
    plugins=None,
    keys={"slash": FLAG},
    switches=(Switch("settings", "permission.skill", {"deny": "off"}, "opencode.json"),),
    listing=Listing(
        rule="all",
        fraction=None,
        characters=None,
        unit="",
        longest=None,
        context=UNKNOWN,
        order="by name",
        form="xml",
    ),
    hook_settings=SettingsFile(
        ".opencode/plugins",
        ".config/opencode/plugins",
        "restart opencode",
        ("XDG_CONFIG_HOME", ".config"),
    ),
    mcp_settings=SettingsFile(
        "opencode.json",
        ".config/opencode/opencode.json",
        "restart opencode",
        ("XDG_CONFIG_HOME", ".config"),
        servers=ServerList(("mcp",), {"type": "local"}, {"enabled": True}, one_list=True),
    ),
    hook=Hook(
        event="chat.message",
        others=(),
        sees_prompt=True,
        answer="additionalContext",
        longest="64 KiB, a limit of metier's plugin",
    ),
    transcripts=Transcripts(
        files=("~/.local/share/opencode/opencode.db",),
        form="SQLite",
        fired=("tool part `skill` with `name`",),
    ),
    sources={
        "loading": _SOURCE,
        "loading.invalid": _MEASURED,
        "keys": _SOURCE,
        "switches": _SOURCE,
        "listing": _MEASURED,
        "hook_settings": _MEASURED,
        "mcp_settings": _MEASURED,
        "hook": _MEASURED,
        "transcripts": _FACTS,
    },
    notes=(
        "The hook is a plugin of one file that starts `metier hook opencode` without a shell, "
        "waits at most two seconds, and adds nothing if something fails. opencode 1: "
        "`chat.message` brings the prompt, and `experimental.chat.system.transform` takes the "
        "text. opencode 2: `session.hook`, `prompt` and `context`.",
        "No earlier messages are passed: only the prompt counts. Requests for a title or a summary "
        "get no text: only the system prompt of a running agent names the folder, and the plugin "
        "adds nothing to any other. A sub-agent gets what fits its own prompt.",
        "Which of two skills of one name loads is not fixed: opencode reads files in parallel, "
        "and the last one counts.",
    ),
)

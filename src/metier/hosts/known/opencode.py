"""opencode."""

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from metier.core.coerce import mapping_of
from metier.hosts.model import (
    FLAG,
    UNKNOWN,
    Hook,
    Host,
    Listing,
    Loading,
    SentListing,
    SkillFolder,
    Source,
    Switch,
    Transcripts,
    Written,
)
from metier.hosts.settings_forms import ServerList, SettingsFile
from metier.hosts.skill_settings import FoundSkill, HostSettings, SkillSettings
from metier.hosts.starting import Start, Started, Surroundings
from metier.hosts.tools import HostTools, file_tool, shell_tool, skill_tool

_SOURCE = Source("github.com/anomalyco/opencode at d545d8f, 19 August 2026", "2026-11-16", "source")
_FACTS = Source("opencode.ai/docs", "2026-09", "docs")
_MEASURED = Source("opencode 1.18.33", "2026-11-18", "measured")

_PLUGIN = """
const MOST_SESSIONS = 100
const answers = new Map() // session → what the command says to its latest prompt

function remember(session, prompt, cwd) {
  answers.delete(session)
  if (!prompt) return
  answers.set(session, ask({ hook_event_name: "chat.message", prompt, cwd, session_id: session }))
  if (answers.size > MOST_SESSIONS) answers.delete(answers.keys().next().value)
}

// opencode 1. Only the prompts of running agents name the folder; those for a title do not.
const server = async ({ directory }) => ({
  "chat.message": quietly(async (input, output) => {
    const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
    remember(input.sessionID, texts.map((part) => part.text).join("\\n"), directory)
  }),
  "experimental.chat.system.transform": quietly(async (input, output) => {
    if (!output.system.some((part) => part.includes(directory))) return
    const text = await answers.get(input.sessionID)
    if (text) output.system[0] += `\\n\\n${text}`
  }),
})

// opencode 2
const setup = async (host) => {
  const cwd = host.location?.directory ?? process.cwd()
  await host.session.hook("prompt", quietly(async (event) => {
    remember(event.sessionID, event.prompt.text, cwd)
  }))
  await host.session.hook("context", quietly(async (event) => {
    const text = await answers.get(event.sessionID)
    if (text) event.system.push({ type: "text", text })
  }))
}

export default { id: "metier", server, setup: quietly(setup) }
"""


def _settings(settings: Sequence[dict[str, Any]], _home: str) -> HostSettings:
    rules: dict[str, Any] = {}
    for one in settings:
        value = mapping_of(one.get("permission")).get("skill")
        rules |= {"*": value} if isinstance(value, str) else mapping_of(value)

    def switched(skill: FoundSkill, _folder: str) -> dict[str, str]:
        matching = [value for pattern, value in rules.items() if fnmatchcase(skill.name, pattern)]
        return {"permission.skill": str(matching[-1]).lower()} if matching else {}

    return HostSettings(switched if rules else None)


def _started(given: Surroundings) -> Started:
    limit = {"context": given.context, "output": 8000}
    settings = {
        **given.settings,
        "model": "local/stand-in",
        "autoupdate": False,
        "share": "disabled",
        "provider": {
            "local": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "local",
                "options": {"baseURL": f"{given.url}/v1", "apiKey": "none"},
                "models": {"stand-in": {"name": "stand-in", "limit": limit}},
            }
        },
    }
    environ = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    lock = json.dumps({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}})
    return Started(
        {
            ".config/opencode/opencode.json": json.dumps(settings),
            ".config/opencode/package-lock.json": lock,  # else it waits for the network
            ".config/opencode/node_modules/.keep": "",
        },
        environ,
    )


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
    switches=(
        Switch(
            "settings",
            "permission.skill",
            {"deny": "off"},
            "opencode.json",
            Written(("permission", "skill"), "map", "name", "deny", default="*"),
        ),
    ),
    listing=Listing(
        rule="all",
        fraction=None,
        characters=None,
        unit="",
        longest=None,
        context=UNKNOWN,
        order="by name",
        form="xml",
        computed_by="opencode",
        sent=SentListing(
            "\n<available_skills>\n",
            r"\n</available_skills>",
            r"  <skill>\n    <name>(.*)</name>\n    <description>((?s:.*?))</description>\n"
            r"    <location>(.*)</location>\n  </skill>",
        ),
    ),
    hook_settings=SettingsFile(
        ".opencode/plugins",
        ".config/opencode/plugins",
        "restart opencode",
        ("XDG_CONFIG_HOME", ".config"),
        plugin={"metier.js": _PLUGIN},
    ),
    mcp_settings=SettingsFile(
        "opencode.json",
        ".config/opencode/opencode.json",
        "restart opencode",
        ("XDG_CONFIG_HOME", ".config"),
        servers=ServerList(("mcp",), {"type": "local"}, {"enabled": True}, as_list=True),
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
        read_by="opencode",
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
        "The hook waits at most two seconds, and adds nothing if something fails. Only the prompt "
        "counts, no earlier messages. A sub-agent gets what fits its own prompt.",
        "Which of two skills with the same name loads is not defined.",
    ),
    order=6,
    folders=(
        SkillFolder("opencode", ".opencode/skills", 6),
        SkillFolder("opencode-old", ".opencode/skill", 7),
        SkillFolder("opencode-user", "~/.config/opencode/skills", 9),
        SkillFolder("opencode-old-user", "~/.config/opencode/skill", 10),
    ),
    skill_settings=SkillSettings(".config/opencode/opencode.json", ("opencode.json",), _settings),
    start=Start("opencode", ("run",), _started, keeps=("permission",)),
    tools=HostTools(
        (skill_tool("skill", "name"), file_tool("read", "filePath"), shell_tool("bash", "command")),
        "skill",
        "name",
    ),
)

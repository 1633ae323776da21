"""Copilot CLI."""

from metier.hosts.model import (
    FLAG,
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
)
from metier.hosts.settings_forms import Entry, ServerList, SettingsFile
from metier.hosts.starting import Start, Started, Surroundings
from metier.hosts.tools import HostTools, file_tool, shell_tool, skill_tool

_DOCS = Source(
    "docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot", "2026-11-16", "docs"
)
_VSCODE = Source(
    "github.com/microsoft/vscode, extensions/copilot/assets/prompts/skills", "2026-11-16", "source"
)
_MEASURED = Source("Copilot CLI 1.0.102", "2026-11-18", "measured")

NAME = r"[A-Za-z0-9][A-Za-z0-9._:-]*"
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1_024


def _started(given: Surroundings) -> Started:
    environ = {
        "COPILOT_PROVIDER_BASE_URL": f"{given.url}/v1",
        "COPILOT_MODEL": "stand-in",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }
    return Started({}, environ)


HOST = Host(
    name="copilot",
    title="Copilot CLI",
    loading=Loading(
        project=(".github/skills", ".agents/skills", ".claude/skills"),
        user=("~/.copilot/skills", "~/.agents/skills"),
        borrowed=(".claude/skills",),
        admin=UNKNOWN,
        depth=None,
        bare=True,
        walks_up=True,
        nested=False,
        links=True,
        name="front matter",
        unnamed="folder",
        undescribed="first paragraph",
        headless="dropped",
        invalid="dropped",
        precedence=("project", "user", "built-in"),
        duplicates="one loads",
        needs_trust=(),
        longest_name=LONGEST_NAME,
        longest_description=LONGEST_DESCRIPTION,
        name_pattern=NAME,
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
        rule="names when full",
        fraction=None,
        characters=15_000,
        unit="characters",
        longest=None,
        context=UNKNOWN,
        order="project, user, its own; then by name",
        form="xml",
        computed_by="copilot",
        sent=SentListing(
            "\n<available_skills>\n",
            r"\n</available_skills>",
            r"<skill>\n  <name>(.*)</name>\n  <description>((?s:.*?))</description>\n"
            r"  <location>(.*)</location>\n</skill>",
            names=r"(?m)^[^<\n]*?: (.+?)(?:\.\.\. and \d+ more)?$",
            is_escaped=True,
        ),
    ),
    hook_settings=SettingsFile(
        ".github/hooks/metier.json",
        ".copilot/hooks/metier.json",
        "start a new session of Copilot CLI. A project's hook runs in a trusted folder only",
        ("COPILOT_HOME", ".copilot"),
        Entry("userPromptSubmitted", "bash", in_group=False, limits={"timeoutSec": 10}, version=1),
    ),
    mcp_settings=SettingsFile(
        None,
        ".copilot/mcp-config.json",
        "start a new session of Copilot CLI; /mcp show lists it",
        ("COPILOT_HOME", ".copilot"),
        servers=ServerList(before={"type": "local"}, after={"tools": ["*"]}),
    ),
    hook=Hook(
        event="userPromptSubmitted",
        others=("sessionStart",),
        sees_prompt=True,
        answer="additionalContext",
        longest=UNKNOWN,
    ),
    transcripts=Transcripts(
        files=("~/.copilot/session-state/ID/events.jsonl",),
        form="JSON lines",
        fired=("`skill.invoked`", "tool `skill` with `arguments.skill`"),
        marks=(Mark('"skill.invoked"', '"name":"', '"'),),
        read_by="copilot",
    ),
    sources={
        "loading": _MEASURED,
        "loading.project": _DOCS,
        "plugins": Source("github.com/addyosmani/agent-skills", "2026-11-16", "reported"),
        "keys": _VSCODE,
        "switches": _VSCODE,
        "listing": _MEASURED,
        "hook_settings": _MEASURED,
        "mcp_settings": _MEASURED,
        "hook": _MEASURED,
        "transcripts": Source("github.com/github/copilot-cli", "2026-09", "reported"),
    },
    notes=(
        "A skill whose description is longer than 1,024 characters, whose name is longer than 64 "
        "or has characters other than letters, digits and `.`, `_`, `:`, `-`, is dropped "
        "silently. So is everything in the folder of another skill; with a SKILL.md directly in "
        "`.github/skills` that is the rest of that folder.",
        "`~/.claude/skills` is not read; a project's `.claude/skills` is.",
        "Hooks of a project run only in folders that Copilot CLI trusts; without a terminal it "
        "does not ask. `metier hook install copilot --user` needs no trust.",
        "In sub-agents the text comes with their own prompts. Versions before 1.0.102 were not "
        "tried; they are said to ignore the answer of a hook.",
    ),
    order=4,
    folders=(
        SkillFolder("copilot", ".github/skills", 3),
        SkillFolder("copilot-user", "~/.copilot/skills", 6),
    ),
    start=Start("copilot", ("-p",), _started),
    tools=HostTools(
        (skill_tool("skill", "skill"), file_tool("view", "path"), shell_tool("bash", "command")),
        "skill",
        "skill",
    ),
)

"""What is known about a host: what it loads, shows, switches, runs and records.

A fact is a field, and has a source with a date, or is `UNKNOWN`. Every host is one file in
`known/`; what only code can say of it is a function in that file.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, TypeVar

from metier.hosts.settings_forms import SettingsFile

if TYPE_CHECKING:
    from metier.hosts.events import Reader
    from metier.hosts.listing_types import Rule
    from metier.hosts.skill_settings import SkillSettings
    from metier.hosts.starting import Start
    from metier.hosts.tools import HostTools


class Unknown(Enum):
    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
_T = TypeVar("_T")
Fact: TypeAlias = _T | Unknown
"""A value, or `UNKNOWN`."""


class Source(NamedTuple):
    """Where a fact was read, and when."""

    where: str
    date: str
    """The day or month of the check, not of the text."""
    how: Literal["docs", "source", "measured", "reported"]
    """The host's documentation, its source code, a run of the host, or what others write of it."""


class SkillFolder(NamedTuple):
    """A skill folder that metier looks through."""

    label: str
    """What paths of its skills begin with if it is not in the workspace."""
    folder: str
    """Relative to the workspace, to the home folder (`~/`), or absolute."""
    rank: int = 100
    """By metier's precedence; the folders of a workspace come first."""


STANDARD_FOLDERS = (
    SkillFolder("agents", ".agents/skills", 2),
    SkillFolder("agents-user", "~/.agents/skills", 3),
)
"""The folders that many hosts share."""


class Loading(NamedTuple):
    """Which files a host takes for skills, and under which name."""

    project: tuple[str, ...]
    """Skill folders below the workspace, by precedence where that is known."""
    user: tuple[str, ...]
    """Skill folders below the home folder, as `~/…`."""
    borrowed: tuple[str, ...]
    """Those of these folders that are another host's, read for compatibility."""
    admin: Fact[tuple[str, ...]]
    """Skill folders of the machine, absolute."""
    depth: Fact[int | None]
    """Levels below a skill folder at which the folder of a skill may be; None for any."""
    bare: Fact[bool]
    """Whether a SKILL.md directly in a skill folder is a skill."""
    walks_up: Fact[bool]
    """Whether the skill folders of the folders above the working folder are read too."""
    nested: Fact[bool]
    """Whether skill folders below the working folder are read too."""
    links: Fact[bool]
    """Whether links to folders are followed."""
    name: Fact[Literal["folder", "front matter"]]
    """Where a skill's name comes from."""
    unnamed: Fact[Literal["folder", "dropped"]]
    """What happens to a skill without `name`."""
    undescribed: Fact[Literal["first paragraph", "dropped", "not shown"]]
    """What happens to a skill without `description`."""
    headless: Fact[Literal["loads", "dropped"]]
    """What happens to a file without front matter, or with front matter that is never closed."""
    invalid: Fact[Literal["loads", "colons load", "dropped"]]
    """What happens to front matter that is not valid YAML; some hosts forgive an unquoted `: `."""
    precedence: Fact[tuple[str, ...]]
    """Where skills come from, the first wins."""
    duplicates: Fact[Literal["one loads", "all load"]]
    """What happens to skills with the same name."""
    needs_trust: Fact[tuple[str, ...]]
    """Folders of a workspace that are read only after the user trusted it in the host."""
    longest_name: Fact[int | None] = UNKNOWN
    """The most characters of a name; a skill with a longer one is dropped."""
    longest_description: Fact[int | None] = UNKNOWN
    """The most characters of a description; a skill with a longer one is dropped."""
    name_pattern: str = ""
    """A regular expression for names, with hyphens for spaces; a skill with another is dropped."""
    own_folder: str = ""
    """The subfolder of a user's skill folder in which the host puts its own skills."""


class Plugins(NamedTuple):
    """Skills that come in packages."""

    folder: Fact[str]
    """Where installed plugins are."""
    manifests: Fact[tuple[str, ...]]
    """Files that make a folder a plugin, relative to it."""
    namespace: Fact[str]
    """How a plugin's skill is named; empty if the plugin is not part of the name."""
    installed: Fact[str]
    """The file that says which versions are in use."""


KeyType = Literal["text", "flag", "mapping", "any", "text-or-texts"]


class Key(NamedTuple):
    """A key of a skill's front matter."""

    type: KeyType = "text"
    choices: tuple[str, ...] = ()
    or_number: bool = False
    """Whether a number counts as its text."""


TEXTS = Key("text-or-texts")
FLAG = Key("flag")
PROSE = Key(or_number=True)
STANDARD_KEYS: dict[str, Key] = {
    "name": PROSE,
    "description": PROSE,
    "license": PROSE,
    "compatibility": Key("any"),
    "allowed-tools": TEXTS,
    "metadata": Key("mapping"),
}
"""The keys of the Agent Skills format (agentskills.io), which every host accepts."""

Effect = Literal["off", "manual", "model-only", "name-only"]
"""Not loaded; only the user starts it; only the model does; the model sees only its name."""


class Written(NamedTuple):
    """How a setting is written that switches one skill off."""

    keys: tuple[str, ...]
    """Where it is in the settings."""
    form: Literal["map", "list", "tables"]
    """Values by name; a list of names; or tables with a `path`."""
    called: Literal["folder", "name", "file", "plugin"]
    """What the settings call the skill: its plugin comes before its folder, with a colon."""
    value: str | bool = False
    """What switches it off."""
    inner: tuple[str, ...] = ()
    """Keys below the name."""
    default: str = ""
    """The name of the value that a text in place of the map is for; empty if none can be there."""


class Switch(NamedTuple):
    """A setting that takes a skill from the model, the user or both."""

    at: Literal["front matter", "settings", "file beside"]
    key: str
    effects: Mapping[str, Effect]
    """By value."""
    file: str = ""
    """The settings file, or the file beside SKILL.md."""
    written: Written | None = None
    """How it is written, if metier writes it."""


class Listing(NamedTuple):
    """What the model is shown of the skills that are loaded."""

    rule: Fact[Literal["least used lose text", "equal shares", "names when full", "all"]]
    """What happens to skills beyond the budget."""
    fraction: Fact[float | None]
    """The budget as a part of the context window."""
    characters: Fact[int | None]
    """The budget in characters, where the window is unknown or does not count."""
    unit: Fact[Literal["characters", "tokens", ""]]
    """What the budget counts; a token is four characters, or bytes."""
    longest: Fact[int | None]
    """The most characters that are shown of a description."""
    context: Fact[int]
    """Tokens of the context window that are assumed unless the user says otherwise."""
    order: Fact[str]
    form: Fact[Literal["lines", "xml"]]
    settings: tuple[str, ...] = ()
    """Settings that change the budget."""
    fraction_setting: str = ""
    """The setting that changes `fraction`; empty for none."""
    fraction_file: str = ""
    """The user's settings file with it."""
    computed_by: str | Rule = ""
    """The rule that computes it: a rule of `metier.listing` by name, or the host's own."""
    sent: SentListing | None = None
    """How it is found in a request."""


class SentListing(NamedTuple):
    """How a listing is found in a request, as regular expressions."""

    begin: str
    """The text before it, as it is."""
    end: str
    entry: str
    """The groups: name, text, location; the last two may be missing."""
    names: str = ""
    """Names without texts after the entries, with commas between them: one group."""
    is_escaped: bool = False
    """Whether texts are escaped as in HTML."""


class Hook(NamedTuple):
    """What happens around a prompt."""

    event: Fact[str]
    """The event that metier's entry is installed for."""
    others: Fact[tuple[str, ...]]
    """Other events that the hook answers."""
    sees_prompt: Fact[bool]
    """Whether the prompt is known when the text is injected."""
    answer: Fact[Literal["hookSpecificOutput", "additionalContext", "additional_context"]]
    """The key that holds the text in what the hook prints."""
    longest: Fact[str]
    """How much text reaches the model."""


class Mark(NamedTuple):
    """A text of a transcript that shows that a skill was used, and where its name is after it."""

    text: str
    before: str
    """What the name follows."""
    after: str
    """What ends the name."""


class Transcripts(NamedTuple):
    """What is kept of a session."""

    files: Fact[tuple[str, ...]]
    form: Fact[Literal["JSON lines", "SQLite"]]
    fired: Fact[tuple[str, ...]]
    """What a transcript holds when a skill was used."""
    marks: tuple[Mark, ...] = ()
    """The same for hooks, which search the end of a transcript."""
    read_by: str | Reader = ""
    """What reads them: a reader of `metier.usage` by name, or the host's own."""
    typed_alone: bool = False
    """Whether a skill that the user types takes the place of a prompt."""


class Values(NamedTuple):
    """Values of front matter that a host knows, and what it replaces in a body."""

    models: tuple[str, ...]
    """Short names of models; a name that contains one of `model_parts` is known too."""
    model_parts: tuple[str, ...]
    tools: tuple[str, ...]
    """Tools that `allowed-tools` may name, old names included."""
    tool_prefix: str
    """What names of tools of MCP servers begin with."""
    hook_events: tuple[str, ...]
    """Events that `hooks` may name."""
    replaced: str
    """A regular expression for what is replaced by an argument, also in code."""


class Host(NamedTuple):
    name: str
    """As in `metier hook NAME`."""
    title: str
    loading: Loading | None
    """None if only MCP servers are known."""
    plugins: Plugins | None
    keys: Mapping[str, Key]
    """Keys of front matter that it reads beyond `STANDARD_KEYS`."""
    switches: tuple[Switch, ...]
    listing: Listing | None
    hook_settings: SettingsFile | None
    mcp_settings: SettingsFile | None
    hook: Hook | None
    transcripts: Transcripts | None
    sources: Mapping[str, Source]
    """By section (`loading`) or fact (`loading.depth`), which counts first."""
    notes: tuple[str, ...] = ()
    """What a user of this host should know."""
    order: int = 100
    """Its position wherever hosts are listed; hosts with the same are sorted by name."""
    folders: tuple[SkillFolder, ...] = ()
    """Its skill folders that no other host declares."""
    skill_settings: SkillSettings | None = None
    """The settings that say something about skills."""
    start: Start | None = None
    """How it is started once, in front of a server that records its requests."""
    tools: HostTools | None = None
    """What an evaluation offers the model."""
    values: Values | None = None
    """Values of front matter that it knows; None if that is not known."""

    def source_of(self, section: str, field: str) -> Source | None:
        return self.sources.get(f"{section}.{field}", self.sources.get(section))

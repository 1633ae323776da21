"""The tables of docs/hosts.md, made from the model of the hosts."""

import re
from collections.abc import Iterable, Sequence
from textwrap import fill

from metier.hosts.known import HOSTS
from metier.hosts.model import UNKNOWN, Host, Loading, Switch
from metier.hosts.settings_forms import SettingsFile

_MARK = re.compile(r"(<!-- generated: ([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_WITH_SKILLS = [host for host in HOSTS.values() if host.loading is not None]
_HOOKED = [host for host in HOSTS.values() if host.hook is not None]
_EFFECTS = {
    "off": "off",
    "manual": "only the user starts it",
    "model-only": "only the model starts it",
    "name-only": "the model sees only its name",
}


def hosts_page(text: str) -> str:
    """The page with its tables made anew."""
    return _MARK.sub(lambda found: f"{found[1]}{PARTS[found[2]]()}{found[3]}", text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("|  |", "| |") + "\n"


def shown(value: object) -> str:
    """A fact in a cell."""
    if value is UNKNOWN:
        return "unknown"
    if value is None or value in ((), ""):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def code(values: object) -> str:
    """Paths or keys in a cell."""
    if values is UNKNOWN or not isinstance(values, tuple) or not values:
        return shown(values)
    return ", ".join(f"`{one}`" for one in values)


def folders() -> str:
    head = ["host", "project", "user", "machine", "only after you trust the workspace there"]
    rows = [
        [host.title, code(one.project), code(one.user), code(one.admin), code(one.needs_trust)]
        for host, one in _loading()
    ]
    return table(head, rows)


def _loading() -> list[tuple[Host, Loading]]:
    return [(host, host.loading) for host in HOSTS.values() if host.loading is not None]


def loading() -> str:
    head = [
        "host", "depth", "folders above", "folders below", "links", "name from",
        "without a name", "without a description", "without front matter", "not valid YAML",
        "of one name",
    ]  # fmt: skip
    rows = [
        [
            host.title,
            "any" if one.depth is None else shown(one.depth),
            shown(one.walks_up),
            shown(one.nested),
            shown(one.links),
            shown(one.name),
            "its folder's" if one.unnamed == "folder" else shown(one.unnamed),
            shown(one.undescribed),
            shown(one.headless),
            shown(one.invalid),
            _duplicates(one),
        ]
        for host, one in _loading()
    ]
    return table(head, rows)


def _duplicates(one: Loading) -> str:
    if one.precedence is UNKNOWN or one.duplicates == "all load":
        return shown(one.duplicates)
    return f"{shown(one.duplicates)}: {' > '.join(one.precedence)}"


def plugins() -> str:
    head = ["host", "a plugin has", "installed in", "its skills are called"]
    names = {"plugin:skill": "`plugin:skill`", "": "as they are"}
    rows = [
        [
            host.title,
            code(host.plugins.manifests),
            shown(host.plugins.folder)
            if host.plugins.folder is UNKNOWN
            else f"`{host.plugins.folder}`",
            names.get(str(host.plugins.namespace), "unknown"),
        ]
        for host in _WITH_SKILLS
        if host.plugins is not None
    ]
    return table(head, rows)


def switches() -> str:
    rows = [[host.title, *_switch(one)] for host in _WITH_SKILLS for one in host.switches]
    return table(["host", "switch", "where", "effect"], rows)


def _switch(one: Switch) -> tuple[str, str, str]:
    where = f"`{one.file}`" if one.file else "front matter"
    where += " beside SKILL.md" if one.at == "file beside" else ""
    effects = (f"`{value}`: {_EFFECTS[effect]}" for value, effect in one.effects.items())
    return f"`{one.key}`", where, "; ".join(effects)


def keys() -> str:
    rows = [[host.title, code(tuple(host.keys))] for host in _WITH_SKILLS]
    return table(["host", "keys of front matter beyond the format's"], rows)


def listing() -> str:
    head = ["host", "beyond the budget", "budget", "one description", "order", "settings"]
    rows = []
    for host in _WITH_SKILLS:
        one = host.listing
        assert one is not None
        rule = "everything is shown" if one.rule == "all" else shown(one.rule)
        rows.append(
            [host.title, rule, _budget(host), _longest(one.longest), shown(one.order),
             code(one.settings)]
        )  # fmt: skip
    return table(head, rows)


def _budget(host: Host) -> str:
    one = host.listing
    assert one is not None
    parts = []
    if isinstance(one.fraction, float):
        parts.append(f"{one.fraction:.0%} of the window, in {shown(one.unit)}")
    if isinstance(one.characters, int):
        parts.append(f"{one.characters:,} characters" + (" otherwise" if parts else ""))
    if not parts and (one.characters is UNKNOWN or one.fraction is UNKNOWN):
        return "unknown"
    return ", ".join(parts) or "none"


def _longest(value: object) -> str:
    return f"{value:,} characters" if isinstance(value, int) else shown(value)


def hooks() -> str:
    head = ["host", "event", "also", "prompt known", "answer in", "longest text"]
    rows = []
    for host in _HOOKED:
        one = host.hook
        assert one is not None
        rows.append(
            [f"`{host.name}`", f"`{one.event}`", code(one.others), shown(one.sees_prompt),
             f"`{one.answer}`", shown(one.longest)]
        )  # fmt: skip
    return table(head, rows)


def settings() -> str:
    head = ["host", "hook: project", "hook: user", "MCP: project", "MCP: user", "moved by"]
    rows = [
        [
            host.title,
            *_files(host.hook_settings),
            *_files(host.mcp_settings),
            _moved(host.hook_settings or host.mcp_settings),
        ]
        for host in HOSTS.values()
    ]
    return table(head, rows)


def servers() -> str:
    rows = [
        [f"`{host.name}`", *(cell.replace("none", "") for cell in _files(file)), _entry(file)]
        for host in HOSTS.values()
        if (file := host.mcp_settings) is not None
    ]
    return table(["host", "project", "user", "entry"], rows)


def _entry(file: SettingsFile) -> str:
    path = ".".join([*file.servers.keys, "metier"])
    return f"`[{path}]`" if file.servers.form == "toml" else f"`{path}`"


def _files(file: SettingsFile | None) -> tuple[str, str]:
    if file is None:
        return "none", "none"
    project = f"`{file.project}`" if file.project else "none"
    return project, f"`~/{file.user}`" if file.user else "none"


def _moved(file: SettingsFile | None) -> str:
    return f"`{file.moved_by[0]}`" if file is not None and file.moved_by[0] else ""


def transcripts() -> str:
    rows = [
        [
            host.title,
            code(host.transcripts.files),
            shown(host.transcripts.form),
            "; ".join(host.transcripts.fired)
            if host.transcripts.fired is not UNKNOWN
            else "unknown",
        ]
        for host in _WITH_SKILLS
        if host.transcripts is not None
    ]
    return table(["host", "files", "form", "a skill was used"], rows)


def notes() -> str:
    parts = []
    for host in _WITH_SKILLS:
        lines = "\n".join(map(_bullet, host.notes))
        parts.append(f"### {host.title}\n\n{lines}\n")
    return "\n" + "\n".join(parts) + "\n"


def _bullet(note: str) -> str:
    return fill(f"- {note}", 120, subsequent_indent="  ", break_on_hyphens=False)


def sources() -> str:
    rows = [
        [host.title, f"`{fact}`", source.how, source.where, source.date]
        for host in HOSTS.values()
        for fact, source in host.sources.items()
    ]
    return table(["host", "fact", "how", "where", "checked"], rows)


PARTS = {
    one.__name__: one
    for one in (
        folders, loading, plugins, switches, keys, listing, hooks, settings, servers,
        transcripts, notes, sources,
    )
}  # fmt: skip

"""The power set of a workspace: all that it could do once it is trusted, and its digest."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from metier.config.layers import Layer
from metier.config.merging import is_inside_text
from metier.config.settings import class_of, entries
from metier.core.paths import is_inside
from metier.storage.room import read_regular
from metier.values.trust import NOTHING, Consent

VERSION = 1
UNREADABLE = "unreadable"
LARGEST_FILE = 64 * 1024 * 1024
"""Bytes of a file that a command names."""


class Powers(NamedTuple):
    """What a workspace asks for. Equal sets have equal digests, wherever the workspace lies."""

    settings: Mapping[str, Any] = NOTHING
    """Every power setting, and those that are narrowed until the workspace is trusted."""
    files: Mapping[str, str] = NOTHING
    """Files of the workspace that a command names → sha256."""
    agents: Mapping[str, Any] = NOTHING
    """Each agent's file → its id, tools, models, delegates and tool steps."""
    links: Mapping[str, str] = NOTHING
    """Links in its skill folders that lead out of the workspace → where they lead."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that only a trusted workspace may do."""
        return not self.agents and not self.settings and not self.links

    @property
    def digest(self) -> str:
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"

    def to_json(self) -> dict[str, Any]:
        powers = {
            "version": VERSION,
            "settings": dict(self.settings),
            "files": dict(self.files),
            "agents": dict(self.agents),
        }
        return {**powers, "links": dict(self.links)} if self.links else powers

    def consents(self) -> frozenset[Consent]:
        """The tools that the settings ask consent for, for each agent that lists them."""
        return frozenset(
            Consent(tool, self.digest_of(tool), agent["id"])
            for tool in self.settings.get("tools.allow") or ()
            for agent in self.agents.values()
            if tool in agent["tools"]
        )

    def digest_of(self, tool: str) -> str:
        """The digest of the command behind a tool, or of the server that it belongs to."""
        server, _, _ = tool.partition("__")
        entry = self.settings.get(f"tools.{tool}") or self.settings.get(f"mcp.{server}")
        return entry_digest(entry)

    def keys(self) -> dict[str, list[str]]:
        """The hosts that each variable's value would be sent to."""
        found: dict[str, list[str]] = {}
        for key, entry in self.settings.items():
            if key.startswith("models.") and isinstance(entry, dict):
                variable = entry.get("api-key-env")
                if isinstance(variable, str) and variable:
                    found.setdefault(variable, []).append(key_host(key[7:], entry))
        return {variable: sorted(set(hosts)) for variable, hosts in sorted(found.items())}


def key_host(provider: str, entry: Mapping[str, Any]) -> str:
    """The host that a provider's key is sent to; the provider's own where no address is set."""
    from urllib.parse import urlsplit  # few workspaces name a model, and it is not small

    address = str(entry.get("base-url") or "")
    try:
        return urlsplit(address).netloc or f"{provider} (its own address)"
    except ValueError:
        return f"nowhere: {address} is no address"


def entry_digest(entry: Any) -> str:
    text = json.dumps(_plain(entry), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def power_settings(layers: Sequence[Layer], workspace: str) -> dict[str, Any]:
    """What the workspace sets beyond comfort, each entry from the strongest place that has it."""
    found: dict[str, Any] = {}
    for layer in layers:
        for key, value in entries(layer.values):
            if class_of(key) == "comfort":
                value = _outside(key, value, workspace)
                if not value:
                    continue
            found.setdefault(key, _plain(value))
    return dict(sorted(found.items()))


def _outside(key: str, value: Any, workspace: str) -> list[str]:
    """The folders of a setting that are not inside the workspace."""
    if not key.startswith("folders.") or not isinstance(value, list):
        return []
    return [one for one in value if isinstance(one, str) and not is_inside_text(one, workspace)]


def _plain(value: Any) -> Any:
    """A value of TOML as JSON has it: dates as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


# Files that commands name


def named_files(settings: Mapping[str, Any], workspace: str) -> dict[str, str]:
    """The sha256 of every workspace file that a tool, server or probe names, by its path."""
    return {
        path: file_digest(path, workspace)
        for path in sorted({path for one in settings.items() for path in files_of(one, workspace)})
    }


def files_of(setting: tuple[str, Any], workspace: str) -> list[str]:
    """The workspace files that one setting's command names."""
    key, entry = setting
    if not isinstance(entry, Mapping):
        return []
    if not key.startswith(("mcp.", "tools.", "probes.")):
        return []
    env = entry.get("env")
    argv = [entry.get("command"), *_list(entry.get("args")), *_list(entry.get("argv"))]
    argv += list(env.values()) if isinstance(env, Mapping) else []
    words = [word for word in argv if isinstance(word, str) and word]
    folder = entry.get("folder")
    folders = {workspace, os.path.join(workspace, folder if isinstance(folder, str) else "")}
    found = {_inside(name, one, workspace) for name in set(_names(words)) for one in folders}
    parts = {part for word in words for part in _PARTS.findall(word)}
    inside = {_inside(part, one, workspace) for part in parts for one in folders}
    found |= {path for path in inside if path and _is_program(os.path.join(workspace, path))}
    return sorted(path for path in found if path)


def _is_program(path: str) -> bool:
    """Whether a file looks like something that runs, and not like what a command writes."""
    return path.endswith(_SCRIPTS) or os.access(path, os.X_OK)


_SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".php", ".lua", ".ps1")


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _names(argv: Sequence[str]) -> Iterator[str]:
    """What may be the name of a file: words, what follows a `=`, modules after `-m`, programs."""
    for place, word in enumerate(argv):
        if place > 0 or "/" in word:
            yield word
            yield word.partition("=")[2]
            yield from (f"{word}/{name}" for name in ("__main__.py", "index.js", "package.json"))
        module = word if place and argv[place - 1] == "-m" else word.removeprefix("-m")
        if place and (module != word or argv[place - 1] == "-m"):
            parts = module.replace(".", "/")
            yield from (f"{parts}.py", f"{parts}/__main__.py", f"{parts}/__init__.py")


_PARTS = re.compile(r"[\w./+@-]+")
"""What a file's name could be inside a word such as `. ./x; y`."""


def _inside(name: str, folder: str, workspace: str) -> str:
    """The path in the workspace of the file that a word names; empty when it names none.

    A link counts by itself when it leads out of the workspace.
    """
    if "\0" in name:
        return ""
    path = os.path.normpath(os.path.join(folder, name))
    real = os.path.realpath(path)
    if is_inside(real, workspace):
        return os.path.relpath(real, workspace) if os.path.isfile(real) else ""
    is_link = is_inside(path, workspace) and path != workspace
    return os.path.relpath(path, workspace) if is_link else ""


def file_digest(path: str, workspace: str) -> str:
    """The sha256 of a file of the workspace, or what is there instead.

    What a link leads to outside is not read.
    """
    real = os.path.realpath(os.path.join(workspace, path))
    if not is_inside(real, workspace):
        return f"link to {real}"
    try:
        return hashlib.sha256(read_regular(real, LARGEST_FILE)).hexdigest()
    except OSError as error:
        return f"{UNREADABLE}: {error.strerror}"

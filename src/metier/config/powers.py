"""The powers of a workspace: what it can do once it is trusted, and their digest."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from metier.config.layers import Layer
from metier.core.digests import sha256
from metier.core.paths import is_inside, is_inside_text
from metier.storage.room import regular_digest
from metier.values.trust import NOTHING, Consent

VERSION = 1
_NOTHING = f'{{"agents":{{}},"files":{{}},"settings":{{}},"version":{VERSION}}}'.encode()
"""The powers of a workspace that asks for nothing, as JSON."""
UNREADABLE = "unreadable"
LARGEST_FILE = 64 * 1024 * 1024
LARGEST_ENCODER = 2 * 1024 * 1024 * 1024
TOKENIZER = "tokenizer.json"
"""Beside a model, unless the settings name another file."""


class Powers(NamedTuple):
    """What a workspace asks for. The digest does not depend on its path."""

    settings: Mapping[str, Any] = NOTHING
    """Every power setting, and comfort settings that reach outside the workspace."""
    files: Mapping[str, str] = NOTHING
    """Workspace files named by commands → sha256."""
    agents: Mapping[str, Any] = NOTHING
    """Agent file → its id, tools, models, delegates and tool steps."""
    links: Mapping[str, str] = NOTHING
    """Links in skill folders out of the workspace → target."""

    @property
    def is_empty(self) -> bool:
        return not self.agents and not self.settings and not self.links

    @property
    def digest(self) -> str:
        if not any(self):
            return f"sha256:{sha256(_NOTHING).hexdigest()}"
        return f"sha256:{_json_digest(self.to_json())}"

    def to_json(self) -> dict[str, Any]:
        powers = {
            "version": VERSION,
            "settings": dict(self.settings),
            "files": dict(self.files),
            "agents": dict(self.agents),
        }
        return {**powers, "links": dict(self.links)} if self.links else powers

    def consents(self) -> frozenset[Consent]:
        """Consent for each tool of `tools.allow`, for each agent that lists it."""
        return frozenset(
            Consent(tool, self.digest_of(tool), agent["id"])
            for tool in self.settings.get("tools.allow") or ()
            for agent in self.agents.values()
            if tool in agent["tools"]
        )

    def digest_of(self, tool: str) -> str:
        """The digest of the command or MCP server behind a tool."""
        server, _, _ = tool.partition("__")
        return _json_digest(
            _plain(self.settings.get(f"tools.{tool}") or self.settings.get(f"mcp.{server}"))
        )

    def keys(self) -> dict[str, list[str]]:
        """The hosts that would receive the value of each variable."""
        found: dict[str, list[str]] = {}
        for key, entry in self.settings.items():
            if key.startswith("models.") and isinstance(entry, dict):
                variable = entry.get("api-key-env")
                if isinstance(variable, str) and variable:
                    found.setdefault(variable, []).append(key_host(key[7:], entry))
        encoder = self.settings.get("encoder")
        variable = encoder.get("api-key-env") if isinstance(encoder, dict) else None
        if isinstance(encoder, dict) and isinstance(variable, str) and variable:
            found.setdefault(variable, []).append(encoder_host(encoder))
        return {variable: sorted(set(hosts)) for variable, hosts in sorted(found.items())}


def key_host(provider: str, entry: Mapping[str, Any]) -> str:
    """The host that receives a provider's key."""
    from urllib.parse import urlsplit  # few workspaces name a model

    address = str(entry.get("base-url") or "")
    try:
        return urlsplit(address).netloc or f"{provider} (its own address)"
    except ValueError:
        return f"nowhere: {address} is not an address"


def encoder_host(entry: Mapping[str, Any]) -> str:
    """The host that receives the key of the encoder."""
    return key_host("encoder", {"base-url": entry.get("url")})


def _json_digest(value: Any) -> str:
    import json  # most workspaces ask for nothing

    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def power_settings(layers: Sequence[Layer], workspace: str) -> dict[str, Any]:
    """What the workspace sets beyond comfort, each entry from the strongest layer."""
    found: dict[str, Any] = {}
    if not any(layer.values for layer in layers):
        return found
    from metier.config.settings import class_of, entries  # a large table

    for layer in layers:
        for key, value in entries(layer.values):
            if class_of(key) == "comfort":
                value = _outside(key, value, workspace)
                if not value:
                    continue
            found.setdefault(key, _plain(value))
    return dict(sorted(found.items()))


def _outside(key: str, value: Any, workspace: str) -> list[str]:
    if not key.startswith("folders.") or not isinstance(value, list):
        return []
    return [path for path in value if isinstance(path, str) and not is_inside_text(path, workspace)]


def _plain(value: Any) -> Any:
    """A TOML value as JSON: dates as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


# Files that commands name


def named_files(settings: Mapping[str, Any], workspace: str) -> dict[str, str]:
    """The sha256 of every workspace file that a tool, server, probe or encoder names."""
    paths = {path for setting in settings.items() for path in files_of(setting, workspace)}
    large = files_of(("encoder", settings.get("encoder")), workspace)
    return {
        path: file_digest(path, workspace, LARGEST_ENCODER if path in large else LARGEST_FILE)
        for path in sorted(paths)
    }


def files_of(setting: tuple[str, Any], workspace: str) -> list[str]:
    """The workspace files that the command, or the encoder, of a setting names."""
    key, entry = setting
    if key == "encoder" and isinstance(entry, Mapping):
        return _encoder_files(entry, workspace)
    if not isinstance(entry, Mapping) or not key.startswith(("mcp.", "tools.", "probes.")):
        return []
    env = entry.get("env")
    argv = [entry.get("command"), *_list(entry.get("args")), *_list(entry.get("argv"))]
    argv += list(env.values()) if isinstance(env, Mapping) else []
    argv += module_argv(entry.get("function"))
    words = [word for word in argv if isinstance(word, str) and word]
    folder = entry.get("folder")
    folders = {workspace, os.path.join(workspace, folder if isinstance(folder, str) else "")}
    found = {_inside(name, base, workspace) for name in set(_names(words)) for base in folders}
    parts = {part for word in words for part in re.findall(_PARTS, word)}
    inside = {_inside(part, base, workspace) for part in parts for base in folders}
    found |= {path for path in inside if path and _is_program(os.path.join(workspace, path))}
    return sorted(path for path in found if path)


def module_argv(function: Any) -> list[str]:
    """The command that imports the module of a function `package.module:name`."""
    module = function.partition(":")[0] if isinstance(function, str) else ""
    return ["python", "-m", module] if module else []


def _encoder_files(entry: Mapping[str, Any], workspace: str) -> list[str]:
    """The model of an encoder and its tokenizer, as far as they are in the workspace."""
    file, tokenizer = entry.get("file"), entry.get("tokenizer")
    if not isinstance(file, str) or not file:
        return []
    if not isinstance(tokenizer, str) or not tokenizer:
        tokenizer = os.path.join(os.path.dirname(file), TOKENIZER)
    found = {_inside(name, workspace, workspace) for name in (file, tokenizer)}
    return sorted(path for path in found if path)


def _is_program(path: str) -> bool:
    """Whether a file looks like a program, not like output of a command."""
    return path.endswith(_SCRIPTS) or os.access(path, os.X_OK)


_SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".php", ".lua", ".ps1")


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _names(argv: Sequence[str]) -> Iterator[str]:
    """Possible file names: words, values after `=`, modules after `-m`, programs."""
    for index, word in enumerate(argv):
        if index > 0 or "/" in word:
            yield word
            yield word.partition("=")[2]
            yield from (f"{word}/{name}" for name in ("__main__.py", "index.js", "package.json"))
        after_m = index > 0 and argv[index - 1] == "-m"
        module = word if after_m else word.removeprefix("-m")
        if after_m or (index and module != word):
            yield from _module_files(module)


def _module_files(module: str) -> Iterator[str]:
    """What Python reads to import a module: the packages around it, too."""
    path = module.replace(".", "/")
    yield from (f"{path}.py", f"{path}/__main__.py")
    while path:
        yield f"{path}/__init__.py"
        path = path.rpartition("/")[0]


_PARTS = r"[\w./+@-]+"
"""Possible file names inside a word such as `. ./x; y`."""


def _inside(name: str, folder: str, workspace: str) -> str:
    """The workspace path of the file, or link, that a word names; empty if there is none."""
    if "\0" in name:
        return ""
    path = os.path.normpath(os.path.join(folder, name))
    real = os.path.realpath(path)
    if is_inside(real, workspace):
        return os.path.relpath(real, workspace) if os.path.isfile(real) else ""
    is_link = is_inside(path, workspace) and path != workspace
    return os.path.relpath(path, workspace) if is_link else ""


def file_digest(path: str, workspace: str, largest: int | None = None) -> str:
    """The sha256 of a workspace file, or why it was not read, such as a link out."""
    real = os.path.realpath(os.path.join(workspace, path))
    if not is_inside(real, workspace):
        return f"link to {real}"
    try:
        return regular_digest(real, LARGEST_FILE if largest is None else largest)
    except OSError as error:
        return f"{UNREADABLE}: {error.strerror}"

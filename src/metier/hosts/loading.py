"""Whether a host loads a skill, and as what: pure functions over the model."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from metier.hosts import SWITCH as SWITCH
from metier.hosts.known import HOSTS
from metier.hosts.model import UNKNOWN, Effect, Host, Loading

SWITCHED_OFF = "switched off by "
Reason = Literal[
    "other-folder",
    "too-deep",
    "no-folder",
    "not-here",
    "no-name",
    "no-description",
    "no-front-matter",
    "off",
    "unread",
    "misspelt",
]


Yaml = Literal["valid", "colon", "invalid"]
"""Of front matter; with `colon`, only a value that is not quoted holds a colon and a space."""


class Location(NamedTuple):
    """Where the SKILL.md of a skill is."""

    path: str
    """Relative to the workspace or the plugin; below the home folder as `~/…`; or absolute."""
    plugin: str = ""
    """The plugin that the skill belongs to."""
    installed_in: str = ""
    """The folder that the plugin is installed in; empty if any host with plugins may load it."""


class Loads(NamedTuple):
    name: str
    """What the host calls it."""
    hidden_by: str = ""
    """The switch that keeps it, or its text, from the model."""
    doubt: str = ""
    """What is not known about this host and would decide it."""


class DoesNotLoad(NamedTuple):
    reason: Reason
    message: str
    hint: str = ""
    name: str = ""
    """What the host calls a skill that only a switch keeps off; else empty."""


class _Found(NamedTuple):
    """A skill folder of a host around a file."""

    above: str
    """What is before the skill folder: empty at the root of the workspace."""
    root: str
    folders: tuple[str, ...]
    """From the skill folder down to the folder of the skill."""


def loads(
    host: Host,
    location: Location,
    data: Mapping[str, Any],
    switched: Mapping[str, str] | None = None,
) -> Loads | DoesNotLoad:
    """What `host` makes of the skill at `location` with the front matter `data`.

    `switched` holds the values of switches outside of SKILL.md, by `Switch.key`. Listings and
    skills of the same name are not considered.
    """
    if host.loading is None:
        return DoesNotLoad("other-folder", f"{host.title} is not known to load skills")
    found = _found(host, location)
    if found is None:
        read = ", ".join(_roots(host.loading, location.path))
        message = f"{host.title} does not read this folder"
        hint = f"it reads {read}: link or copy the skill's folder into one of them"
        return DoesNotLoad("other-folder", message, hint)
    problem = _problem_of_folder(host, host.loading, found) or _problem_of_text(host, data)
    if problem is not None:
        return problem
    effect, key = _switched(host, data, switched or {})
    name = _name(host, location, found, data)
    if effect == "off":
        return DoesNotLoad("off", f"{SWITCHED_OFF}{key}", f"change {key}", name)
    hidden = key if effect in ("manual", "name-only") else ""
    hidden = hidden or _hidden_without_description(host.loading, data)
    return Loads(name, hidden, _doubt(host.loading, found))


def drops_invalid(host: Host, yaml: Yaml) -> bool:
    """Whether a host drops a skill because of its YAML, which metier repairs."""
    invalid = host.loading.invalid if host.loading is not None else UNKNOWN
    if yaml == "invalid":
        return invalid in ("colons load", "dropped")
    return yaml == "colon" and invalid == "dropped"


def readers(path: str) -> tuple[Host, ...]:
    """The hosts that read a skill folder around a file, at whatever depth."""
    return readers_of(Location(path))


def readers_of(location: Location) -> tuple[Host, ...]:
    """The hosts that read a skill folder around a location, at whatever depth."""
    return tuple(host for host in HOSTS.values() if _found(host, location) is not None)


def owners(path: str) -> tuple[Host, ...]:
    """The readers of a file without those that borrow the folder of another host."""
    return tuple(
        host
        for host in HOSTS.values()
        if host.loading is not None
        and (found := _found(host, Location(path))) is not None
        and found.root not in host.loading.borrowed
    )


def honours(host: Host, key: str) -> bool:
    """Whether a host obeys a switch in front matter."""
    return any(one.at == "front matter" and one.key == key for one in host.switches)


def droppers() -> tuple[Host, ...]:
    """The hosts that drop a skill without a description."""
    return tuple(
        host
        for host in HOSTS.values()
        if host.loading is not None and host.loading.undescribed == "dropped"
    )


def _roots(loading: Loading, path: str) -> tuple[str, ...]:
    """The skill folders that a path can be in, by its form."""
    admin = () if loading.admin is UNKNOWN else loading.admin
    if path.startswith("~/"):
        return loading.user
    return (*admin, *loading.project) if path.startswith("/") else loading.project


def _found(host: Host, location: Location) -> _Found | None:
    if host.loading is None:
        return None
    path = location.path
    if location.plugin:
        return _below("skills", path) if _has_plugin(host, location) else None
    found = [one for root in _roots(host.loading, path) if (one := _below(root, path))]
    if path.startswith("/"):
        found += [
            one._replace(root=root)
            for root in host.loading.user
            if (one := _below(root.removeprefix("~/"), path))
        ]
    return max(found, key=lambda one: len(one.above), default=None)


def _has_plugin(host: Host, location: Location) -> bool:
    folder = host.plugins.folder if host.plugins is not None else ""
    return host.plugins is not None and location.installed_in in ("", folder)


def _below(root: str, path: str) -> _Found | None:
    """The innermost `root` around a path."""
    above, mark, rest = f"/{path}".rpartition(f"/{root.strip('/')}/")
    if not mark or (root.startswith("/") and above not in ("", "/")):
        return None
    if root == "skills" and above:
        return None  # any folder may be called so
    return _Found(above.strip("/"), root, tuple(rest.split("/")[:-1]))


def _problem_of_folder(host: Host, loading: Loading, found: _Found) -> DoesNotLoad | None:
    depth = len(found.folders)
    if depth == 0 and loading.bare is False:
        message = f"{host.title} expects each skill in its own folder"
        return DoesNotLoad("no-folder", message, f"move it to {found.root}/NAME/SKILL.md")
    if isinstance(loading.depth, int) and depth > loading.depth:
        levels = depth - loading.depth
        word = "level" if levels == 1 else "levels"
        better = "/".join(filter(None, [found.above, found.root, found.folders[-1]]))
        message = f"{levels} {word} too deep for {host.title}"
        return DoesNotLoad("too-deep", message, f"move it to {better}/SKILL.md")
    if found.above and not found.root.startswith(("~", "/")) and loading.nested is False:
        message = f"{host.title} reads it only when it works in {found.above}"
        return DoesNotLoad("not-here", message, f"move it to {found.root} of the workspace")
    return None


def _problem_of_text(host: Host, data: Mapping[str, Any]) -> DoesNotLoad | None:
    loading = host.loading
    if loading is None:
        return None
    if loading.unnamed == "dropped" and not _text(data, "name"):
        return DoesNotLoad("no-name", f"{host.title} drops a skill without 'name'", "add 'name'")
    if loading.undescribed == "dropped" and not _text(data, "description"):
        message = f"{host.title} drops a skill without 'description'"
        return DoesNotLoad("no-description", message, "add 'description'")
    return None


def _switched(
    host: Host, data: Mapping[str, Any], switched: Mapping[str, str]
) -> tuple[Effect | None, str]:
    """The strongest effect of the switches, and the key that has it."""
    found: dict[Effect, str] = {}
    for one in host.switches:
        value = data.get(one.key) if one.at == "front matter" else switched.get(one.key)
        effect = one.effects.get(str(value).lower())
        if effect is not None:
            found.setdefault(effect, one.key)
    order: tuple[Effect, ...] = ("off", "manual", "name-only", "model-only")
    return next(((effect, found[effect]) for effect in order if effect in found), (None, ""))


def _hidden_without_description(loading: Loading, data: Mapping[str, Any]) -> str:
    is_hidden = loading.undescribed == "not shown" and not _text(data, "description")
    return "the missing description" if is_hidden else ""


def _name(host: Host, location: Location, found: _Found, data: Mapping[str, Any]) -> str:
    folder = found.folders[-1] if found.folders else ""
    by_folder = host.loading is not None and host.loading.name == "folder"
    name = folder if by_folder else _text(data, "name") or folder
    if location.plugin and host.plugins is not None and host.plugins.namespace == "plugin:skill":
        return f"{location.plugin}:{name}"
    return name


def _doubt(loading: Loading, found: _Found) -> str:
    if len(found.folders) > 1 and loading.depth is UNKNOWN:
        return "how deep a skill may be"
    if not found.folders and loading.bare is UNKNOWN:
        return "whether a skill needs its own folder"
    if found.above and loading.nested is UNKNOWN and not found.root.startswith(("~", "/")):
        return "whether skill folders below the working folder are read"
    return ""


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value.strip() if isinstance(value, str) else ""

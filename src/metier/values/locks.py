"""A lock: the contents of a workspace's skills, as a team agreed on them."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from metier.values.reviews import LINK, Contents, Difference, difference
from metier.values.trust import NOTHING

SHA256 = "sha256:"
_NEEDS_TRUST = "its mount needs trust (METIER_TRUST)"


class LockedSkill(NamedTuple):
    name: str
    source: str
    contents: Contents
    """Without scripts: those follow from the files."""
    origin: Mapping[str, str] = NOTHING
    """Where it comes from, as far as known: `git`, `plugin`, `mount` …; it is not compared."""

    @property
    def is_of_mount(self) -> bool:
        return "mount" in self.origin

    def to_json(self) -> dict[str, Any]:
        contents = self.contents
        origin = {"origin": dict(self.origin)} if self.origin else {}
        return {
            "name": self.name,
            "source": self.source,
            **origin,
            "capabilities": sorted(contents.capabilities),
            "tools": sorted(contents.tools),
            "commands": sorted(contents.commands),
            "files": {name: _written(value) for name, value in sorted(contents.files.items())},
        }


def _written(value: str) -> str:
    return value if value.startswith(LINK) else f"{SHA256}{value}"


class Unlockable(NamedTuple):
    """A skill that cannot be locked, or compared, because not all of it can be read."""

    path: str
    name: str
    why: str


class Mismatch(NamedTuple):
    """How a skill differs from its lock."""

    kind: Literal["changed", "missing", "extra", "unreadable", "unchecked"]
    path: str
    """The folder of the skill, as the lock names it."""
    name: str
    detail: str
    change: Difference = Difference()

    def to_json(self) -> dict[str, Any]:
        change = {"change": self.change.to_json()} if self.kind == "changed" else {}
        return {
            "kind": self.kind,
            "path": self.path,
            "name": self.name,
            "detail": self.detail,
            **change,
        }


def compared(
    locked: Mapping[str, LockedSkill],
    now: Mapping[str, LockedSkill],
    unreadable: Mapping[str, Unlockable],
    *,
    has_mounts: bool = True,
) -> list[Mismatch]:
    """Every skill that is not as it was locked, by path.

    Without `has_mounts` the mounts of the workspace are ignored, as it is not trusted.
    """
    found = []
    for path in sorted({*locked, *now, *unreadable}):
        if path in unreadable:
            one = unreadable[path]
            found.append(Mismatch("unreadable", path, one.name, one.why))
        elif path not in now and locked[path].is_of_mount and not has_mounts:
            found.append(Mismatch("unchecked", path, locked[path].name, _NEEDS_TRUST))
        elif path not in now:
            found.append(Mismatch("missing", path, locked[path].name, "locked, but not here"))
        elif path not in locked:
            found.append(Mismatch("extra", path, now[path].name, "here, but not locked"))
        elif not (change := lock_change(locked[path], now[path])).is_empty:
            found.append(Mismatch("changed", path, now[path].name, change.summary(), change))
        elif locked[path].name != now[path].name:
            detail = f"it is called {now[path].name}, the lock says {locked[path].name}"
            found.append(Mismatch("changed", path, now[path].name, detail))
    return found


def lock_change(locked: LockedSkill, now: LockedSkill) -> Difference:
    """What changed since a skill was locked."""
    scripts = now.contents.scripts
    return difference(locked.contents._replace(scripts=scripts), now.contents)

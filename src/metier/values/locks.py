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
    origin: Mapping[str, str] = NOTHING
    """Where it comes from, as far as known: `git`, `plugin`, `mount` …; it is not compared."""
    left_out: str = ""
    """Why metier does not use it as it is now, though a host may; it is not written."""

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
            "scripts": sorted(contents.scripts),
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

    @property
    def is_change(self) -> bool:
        """Whether a skill that is here differs from the lock, or cannot be compared with it."""
        return self.kind in ("changed", "unreadable")

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
    hidden: Mapping[str, str] = NOTHING,
    has_mounts: bool = True,
) -> list[Mismatch]:
    """Every skill that is not as it was locked, by path.

    `hidden` says of locked skills that were not found why they are not simply missing. Without
    `has_mounts` the mounts of the workspace are ignored, as it is not trusted.
    """
    found = []
    for path in sorted({*locked, *now, *unreadable}):
        if path in unreadable:
            one = unreadable[path]
            found.append(Mismatch("unreadable", path, one.name, one.why))
        elif path not in now and locked[path].is_of_mount and not has_mounts:
            found.append(Mismatch("unchecked", path, locked[path].name, _NEEDS_TRUST))
        elif path not in now and path in hidden:
            found.append(Mismatch("changed", path, locked[path].name, hidden[path]))
        elif path not in now:
            found.append(Mismatch("missing", path, locked[path].name, "locked, but not here"))
        elif path not in locked:
            detail = _with_reason("here, but not locked", now[path])
            found.append(Mismatch("extra", path, now[path].name, detail))
        elif not (change := lock_change(locked[path], now[path])).is_empty:
            detail = _with_reason(change.summary(), now[path])
            found.append(Mismatch("changed", path, now[path].name, detail, change))
        elif locked[path].name != now[path].name and not now[path].left_out:
            detail = f"it is called {now[path].name}, the lock says {locked[path].name}"
            found.append(Mismatch("changed", path, now[path].name, detail))
    return found


def _with_reason(detail: str, now: LockedSkill) -> str:
    if not now.left_out:
        return detail
    return f"{detail}; metier does not use it, but a host may load it: {now.left_out}"


def lock_change(locked: LockedSkill, now: LockedSkill) -> Difference:
    """What changed since a skill was locked."""
    return difference(locked.contents, now.contents)

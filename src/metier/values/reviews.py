"""What a skill consists of, what was reviewed of it, and what changed since."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from metier.values.trust import LEVELS, NOTHING

LINK = "link:"
"""Before the target of a link, in place of a digest: links are not followed."""
MAIN_FILES = ("SKILL.md", "skill.md")


def strictest(levels: Iterable[str]) -> str:
    return max(levels, key=LEVELS.index)


class Contents(NamedTuple):
    """The files of a skill, and what it asks for."""

    files: Mapping[str, str] = NOTHING
    """Relative path → sha256, or `link:TARGET`."""
    scripts: tuple[str, ...] = ()
    """Those of its files that are programs."""
    capabilities: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """What `allowed-tools` lists."""
    commands: tuple[str, ...] = ()
    """What a host would run when it loads the skill: hooks, and commands in the text."""

    @property
    def digest(self) -> str:
        """Of all files; the other fields follow from these."""
        import json  # hooks and most commands compute none
        from hashlib import sha256

        content = {"files": dict(self.files), "scripts": sorted(self.scripts)}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return f"sha256:{sha256(text.encode(errors='surrogatepass')).hexdigest()}"


class Difference(NamedTuple):
    """How the contents of a skill differ from former contents."""

    gained: Mapping[str, tuple[str, ...]] = NOTHING
    """`capabilities`, `tools`, `commands`, `scripts` and `links` that are new."""
    lost: Mapping[str, tuple[str, ...]] = NOTHING
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.gained or self.lost or self.added or self.removed or self.modified)

    def summary(self) -> str:
        """On one line, what matters most first."""
        parts = [f"new {_shown(kind, names)}" for kind, names in self.gained.items()]
        parts += [f"no more {_shown(kind, names)}" for kind, names in self.lost.items()]
        parts += [_files(self.modified, "changed")] if self.modified else []
        parts += [_files(self.added, "added")] if self.added else []
        parts += [_files(self.removed, "removed")] if self.removed else []
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        return {
            "gained": {kind: list(names) for kind, names in self.gained.items()},
            "lost": {kind: list(names) for kind, names in self.lost.items()},
            "added": list(self.added),
            "removed": list(self.removed),
            "modified": list(self.modified),
        }


_MOST_NAMED = 3
_ONE = {
    "capabilities": "capability",
    "tools": "tool",
    "commands": "command",
    "scripts": "script",
    "links": "link",
}


def _shown(kind: str, names: Sequence[str]) -> str:
    noun = _ONE[kind] if len(names) == 1 else kind
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{noun} {', '.join(names[:_MOST_NAMED])}{more}"


def _files(names: Sequence[str], what: str) -> str:
    return f"{names[0]} {what}" if len(names) == 1 else f"{len(names)} files {what}"


def difference(before: Contents, now: Contents) -> Difference:
    """What changed from `before` to `now`."""
    gained, lost = {}, {}
    for kind in _ONE:
        old, new = _requests(kind, before), _requests(kind, now)
        if more := tuple(sorted(new - old)):
            gained[kind] = more
        if less := tuple(sorted(old - new)):
            lost[kind] = less
    old_files, new_files = before.files, now.files
    return Difference(
        gained,
        lost,
        tuple(sorted(new_files.keys() - old_files.keys())),
        tuple(sorted(old_files.keys() - new_files.keys())),
        tuple(
            _main_first(
                one for one in new_files if old_files.get(one, "") not in ("", new_files[one])
            )
        ),
    )


def _requests(kind: str, contents: Contents) -> set[str]:
    if kind != "links":
        return set(getattr(contents, kind))
    found = contents.files.items()
    return {f"{name} → {value.removeprefix(LINK)}" for name, value in found if _is_link(value)}


def _is_link(value: str) -> bool:
    return value.startswith(LINK)


def _main_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name not in MAIN_FILES, name))


class Review(NamedTuple):
    """What was reviewed of a skill, by whom, and when."""

    name: str
    contents: Contents
    at: str
    by: str = "user"
    """`user`, or `first-use`: accepted when it was first met."""

    def to_json(self) -> dict[str, Any]:
        """As the record has it."""
        contents = self.contents
        return {
            "name": self.name,
            "digest": contents.digest,
            "reviewedAt": self.at,
            "by": self.by,
            "capabilities": list(contents.capabilities),
            "tools": list(contents.tools),
            "commands": list(contents.commands),
            "scripts": list(contents.scripts),
            "files": dict(contents.files),
        }

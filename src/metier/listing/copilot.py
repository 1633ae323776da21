"""Copilot CLI's listing: XML until an entry does not fit, then names alone."""

import re
from collections.abc import Sequence
from itertools import accumulate

from metier.hosts.known.copilot import LONGEST_DESCRIPTION, LONGEST_NAME, NAME
from metier.hosts.shown import Listing, Scope, Shown, Skill, State, first_of_each, unseen

LETTERS = 15_000
"""What entries may take, each with its line break. It depends on neither model nor context."""
NAMES = 4_954
"""What names without text may take, with the commas between them; the rest is not named."""
_VALID = re.compile(NAME)
"""Skills with any other name are dropped; spaces become hyphens before."""
_SCOPES: tuple[Scope, ...] = ("project", "user", "plugin", "admin", "system", "own")
_PLACES: dict[Scope, str] = {"own": "builtin", "system": "builtin"}
_FOLDERS = (".github/skills", ".copilot/skills", ".agents/skills", ".claude/skills")
"""Of two skills of one name in a scope, the one in the first of these folders loads."""
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


def name_of(skill: Skill) -> str:
    """What Copilot CLI calls a skill; empty for a name that it refuses."""
    name = "-".join((skill.name or skill.folder).split())
    return name if len(name) <= LONGEST_NAME and _VALID.fullmatch(name) else ""


def _is_loaded(skill: Skill) -> bool:
    return bool(name_of(skill)) and len(skill.description or "") <= LONGEST_DESCRIPTION


def _order(skill: Skill) -> tuple[int, str]:
    """Its own skills come last and keep their order."""
    is_own = skill.scope == "own"
    return _SCOPES.index(skill.scope), "" if is_own else name_of(skill)


def _precedence(skill: Skill) -> tuple[int, int]:
    found = (number for number, one in enumerate(_FOLDERS) if skill.root.endswith(one))
    return _SCOPES.index(skill.scope), next(found, len(_FOLDERS))


def _block(skill: Skill) -> tuple[str, ...]:
    return (
        "<skill>",
        f"  <name>{name_of(skill)}</name>",
        f"  <description>{(skill.description or '').translate(_ESCAPED)}</description>",
        f"  <location>{_PLACES.get(skill.scope, skill.scope)}</location>",
        "</skill>",
    )


def _shown(skill: Skill, is_whole: bool) -> Shown:
    text = skill.description or ""
    state: State = "whole" if is_whole and text else "no-text"
    return Shown(skill, name_of(skill), text if is_whole else "", state, len(text))


def copilot(skills: list[Skill], limit: int) -> Listing:
    """The listing; the first entry that does not fit and all after it are names without text."""
    loaded = sorted(filter(_is_loaded, skills), key=_precedence)
    listed = sorted(first_of_each(loaded, name_of).values(), key=_order)
    seen = set(map(id, listed))
    blocks = [_block(skill) for skill in listed]
    sizes = list(accumulate(len("\n".join(block)) + 1 for block in blocks))
    fitting = next((count for count, size in enumerate(sizes) if size > limit), len(listed))
    names = _that_fit([name_of(skill) for skill in listed[fitting:]])
    end = fitting + len(names)
    entries = [_shown(skill, number < fitting) for number, skill in enumerate(listed[:end])]
    entries += [
        unseen(skill)._replace(length=len(skill.description or "")) for skill in listed[end:]
    ]
    entries += [unseen(skill) for skill in skills if id(skill) not in seen]
    lines = _lines(blocks[:fitting], names)
    return Listing(
        entries=tuple(entries),
        used=sizes[fitting - 1] if fitting else 0,
        budget=limit,
        unit="characters",
        lines=lines,
        needed=sizes[-1] if sizes else 0,
    )


def _that_fit(names: list[str]) -> list[str]:
    sizes = accumulate(len(name) + 2 for name in names)
    return [name for name, size in zip(names, sizes, strict=True) if size - 2 <= NAMES]


def _lines(blocks: Sequence[tuple[str, ...]], names: Sequence[str]) -> tuple[str, ...]:
    inner = [line for block in blocks for line in block]
    rest = [", ".join(names)] if names else []
    return ("<available_skills>", *inner, *rest, "</available_skills>")

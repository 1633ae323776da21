"""Copilot CLI's listing: XML until an entry does not fit, then names alone."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from metier.hosts.known.copilot import LONGEST_DESCRIPTION, LONGEST_NAME, NAME
from metier.hosts.listing_types import Listing, Scope, Shown, Skill, State, unseen

LETTERS = 15_000
"""What entries may take, each with its line break. It depends on neither model nor context."""
NAMES = 4_954
"""What names without text may take, with the commas between them; the rest is not named."""
_VALID = re.compile(NAME)
"""Skills with any other name are dropped; spaces become hyphens before."""
_SCOPES: tuple[Scope, ...] = ("project", "user", "plugin", "admin", "system", "own")
_PLACES: dict[Scope, str] = {"own": "builtin", "system": "builtin"}
_FOLDERS = (".github/skills", ".copilot/skills", ".agents/skills", ".claude/skills")
"""Of skills with the same name in a scope, the first by these folders loads."""
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


def name_of(skill: Skill) -> str:
    """What Copilot CLI calls a skill; empty for a name that it refuses."""
    name = skill.name or skill.folder
    name = "-".join(name.split())
    return name if len(name) <= LONGEST_NAME and _VALID.fullmatch(name) else ""


def _precedence(skill: Skill) -> tuple[int, int]:
    return _SCOPES.index(skill.scope), _rank_of(skill.root)


@lru_cache(maxsize=1024)
def _rank_of(root: str) -> int:
    found = (number for number, one in enumerate(_FOLDERS) if root.endswith(one))
    return next(found, len(_FOLDERS))


def _block(name: str, skill: Skill) -> tuple[str, ...]:
    return (
        "<skill>",
        f"  <name>{name}</name>",
        f"  <description>{(skill.description or '').translate(_ESCAPED)}</description>",
        f"  <location>{_PLACES.get(skill.scope, skill.scope)}</location>",
        "</skill>",
    )


def _size(name: str, skill: Skill) -> int:
    """The characters of a block, with its line break."""
    escaped = (skill.description or "").translate(_ESCAPED)
    return len(name) + len(escaped) + len(_PLACES.get(skill.scope, skill.scope)) + _AROUND


_AROUND = len("\n".join(_block("", Skill("", "", "", "", scope="own")))) + 1 - len("builtin")


def _shown(name: str, skill: Skill, is_whole: bool) -> Shown:
    text = skill.description or ""
    state: State = "whole" if is_whole and text else "no-text"
    return Shown(skill, name, text if is_whole else "", state, len(text))


def copilot(skills: list[Skill], limit: int) -> Listing:
    """The listing; the first entry that does not fit and all after it are names without text."""
    listed = _listed(skills)
    seen = {id(skill) for _, skill in listed}
    sizes = list(accumulate(_size(*one) for one in listed))
    fitting = next((count for count, size in enumerate(sizes) if size > limit), len(listed))
    names = _that_fit([name for name, _ in listed[fitting:]])
    end = fitting + len(names)
    entries = [_shown(*one, number < fitting) for number, one in enumerate(listed[:end])]
    entries += [
        unseen(skill)._replace(length=len(skill.description or "")) for _, skill in listed[end:]
    ]
    entries += [unseen(skill) for skill in skills if id(skill) not in seen]
    return Listing(
        entries=tuple(entries),
        used=sizes[fitting - 1] if fitting else 0,
        budget=limit,
        unit="characters",
        lines=_lines([_block(*one) for one in listed[:fitting]], names),
        needed=sizes[-1] if sizes else 0,
    )


def _listed(skills: list[Skill]) -> list[tuple[str, Skill]]:
    """The skills that load, with their names; the host's own come last and keep their order."""
    first: dict[str, Skill] = {}
    for skill in sorted(skills, key=_precedence):
        name = name_of(skill)
        if name and len(skill.description or "") <= LONGEST_DESCRIPTION:
            first.setdefault(name, skill)
    return sorted(first.items(), key=_order)


def _order(named: tuple[str, Skill]) -> tuple[int, str]:
    name, skill = named
    return _SCOPES.index(skill.scope), "" if skill.scope == "own" else name


def _that_fit(names: list[str]) -> list[str]:
    sizes = accumulate(len(name) + 2 for name in names)
    return [name for name, size in zip(names, sizes, strict=True) if size - 2 <= NAMES]


def _lines(blocks: Sequence[tuple[str, ...]], names: Sequence[str]) -> tuple[str, ...]:
    inner = [line for block in blocks for line in block]
    rest = [", ".join(names)] if names else []
    return ("<available_skills>", *inner, *rest, "</available_skills>")

"""The listings of Gemini CLI and opencode: XML, and everything is shown."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from metier.hosts.listing_types import Listing, Scope, Shown, Skill, unseen
from metier.listing.collation import collated


def _whole(skill: Skill, name: str) -> Shown:
    text = skill.description or ""
    return Shown(skill, name, text, "whole", len(text))


def _xml(skill: Skill, name: str, location: str) -> tuple[str, ...]:
    return (
        "  <skill>",
        f"    <name>{name}</name>",
        f"    <description>{skill.description}</description>",
        f"    <location>{location}</location>",
        "  </skill>",
    )


def _xml_listing(entries: Sequence[Shown], blocks: Sequence[tuple[str, ...]]) -> Listing:
    lines = ("<available_skills>", *(line for block in blocks for line in block))
    lines = (*lines, "</available_skills>")
    used = len("\n".join(lines))
    return Listing(
        entries=tuple(entries),
        used=used,
        budget=None,
        unit="characters",
        lines=lines,
        needed=used,
    )


_GEMINI_SCOPES: tuple[Scope, ...] = ("own", "system", "admin", "plugin", "user", "project")
_NOT_IN_NAMES = str.maketrans(dict.fromkeys(':\\/<>*?"|', "-"))


def _gemini_ordered(skills: list[Skill]) -> Iterator[Skill]:
    """By scope; in a folder by name, backwards: the order in which most requests had them."""
    ranked = sorted(skills, key=lambda skill: _GEMINI_SCOPES.index(skill.scope))
    for _, group in groupby(ranked, key=lambda skill: (skill.scope, skill.root)):
        members = list(group)
        is_own = members[0].scope == "own"
        yield from members if is_own else sorted(members, key=lambda s: s.folder, reverse=True)


def gemini(skills: list[Skill], _: int) -> Listing:
    winners: dict[str, Skill] = {}
    ordered = list(_gemini_ordered(skills))
    for skill in ordered:
        if skill.name and skill.description is not None:
            winners[skill.name.translate(_NOT_IN_NAMES)] = skill
    shown = [_whole(skill, name) for name, skill in winners.items()]
    return _with_the_rest(ordered, shown, lambda entry: entry.skill.path)


def opencode(skills: list[Skill], _: int) -> Listing:
    winners = {skill.name: skill for skill in skills if skill.name}
    ordered = sorted(winners.values(), key=lambda skill: collated(skill.name))
    shown = [_whole(skill, skill.name) for skill in ordered if skill.description is not None]
    return _with_the_rest(skills, shown, lambda entry: _escaped(entry.skill.path))


def _with_the_rest(
    skills: Sequence[Skill], shown: Sequence[Shown], location: Callable[[Shown], str]
) -> Listing:
    seen = {id(entry.skill) for entry in shown}
    rest = [unseen(skill) for skill in skills if id(skill) not in seen]
    blocks = [_xml(entry.skill, entry.name, location(entry)) for entry in shown]
    return _xml_listing([*shown, *rest], blocks)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

"""The listing of each host by its rule: which skills the model sees, and how much of each text.

Pure: skills and the size of the model's context go in, the listing comes out. Every rule but
Copilot CLI's was compared with requests that the real host sent (`tests/live`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import Literal, NamedTuple

from metier.listing.order import collated as collated

Scope = Literal["own", "system", "admin", "plugin", "user", "project"]
"""Where a skill comes from; `own` skills are parts of the host's program."""
State = Literal["whole", "cut", "no-text", "invisible"]
Unit = Literal["characters", "tokens"]

CLAUDE_CONTEXT = 200_000
CLAUDE_FRACTION = 0.01
"""The part of the context that the listing may take: `skillListingBudgetFraction`."""
CLAUDE_LETTERS_PER_TOKEN = 4
CLAUDE_LETTERS_PER_TOKEN_NEW = 3
"""For models since Opus 4.7, and for models that the host does not know."""
CLAUDE_TEXT = 1536
"""The most characters of one text; a longer one ends with an ellipsis."""
CLAUDE_HALF_LIFE_DAYS = 7.0
CLAUDE_LEAST_WEIGHT = 0.1
_CLAUDE_NAME = re.compile(r"[\w.:-]+")
"""Names with anything else are not shown beside the folder's."""
_BREAKS = re.compile(r"[\r\n\t]+")
CODEX_PERCENT = 2
CODEX_BYTES_PER_TOKEN = 4
CODEX_NAME = 64
"""The most characters of a name; a skill with a longer one is not loaded."""
CODEX_DESCRIPTION = 1024
"""The most characters of a description; a longer one ends with three dots."""
CODEX_CONTEXT = 272_000
"""Of a model that the host does not know; settings can make it smaller, not larger."""
CODEX_ALIASED_HEAD_BYTES = 310
"""The host's words before and after the table of roots, headings included."""
CODEX_PLAIN_HEAD_TOKENS = 113
"""What the same words take in a listing without a table; it is deducted from the table's cost."""
COPILOT_LETTERS = 15_000


class Skill(NamedTuple):
    """A skill that a host loads."""

    name: str
    """From its front matter; empty for none."""
    folder: str
    """The name of its folder."""
    description: str | None
    path: str
    """Of its SKILL.md."""
    root: str = ""
    """The folder of skills in which the host found it."""
    scope: Scope = "project"
    when_to_use: str = ""
    uses: float = 0
    """How much it was used, as the host counts: see `claude_weight`."""
    is_fixed: bool = False
    """Whether the host never takes its text away, as Claude Code with most of its own."""


class Shown(NamedTuple):
    """A skill as the model sees it."""

    skill: Skill
    name: str
    text: str
    state: State
    length: int = 0
    """Characters of its whole text."""


def _unseen(skill: Skill) -> Shown:
    return Shown(skill, "", "", "invisible")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a host shows the model."""

    entries: tuple[Shown, ...]
    """In the host's order; invisible ones keep their position."""
    used: int
    budget: int | None
    """None if the host has no limit."""
    unit: Unit
    lines: tuple[str, ...]
    """As the model sees it, without the host's own words around it."""
    needed: int = 0
    """What it would take without a limit."""

    def rendered(self) -> str:
        return "\n".join(self.lines)

    @property
    def lost(self) -> tuple[Shown, ...]:
        """Entries of which the model does not see the whole text."""
        return tuple(entry for entry in self.entries if entry.state != "whole")


def listing_of(
    host: str, skills: Iterable[Skill], context: int | None = None, budget: int | None = None
) -> Listing:
    """The listing of a host for a model with a context of so many tokens.

    `budget` replaces the one that follows from the context. Raises `KeyError` for a host whose
    rule is unknown.
    """
    rule = RULES[host]
    own = rule.budget(context) if rule.budget else 0
    return rule.shows(list(skills), own if budget is None else budget)


# Order


def _first_of_each(skills: Iterable[Skill], key: Callable[[Skill], str]) -> dict[str, Skill]:
    found: dict[str, Skill] = {}
    for skill in skills:
        found.setdefault(key(skill), skill)
    return found


# Claude Code: those used least lose their text


def claude_weight(uses: int, days_ago: float) -> float:
    """What Claude Code sorts by: the count, halved every week since the last use, never below 10 %.

    Measured with pairs of counts and ages of which only the first found room.
    """
    weight: float = 0.5 ** (days_ago / CLAUDE_HALF_LIFE_DAYS)
    return uses * max(weight, CLAUDE_LEAST_WEIGHT)


def claude_budget(
    context: int | None, fraction: float = CLAUDE_FRACTION, *, is_new_model: bool = False
) -> int:
    """The characters that the listing may take."""
    letters = CLAUDE_LETTERS_PER_TOKEN_NEW if is_new_model else CLAUDE_LETTERS_PER_TOKEN
    return round((context or CLAUDE_CONTEXT) * fraction * letters)


def _claude_text(skill: Skill) -> str:
    if skill.scope == "own":
        return skill.description or ""
    text = " - ".join(filter(None, (skill.description, skill.when_to_use)))
    text = _BREAKS.sub(" ", text).strip()
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _claude_entry(skill: Skill) -> Shown:
    has_other = skill.name != skill.folder and _CLAUDE_NAME.fullmatch(skill.name)
    name = f"{skill.folder} ({skill.name})" if has_other else skill.folder
    text = _claude_text(skill)
    if len(text) > CLAUDE_TEXT and skill.scope != "own":
        return Shown(skill, name, f"{text[: CLAUDE_TEXT - 1]}…", "cut", len(text))
    return Shown(skill, name, text, "whole" if text else "no-text", len(text))


_CLAUDE_SCOPES: tuple[Scope, ...] = ("user", "project", "plugin", "admin", "system", "own")


def _claude_order(skill: Skill) -> tuple[int, tuple[str, str]]:
    """The host's own skills come last and keep their order."""
    is_own = skill.scope == "own"
    return _CLAUDE_SCOPES.index(skill.scope), ("", "") if is_own else collated(skill.folder)


def _claude_line(entry: Shown) -> str:
    return f"- {entry.name}: {entry.text}" if entry.text else f"- {entry.name}"


def _claude(skills: list[Skill], limit: int) -> Listing:
    ordered = sorted(skills, key=_claude_order)
    kept = set(map(id, _first_of_each(ordered, lambda skill: skill.folder).values()))
    entries = [_claude_entry(skill) if id(skill) in kept else _unseen(skill) for skill in ordered]
    visible = [number for number, entry in enumerate(entries) if entry.state != "invisible"]
    size = sum(len(_claude_line(entries[number])) + 1 for number in visible) - 1
    if size > limit:
        _take_texts(entries, visible, limit)
    lines = tuple(_claude_line(entries[number]) for number in visible)
    used = len("\n".join(lines))
    return Listing(
        entries=tuple(entries),
        used=used,
        budget=limit,
        unit="characters",
        lines=lines,
        needed=max(0, size),
    )


def _take_texts(entries: list[Shown], visible: list[int], limit: int) -> None:
    """Leave names, and the texts that find room: most used first, then in the listing's order."""
    full = [entries[number] for number in range(len(entries))]
    room = limit + 1
    losing = [number for number in visible if not full[number].skill.is_fixed]
    for number in visible:
        if not full[number].skill.is_fixed:
            entries[number] = full[number]._replace(text="", state="no-text")
        room -= len(_claude_line(entries[number])) + 1
    for number in sorted(losing, key=lambda number: -full[number].skill.uses):
        cost = len(_claude_line(full[number])) - len(_claude_line(entries[number]))
        if cost <= room:
            entries[number] = full[number]
            room -= cost


# Codex: all descriptions grow alike


def _tokens(length: int) -> int:
    return -(-length // CODEX_BYTES_PER_TOKEN)


class _Line(NamedTuple):
    skill: Skill
    description: str
    place: str
    length: int
    """Of the description before it was cut."""

    def shown(self, letters: int) -> str:
        text = f"{self.description[:letters]} " if letters else ""
        return f"- {self.skill.name or self.skill.folder}: {text}(file: {self.place})"

    def cost(self, letters: int) -> int:
        return _tokens(len(self.shown(letters).encode()) + 1)


_CODEX_SCOPES: dict[Scope, int] = {
    "own": 0, "system": 0, "admin": 1, "project": 2, "user": 3, "plugin": 3,
}  # fmt: skip
_CODEX_ROOTS: tuple[Scope, ...] = ("user", "own", "system", "admin", "plugin", "project")
"""The order in which Codex looks into folders, and so of their aliases."""


def _is_loaded_by_codex(skill: Skill) -> bool:
    return bool((skill.description or "").strip()) and len(skill.name) <= CODEX_NAME


def _codex_order(skill: Skill) -> tuple[int, str, str]:
    return _CODEX_SCOPES[skill.scope], skill.name or skill.folder, skill.path


def _aliases(skills: Sequence[Skill]) -> dict[str, str]:
    ordered = sorted(skills, key=lambda skill: _CODEX_ROOTS.index(skill.scope))
    roots = dict.fromkeys(skill.root for skill in ordered if skill.root)
    return {root: f"r{number}" for number, root in enumerate(roots)}


def _codex_line(skill: Skill, aliases: dict[str, str]) -> _Line:
    description = " ".join((skill.description or "").split())
    length = len(description)
    if length > CODEX_DESCRIPTION:
        description = f"{description[: CODEX_DESCRIPTION - 3]}..."
    alias = aliases.get(skill.root)
    below = skill.path.removeprefix(f"{skill.root}/")
    return _Line(skill, description, f"{alias}/{below}" if alias else skill.path, length)


def codex_budget(context: int | None) -> int:
    """The tokens that lines and roots may take."""
    return max(1, (context or CODEX_CONTEXT) * CODEX_PERCENT // 100)


def _codex(skills: list[Skill], limit: int) -> Listing:
    ordered = sorted(filter(_is_loaded_by_codex, skills), key=_codex_order)
    aliases = _aliases(ordered)
    roots = [f"- `{alias}` = `{root}`" for root, alias in aliases.items()]
    head = CODEX_ALIASED_HEAD_BYTES + sum(len(line.encode()) + 1 for line in roots)
    table = max(0, _tokens(head) - CODEX_PLAIN_HEAD_TOKENS)
    lines = [_codex_line(skill, aliases) for skill in ordered]
    needed = sum(line.cost(len(line.description)) for line in lines)
    letters = _allotted(lines, limit - table, needed)
    entries = [_codex_entry(*pair) for pair in zip(lines, letters, strict=True)]
    entries += [_unseen(skill) for skill in skills if not _is_loaded_by_codex(skill)]
    shown = [line.shown(count) for line, count in zip(lines, letters, strict=True) if count >= 0]
    used = table + sum(_tokens(len(line.encode()) + 1) for line in shown)
    headed = ["### Skill roots", *roots] if roots else []
    return Listing(
        entries=tuple(entries),
        used=used,
        budget=limit,
        unit="tokens",
        lines=(*headed, "### Available skills", *shown),
        needed=table + needed,
    )


def _codex_entry(line: _Line, letters: int) -> Shown:
    name = line.skill.name or line.skill.folder
    if letters < 0:
        return _unseen(line.skill)
    text, length = line.description[:letters], line.length
    is_whole = len(text) == length and len(line.description) == length
    state: State = "whole" if is_whole else "cut" if text else "no-text"
    return Shown(line.skill, name, text, state, length)


def _allotted(lines: Sequence[_Line], limit: int, needed: int) -> list[int]:
    """The characters of each description that are shown; -1 for a line that is left out."""
    if needed <= limit:
        return [len(line.description) for line in lines]
    least = [line.cost(0) for line in lines]
    if sum(least) <= limit:
        return _grown(lines, limit - sum(least))
    letters = []
    for cost in least:
        letters.append(0 if cost <= limit else -1)
        limit -= cost if cost <= limit else 0
    return letters


def _grown(lines: Sequence[_Line], room: int) -> list[int]:
    """Give each description one character in turn, as long as it fits."""
    letters = [0] * len(lines)
    sizes = [len(line.shown(0).encode()) + 1 for line in lines]
    growing = [number for number, line in enumerate(lines) if line.description]
    while growing:
        still = []
        for number in growing:
            line, count = lines[number], letters[number]
            size = sizes[number] + len(line.description[count].encode()) + (count == 0)
            cost = _tokens(size) - _tokens(sizes[number])
            if cost > room:
                continue
            room -= cost
            sizes[number], letters[number] = size, count + 1
            if count + 1 < len(line.description):
                still.append(number)
        growing = still
    return letters


# Gemini CLI, opencode: whole, without a limit. Copilot CLI: until one does not fit


def _whole(skill: Skill, name: str) -> Shown:
    text = skill.description or ""
    return Shown(skill, name, text, "whole", len(text))


def _xml(skill: Skill, name: str, place: str) -> tuple[str, ...]:
    return (
        "  <skill>",
        f"    <name>{name}</name>",
        f"    <description>{skill.description}</description>",
        f"    <location>{place}</location>",
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


def _gemini(skills: list[Skill], _: int) -> Listing:
    winners: dict[str, Skill] = {}
    ordered = list(_gemini_ordered(skills))
    for skill in ordered:
        if skill.name and skill.description is not None:
            winners[skill.name.translate(_NOT_IN_NAMES)] = skill
    shown = [_whole(skill, name) for name, skill in winners.items()]
    return _with_the_rest(ordered, shown, lambda entry: entry.skill.path)


def _opencode(skills: list[Skill], _: int) -> Listing:
    winners = {skill.name: skill for skill in skills if skill.name}
    ordered = sorted(winners.values(), key=lambda skill: collated(skill.name))
    shown = [_whole(skill, skill.name) for skill in ordered if skill.description is not None]
    return _with_the_rest(skills, shown, lambda entry: _escaped(entry.skill.path))


def _with_the_rest(
    skills: Sequence[Skill], shown: Sequence[Shown], place: Callable[[Shown], str]
) -> Listing:
    seen = {id(entry.skill) for entry in shown}
    rest = [_unseen(skill) for skill in skills if id(skill) not in seen]
    blocks = [_xml(entry.skill, entry.name, place(entry)) for entry in shown]
    return _xml_listing([*shown, *rest], blocks)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _copilot(skills: list[Skill], limit: int) -> Listing:
    blocks = [_xml(skill, skill.name or skill.folder, skill.path) for skill in skills]
    empty = _xml_listing([], [])
    sizes = [len("\n".join(block)) + 1 for block in blocks]
    fitting = next(
        (count for count, size in enumerate(accumulate(sizes)) if empty.used + size > limit),
        len(skills),
    )
    shown = [_whole(skill, skill.name or skill.folder) for skill in skills[:fitting]]
    rest = [_unseen(skill) for skill in skills[fitting:]]
    listing = _xml_listing([*shown, *rest], blocks[:fitting])
    return replace(listing, budget=limit, needed=empty.used + sum(sizes))


class Rule(NamedTuple):
    """How one host lists skills."""

    shows: Callable[[list[Skill], int], Listing]
    """The listing within a budget."""
    budget: Callable[[int | None], int] | None = None
    """The budget for a context of so many tokens; None for a host without a limit."""


RULES: dict[str, Rule] = {
    "claude-code": Rule(_claude, claude_budget),
    "codex": Rule(_codex, codex_budget),
    "copilot": Rule(_copilot, lambda _: COPILOT_LETTERS),
    "gemini": Rule(_gemini),
    "opencode": Rule(_opencode),
}
"""Copilot CLI's rule comes from issues of its repository and was not measured."""

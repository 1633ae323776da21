"""The listing of each host by its rule: which skills the model sees, and how much of each text.

Pure: skills and the size of the model's context go in, the listing comes out. Every rule was
compared with requests that the real host sent (`tests/live`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from metier.hosts.known import HOSTS
from metier.hosts.known.claude_code import LONGEST as CLAUDE_TEXT
from metier.hosts.known.claude_code import claude_budget
from metier.hosts.known.codex import CONTEXT as CODEX_CONTEXT
from metier.hosts.known.codex import LONGEST as CODEX_DESCRIPTION
from metier.hosts.known.codex import LONGEST_NAME as CODEX_NAME
from metier.hosts.listing_types import Listing as Listing
from metier.hosts.listing_types import Rule, first_of_each, unseen
from metier.hosts.listing_types import Scope as Scope
from metier.hosts.listing_types import Shown as Shown
from metier.hosts.listing_types import Skill as Skill
from metier.hosts.listing_types import State as State
from metier.listing import copilot as _copilot
from metier.listing.collation import collated as collated
from metier.listing.xml import gemini, opencode

_CLAUDE_NAME = re.compile(r"[\w.:-]+")
"""Names with anything else are not shown beside the folder's."""
_BREAKS = re.compile(r"[\r\n\t]+")
CODEX_PERCENT = 2
CODEX_BYTES_PER_TOKEN = 4
CODEX_ALIASED_HEAD_BYTES = 310
"""The host's words before and after the table of roots, headings included."""
CODEX_PLAIN_HEAD_TOKENS = 113
"""What the same words take in a listing without a table; it is deducted from the table's cost."""


def listing_of(
    host: str, skills: Iterable[Skill], context: int | None = None, budget: int | None = None
) -> Listing:
    """The listing of a host for a model with a context of this many tokens.

    `budget` replaces the one that follows from the context. Raises `KeyError` for a host whose
    rule is unknown.
    """
    rule = RULES[host]
    own = rule.budget(context) if rule.budget else 0
    return rule.shows(list(skills), own if budget is None else budget)


# Claude Code: those used least lose their text


def _claude_text(skill: Skill) -> str:
    if skill.scope == "own":
        return skill.description or ""
    text = skill.description or ""
    if skill.when_to_use:
        text = f"{text} - {skill.when_to_use}" if text else skill.when_to_use
    if not text.isprintable():
        text = _BREAKS.sub(" ", text)
    text = text.strip()
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _claude_entries(ordered: list[Skill]) -> list[Shown]:
    """Every skill with its whole text; of folders with the same name only the first."""
    kept = first_of_each(ordered, lambda skill: skill.folder)
    taken = set(kept)
    return [
        _claude_entry(skill, taken) if kept[skill.folder] is skill else unseen(skill)
        for skill in ordered
    ]


def _claude_entry(skill: Skill, taken: set[str]) -> Shown:
    """`taken` holds the names that are not shown beside the folder's: another skill has them."""
    has_other = skill.name not in taken and _CLAUDE_NAME.fullmatch(skill.name)
    taken.add(skill.name)
    name = f"{skill.folder} ({skill.name})" if has_other else skill.folder
    text = _claude_text(skill)
    if len(text) > CLAUDE_TEXT and skill.scope != "own":
        return Shown(skill, name, f"{text[: CLAUDE_TEXT - 1]}…", "cut", len(text))
    return Shown(skill, name, text, "whole" if text else "no-text", len(text))


_CLAUDE_SCOPES: dict[Scope, int] = {
    "user": 0, "project": 1, "plugin": 2, "admin": 3, "system": 4, "own": 5,
}  # fmt: skip


def _claude_order(skill: Skill) -> tuple[int, tuple[str, str]]:
    """The host's own skills come last and keep their order."""
    is_own = skill.scope == "own"
    return _CLAUDE_SCOPES[skill.scope], ("", "") if is_own else collated(skill.folder)


def _claude_line(entry: Shown) -> str:
    return f"- {entry.name}: {entry.text}" if entry.text else f"- {entry.name}"


def _claude_size(entry: Shown) -> int:
    """The length of its line."""
    return len(entry.name) + 2 + (len(entry.text) + 2 if entry.text else 0)


def _claude(skills: list[Skill], limit: int) -> Listing:
    ordered = sorted(skills, key=_claude_order)
    entries = _claude_entries(ordered)
    visible = [number for number, entry in enumerate(entries) if entry.state != "invisible"]
    size = sum(_claude_size(entries[number]) + 1 for number in visible) - 1
    if size > limit:
        _take_texts(entries, visible, limit)
    lines = tuple(_claude_line(entries[number]) for number in visible)
    used = max(0, sum(map(len, lines)) + len(lines) - 1)
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
    room = limit + 1
    losing = []
    for number in visible:
        full = entries[number]
        if not full.skill.is_fixed:
            losing.append((full.skill.uses, number, full))
            entries[number] = Shown(full.skill, full.name, "", "no-text", full.length)
        room -= _claude_size(entries[number]) + 1
    losing.sort(key=lambda one: (-one[0], one[1]))
    for _, number, full in losing:
        cost = len(full.text) + 2 if full.text else 0
        if cost <= room:
            entries[number] = full
            room -= cost


# Codex: all descriptions grow alike


def _tokens(length: int) -> int:
    return -(-length // CODEX_BYTES_PER_TOKEN)


class _Line(NamedTuple):
    skill: Skill
    name: str
    description: str
    location: str
    length: int
    """Of the description before it was cut."""
    least: int
    """The bytes of the line without a description, with its line break."""

    def shown(self, letters: int) -> str:
        text = f"{self.description[:letters]} " if letters else ""
        return f"- {self.name}: {text}(file: {self.location})"

    @property
    def whole(self) -> int:
        """The bytes of the line with all of the description."""
        return self.least + (_bytes(self.description) + 1 if self.description else 0)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _flat(text: str) -> str:
    """The text with single spaces between its words."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(text.split())


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
    found = dict.fromkeys((skill.scope, skill.root) for skill in skills if skill.root)
    ordered = sorted(found, key=lambda one: _CODEX_ROOTS.index(one[0]))
    roots = dict.fromkeys(root for _, root in ordered)
    return {root: f"r{number}" for number, root in enumerate(roots)}


def _codex_line(skill: Skill, aliases: dict[str, str]) -> _Line:
    description = _flat(skill.description or "")
    length = len(description)
    if length > CODEX_DESCRIPTION:
        description = f"{description[: CODEX_DESCRIPTION - 3]}..."
    alias = aliases.get(skill.root)
    location = f"{alias}{skill.path[len(skill.root) :]}" if alias else skill.path
    name = skill.name or skill.folder
    return _Line(skill, name, description, location, length, _bytes(name) + _bytes(location) + 13)


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
    needed = sum(_tokens(line.whole) for line in lines)
    letters = _allotted(lines, limit - table, needed)
    entries = [_codex_entry(*pair) for pair in zip(lines, letters, strict=True)]
    if len(ordered) < len(skills):
        entries += [unseen(skill) for skill in skills if not _is_loaded_by_codex(skill)]
    shown = [line.shown(count) for line, count in zip(lines, letters, strict=True) if count >= 0]
    used = table + sum(_tokens(_bytes(line) + 1) for line in shown)
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
    if letters < 0:
        return unseen(line.skill)
    text, length = line.description[:letters], line.length
    is_whole = len(text) == length and len(line.description) == length
    state: State = "whole" if is_whole else "cut" if text else "no-text"
    return Shown(line.skill, line.name, text, state, length)


def _allotted(lines: Sequence[_Line], limit: int, needed: int) -> list[int]:
    """The characters of each description that are shown; -1 for a line that is left out."""
    if needed <= limit:
        return [len(line.description) for line in lines]
    least = [_tokens(line.least) for line in lines]
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
    sizes = [line.least for line in lines]
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


_BY_NAME: dict[str, Rule] = {
    "claude-code": Rule(_claude, claude_budget),
    "codex": Rule(_codex, codex_budget),
    "copilot": Rule(_copilot.copilot, lambda _: _copilot.LETTERS),
    "gemini": Rule(gemini),
    "opencode": Rule(opencode),
}
"""What a host may name in `Listing.computed_by`."""


def _rules() -> Iterator[tuple[str, Rule]]:
    for name, host in HOSTS.items():
        rule = host.listing.computed_by if host.listing is not None else ""
        if rule:
            yield name, _BY_NAME[rule] if isinstance(rule, str) else rule


RULES: dict[str, Rule] = dict(_rules())
"""By host."""

"""Which document each piece of an injected text comes from, and what was left out of it."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from metier.values.selection import Injection

_REFERENCE = re.compile(
    r'<reference code="([0-9a-f]+)" [a-z]+="([^"]*)"[^>\n]*>\n.*?\n</reference code="\1">', re.S
)
_BEGINNING = 64
_RULE = re.compile(r"\s*-{3,}\s*")
_SPEAKER = re.compile(
    r"\s*(?:[*_]{0,2})(user|human|assistant|system|model|ai)(?:[*_]{0,2})\s*:", re.I
)


class Piece(NamedTuple):
    """A piece of the text; all pieces together are the text."""

    kind: str
    """`ability`, `card`, or `frame` for what is around them."""
    id: str
    text: str


class LeftOut(NamedTuple):
    """A document that was considered and not injected."""

    kind: str
    id: str
    reason: str
    detail: str = ""
    tokens: int | None = None
    score: float | None = None
    threshold: float | None = None


def messages_of(conversation: str) -> list[str]:
    """The messages of a conversation: a line of dashes or a speaker (`User:`) starts one."""
    messages: list[list[str]] = [[]]
    for line in conversation.splitlines():
        if _RULE.fullmatch(line):
            messages.append([])
        elif found := _SPEAKER.match(line):
            messages.append([line[found.end() :].strip(" *_")])
        else:
            messages[-1].append(line)
    texts = ["\n".join(lines).strip() for lines in messages]
    return [text for text in texts if text]


def pieces_of(injection: Injection) -> list[Piece]:
    contents = {one.item.id: one.item.content for one in injection.selection.ranked}
    found: list[Piece] = []
    text, at = injection.text, 0
    for ability in injection.injected_abilities:
        content = contents.get(ability, "")
        start = _start_of(content, text, at) if content else -1
        if start >= 0:
            found += [*_between(text[at:start], injection), Piece("ability", ability, content)]
            at = start + len(content)
    return [*found, *_between(text[at:], injection)]


def _start_of(content: str, text: str, at: int) -> int:
    """Where a content starts from `at` on; -1 if it does not.

    It is looked for by its beginning: preparing to search for a long text takes long.
    """
    start = text.find(content[:_BEGINNING], at)
    if start < 0 or text.startswith(content, start):
        return start
    return text.find(content, start)


def _between(text: str, injection: Injection) -> Iterator[Piece]:
    """The cards of a text and what is around them."""
    cards, at = {one.item.id for one in injection.injected_cards}, 0
    for found in _REFERENCE.finditer(text) if cards else ():
        if found[2] in cards:
            if found.start() > at:
                yield Piece("frame", "", text[at : found.start()])
            yield Piece("card", found[2], found[0])
            at = found.end()
    if at < len(text):
        yield Piece("frame", "", text[at:])


def left_out(injection: Injection, excluded: Sequence[tuple[str, str]] = ()) -> list[LeftOut]:
    """What was considered and not injected, and why; `excluded` are cards with the reason."""
    scores = {one.item.id: one.score for one in injection.selection.rejected}
    scores |= {one.item.id: one.score for one in injection.selection.ranked}
    found = {
        (one.kind, one.id): LeftOut(
            one.kind, one.id, one.reason, one.detail, one.tokens, scores.get(one.id)
        )
        for one in injection.skipped
    }
    for card, reason in injection.cards_passed_over:
        key = ("card", card.item.id)
        known = found.get(key) or LeftOut(*key, reason)
        found[key] = LeftOut(
            *key, known.reason, known.detail, known.tokens, card.score,
            card.item.confidence_threshold,
        )  # fmt: skip
    rest = [LeftOut("card", id, "excluded", why) for id, why in excluded]
    return [*found.values(), *rest]

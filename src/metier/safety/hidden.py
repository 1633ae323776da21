"""Characters that people do not see."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control and invisible characters."""
_STYLES = "\ufe0e\ufe0f"
_SECOND_STYLE = re.compile("(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]")
"""One emoji variation selector is allowed."""
JOINER = "\u200d"
"""It makes one picture of several emoji."""
_JOINED = re.compile(f"(?=(.{JOINER}.)).{JOINER}", re.DOTALL)


def may_be_invisible(text: str) -> bool:
    """Whether there may be such a character; true for joined emoji, too."""
    return _INVISIBLE.search(text) is not None


def invisible(text: str) -> Counter[str]:
    """How often each invisible character occurs, in the order of the text."""
    found = Counter(_INVISIBLE.findall(text))
    if any(style in text for style in _STYLES):
        found.update(_SECOND_STYLE.findall(text))
    if JOINER in text:
        alone = sum(1 for _ in _joiners_alone(text))
        found.update({JOINER: alone} if alone else {})
    return Counter({one: found[one] for one in sorted(found, key=lambda one: first_of(text, one))})


def first_of(text: str, character: str) -> int:
    """Where an invisible character is first."""
    if character == JOINER:
        return next(_joiners_alone(text))
    style = _SECOND_STYLE.search(text) if character in _STYLES else None
    while style is not None and style[0] != character:
        style = _SECOND_STYLE.search(text, style.end())
    return style.start() if style is not None else text.index(character)


def _joiners_alone(text: str) -> Iterator[int]:
    """The positions of the joiners that join no emoji."""
    pairs = _JOINED.findall(text)
    if len(pairs) == text.count(JOINER) and all(joins_emoji(one[0], one[2]) for one in set(pairs)):
        return
    at = text.find(JOINER)
    while at >= 0:
        if not joins_emoji(text[max(at - 1, 0) : at], text[at + 1 : at + 2]):
            yield at
        at = text.find(JOINER, at + 1)


def joins_emoji(before: str, after: str) -> bool:
    """Whether a joiner between these characters joins emoji; either may be empty."""
    if not before or not after or unicodedata.category(after) != "So":
        return False
    return before == "\ufe0f" or unicodedata.category(before) in ("So", "Sk")

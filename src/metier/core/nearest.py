"""Did you mean …?"""

from collections.abc import Iterable
from string import ascii_lowercase

from metier.core.text import counted

_LONGEST = 200
"""Longer words are not compared."""
_MOST_LOOKED_FOR = 20
_FEW = 3


def nearest(wanted: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """The most similar known word, or an empty text; `likeness` is from 0 to 1."""
    from difflib import get_close_matches  # only what goes wrong pays for it

    if len(wanted) > _LONGEST:
        return ""
    return next(iter(get_close_matches(wanted, list(known), n=1, cutoff=likeness)), "")


def slips(word: str) -> list[str]:
    """All words with one letter of `word` missing, added, wrong or swapped with the next."""
    parts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    missing = [f"{left}{letter}{right}" for left, right in parts for letter in ascii_lowercase]
    swapped = [f"{left}{right[1]}{right[0]}{right[2:]}" for left, right in parts if right[1:]]
    wrong = [
        f"{left}{letter}{right[1:]}" for left, right in parts if right for letter in ascii_lowercase
    ]
    added = [f"{left}{right[1:]}" for left, right in parts if right]
    return [one for one in dict.fromkeys([*swapped, *missing, *wrong, *added]) if one != word]


def did_you_mean(wanted: str, known: Iterable[str], otherwise: str = "") -> str:
    return suggestion(nearest(wanted, known), otherwise)


def suggestion(near: str, otherwise: str = "") -> str:
    return f"did you mean '{near}'?" if near else otherwise


def nearest_name(wanted: str, names: Iterable[str]) -> str:
    """Like `nearest`, for documents: `name` finds `plugin:name`, and a path its folder."""
    known = list(names)
    in_plugin = next((one for one in known if one.endswith(f":{wanted}")), "")
    own = wanted.removesuffix("/SKILL.md").rpartition("/")[2].casefold()
    same = next((one for one in known if one.casefold() == own), "")
    return in_plugin or same or nearest(wanted, known)


def nearest_few(wanted: str, known: Iterable[str], noun: str) -> str:
    """A hint for one of many names: the most similar ones, and how many there are."""
    from difflib import get_close_matches  # only what goes wrong pays for it

    names = sorted(known)
    near = [] if len(wanted) > _LONGEST else get_close_matches(wanted, names, n=_FEW)
    if near:
        meant = suggestion("' or '".join(near))
        return f"{meant} There are {counted(len(names), noun)}" if len(names) > _FEW else meant
    if len(names) > _FEW:
        return f"there are {counted(len(names), noun)}, such as {', '.join(names[:_FEW])}"
    return f"known: {', '.join(names)}"


class Nearest:
    """Like `nearest`, for the first of many words only, to bound the time."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = list(known)
        self._left = _MOST_LOOKED_FOR

    def to(self, wanted: str) -> str:
        self._left -= 1
        return nearest(wanted, self._known) if self._left >= 0 else ""

    def did_you_mean(self, wanted: str, otherwise: str = "") -> str:
        return suggestion(self.to(wanted), otherwise)

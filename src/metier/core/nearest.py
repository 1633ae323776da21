"""Did you mean …?"""

from collections.abc import Iterable

_LONGEST = 200
"""Characters of a word that may be a slip of the pen."""
_MOST_LOOKED_FOR = 20


def nearest(wanted: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """The known word most like `wanted`; empty when none is near: `likeness` is from 0 to 1."""
    from difflib import get_close_matches  # only what goes wrong pays for it

    if len(wanted) > _LONGEST:
        return ""
    return next(iter(get_close_matches(wanted, list(known), n=1, cutoff=likeness)), "")


def nearest_name(wanted: str, names: Iterable[str]) -> str:
    """The same for names of documents; a skill of a plugin, `plugin:name`, is near its `name`."""
    known = list(names)
    in_plugin = next((one for one in known if one.endswith(f":{wanted}")), "")
    return in_plugin or nearest(wanted, known)


class Nearest:
    """The same for the first of many words: to look for all of them would take too long."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = list(known)
        self._left = _MOST_LOOKED_FOR

    def to(self, wanted: str) -> str:
        self._left -= 1
        return nearest(wanted, self._known) if self._left >= 0 else ""

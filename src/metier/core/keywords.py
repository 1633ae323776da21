"""Occurrences of many keywords in one pass over a text."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import itemgetter

from ahocorasick_rs import AhoCorasick

from metier.core.relevance import is_alone, occurrences

_FEW = 30
"""So many keywords are counted one by one."""


class KeywordFinder:
    """A fixed list of different keywords; keywords and texts are folded by the caller."""

    def __init__(self, keywords: Iterable[str]) -> None:
        self.keywords = list(keywords)

    def count(self, text: str) -> dict[int, int]:
        """How often each keyword stands in `text`, without overlaps, by its place in the list.

        A keyword that does not is left out.
        """
        if len(self.keywords) <= _FEW:
            return self._one_by_one(text, "substring")
        return self._counted(self._matches(text))

    def count_alone(self, text: str) -> dict[int, int]:
        """The same, where no letter, mark or digit stands next to the keyword."""
        if len(self.keywords) <= _FEW:
            return self._one_by_one(text, "word")
        found = self._matches(text)
        return self._counted([match for match in found if is_alone(text, match[1], match[2])])

    def _counted(self, found: Sequence[tuple[int, int, int]]) -> dict[int, int]:
        counts = dict(Counter(map(itemgetter(0), found)))
        free: dict[int, int] = {}
        """Where the last occurrence that counts has ended."""
        for place, start, end in [one for one in found if one[0] in self._overlapping]:
            if start < free.get(place, 0):
                counts[place] -= 1
            else:
                free[place] = end
        return counts

    def _one_by_one(self, text: str, match: str) -> dict[int, int]:
        counts = [occurrences(keyword, text, match) for keyword in self.keywords]
        return {place: count for place, count in enumerate(counts) if count}

    def _matches(self, text: str) -> Sequence[tuple[int, int, int]]:
        """Every occurrence: the place of the keyword, where it starts, where it ends."""
        return self._automaton.find_matches_as_indexes(_whole(text), overlapping=True)

    @cached_property
    def _automaton(self) -> AhoCorasick:
        return AhoCorasick([_whole(keyword) for keyword in self.keywords])

    @cached_property
    def _overlapping(self) -> frozenset[int]:
        """Places of the keywords of which two occurrences can share characters."""
        return frozenset(place for place, one in enumerate(self.keywords) if _may_overlap(one))


def _whole(text: str) -> str:
    """`text`, with something else for each half of a surrogate pair, which nothing can match."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def _may_overlap(keyword: str) -> bool:
    """Whether its end is also its beginning (Knuth, Morris and Pratt)."""
    same = [0]
    """For each beginning of the keyword, how much of its end is also its beginning."""
    for char in keyword[1:]:
        size = same[-1]
        while size and keyword[size] != char:
            size = same[size - 1]
        same.append(size + (keyword[size] == char))
    return same[-1] > 0

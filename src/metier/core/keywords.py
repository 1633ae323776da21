"""Occurrences of many keywords in one pass over a text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter

from ahocorasick_rs import AhoCorasick

from metier.core.relevance import LONG_KEYWORD, borders, is_alone, occurrences, starts

Occurrence = tuple[int, int, int]
"""The number of a keyword, its start and its end in the text."""
_FEW = 30
"""Up to so many keywords are counted one by one."""


class KeywordFinder:
    """A fixed list of different keywords; keywords and texts are folded by the caller."""

    def __init__(self, keywords: Iterable[str]) -> None:
        self.keywords = list(keywords)

    def count(self, text: str) -> dict[int, int]:
        """How often each keyword occurs in `text`, without overlaps, by number; without zeros."""
        if len(self.keywords) <= _FEW:
            return self._one_by_one(range(len(self.keywords)), text, "substring")
        counts = self._counted(self._matches(text))
        return {**counts, **self._one_by_one(self._long, text, "substring")}

    def count_alone(self, text: str) -> dict[int, int]:
        """The same, where no letter, mark or digit stands next to the keyword."""
        if len(self.keywords) <= _FEW:
            return self._one_by_one(range(len(self.keywords)), text, "word")
        found = [one for one in self._matches(text) if is_alone(text, one[1], one[2])]
        return {**self._counted(found), **self._one_by_one(self._long, text, "word")}

    def _counted(self, found: Sequence[Occurrence]) -> dict[int, int]:
        counts = dict(Counter(map(itemgetter(0), found)))
        free: dict[int, int] = {}
        """The end of the last counted occurrence."""
        for place, start, end in [one for one in found if one[0] in self._overlapping]:
            if start < free.get(place, 0):
                counts[place] -= 1
            else:
                free[place] = end
        return counts

    def _one_by_one(self, places: Sequence[int], text: str, match: str) -> dict[int, int]:
        counts = [occurrences(self.keywords[place], text, match) for place in places]
        return {place: count for place, count in zip(places, counts, strict=True) if count}

    def everywhere(self, text: str) -> Iterator[Occurrence]:
        """Every occurrence of every keyword, also those that share characters."""
        yield from self._matches(text)
        for place in self._long:
            keyword = self.keywords[place]
            if keyword in text:
                yield from ((place, at, at + len(keyword)) for at in starts(keyword, text))

    def _matches(self, text: str) -> Sequence[Occurrence]:
        """Every occurrence of the keywords that are not long."""
        found = self._automaton.find_matches_as_indexes(_whole(text), overlapping=True)
        if not self._long:
            return found
        short = self._short
        return [(short[number], start, end) for number, start, end in found]

    @cached_property
    def _automaton(self) -> AhoCorasick:
        return AhoCorasick([_whole(self.keywords[place]) for place in self._short])

    @cached_property
    def _short(self) -> list[int]:
        return [place for place, one in enumerate(self.keywords) if len(one) <= LONG_KEYWORD]

    @cached_property
    def _long(self) -> list[int]:
        """Places of the keywords that the automaton would take too long to learn."""
        return [place for place, one in enumerate(self.keywords) if len(one) > LONG_KEYWORD]

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
    """Whether its end is also its beginning."""
    return borders(keyword)[-1] > 0

"""Occurrences of many keywords in one pass over a text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter

from ahocorasick_rs import AhoCorasick, BytesAhoCorasick

from metier.core.relevance import LONG_KEYWORD, borders, is_alone, occurrences, starts

Occurrence = tuple[int, int, int]
"""The number of a keyword, its start and its end in the text."""
_FEW = 30
"""Fewer keywords are counted one by one."""


class KeywordFinder:
    """Finds distinct keywords; the caller folds keywords and texts."""

    def __init__(self, keywords: Iterable[str]) -> None:
        self.keywords = list(keywords)

    def count(self, text: str) -> dict[int, int]:
        """Non-overlapping occurrences of each keyword, by position; without zeros."""
        if len(self.keywords) <= _FEW:
            return self._one_by_one(range(len(self.keywords)), text, "substring")
        counts = self._counted(self._matches(text))
        return {**counts, **self._one_by_one(self._long, text, "substring")}

    def count_alone(self, text: str) -> dict[int, int]:
        """The same, for whole words only."""
        if len(self.keywords) <= _FEW:
            return self._one_by_one(range(len(self.keywords)), text, "word")
        found = [match for match in self._matches(text) if is_alone(text, match[1], match[2])]
        return {**self._counted(found), **self._one_by_one(self._long, text, "word")}

    def _counted(self, found: Sequence[Occurrence]) -> dict[int, int]:
        counts = dict(Counter(map(itemgetter(0), found)))
        free: dict[int, int] = {}
        for place, start, end in [one for one in found if one[0] in self._overlapping]:
            if start < free.get(place, 0):
                counts[place] -= 1
            else:
                free[place] = end
        return counts

    def _one_by_one(self, numbers: Sequence[int], text: str, match: str) -> dict[int, int]:
        counts = [occurrences(self.keywords[number], text, match) for number in numbers]
        return {number: count for number, count in zip(numbers, counts, strict=True) if count}

    def everywhere(self, text: str) -> Iterator[Occurrence]:
        """Every occurrence, overlapping occurrences included."""
        yield from self._matches(text)
        for place in self._long:
            keyword = self.keywords[place]
            if keyword in text:
                yield from ((place, at, at + len(keyword)) for at in starts(keyword, text))

    def _matches(self, text: str) -> Sequence[Occurrence]:
        """Every occurrence of the short keywords."""
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
        """Positions of keywords that are too long for the automaton."""
        return [place for place, one in enumerate(self.keywords) if len(one) > LONG_KEYWORD]

    @cached_property
    def _overlapping(self) -> frozenset[int]:
        """Positions of keywords that can overlap with themselves."""
        return frozenset(place for place, one in enumerate(self.keywords) if _may_overlap(one))


def counts_in_each(keywords: Sequence[str], texts: Iterable[str]) -> Iterator[dict[int, int]]:
    """For each text what `KeywordFinder.count` gives: faster for few keywords and many texts."""
    find = BytesAhoCorasick(
        [one.encode(errors="surrogatepass") for one in keywords]
    ).find_matches_as_indexes
    overlapping = [place for place, one in enumerate(keywords) if _may_overlap(one)]
    for text in texts:
        counts: dict[int, int] = {}
        for place, _, _ in find(text.encode(errors="surrogatepass"), overlapping=True):
            counts[place] = counts.get(place, 0) + 1
        for place in overlapping:
            if counts.get(place, 0) > 1:
                counts[place] = text.count(keywords[place])
        yield counts


def _whole(text: str) -> str:
    """`text` without lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def _may_overlap(keyword: str) -> bool:
    """Whether its end is also its beginning."""
    return borders(keyword)[-1] > 0

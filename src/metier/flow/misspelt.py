"""Which words of a task are probably misspelt: no description has them, and a known word is near.

The ranker compares forms of words: a misspelt word counts for no name, description or example.
"""

from collections.abc import Iterable, Sequence, Set

from metier.core.nearest import slips
from metier.core.ranking import Pool
from metier.core.stems import stem_of
from metier.core.word_table import shipped_table

_SHORTEST, _LONGEST = 5, 20


def misspelt_words(words: Iterable[str], own: Set[str], pool: Pool) -> dict[str, str]:
    """Word → what it probably means: one slip away, in `own` terms, in the pool or in English."""
    return {word: meant for word in words if (meant := _meant(word, own, pool))}


def _meant(word: str, own: Set[str], pool: Pool) -> str:
    is_plain = word.isascii() and word.isalpha() and _SHORTEST <= len(word) <= _LONGEST
    if not is_plain or _is_english(word) or pool.found([stem_of(word)]):
        return ""
    near = slips(word)
    found = pool.found(list(dict.fromkeys(map(stem_of, near))))
    ways: Sequence[Iterable[str]] = (
        (one for one in near if stem_of(one) in own),
        sorted((one for one in near if stem_of(one) in found), key=_is_english, reverse=True),
        filter(_is_english, near),
    )
    return next((one for way in ways for one in way), "")


def _is_english(word: str) -> bool:
    table = shipped_table()
    return table is not None and table.has(word)

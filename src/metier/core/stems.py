"""Stems: the words of a text without stop words, by the original Porter algorithm."""

from functools import lru_cache

import Stemmer  # type: ignore[import-not-found]  # has no type hints

from metier.core.text import words

STOP_WORDS = frozenset(
    """
    a an and are as at be been being but by can could did do does doing done for from had has have
    having he her here hers herself him himself his how i if in into is it its itself just me more
    most my myself no nor not of off on once only or other our ours ourselves out over own same
    she should so some such than that the their theirs them themselves then there these they this
    those through to too under until up very was we were what when where which while who whom why
    will with you your yours yourself yourselves
    """.split()  # noqa: SIM905  # reads better than 107 quoted words
)
"""The words of `schemas/english-stopwords.v1.txt`."""
_SHORTEST_STEMMED = 3
_porter = Stemmer.Stemmer("porter", 0)


def stems(text: str) -> list[str]:
    """The stems of the words of `text` that are no stop words; order and repetitions are kept."""
    return [_stem(word) for word in words(text) if word not in STOP_WORDS]


def prose_stems(name: str, description: str) -> list[str]:
    """The stems by which a skill is found in words."""
    return stems(f"{name} {description}")


def label_stems(name: str, folder: str) -> list[str]:
    """The stems of a skill's name and folder."""
    return stems(f"{name} {folder}")


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    stem: str = _porter.stemWord(word) if len(word) >= _SHORTEST_STEMMED else word
    return stem

"""Stems: the words of a text without stop words, by the original Porter algorithm."""

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
    """The stems of `text` without stop words, in order, with repetitions."""
    found = words(text)
    stemmed = list(map(_known.get, found))
    if None in stemmed:
        stemmed = [_learned(word) for word in found]
    return list(filter(None, stemmed))


def prose_stems(name: str, routing_text: str) -> list[str]:
    return stems(f"{name} {routing_text}")


def label_stems(name: str, folder: str) -> list[str]:
    return stems(f"{name} {folder}")


_MOST_KNOWN = 100_000
_known: dict[str, str] = {}
"""Cached stems; a stop word has an empty stem."""


def _learned(word: str) -> str:
    stem = _known.get(word)
    if stem is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        stem = _stem(word)
        _known[word] = stem
    return stem


def _stem(word: str) -> str:
    return "" if word in STOP_WORDS else stem_of(word)


def stem_of(word: str) -> str:
    """The stem of a word in lower case, whether or not it is a stop word."""
    stem: str = _porter.stemWord(word) if len(word) >= _SHORTEST_STEMMED else word
    return stem

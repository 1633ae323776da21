"""Words: the one tokenizer for every rule that speaks of words."""

import re
import unicodedata
from functools import lru_cache

_ASCII = frozenset(map(chr, range(128)))
_ASCII_WORDS = re.compile(r"[a-z0-9]+")
_WORDS = re.compile(r"[a-z0-9\x80-\U0010ffff]+")


def words(text: str) -> list[str]:
    """The words of `text`: NFC, case-folded, split on all but letters, marks and digits.

    What holds no letter or digit is no word. Order and repetitions are kept.
    """
    if text.isascii():
        return _ASCII_WORDS.findall(text.lower())
    folded = unicodedata.normalize("NFC", text).casefold()
    has_marks = False
    for char in set(folded).difference(_ASCII):
        category = _category(char)
        if category == "M":
            has_marks = True
        elif not category:
            folded = folded.replace(char, " ")
    found: list[str] = _WORDS.findall(folded)
    if not has_marks:
        return found
    return [word for word in found if any(_category(char) == "L" for char in word)]


@lru_cache(maxsize=4096)
def _category(char: str) -> str:
    """Give "L" for a letter or digit, "M" for a mark, nothing for what separates words."""
    category = unicodedata.category(char)
    if category[0] == "L" or category == "Nd":
        return "L"
    return "M" if category[0] == "M" else ""


_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """`text` with control and direction characters written out, so that no terminal obeys them."""
    return _UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared elements over all elements; 0.0 when both are empty."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0

"""Words: the one tokenizer for every rule that speaks of words."""

import re
import unicodedata

_ASCII_WORDS = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """The words of `text`: NFC, case-folded, split on all but letters, marks and digits.

    What holds no letter or digit is no word. Order and repetitions are kept.
    """
    if text.isascii():
        return _ASCII_WORDS.findall(text.lower())
    folded = unicodedata.normalize("NFC", text).casefold()
    spaced = "".join(char if _category(char) else " " for char in folded)
    return [word for word in spaced.split() if any(_category(char) == "L" for char in word)]


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

"""The order of names in hosts that are written in JavaScript."""

_PUNCTUATION = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_RANKS = str.maketrans({letter: chr(rank) for rank, letter in enumerate(_PUNCTUATION)})
_SMALL = str.maketrans(
    {
        **{letter: chr(rank) for rank, letter in enumerate(_PUNCTUATION)},
        **{chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)},
    }
)


def collated(name: str) -> tuple[str, str]:
    """A key that sorts ASCII names as JavaScript's `localeCompare` does.

    Punctuation comes before digits, digits before letters, and of two names that differ in case
    alone the one in small letters comes first.
    """
    if name.isascii():
        return name.translate(_SMALL), name.swapcase()
    return name.lower().translate(_RANKS), name.swapcase()

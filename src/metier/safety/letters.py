"""The letters in a shape: what is left of it when phrases are looked for."""

from collections.abc import Iterator

from metier.safety.lookalikes import (
    EITHER,
    EITHER_CODES,
    OTHER_CODE,
    PICTURE_CODES,
    as_letters,
    readings,
)

FILLERS = ("all", "any", "the", "these", "those", "my", "your", "of")
"""Words that may occur inside a phrase."""
WILD_CODE, _BLOCKER_CODE = 0x9F, 0x9E
"""A foreign letter beside a Latin one, and one apart from them."""
LIKE_LATIN = rb"A-Za-z\xa0-\xff"
"""In a shape: letters, and what may be one of several, or is a picture of one."""
BLOCKER = bytes([_BLOCKER_CODE])
_CODE_OF_SIGN = dict(zip(EITHER, EITHER_CODES, strict=True))
_FOREIGN = (OTHER_CODE, WILD_CODE, _BLOCKER_CODE)


def _kept(code: int, *, resembled: bool) -> int:
    """The letter or code for a byte of a shape; 0 if it is no letter."""
    if code >= 128:
        picture = ord(PICTURE_CODES.get(code, "\0")) if resembled else 0
        return code if code in EITHER_CODES or code in _FOREIGN else picture
    if code == ord(":"):
        return code
    read = readings(chr(code))
    read = as_letters(read) if resembled else read
    if read.isalpha():
        return ord(read)
    return _CODE_OF_SIGN.get(read, 0) if resembled else 0


_AS_WRITTEN, _AS_RESEMBLED = (
    bytes(_kept(code, resembled=resembled) for code in range(256)) for resembled in (False, True)
)
"""Each byte of a shape → the letter that it is, or resembles; 0 for others."""
_NO_LETTERS, _NO_LETTERS_IF_RESEMBLED = (
    b":" + bytes(code for code in range(256) if not table[code])
    for table in (_AS_WRITTEN, _AS_RESEMBLED)
)
_SIX = bytes([_kept(ord("6"), resembled=True)])
SIX_AS_G, SIX_AS_B = bytes.maketrans(_SIX, b"g"), bytes.maketrans(_SIX, b"b")
AMBIGUOUS = bytes([*EITHER_CODES, WILD_CODE])
"""May each be one of several letters."""


def letters(reading: bytes, resembled: bool, colons: bool = False) -> bytes:
    """The letters in a shape, as they are written or as what they resemble, and the codes."""
    table = _AS_RESEMBLED if resembled else _AS_WRITTEN
    dropped = _NO_LETTERS_IF_RESEMBLED if resembled else _NO_LETTERS
    return reading.translate(table, dropped.replace(b":", b"") if colons else dropped)


def plain_letters(reading: bytes) -> Iterator[bytes]:
    """The letters of a reading without ambiguous characters, as written and as resembled."""
    yield letters(reading, False)
    yield letters(reading, True).translate(SIX_AS_G)

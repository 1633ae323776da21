"""Whether a reading of a text may contain a phrase, ambiguous characters included.

`screen` asks only about readings with such characters, or with a part of a phrase.
"""

import re

from metier.safety.letters import (
    AMBIGUOUS,
    BLOCKER,
    FILLERS,
    LIKE_LATIN,
    SIX_AS_B,
    WILD_CODE,
    letters,
    plain_letters,
)
from metier.safety.lookalikes import EITHER_CODES, MARK_CODE, OTHER_CODE, VOID_CODE, readings

_GLUE = bytes([*(code for code in range(128) if readings(chr(code)) == ""), MARK_CODE, VOID_CODE])
_ENDS_OF_RUN = bytes([WILD_CODE, WILD_CODE, *BLOCKER, WILD_CODE, WILD_CODE])
_OTHER_AS_WILD = bytes.maketrans(bytes([OTHER_CODE]), bytes([WILD_CODE]))


def _word(*words: str) -> str:
    return "|".join("".join(map(_letter, word)) for word in words)


def _letter(letter: str) -> str:
    one = f"[{_forms(letter)}]"
    return f"(?:{one}|{_letter('v') * 2})" if letter == "w" else one


def _forms(letter: str) -> str:
    """The bytes that may be a letter."""
    either = [code for code, several in EITHER_CODES.items() if letter in several]
    codes = "".join(f"\\x{code:02x}" for code in (*either, WILD_CODE))
    return f"{'li' if letter == 'l' else letter}{codes}"


_filler = f"(?:{_word(*sorted(FILLERS, reverse=True))})*+"
_PREVIOUS = re.compile(f"{_word('previous')}{_filler}{_word('instructions')}".encode())
_IGNORE = re.compile(f"{_word('ignore')}{_filler}{_PREVIOUS.pattern.decode()}".encode())
_NEW = re.compile(_word("newinstructions").encode())
_NEW_WITH_COLON = re.compile(f"{_word('new')}:?{_word('instructions')}:".encode())
_SINGULAR = re.compile(f"({_word('instruction')}[^A-Za-z]++)s(?=[A-Za-z])".encode(), re.IGNORECASE)
"""The s starts another word, as in "instruction scheduling"."""
_DISREGARD = re.compile(_word("disregard").encode())


def _by_rare_letters(*words: tuple[str, str]) -> str:
    """A pattern for any of the words, each in two parts, of which the first ends in a rare letter.

    It looks at most positions once only.
    """
    rare = "".join(_forms(start[-1]) for start, _ in words)
    found = (
        f"(?<={''.join(f'[{_forms(letter)}]' for letter in start)}){_word(end)}"
        for start, end in words
    )
    return f"[{rare}](?:{'|'.join(found)})"


_WORDS = re.compile(
    _by_rare_letters(("prev", "ious"), ("disreg", "ard"), ("new", "ins"), ("nevv", "ins")).encode()
)
_plain = f"(?:{'|'.join([*FILLERS, 'aii'])})*+"
_OTHER_WORDS = re.compile(f"ignore{_plain}previous{_plain}instructions".encode())
_ABOVE = re.compile(_word("above").encode())
_LONG_RUN = re.compile(rb"%(o)b%(o)b%(o)b%(o)b%(o)b++" % {b"o": rb"\x%02x" % OTHER_CODE})
"""Written out, it is searched for as fast as a word."""
_ALONE = re.compile(
    rb"\x%(o)02x(?<![%(l)b\x%(o)02x]\x%(o)02x)\x%(o)02x{0,3}+(?![%(l)b])"
    % {b"o": OTHER_CODE, b"l": LIKE_LATIN}
)
"""Up to four foreign letters with no letter beside them that is Latin, or may be."""


def is_suspect(reading: bytes) -> bool:
    """Whether a shape, without what its reading leaves out, may contain a phrase."""
    if OTHER_CODE in reading:
        reading = _with_wild(reading)
    is_plain = len(reading.translate(None, AMBIGUOUS)) == len(reading)
    if is_plain and not _has_words(reading):
        return False
    return any(_has_phrase(reading, resembled) for resembled in (False, True))


def _with_wild(reading: bytes) -> bytes:
    """The reading with the foreign letters marked that may be near a Latin one."""
    reading = _LONG_RUN.sub(_ENDS_OF_RUN, reading.translate(None, _GLUE))
    return _ALONE.sub(BLOCKER, reading).translate(_OTHER_AS_WILD)


def _has_words(reading: bytes) -> bool:
    """Whether there may be a phrase in a reading without ambiguous characters."""
    for found in plain_letters(reading):
        if b"newinstructions" in found or b"nevvinstructions" in found:
            return True
        if b"disregard" in found and _has_above(reading):
            return True
        if _OTHER_WORDS.search(found) is not None:
            return True
    return False


def _has_above(reading: bytes) -> bool:
    resembled = letters(reading, True).translate(SIX_AS_B)
    return b"above" in letters(reading, False) or b"above" in resembled


def _has_phrase(reading: bytes, resembled: bool) -> bool:
    found = letters(reading, resembled)
    if _WORDS.search(found) is None:
        return False
    if _PREVIOUS.search(found) is not None and _IGNORE.search(found) is not None:
        rest = letters(_SINGULAR.sub(rb"\1" + bytes([OTHER_CODE]), reading), resembled)
        if _IGNORE.search(rest) is not None:
            return True
    if _NEW.search(found) is not None:
        with_colons = letters(reading, resembled, colons=True)
        if _NEW_WITH_COLON.search(with_colons) is not None:
            return True
    disregard = _DISREGARD.search(found)
    return disregard is not None and _ABOVE.search(found, disregard.end()) is not None

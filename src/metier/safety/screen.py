"""Whether a text may contain one of the three phrases, by a few passes over bytes.

Most texts contain none. `phrases` reads the others closely, so the screen may only err by letting
a text through to it.
"""

import re
from collections.abc import Iterator

from metier.safety.lookalikes import (
    EITHER,
    EITHER_CODES,
    MARK_CODE,
    OTHER_CODE,
    PICTURE_CODES,
    SEVERAL_CODE,
    SIGN_CODE,
    VOID_CODE,
    as_letters,
    readings,
    shape,
    without_ligatures,
)
from metier.safety.markup import ENTITIES, ENTITY_BYTES, MARKUP_BYTES, decoded

FILLERS = ("all", "any", "the", "these", "those", "my", "your", "of")
"""Words that may occur inside a phrase."""
_WILD_CODE = 0x9F
_BLOCKER_CODE = 0x9E
"""A foreign letter apart from Latin ones."""
_BLOCKER = bytes([_BLOCKER_CODE])
_ENDS_OF_RUN = bytes([_WILD_CODE, _WILD_CODE, _BLOCKER_CODE, _WILD_CODE, _WILD_CODE])
_OTHER_AS_WILD = bytes.maketrans(bytes([OTHER_CODE]), bytes([_WILD_CODE]))
"""A foreign letter beside a Latin one."""
_LARGEST_CACHE = 20_000
_CODE_OF_SIGN = dict(zip(EITHER, EITHER_CODES, strict=True))


_FOREIGN = (OTHER_CODE, _WILD_CODE, _BLOCKER_CODE)


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
_GLUE = bytes([*(code for code in range(128) if readings(chr(code)) == ""), MARK_CODE, VOID_CODE])
_SIX = bytes([_kept(ord("6"), resembled=True)])
_SIX_AS_G, _SIX_AS_B = bytes.maketrans(_SIX, b"g"), bytes.maketrans(_SIX, b"b")
_AMBIGUOUS = bytes([*EITHER_CODES, _WILD_CODE])


def _word(*words: str) -> str:
    return "|".join("".join(map(_letter, word)) for word in words)


def _letter(letter: str) -> str:
    either = [code for code, letters in EITHER_CODES.items() if letter in letters]
    codes = "".join(f"\\x{code:02x}" for code in (*either, _WILD_CODE))
    one = f"[{'li' if letter == 'l' else letter}{codes}]"
    return f"(?:{one}|{_letter('v') * 2})" if letter == "w" else one


_filler = f"(?:{_word(*sorted(FILLERS, reverse=True))})*+"
_PREVIOUS = re.compile(f"{_word('previous')}{_filler}{_word('instructions')}".encode())
_IGNORE = re.compile(f"{_word('ignore')}{_filler}{_PREVIOUS.pattern.decode()}".encode())
_NEW = re.compile(_word("newinstructions").encode())
_NEW_WITH_COLON = re.compile(f"{_word('new')}:?{_word('instructions')}:".encode())
_SINGULAR = re.compile(f"({_word('instruction')}[^A-Za-z]++)s(?=[A-Za-z])".encode(), re.IGNORECASE)
"""The s starts another word, as in "instruction scheduling"."""
_DISREGARD = re.compile(_word("disregard").encode())


def _first_letters(*words: str) -> str:
    """A pattern for any of the words that looks at most positions once only."""
    firsts = "".join(_letter(word[0])[1:-1] for word in words)
    rest = (f"(?<={_letter(word[0])}){_word(word[1:])}" for word in words)
    return f"[{firsts}](?:{'|'.join(rest)})"


_WORDS = re.compile(_first_letters("previous", "disregard", "newins").encode())
_plain = f"(?:{'|'.join([*FILLERS, 'aii'])})*+"
_OTHER_WORDS = re.compile(f"ignore{_plain}previous{_plain}instructions".encode())
_ABOVE = re.compile(_word("above").encode())
_LONG_RUN = re.compile(rb"\x%02x{5,}+" % OTHER_CODE)
_ALONE = re.compile(
    rb"\x%(o)02x(?<![A-Za-z\x%(o)02x]\x%(o)02x)\x%(o)02x{0,3}+(?![A-Za-z])" % {b"o": OTHER_CODE}
)
"""Up to four foreign letters with no Latin letter beside them."""
_TAG_START = re.compile(rb"<[/A-Za-z|?!]")
_QUOTED_BRACKET = re.compile(rb"[\"'][^\"'<>]*[<>][^\"']*[\"']")
_MARKS = (b"<", b"](", b"][", b"[^", b"\\")
"""Without any of them there is no markup."""
_BOXES = (b"[ ] ", b"[x] ", b"[X] ")
_TAGS, *_ALL_MARKUP = MARKUP_BYTES


def may_contain_phrase(text: str, shown: bytes) -> bool:
    """Whether `text`, of which `shown` is the shape, may contain a phrase in any disguise."""
    if SEVERAL_CODE in shown:
        shown = shape(without_ligatures(text))
    return any(map(_is_suspect, _readings(shown)))


def _readings(shown: bytes) -> Iterator[bytes]:
    """The shape with entities decoded, and without markup, as far as they differ."""
    plain = _decoded(_without_boxes(shown))
    yield plain
    if not any(mark in plain for mark in _MARKS):
        return
    has_tags = b"<" in plain and _TAG_START.search(plain) is not None
    has_quotes = has_tags and _QUOTED_BRACKET.search(plain) is not None
    patterns = [_TAGS, *_ALL_MARKUP] if has_quotes else [_TAGS, _ALL_MARKUP[0]]
    if not has_tags:
        patterns = [_ALL_MARKUP[0]] if any(mark in plain for mark in _MARKS[1:]) else []
    seen = {plain}
    for pattern in patterns:
        reading = pattern.sub(b"", plain)
        if reading not in seen:
            seen.add(reading)
            yield reading


def _without_boxes(shown: bytes) -> bytes:
    """The shape without the boxes of task items."""
    for box in _BOXES:
        shown = shown.replace(box, b"    ")
    return shown


def _decoded(shown: bytes) -> bytes:
    if b"&" not in shown and b"\\u" not in shown and b"\\x" not in shown:
        return shown
    parts = ENTITY_BYTES.split(shown)
    parts[1::2] = map(_ENTITIES.__getitem__, parts[1::2])
    return b"".join(parts)


class _Entities(dict[bytes, bytes]):
    """The shape of what each entity shows; never markup."""

    _PLAIN = bytes.maketrans(b"<>[]()&\"'/?", bytes([SIGN_CODE]) * 11)

    def __missing__(self, entity: bytes) -> bytes:
        if len(self) > _LARGEST_CACHE:
            self.clear()
        match = ENTITIES.fullmatch(entity.decode())
        character = decoded(match) if match is not None else ""
        value = shape(without_ligatures(character)).translate(self._PLAIN, b"-\\")
        self[entity] = value
        return value


_ENTITIES = _Entities()


def _is_suspect(reading: bytes) -> bool:
    if OTHER_CODE in reading:
        reading = _with_wild(reading)
    is_plain = len(reading.translate(None, _AMBIGUOUS)) == len(reading)
    if is_plain and not _has_words(reading):
        return False
    return any(_has_phrase(reading, resembled) for resembled in (False, True))


def _with_wild(reading: bytes) -> bytes:
    """The reading with the foreign letters marked that may be near a Latin one."""
    reading = _LONG_RUN.sub(_ENDS_OF_RUN, reading.translate(None, _GLUE))
    return _ALONE.sub(_BLOCKER, reading).translate(_OTHER_AS_WILD)


def _has_words(reading: bytes) -> bool:
    """Whether there may be a phrase in a reading without ambiguous characters."""
    for resembled in (False, True):
        letters = _letters(reading, resembled)
        with_g = letters.translate(_SIX_AS_G)
        if b"disregard" in with_g and b"above" in letters.translate(_SIX_AS_B):
            return True
        if _OTHER_WORDS.search(with_g) is not None or b"newinstructions" in with_g:
            return True
        if b"nevvinstructions" in with_g:
            return True
    return False


def _letters(reading: bytes, resembled: bool, colons: bool = False) -> bytes:
    table = _AS_RESEMBLED if resembled else _AS_WRITTEN
    dropped = _NO_LETTERS_IF_RESEMBLED if resembled else _NO_LETTERS
    return reading.translate(table, dropped.replace(b":", b"") if colons else dropped)


def _has_phrase(reading: bytes, resembled: bool) -> bool:
    letters = _letters(reading, resembled)
    if _WORDS.search(letters) is None:
        return False
    if _PREVIOUS.search(letters) is not None and _IGNORE.search(letters) is not None:
        rest = _letters(_SINGULAR.sub(rb"\1" + bytes([OTHER_CODE]), reading), resembled)
        if _IGNORE.search(rest) is not None:
            return True
    if _NEW.search(letters) is not None:
        with_colons = _letters(reading, resembled, colons=True)
        if _NEW_WITH_COLON.search(with_colons) is not None:
            return True
    disregard = _DISREGARD.search(letters)
    return disregard is not None and _ABOVE.search(letters, disregard.end()) is not None

"""Whether a text may contain one of the three phrases, by a few passes over bytes.

Most texts contain none. `phrases` reads the others closely, so the screen may only err by letting
a text through to it.
"""

import re
from collections.abc import Iterator, Sequence

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
from metier.safety.markup import ENTITIES, ENTITY_BYTES, MARKUP_BYTES, TAG_BYTES, decoded

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
    one = f"[{_forms(letter)}]"
    return f"(?:{one}|{_letter('v') * 2})" if letter == "w" else one


def _forms(letter: str) -> str:
    """The bytes that may be a letter."""
    either = [code for code, letters in EITHER_CODES.items() if letter in letters]
    codes = "".join(f"\\x{code:02x}" for code in (*either, _WILD_CODE))
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
_fillers = "|".join([*FILLERS, "aii"])
_plain = f"(?:{_fillers})*+"
_OTHER_WORDS = re.compile(f"ignore{_plain}previous{_plain}instructions".encode())
_INSIDE = re.compile(f"previous(?:{_fillers}|instructions)".encode())
"""A part of the first phrase that has an end, however many words are between."""
_ABOVE = re.compile(_word("above").encode())
_LONG_RUN = re.compile(rb"%(o)b%(o)b%(o)b%(o)b%(o)b++" % {b"o": rb"\x%02x" % OTHER_CODE})
"""Written out, it is searched for as fast as a word."""
_ALONE = re.compile(
    rb"\x%(o)02x(?<![A-Za-z\x%(o)02x]\x%(o)02x)\x%(o)02x{0,3}+(?![A-Za-z])" % {b"o": OTHER_CODE}
)
"""Up to four foreign letters with no Latin letter beside them."""
_TAG_START = re.compile(rb"<[/A-Za-z|?!]")
_QUOTED_BRACKET = re.compile(rb"[\"'][^\"'<>]*[<>][^\"']*[\"']")
_MARKS = (b"<", b"](", b"][", b"[^", b"\\")
"""Without any of them there is no markup."""
_BOX = re.compile(rb"\[[ xX]\] ")
"""Of a task item."""
_TAGS, _MARKUP, *_OTHER_MARKUP = MARKUP_BYTES
_TAG, *_OTHER_TAGS = TAG_BYTES
_NEAR = 64
"""Bytes that are read on each side of removed markup."""
_LONGEST_PART = 20
"""Letters of "previous instructions", the longest of the parts."""


def may_contain_phrase(text: str, shown: bytes) -> bool:
    """Whether `text`, of which `shown` is the shape, may contain a phrase in any disguise."""
    if SEVERAL_CODE in shown:
        shown = shape(without_ligatures(text))
    plain = _decoded(_BOX.sub(b"    ", shown))
    has_parts = not plain.isascii() or _has_parts(plain)
    if has_parts and _is_suspect(plain):
        return True
    checked = [plain]
    for pattern in _patterns(plain):
        pieces = pattern.split(plain)
        if not has_parts and not _has_parts(_near_removed(pieces)):
            continue
        reading = b"".join(pieces)
        if reading not in checked:
            if _is_suspect(reading):
                return True
            checked.append(reading)
    return False


def _patterns(plain: bytes) -> Iterator[re.Pattern[bytes]]:
    """Patterns for the markup that other readings leave out, as far as they differ."""
    if not any(mark in plain for mark in _MARKS):
        return
    if b"<" not in plain or _TAG_START.search(plain) is None:
        if any(mark in plain for mark in _MARKS[1:]):
            yield _MARKUP
        return
    yield from (_TAGS, _MARKUP)
    if _QUOTED_BRACKET.search(plain) is not None:
        tags = _spans(_TAG, plain)
        for tag, pattern in zip(_OTHER_TAGS, _OTHER_MARKUP, strict=True):
            if _spans(tag, plain) != tags:
                yield pattern


def _spans(pattern: re.Pattern[bytes], plain: bytes) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(plain)]


def _near_removed(pieces: Sequence[bytes]) -> bytes:
    """What is left around removed markup; all of it where removals are close to each other.

    A part that is in no piece starts in one and ends in another, so it is in what is left.
    """
    if len(pieces) * 4 * _NEAR > sum(map(len, pieces)):
        return b"".join(pieces)
    return b"".join(map(_ends, pieces))


def _ends(piece: bytes) -> bytes:
    first, last = piece[:_NEAR], piece[-_NEAR:]
    is_long = len(piece) > 2 * _NEAR and all(
        len(_letters(end, False)) >= _LONGEST_PART for end in (first, last)
    )
    return first + _BLOCKER + last if is_long else piece


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


def _has_parts(reading: bytes) -> bool:
    """Whether a reading of ASCII characters contains a part without which there is no phrase."""
    return any(map(_has_part, _plain_letters(reading)))


def _has_part(letters: bytes) -> bool:
    return (
        b"disregard" in letters
        or b"newinstructions" in letters
        or b"nevvinstructions" in letters
        or _INSIDE.search(letters) is not None
    )


def _plain_letters(reading: bytes) -> Iterator[bytes]:
    """The letters of a reading without ambiguous characters, as written and as resembled."""
    yield _letters(reading, False)
    yield _letters(reading, True).translate(_SIX_AS_G)


def _has_words(reading: bytes) -> bool:
    """Whether there may be a phrase in a reading without ambiguous characters."""
    for letters in _plain_letters(reading):
        if b"newinstructions" in letters or b"nevvinstructions" in letters:
            return True
        if b"disregard" in letters and _has_above(reading):
            return True
        if _OTHER_WORDS.search(letters) is not None:
            return True
    return False


def _has_above(reading: bytes) -> bool:
    resembled = _letters(reading, True).translate(_SIX_AS_B)
    return b"above" in _letters(reading, False) or b"above" in resembled


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
